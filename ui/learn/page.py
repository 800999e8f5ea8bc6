"""The page of lessons: their list, or one step of one lesson, by the page's address.

/learn                                  the list
/learn?path=hour                        a path through the lessons; it stays while it is followed
/learn?lesson=the_loop                  a lesson, from where the visitor left it
/learn?lesson=the_loop&step=press       one step
/learn?lesson=the_loop&question=plan    one question of its quiz
/learn?try=draw                         the experiment of a concept, on its own page
"""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

import streamlit as st

from engine.errors import DecodingError
from ui.labs.page import STYLE as LABS_STYLE
from ui.learn.course import Course, course
from ui.learn.earned import Concept, badges, concepts, points_sentence
from ui.learn.learning import Learning, learning_of, live_of
from ui.learn.lesson import Lesson, Step
from ui.learn.paths import Path as LessonPath
from ui.learn.paths import Stop, paths
from ui.learn.progress.entries import calibration_sentence
from ui.learn.progress.mine import my_problem, my_progress
from ui.learn.progress.view import draw_kept
from ui.learn.quiz.questions import Quiz, quiz_of
from ui.learn.quiz.view import draw_quiz, turn_to
from ui.learn.step_view import step_view
from ui.learn.words import ENGLISH, Words
from ui.server.problems import guarded
from ui.shell.page import header, opened_visit, show_notices
from ui.shell.work import watching
from ui.visits.visits import Visit
from ui.words.errors import in_words
from ui.words.labels import markdown_text
from ui.words.language import language, marked, say, say_counted

MOVED = "learn_moved"  # key of a move that is still to be drawn
PATH_KEY = "learn_path"  # key of the chosen path, in the session's state
STYLE = Path(__file__).with_suffix(".css")
ABOUT = marked(
    "**Lessons.** Each step has a live part of the app, set up for it. The bundled model is in use."
)


def learn_page() -> None:
    """Draw the whole page."""
    header(LABS_STYLE, STYLE)
    visit = opened_visit()
    if visit is None:
        return
    st.session_state.pop(MOVED, None)
    try:
        lessons = course()
        learning = learning_of(visit)
        _try_out(visit)
        lesson = lessons.lesson(st.query_params.get("lesson", ""))
        if lesson is None:
            show_notices(visit)
            _list(lessons, learning)
        else:
            if lesson.quiz is None or "question" not in st.query_params:
                _lesson(lessons, lesson, learning, visit)
            else:
                show_notices(visit)
                _question(lesson, quiz_of(lesson.quiz, language()), learning, visit)
    except DecodingError as error:
        st.error(markdown_text(in_words(error)))


def _try_out(visit: Visit) -> None:
    """Open the experiment that the address names; raises `DecodingError` if that is impossible."""
    key = st.query_params.get("try")
    if key is None:
        return
    del st.query_params["try"]  # so that Back leads to the list
    for concept in concepts():
        if concept.key == key:
            concept.place.open(visit)


# --- the list -------------------------------------------------------------------------------------


def _list(lessons: Course, learning: Learning) -> None:
    st.caption(say(ABOUT))
    asked = st.query_params.get("lesson")
    if asked:
        sentence = say('There is no lesson "{asked}"; choose one of these.', asked=asked[:60])
        st.info(markdown_text(sentence))
    path = _chosen_path()
    listed: list[tuple[int | None, Lesson]] = list(enumerate(lessons.lessons, start=1))
    with st.container(key="learn_list"):
        if path is not None:
            _path(path, learning)
            st.subheader(say("Optional"), anchor=False)
            on_path = {stop.lesson.key for stop in path.stops}
            # Without numbers, which would look like those of further stops.
            listed = [(None, lesson) for _, lesson in listed if lesson.key not in on_path]
        for number, lesson in listed:
            _entry(number, lesson, learning)
    st.subheader(say("What you can learn here"), anchor=False)
    st.fragment(_part(draw_concepts, "the list of concepts"))()
    st.subheader(say("Your progress"), anchor=False)
    st.fragment(_part(draw_progress, "your progress"))()


def _path_here() -> LessonPath | None:
    """Return the path in the address; None if there is none."""
    return paths().paths.get(st.query_params.get("path", ""))


def _chosen_path() -> LessonPath | None:
    """Offer all lessons and the paths; return the chosen path, None for all lessons."""
    here = _path_here()
    st.session_state[PATH_KEY] = here.key if here is not None else ""

    def choose() -> None:
        st.query_params.clear()
        if st.session_state[PATH_KEY]:
            st.query_params["path"] = st.session_state[PATH_KEY]

    words = paths().words
    said = words.get(language(), words[ENGLISH])
    st.segmented_control(
        say("Lessons shown"),
        ["", *paths().paths],
        format_func=lambda key: said.entry(key).title if key else say("All lessons"),
        key=PATH_KEY,
        on_change=choose,
        label_visibility="collapsed",
    )
    return here


