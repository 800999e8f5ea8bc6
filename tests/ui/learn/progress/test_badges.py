"""Badges: earned by what was done, and by nothing else."""

from pathlib import Path

import pytest

from tests.ui.learn.progress.entries import answer, predicted, task
from ui.learn.course import course
from ui.learn.progress.badges import Alone, Calibrated, Close, Tasks, badges, standings
from ui.learn.progress.progress import NOTHING, Progress
from ui.learn.source import LessonError


def test_each_rule_says_how_much_is_there():
    tasks = Tasks((("the_loop", "three"), ("greedy", "break")))
    assert tasks.standing(Progress.of([task(), task("other")])) == (1, 2)
    assert Alone(2).standing(Progress.of([task("a"), task("b", helped=True)])) == (1, 2)
    assert Alone(1).standing(Progress.of([task("a"), task("b")])) == (1, 1)
    near = Progress.of([predicted("a", gap=0.05), predicted("b", gap=0.5)])
    assert Close(2, 0.9).standing(near) == (1, 2)


@pytest.mark.parametrize(
    ("right", "sure", "standing"),
    [(16, 0.8, (20, 20)), (18, 0.9, (20, 20)), (12, 0.9, (19, 20)), (20, 0.8, (19, 20))],
)
def test_calibration_needs_enough_answers_and_a_confidence_that_fits(right, sure, standing):
    given = [answer(f"q{n}", right=n < right, sure=sure) for n in range(20)]
    assert Calibrated(20, 0.1).standing(Progress.of(given)) == standing
    assert Calibrated(20, 0.1).standing(Progress.of(given[:5])) == (5, 20)
    assert Calibrated(20, 0.1).standing(NOTHING) == (0, 20)


def test_the_badges_of_the_app_can_be_earned_and_nobody_begins_with_one():
    there = {(lesson.key, task.place) for lesson in course().lessons for task in lesson.tasks()}
    asked = [badge.rule.tasks for badge in badges() if isinstance(badge.rule, Tasks)]
    assert asked and set().union(*asked) <= there
    assert len(badges()) >= 3
    assert all(badge.name and badge.text for badge in badges())
    assert not any(standing.is_earned for standing in standings(NOTHING, badges()))
    done = [task(f"t{n}") for n in range(10)] + [predicted(f"p{n}", gap=0.01) for n in range(3)]
    earned = [one.badge.key for one in standings(Progress.of(done), badges()) if one.is_earned]
    assert {"on_your_own", "good_eye"} <= set(earned)


GOOD = '[[badges]]\nkey = "a"\nrule = "alone"\ncount = 3\n'


@pytest.mark.parametrize(
    ("structure", "said"),
    [
        (GOOD.replace("alone", "lucky"), 'badges.a.rule is "lucky", which is not known'),
        (GOOD.replace("3", "0"), "badges.a.count is 0; use a whole number from 1"),
        (GOOD.replace('"a"', '"b"'), "b has no words; add a heading: ## b: Name"),
        (GOOD + "more = 1", "badges.a.more is not known here"),
        (
            '[[badges]]\nkey = "a"\nrule = "tasks"\ntasks = ["x"]',
            'holds "x"; write lesson/step/task',
        ),
    ],
)
def test_a_mistake_in_the_file_is_a_sentence(tmp_path: Path, structure, said):
    folder = tmp_path / "lessons" / "badges"
    folder.mkdir(parents=True)
    (folder / "badges.toml").write_text(structure, "utf-8")
    (folder / "en.md").write_text("# Badges\n## a: Name\nText.\n", "utf-8")
    with pytest.raises(LessonError) as refused:
        badges(folder)
    assert said in str(refused.value)
