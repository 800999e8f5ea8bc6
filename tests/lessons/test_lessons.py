"""Every lesson tried as a program is, with the bundled model."""

import re
from pathlib import Path

import pytest

from engine.sampling import STAGES
from ui.learn.command import MOST_WORDS, listed, trials
from ui.learn.course import FOLDER, read_course
from ui.learn.lesson import Lesson, lesson_model, read_lesson
from ui.words.language import ENGLISH, LANGUAGES, say, speaking

LESSONS = [*read_course().lessons, read_lesson(FOLDER / "template")]
SHORT = ("constrained", "the_loop", "tokens")  # the trials of the others are long forms


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(each, id=each.key, marks=[] if each.key in SHORT else [pytest.mark.long])
        for each in LESSONS
    ],
)
def test_lesson_passes_all_its_trials(lesson: Lesson, monkeypatch):
    # A speed is measured however few the turns and tokens, and no check asks for its value.
    monkeypatch.setattr("ui.labs.speculative.lab.TURNS", 1)
    monkeypatch.setattr("ui.labs.speculative.lab.TOKENS", 12)
    tried = list(trials(lesson, lesson_model()))
    assert tried and [trial for trial in tried if trial.problem] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_step_text_stays_within_word_limit(lesson: Lesson):
    words = {step.key: len(lesson.words().entry(step.key).text.split()) for step in lesson.steps}
    assert {key: count for key, count in words.items() if count > MOST_WORDS} == {}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
def test_slider_range_covers_values_of_solutions(lesson: Lesson):
    beyond = [
        (task.place, number.name, value)
        for task in lesson.tasks()
        for action in task.solution
        if action.name == "settings"
        for name, values in action.arguments.items()
        if name in STAGES
        for number in STAGES[name].info.numbers
        for value in [values[number.name] if isinstance(values, dict) else values]
        if not number.low <= value <= number.high
    ]
    assert beyond == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.key)
@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != ENGLISH])
def test_hint_uses_control_names_of_its_language(lesson: Lesson, code: str):
    said = lesson.languages[code].entries if code in lesson.languages else {}
    hints = [
        task.words_of(part)
        for task in lesson.tasks()
        for part in ("hint", *(mistake.key for mistake in task.mistakes))
        if task.words_of(part) in said
    ]
    with speaking(code):
        lacking = [
            (hint, label)
            for hint in hints
            for name in re.findall(r"\*\*(.+?)\*\*", lesson.words().entry(hint).whole)
            for label in [say(name).replace("\N{SOFT HYPHEN}", "")]
            if label.lower() not in said[hint].whole.lower()
        ]
    assert lacking == []


def figures(text: str) -> list[str]:
    """The figures of a text that have a point or a comma, without those of code and formulas."""
    prose = re.sub(r"`[^`]*`|\$[^$]*\$|\"\w+\": [\d.]+|arXiv:[\d.]+", " ", text)
    return re.findall(r"\d+(?:[.,]\d+)+", prose)


@pytest.mark.parametrize(
    "file", sorted(FOLDER.rglob("de.*")), ids=lambda file: str(file.relative_to(FOLDER))
)
def test_german_figures_match_english_in_german_format(file: Path):
    swapped = str.maketrans(".,", ",.")
    english = figures(file.with_stem(ENGLISH).read_text("utf-8"))
    german = figures(file.read_text("utf-8"))
    assert sorted(german) == sorted(figure.translate(swapped) for figure in english)


def test_every_lesson_asks_for_a_prediction():
    lessons = read_course().lessons
    assert [one.key for one in lessons if not any(step.predictions for step in one.steps)] == []


def test_readme_lists_names_available_to_lessons():
    assert listed() in (FOLDER / "README.md").read_text("utf-8")