def _path(path: LessonPath, learning: Learning) -> None:
    """Draw the stops of a path, each with its time and a note."""
    words = paths().words
    said = words.get(language(), words[ENGLISH])
    st.markdown(said.entry(path.key).text)
    for number, stop in enumerate(path.stops, start=1):
        _stop(number, stop, said, learning)


def _stop(number: int, stop: Stop, said: Words, learning: Learning) -> None:
    words = stop.lesson.words(language())
    title = words.entry("").title
    if len(stop.steps) < len(stop.lesson.steps):
        parts = " · ".join(words.entry(step.key).title for step in stop.steps)
        title = f"{title}: {parts}"
    tasks = [task for step in stop.steps for task in step.tasks]
    is_done = all(learning.is_solved(stop.lesson, task) for task in tasks)
    mark = ":material/check_circle: " if is_done else ""
    with st.container(key=f"learn_entry_{stop.place.replace('/', '_')}"):
        name, about, button = st.columns([5, 2, 1], vertical_alignment="center")
        name.markdown(f"{mark}**{number}. {title}**  \n{said.entry(stop.place).whole}")
        about.caption(say("{minutes} min", minutes=stop.minutes))
        button.button(
            say("Open again") if is_done else say("Start"),
            key=f"learn_open_{stop.place}",
            help=title,
            width="stretch",
            on_click=go_to,
            args=(stop.lesson, stop.steps[0].key),
        )


def _entry(number: int | None, lesson: Lesson, learning: Learning) -> None:
    title = lesson.words(language()).entry("")
    tasks = sum(1 for _ in lesson.tasks())
    solved = learning.solved_in(lesson)
    begun = learning.place_in(lesson) != ""
    is_done = 0 < tasks == solved
    mark = ":material/check_circle: " if is_done else ""
    with st.container(key=f"learn_entry_{lesson.key}"):
        name, about, button = st.columns([5, 2, 1], vertical_alignment="center")
        place = "" if number is None else f"{number}. "
        name.markdown(f"{mark}**{place}{title.title}**  \n{title.text}")
        facts = say_counted(
            tasks,
            "about {minutes} min · {solved} of {count} task solved",
            "about {minutes} min · {solved} of {count} tasks solved",
            minutes=lesson.minutes,
            solved=solved,
        )
        special = say("for specialists") if lesson.key in paths().specialists else ""
        about.caption(" · ".join(filter(None, [facts, special])))
        if is_done:
            label = say("Open again")
        else:
            label = say("Continue") if begun else say("Start")
        button.button(
            label,
            key=f"learn_open_{lesson.key}",
            help=title.title,
            width="stretch",
            on_click=go_to,
            args=(lesson, lesson.steps[0].key if is_done else ""),
        )


def _list_button() -> None:
    """Draw the button back to the list, named after the path that is followed, else all lessons."""
    path = _path_here()
    words = paths().words
    said = words.get(language(), words[ENGLISH])
    label = say("All lessons") if path is None else said.entry(path.key).title
    st.button(label, key="learn_all", type="tertiary", on_click=go_to, args=(None,))


def go_to(lesson: Lesson | None, step: str = "") -> None:
    """Show a different lesson, or the list; a path that is followed stays.

    Call this from a button's `on_click`. The browser may send the press in one message with an
    event of a fragment. Then Streamlit runs the callback and the fragment alone (`_part`).
    """
    path = _path_here()
    new = {} if path is None else {"path": path.key}
    if lesson is not None:
        new |= {"lesson": lesson.key, **({"step": step} if step else {})}
    st.query_params.from_dict(new)  # at once: each change is a place in the browser's history
    st.session_state[MOVED] = True


def _part(draw: Callable[..., None], doing: str) -> Callable[..., None]:
    """Wrap a fragment of the page: if the page has moved on, all of it is drawn instead."""
    guarded_draw = guarded(draw, doing)

    @wraps(draw)
    def drawn(*arguments: object) -> None:
        if MOVED in st.session_state:
            st.rerun()
        guarded_draw(*arguments)

    return drawn


# --- below the list -------------------------------------------------------------------------------


def draw_concepts() -> None:
    """Draw all concepts, as a table that can be searched."""
    typed = st.text_input(say("Search what there is to learn"), key="learn_search")
    there = concepts(language())
    found = [one for one in there if one.holds(typed)]
    st.caption(say("{count} of {all} concepts", count=len(found), all=len(there)))
    path = _path_here()
    st.html(concepts_table(found, {} if path is None else {"path": path.key}))


