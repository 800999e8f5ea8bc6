"""Every lesson tried as a program is, with the bundled model."""

import pytest

from ui.learn.command import MOST_WORDS, listed
from ui.learn.course import FOLDER, read_course
from ui.learn.lesson import Lesson, read_lesson
from ui.learn.model import lesson_model
from ui.learn.prediction.extra import PredictionExtra
from ui.learn.trial import trials

LESSONS = [*read_course().lessons, read_lesson(FOLDER / "template")]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_a_lesson_holds(lesson: Lesson, monkeypatch):
    # Whether a speed is measured does not hang on how often, nor on how long a text; no check asks
    # what it is.
    monkeypatch.setattr("ui.labs.speculative.work.TURNS", 1)
    monkeypatch.setattr("ui.labs.speculative.work.TOKENS", 12)
    tried = list(trials(lesson, lesson_model()))
    assert tried and [trial for trial in tried if trial.problem] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_a_step_is_short_enough_to_be_read(lesson: Lesson):
    words = {step.key: len(lesson.words().entry(step.key).text.split()) for step in lesson.steps}
    assert {key: count for key, count in words.items() if count > MOST_WORDS} == {}


def test_every_lesson_asks_for_a_prediction():
    asked = {
        lesson.key
        for lesson in read_course().lessons
        for step in lesson.steps
        if any(isinstance(extra, PredictionExtra) for extra in step.extras)
    }
    assert asked == {lesson.key for lesson in read_course().lessons}


def test_the_readme_lists_what_lessons_may_name():
    assert listed() in (FOLDER / "README.md").read_text("utf-8")
