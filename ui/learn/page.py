"""The page of lessons: their list, or one step of one lesson, by the page's address.

/learn                                  the list
/learn?lesson=the_loop                  a lesson, from where the visitor left it
/learn?lesson=the_loop&step=press       one step
/learn?lesson=the_loop&question=plan    one question of its quiz
/learn?try=draw                         the experiment of a concept, on its own page
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.errors import DecodingError
from ui.labs.page import STYLE as LABS_STYLE
from ui.learn.course import Course, course
from ui.learn.learning import Learning, learning_of, live_of
from ui.learn.lesson import Lesson, Step
from ui.learn.map.view import chosen_in_map, draw_map, tried_by_address
from ui.learn.progress.view import STYLE as PROGRESS_STYLE
from ui.learn.progress.view import draw_progress
from ui.learn.quiz.extra import QuizExtra, quiz_in
from ui.learn.quiz.view import turn_to
from ui.learn.step_view import step_view
from ui.skeleton.page import header, opened_visit, show_notices
from ui.skeleton.problems import guarded
from ui.skeleton.work import watching
from ui.visits.visits import Visit
from ui.words.labels import markdown_text
from ui.words.language import language, marked, say, say_counted
from ui.words.refusals import in_words

STYLE = Path(__file__).with_suffix(".css")
ABOUT = marked(
    "**Lessons.** Each step has a live part of the app, set up for it. The bundled model is in use."
)


def learn_page() -> None:
    """Draw the whole page."""
    header(LABS_STYLE, STYLE, PROGRESS_STYLE)
    visit = opened_visit()
    if visit is None:
        return
    try:
        lessons = course()
        learning = learning_of(visit)
        _follow(visit)
        lesson = lessons.lesson(st.query_params.get("lesson", ""))
        if lesson is None:
            show_notices(visit)
            _list(lessons, learning)
        else:
            quiz = quiz_in(lesson.folder) if "question" in st.query_params else None
            if quiz is None:
                _lesson(lessons, lesson, learning, visit)
            else:
                show_notices(visit)
                _question(lesson, quiz, learning)
    except DecodingError as error:
        st.error(markdown_text(in_words(error)))


def _follow(visit: Visit) -> None:
    """Go where a link of the map leads; raises `DecodingError` where its experiment cannot be."""
    tried = tried_by_address()
    if tried is not None:
        tried.place.open(visit)
    chosen = chosen_in_map()
    if chosen is None:
        return
    concept, cell = chosen
    if cell == "experiment":
        concept.place.open(visit)
    elif cell == "question":
        go_to(concept.asked_in, question=concept.question.key)
    else:
        go_to(concept.lesson, concept.step.key)


# --- the list -------------------------------------------------------------------------------------


def _list(lessons: Course, learning: Learning) -> None:
    st.caption(say(ABOUT))
    asked = st.query_params.get("lesson")
    if asked:
        sentence = say('There is no lesson "{asked}"; choose one of these.', asked=asked[:60])
        st.info(markdown_text(sentence))
    with st.container(key="learn_list"):
        for number, lesson in enumerate(lessons.lessons, start=1):
            _entry(number, lesson, learning)
    st.subheader(say("What you can learn here"), anchor=False)
    draw_map()
    st.subheader(say("Your progress"), anchor=False)
    st.fragment(guarded(draw_progress, "your progress"))()


def _entry(number: int, lesson: Lesson, learning: Learning) -> None:
    title = lesson.words(language()).entry("")
    tasks = sum(1 for _ in lesson.tasks())
    solved = learning.solved_in(lesson)
    begun = learning.place_in(lesson) != ""
    is_done = 0 < tasks == solved
    mark = ":material/check_circle: " if is_done else ""
    with st.container(key=f"learn_entry_{lesson.key}"):
        name, about, button = st.columns([5, 2, 1], vertical_alignment="center")
        name.markdown(f"{mark}**{number}. {title.title}**  \n{title.text}")
        about.caption(
            say_counted(
                tasks,
                "about {minutes} min · {solved} of {count} task solved",
                "about {minutes} min · {solved} of {count} tasks solved",
                minutes=lesson.minutes,
                solved=solved,
            )
        )
        if is_done:
            label = say("Open again")
        else:
            label = say("Continue") if begun else say("Start")
        if button.button(
            label,
            key=f"learn_open_{lesson.key}",
            help=title.title,
            width="stretch",
        ):
            go_to(lesson, lesson.steps[0].key if is_done else "")


def go_to(lesson: Lesson | None, step: str = "", question: str = "") -> None:
    """Show another lesson, one of its questions, or the list, by the address of the page."""
    st.query_params.clear()
    if lesson is not None:
        st.query_params["lesson"] = lesson.key
        if step:
            st.query_params["step"] = step
        if question:
            st.query_params["question"] = question
    st.rerun()


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
        guarded(step_view, "the lesson"),
        lambda: step.panel.look_every(live) if step.panel is not None else None,
    )(lesson, step, live, learning, visit)


def _bar(lessons: Course, lesson: Lesson, step: Step) -> None:
    """Where one is, and the ways to other places."""
    place = lesson.steps.index(step)
    with st.container(key="learn_bar", horizontal=True, vertical_alignment="center"):
        if st.button(say("All lessons"), key="learn_all", type="tertiary"):
            go_to(None)
        st.markdown(f"**{lesson.words(language()).entry('').title}**", width="content")
        where = say("step {number} of {steps}", number=place + 1, steps=len(lesson.steps))
        st.caption(where, width="content")
        st.space("stretch")
        if st.button(say("Previous"), key="learn_previous", disabled=place == 0):
            go_to(lesson, lesson.steps[place - 1].key)
        if place + 1 < len(lesson.steps):
            if st.button(say("Next"), key="learn_next", type="primary"):
                go_to(lesson, lesson.steps[place + 1].key)
        else:
            following = lessons.after(lesson)
            label = say("Next lesson") if following else say("Finish")
            if st.button(label, key="learn_finish", type="primary"):
                go_to(following)


# --- one question ---------------------------------------------------------------------------------


def _question(lesson: Lesson, quiz: QuizExtra, learning: Learning) -> None:
    """The quiz of a lesson at the question of the address, without the lesson's panel."""
    turn_to(lesson.key, st.query_params["question"])
    with st.container(key="learn_bar", horizontal=True, vertical_alignment="center"):
        if st.button(say("All lessons"), key="learn_all", type="tertiary"):
            go_to(None)
        st.markdown(f"**{lesson.words(language()).entry('').title}**", width="content")
        st.space("stretch")
        if st.button(say("Open the lesson"), key="learn_open"):
            go_to(lesson)
    with st.container(key="learn_question"):
        st.fragment(guarded(quiz.draw, "the quiz"))(lesson.key, lesson.words(language()), learning)