def concepts_table(found: list[Concept], kept: dict[str, str]) -> str:
    """Return concepts as HTML, by topic; `kept` is added to the query of each link."""
    columns, label = [say("Lesson"), say("Experiment"), say("Question")], say("Concepts")
    head = "".join(f'<th scope="col">{name}</th>' for name in [say("Concept"), *columns])
    body = ""
    for topic, rows in groupby(found, lambda one: one.topic):
        body += f'<tbody><tr><th scope="rowgroup" colspan="4">{html.escape(topic)}</th></tr>'
        for one in rows:
            cells = (
                f'<td data-name="{name}"><a href="?{html.escape(urlencode(kept | query))}">'
                f"{html.escape(text)}</a></td>"
                for name, (text, query) in zip(columns, one.links, strict=True)
            )
            body += f'<tr><th scope="row">{html.escape(one.name)}</th>{"".join(cells)}</tr>'
        body += "</tbody>"
    return (
        f'<div class="dv-concepts" tabindex="0" role="region" aria-label="{label}">'
        f"<table><thead><tr>{head}</tr></thead>{body}</table></div>"
    )


def draw_progress() -> None:
    """Draw the person's points and badges, and the file of their progress."""
    progress, problem = my_progress(), my_problem()
    if problem:
        st.warning(markdown_text(problem))
    st.markdown(points_sentence(progress))
    summary = progress.calibration
    if summary is not None:
        st.markdown(calibration_sentence(summary))
    heading = say("Badges")
    st.markdown("\n".join([f"**{heading}**", "", *(f"- {line}" for line in badges(progress))]))
    draw_kept(progress)


# --- one lesson -----------------------------------------------------------------------------------


def _lesson(lessons: Course, lesson: Lesson, learning: Learning, visit: Visit) -> None:
    wanted = st.query_params.get("step") or learning.place_in(lesson)
    step = lesson.step(wanted) or lesson.steps[0]
    learning.reach(lesson, step)
    live = None
    if step.panel is not None:
        with st.spinner(say("Opening the lesson")):
            live = live_of(visit, lesson, step)
    show_notices(visit)
    _bar(lessons, lesson, step)
    watching(
        _part(step_view, "the lesson"),
        lambda: step.panel.look_every(live) if step.panel is not None else None,
    )(lesson, step, live, learning, visit)


def _bar(lessons: Course, lesson: Lesson, step: Step) -> None:
    """Draw the current place in the lesson, and the buttons that lead to other places."""
    place = lesson.steps.index(step)
    with st.container(key="learn_bar", horizontal=True, vertical_alignment="center"):
        _list_button()
        st.markdown(f"**{lesson.words(language()).entry('').title}**", width="content")
        where = say("step {number} of {steps}", number=place + 1, steps=len(lesson.steps))
        st.caption(where, width="content")
        st.space("stretch")
        path = _path_here()
        if path is not None and (lesson, step) in path.places:
            _along(path, lesson, step)
            return
        _previous(lesson, lesson.steps[place - 1], is_first=place == 0)
        look = {"type": _weight(step), "on_click": go_to}
        if place + 1 < len(lesson.steps):
            args = lesson, lesson.steps[place + 1].key
            st.button(say("Next"), key="learn_next", args=args, **look)
        else:
            following = lessons.after(lesson)
            label = say("Next lesson") if following else say("Finish")
            st.button(label, key="learn_finish", args=(following,), **look)


def _previous(lesson: Lesson, step: Step, *, is_first: bool) -> None:
    args = lesson, step.key
    st.button(say("Previous"), key="learn_previous", disabled=is_first, on_click=go_to, args=args)


def _weight(step: Step) -> Literal["primary", "secondary"]:
    """Return the type of the next button: primary only if the step itself has nothing to press."""
    return "secondary" if step.tasks else "primary"


def _along(path: LessonPath, lesson: Lesson, step: Step) -> None:
    """Draw the buttons for the previous and the next place on a path."""
    place = path.places.index((lesson, step))
    _previous(*path.places[place - 1], is_first=place == 0)
    look = {"type": _weight(step), "on_click": go_to}
    if place + 1 == len(path.places):
        st.button(say("Finish"), key="learn_finish", args=(None,), **look)
        return
    following, its_step = path.places[place + 1]
    label = say("Next") if following is lesson else say("Next lesson")
    st.button(label, key="learn_next", args=(following, its_step.key), **look)


# --- one question ---------------------------------------------------------------------------------


def _question(lesson: Lesson, quiz: Quiz, learning: Learning, visit: Visit) -> None:
    """Draw the quiz of a lesson at the question in the address, without the lesson's panel."""
    turn_to(lesson.key, st.query_params["question"])
    with st.container(key="learn_bar", horizontal=True, vertical_alignment="center"):
        _list_button()
        st.markdown(f"**{lesson.words(language()).entry('').title}**", width="content")
        st.space("stretch")
        st.button(say("Open the lesson"), key="learn_open", on_click=go_to, args=(lesson,))
    with st.container(key="learn_question"):
        st.fragment(_part(draw_quiz, "the quiz"))(quiz, learning.done, visit)
