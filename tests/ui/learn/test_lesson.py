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
        ("minutes = 3", "", "two/lesson.toml: minutes is missing; add it."),
        ("minutes = 3", "minutes = 0", "minutes must be a whole number of at least 1, got 0; mend"),
        ("minutes = 3", "minutes = ", "two/lesson.toml is no TOML"),
        ("minutes = 3", "minuts = 3", "minuts is not known to this version; use minutes."),
        ('"press"', '"read"', 'steps has the key "read" twice; give each a key of its own.'),
        ('kind = "step"', 'kind = "stop"', "steps.press.panel.kind must be one of those this"),
        (
            '"transport", ',
            '"transports", ',
            'panel.parts names "transports", which is not known; use',
        ),
        ('"temperature"', '"warmth"', 'samplers names "warmth", which is not known; use one of'),
        ('= "generated"', '= "generate"', 'tasks.two.solved.1.check names "generate", which is'),
        ("at_least = 2", 'at_least = "2"', "solved.1.at_least must be a whole number or a number"),
        (", at_least = 2", "", "tasks.two.solved.1 compares with nothing; add one of is, is_not"),
        (
            "at_least = 2",
            "at_last = 2",
            "solved.1.at_last is not known to this version; use at_least",
        ),
        ("times = 2", 'times = "two"', "solution.1.times must be a whole number, got 'two'; mend"),
        (', token = " Rome"', "", "tasks.two.mistakes.forced.actions.1.token is missing; add it."),
        (
            STEP,
            'kind = "beam"\ninputs = { width = "four" }',
            "panel.inputs is refused: Its width must",
        ),
        (
            STEP,
            'kind = "beam"\ninputs = { wide = 4 }',
            'panel.inputs names "wide", which is not known',
        ),
        (
            '" Rome" }]',
            f'" Rome" }}]\n{LAST}',
            'steps.last.panel.parts names "loops", which is not',
        ),
        ('"read"', '"read"\npanel = { kind = "same" }', "steps.read.panel is missing; add one"),
        ('"read"', '"read"\nfigures = [{ as = "x" }]', "steps.read.panel is missing; add one"),
        ('check = "forced", ', "", "tasks.two.mistakes.forced.when.1.check is missing; add it."),
        (
            "solution = [{",
            "solution = [3, {",
            "solution.1 must be an object, got 3; mend that value.",
        ),
        ('key = "forced"', 'key = "hint"', 'tasks.two.mistakes has the key "hint" twice; give'),
    ],
)
def test_structure_mistake_is_reported(tmp_path: Path, before: str, after: str, said: str):
    assert before in LESSON
    folder = write(tmp_path / "two", LESSON.replace(before, after))
    with pytest.raises(LessonError) as refused:
        read_lesson(folder)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("# Two tokens\n", "", "two/en.md: ## read: To be read stands too deep"),
        ("#### hint\nIt is the blue button.\n", "", "press/two/hint lacks words; add a heading"),
        ("#### hint", "#### The hint", "The hint has no key; write the key of lesson.toml"),
        ("#### hint", "#### hints", "press/two/hint lacks words"),
        ("#### hint", "#### hint\n#### more", "press/two/hint lacks words"),
        (
            "{generated}.\n\n#### hint",
            "{hands}.\n\n#### hint",
            "press/two/solved shows {hands}; there is generated here.",
        ),
        ("## read: To be read", "## press: Once more", "comes twice; give each heading a key"),
        ("Its goal.", "Its goal.\n## other: What?", "other is no key of lesson.toml; remove it"),
    ],
)
def test_wording_mistake_is_reported(tmp_path: Path, before: str, after: str, said: str):
    assert before in WORDS
    folder = write(tmp_path / "two", words=WORDS.replace(before, after, 1))
    with pytest.raises(LessonError) as refused:
        read_lesson(folder)
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


def test_only_names_in_braces_become_figures():
    text = 'It has {generated} tokens: {"a": 1} {other}'
    assert with_figures(text, {"generated": "4"}) == 'It has 4 tokens: {"a": 1} {other}'


@pytest.mark.parametrize("folder", WORDED, ids=lambda folder: "/".join(folder.parts[-2:]))
def test_german_matches_english_entries_and_figures(folder: Path):
    words = read_words(folder)
    english, german = words["en"].entries, words["de"].entries
    assert german.keys() == english.keys()
    for key, entry in english.items():
        assert german[key].figures() == entry.figures(), key
        assert bool(german[key].title) == bool(entry.title), key
        assert bool(german[key].text) == bool(entry.text), key


def test_no_line_breaks_within_a_figure():
    said = with_figures("At T = {t} it has {share}; `k = 5` stays.", {"t": "4", "share": "19.6 %"})
    assert said == "At T\u00a0=\u00a04 it has 19.6\u00a0%; `k = 5` stays."
    assert unbroken("14 Bit, 16.384 Token") == "14\u00a0Bit, 16.384 Token"


def test_figures_are_rounded_like_the_table():
    shares = (1.0, 0.99996, 0.9997, 0.1234, 1e-9, 0.0)
    said = ["100 %", "> 99.99 %", "99.97 %", "12.3 %", "< 0.0001 %", "0 %"]
    assert list(map(percent, shares)) == said
    assert [bits(4.136), bits(0.004057)] == ["4.14 bits", "below 0.01 bits"]
