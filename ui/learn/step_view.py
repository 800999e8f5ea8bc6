"""One step of a lesson on screen: its text and tasks on the left, its live panel on the right.

All of this is one fragment. A panel that reports a change causes a redraw, so a task is ticked as
soon as it is done.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.errors import DecodingError
from ui.learn.checks import figures
from ui.learn.learning import Learning
from ui.learn.lesson import Lesson, Mistake, Step, Task, as_words, lesson_model
from ui.learn.prediction.view import draw_prediction
from ui.learn.quiz.questions import quiz_of
from ui.learn.quiz.view import draw_quiz
from ui.learn.words import Words, with_figures
from ui.visits.visits import Visit
from ui.words.errors import in_words
from ui.words.labels import markdown_text
from ui.words.language import language, say

NARROW = [1, 1.9]  # widths of text and panel


def step_view(lesson: Lesson, step: Step, live: Any, learning: Learning, visit: Visit) -> None:
    """Draw one step.

    Args:
        lesson, step: the step to draw, and its lesson.
        live: the state of the step's panel; None if it has none.
        learning: the visitor's state in the lessons.
        visit: the visitor's visit.
    """
    words = lesson.words(language()).showing(as_words(step.figures))
    learning.done.look()
    if live is None:
        _text(lesson, step, live, learning, words, visit)
        return
    left, right = st.columns(NARROW, gap="medium")
    with left.container(key="learn_text"):
        _text(lesson, step, live, learning, words, visit)
    with right.container(key="learn_panel"):
        step.panel.draw(
            live, f"{lesson.key}/{step.panel_key}", f"learn_panel_{lesson.key}_{step.key}"
        )
        _panel_buttons(step, live, visit)


def _text(
    lesson: Lesson, step: Step, live: Any, learning: Learning, words: Words, visit: Visit
) -> None:
    entry = words.entry(step.key)
    st.markdown(f"### {entry.title}")
    st.markdown(entry.text)
    for task in step.tasks:
        with step.panel.at_rest(live):
            _task(lesson, step, task, live, learning, words)
        if not learning.is_solved(lesson, task):
            break  # the next task is checked only after this one, so none is solved by accident
    for place, prediction in step.predictions.items():
        asks, seen = words.entry(place).whole, words.entry(f"{place}/seen").whole
        draw_prediction(lesson.key, place, prediction, asks, seen, lesson_model(), learning.done)
    if lesson.quiz is not None and step is lesson.steps[-1]:
        draw_quiz(quiz_of(lesson.quiz, language()), learning.done, visit)


def _panel_buttons(step: Step, live: Any, visit: Visit) -> None:
    with st.container(horizontal=True, key="learn_panel_buttons"):
        if st.button(say("Start over"), key="learn_anew", type="tertiary"):
            _begin_anew(step, live, ())
        page = step.panel.page
        label = say("Open in {page}", page=say(page)) if page else ""
        if page and st.button(label, key="learn_open_page", type="tertiary"):
            step.panel.open_page(live, visit)


def _begin_anew(step: Step, live: Any, actions: Any) -> None:
    """Set the panel back and do actions in it; draw the error if one is refused."""
    try:
        step.panel.begin_anew(live, actions)
    except DecodingError as error:
        st.error(markdown_text(in_words(error)))
        return
    st.rerun()


# --- tasks ----------------------------------------------------------------------------------------


def _task(
    lesson: Lesson, step: Step, task: Task, live: Any, learning: Learning, words: Words
) -> None:
    """Draw a task, its hints while it is open, and its result once it is solved."""
    made = learning.look(lesson, task, live)
    is_solved = learning.is_solved(lesson, task)
    entry = words.entry(task.place)
    key = f"learn_task_{'solved' if is_solved else 'open'}_{step.key}_{task.key}"
    with st.container(key=key):
        mark = ":material/check_circle:" if is_solved else ":material/radio_button_unchecked:"
        state = say("Solved.") if is_solved else _task_name(step, task)
        st.markdown(f"{mark} **{state}** {entry.whole}")
        if is_solved:
            found = learning.figures_of(lesson, task)
            if found is not None:
                st.markdown(with_figures(words.entry(task.words_of("solved")).whole, found))
            return
        _hints(lesson, task, live, learning, words, made)
        _help_buttons(lesson, step, task, live, learning)


def _task_name(step: Step, task: Task) -> str:
    """Return the name of a task, with its number if the step has several."""
    count = len(step.tasks)
    if count == 1:
        return say("Task.")
    return say("Task {number} of {count}.", number=step.tasks.index(task) + 1, count=count)


def _hints(
    lesson: Lesson,
    task: Task,
    live: Any,
    learning: Learning,
    words: Words,
    made: Mistake | None,
) -> None:
    """Draw the hint for the latest mistake, and the requested hint."""
    if made is not None:
        _hint(task, made.key, figures((*task.solved, *made.when), live), words)
    if "hint" in learning.hints_of(lesson, task):
        _hint(task, "hint", figures(task.solved, live), words)


def _hint(task: Task, part: str, measured: dict[str, str], words: Words) -> None:
    with st.container(key=f"learn_hint_of_{task.key}_{part}"):
        text = with_figures(words.entry(task.words_of(part)).whole, measured)
        st.markdown(f":material/lightbulb: {text}")


def _help_buttons(lesson: Lesson, step: Step, task: Task, live: Any, learning: Learning) -> None:
    with st.container(horizontal=True):
        if "hint" not in learning.hints_of(lesson, task) and st.button(
            say("Hint"), key=f"learn_hint_{step.key}_{task.key}"
        ):
            learning.give_hint(lesson, task, "hint")
            st.rerun()
        plain = learning.offers_solution(lesson, task)
        if st.button(
            say("Show me"),
            key=f"learn_show_{step.key}_{task.key}",
            type="secondary" if plain else "tertiary",
            help=say("Resets the panel and does the task in it."),
        ):
            learning.solve(lesson, task, shown=True)
            _begin_anew(step, live, lesson.way_to(task))
