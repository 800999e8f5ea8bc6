"""Trying a lesson out finds mistakes in its tasks."""

from pathlib import Path

import pytest

from tests.ui.learn.written import LESSON, WORDS, write
from ui.learn.command import main, trials
from ui.learn.lesson import as_words, lesson_model, read_lesson

FORCED = '"force", token = " Rome"'


def problems(folder: Path) -> dict[str, str]:
    lesson = read_lesson(folder)
    return {each.place: each.problem for each in trials(lesson, lesson_model()) if each.problem}


@pytest.mark.parametrize(
    ("before", "after", "place", "said"),
    [
        ("times = 2", "times = 1", "press/two", "does not solve it: generated at_least 2 (1)."),
        ("at_least = 2", "at_least = 0", "press/two", "solved before anything is done"),
        (FORCED, '"step", times = 2', "press/two/forced", "The mistake solves the task"),
        (FORCED, '"step"', "press/two/forced", "No hint comes: forced at_least 1 (0)."),
        ("at_least = 1, as", "at_least = 0, as", "press/two", "The hint forced comes before"),
        ('" Rome"', '" Rome Paris"', "press/two/forced", "is 2 tokens"),
    ],
)
def test_lesson_problem_is_reported_at_its_place(
    tmp_path: Path, before: str, after: str, place: str, said: str
):
    assert before in LESSON
    found = problems(write(tmp_path / "two", LESSON.replace(before, after)))
    assert said in found[place]


def test_trial_reports_a_mistake_hidden_by_another(tmp_path: Path):
    more = LESSON.replace("[[steps.tasks.mistakes]]", OTHER + "[[steps.tasks.mistakes]]")
    folder = write(tmp_path / "two", more)
    (folder / "en.md").write_text((folder / "en.md").read_text() + "\n#### any\nHm.\n")
    (problem,) = problems(folder).items()
    assert problem[0] == "press/two/forced" and "any comes instead" in problem[1]


OTHER = """
[[steps.tasks.mistakes]]
key = "any"
when = [{ check = "generated", at_least = 1 }]
actions = [{ do = "step" }]
"""


def test_command_prints_results_and_exit_status(tmp_path: Path, capsys):
    folder = write(tmp_path / "two")
    assert main([str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "holds    press/two: The solution solves it." in printed
    write(folder, LESSON.replace("times = 2", "times = 1"), de="# Zwei\n")
    assert main([str(folder)]) == 1
    printed = capsys.readouterr().out
    assert "WRONG    press/two: The solution solves it." in printed
    assert "de.md lacks read, press" in printed
    (folder / "lesson.toml").unlink()
    assert main([str(folder)]) == 1
    assert "two/lesson.toml is missing" in capsys.readouterr().out


FIGURE = """
[[steps.figures]]
as = "after_three"
check = "generated"
actions = [{ do = "step", times = 3 }]
"""


def test_figure_of_another_state_is_shown_in_words(tmp_path: Path):
    words = WORDS.replace("Press it.", "After three, {after_three}.").replace(
        "You forced", "{after_three}, not"
    )
    lesson = read_lesson(write(tmp_path / "two", LESSON + FIGURE, words))
    assert not [each.problem for each in trials(lesson, lesson_model()) if each.problem]
    shown = lesson.words().showing(as_words(lesson.steps[1].figures))
    assert shown.entry("press").text == "After three, 3."
    assert shown.entry("press/two/forced").text == "3, not {hands} of {generated}."


def test_unmeasurable_figure_is_reported(tmp_path: Path):
    refused = FIGURE.replace('"step", times = 3', FORCED[:-1] + ' Paris"')
    unmeasured = FIGURE.replace("generated", "last_token").partition("actions")[0]
    for figure, said in ((refused, "refused"), (unmeasured, "nothing to measure")):
        found = problems(write(tmp_path / "two", LESSON + figure))
        assert said in found["press/after_three"]
