"""A lesson is read from its files, and each mistake in them gives one sentence with a remedy."""

from pathlib import Path

import pytest

from tests.ui.learn.written import LESSON, WORDS, write
from ui.learn.checks import bits, percent
from ui.learn.course import FOLDER
from ui.learn.lesson import read_lesson, words_missing
from ui.learn.panels.step.panel import StepPanel
from ui.learn.source import LessonError
from ui.learn.words import read_words, unbroken, with_figures

STEP = LESSON[LESSON.index('kind = "step"') : LESSON.index("\n[[steps.tasks]]")]
LAST = '[[steps]]\nkey = "last"\npanel = { kind = "same", parts = ["loops"] }'
UNKEYED = ("how", "template")  # a separate text; a template, not yet a lesson
WORDED = sorted(file.parent for file in FOLDER.rglob("en.md") if file.parent.name not in UNKEYED)


def test_lesson_is_read_from_its_files(tmp_path: Path):
    lesson = read_lesson(write(tmp_path / "two"))
    read, press = lesson.steps
    assert (lesson.key, lesson.minutes, read.panel) == ("two", 3, None)
    assert isinstance(press.panel, StepPanel) and press.panel.chain[1] == ("temperature",)
    assert press.panel.parts == ("transport", "table")
    (task,) = press.tasks
    assert task.place == "press/two" and [each.key for each in task.mistakes] == ["forced"]
    words = lesson.words()
    assert words.entry("").title == "Two tokens" and words.entry("").text == "Its goal."
    assert words.entry("press/two").whole == "Press **Step** twice."


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("minutes = 3", "", "two/lesson.toml: minutes is missing"),
        ("minutes = 3", "minutes = 0", "minutes must be"),
        ("minutes = 3", "minutes = ", "two/lesson.toml is no TOML"),
        ("minutes = 3", "minuts = 3", "minuts is not known"),
        ('"press"', '"read"', 'steps has the key "read" twice'),
        ('kind = "step"', 'kind = "stop"', "steps.press.panel.kind must be"),
        ('"transport", ', '"transports", ', 'panel.parts names "transports"'),
        ('"temperature"', '"warmth"', 'samplers names "warmth"'),
        ('= "generated"', '= "generate"', 'tasks.two.solved.1.check names "generate"'),
        ("at_least = 2", 'at_least = "2"', "solved.1.at_least must be"),
        (", at_least = 2", "", "tasks.two.solved.1 compares with nothing"),
        ("times = 2", 'times = "two"', "solution.1.times must be"),
        (', token = " Rome"', "", "tasks.two.mistakes.forced.actions.1.token is missing"),
        (STEP, 'kind = "beam"\ninputs = { width = "four" }', "panel.inputs is refused"),
        (STEP, 'kind = "beam"\ninputs = { wide = 4 }', 'panel.inputs names "wide"'),
        ('" Rome" }]', f'" Rome" }}]\n{LAST}', 'steps.last.panel.parts names "loops"'),
        ('"read"', '"read"\npanel = { kind = "same" }', "steps.read.panel is missing"),
        ('"read"', '"read"\nfigures = [{ as = "x" }]', "steps.read.panel is missing"),
        ("solution = [{", "solution = [3, {", "solution.1 must be an object"),
        ('key = "forced"', 'key = "hint"', 'tasks.two.mistakes has the key "hint" twice'),
    ],
)
def test_structure_mistake_is_reported(tmp_path: Path, before: str, after: str, said: str):
    assert before in LESSON
    with pytest.raises(LessonError) as refused:
        read_lesson(write(tmp_path / "two", LESSON.replace(before, after)))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("# Two tokens\n", "", "two/en.md: ## read: To be read stands too deep"),
        ("#### hint\nIt is the blue button.\n", "", "press/two/hint lacks words"),
        ("#### hint", "#### The hint", "The hint has no key"),
        ("{generated}.\n", "{hands}.\n", "press/two/solved shows {hands}"),
        ("## read: To be read", "## press: Once more", "comes twice"),
        ("Its goal.", "Its goal.\n## other: What?", "other is no"),
    ],
)
def test_wording_mistake_is_reported(tmp_path: Path, before: str, after: str, said: str):
    assert before in WORDS
    with pytest.raises(LessonError) as refused:
        read_lesson(write(tmp_path / "two", words=WORDS.replace(before, after, 1)))
    assert said in str(refused.value)


def test_missing_translation_falls_back_to_english(tmp_path: Path):
    german = "# Zwei Tokens\nZiel.\n## press: Drücke Step\nDrücke es.\n"
    lesson = read_lesson(write(tmp_path / "two", de=german))
    words = lesson.words("de")
    assert words.entry("press").title == "Drücke Step"
    assert words.entry("press/two").title == "Press **Step** twice."
    assert lesson.words("fr") is lesson.words()
    missing = words_missing(lesson)
    assert missing["en"] == [] and "press/two/hint" in missing["de"]


def test_german_matches_english_entries_and_figures():
    assert len(WORDED) > 20
    for folder in WORDED:
        words = read_words(folder)
        english, german = words["en"].entries, words["de"].entries
        assert german.keys() == english.keys(), folder
        for key, entry in english.items():
            assert german[key].figures() == entry.figures(), (folder, key)
            assert bool(german[key].title) == bool(entry.title), (folder, key)
            assert bool(german[key].text) == bool(entry.text), (folder, key)


def test_names_in_braces_become_figures_without_line_breaks():
    text = 'It has {generated} tokens: {"a": 1} {other}'
    assert with_figures(text, {"generated": "4"}) == 'It has 4 tokens: {"a": 1} {other}'
    said = with_figures("At T = {t} it has {share}; `k = 5` stays.", {"t": "4", "share": "19.6 %"})
    assert said == "At T\u00a0=\u00a04 it has 19.6\u00a0%; `k = 5` stays."
    assert unbroken("14 Bit, 16.384 Token") == "14\u00a0Bit, 16.384 Token"


def test_figures_are_rounded_like_the_table():
    shares = (1.0, 0.99996, 0.9997, 0.1234, 1e-9, 0.0)
    said = ["100 %", "> 99.99 %", "99.97 %", "12.3 %", "< 0.0001 %", "0 %"]
    assert list(map(percent, shares)) == said
    assert [bits(4.136), bits(0.004057)] == ["4.14 bits", "below 0.01 bits"]
