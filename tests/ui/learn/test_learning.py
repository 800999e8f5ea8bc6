"""What a visitor has done in lessons: noted once, kept, given back."""

import json
from pathlib import Path

import pytest

from tests.ui.learn.written import write
from ui.learn.learning import Learning, lesson_model
from ui.learn.lesson import read_lesson
from ui.visits.records import BrokenRecord


@pytest.fixture
def lesson(tmp_path: Path):
    return read_lesson(write(tmp_path / "two"))


def test_a_mistake_brings_its_hint_and_a_solution_stays_solved(lesson):
    learning, (_, step) = Learning(), lesson.steps
    (task,) = step.tasks
    live = step.panel.begun(lesson_model())
    assert learning.look(lesson, task, live) is None and learning.hints == {}
    step.panel.begin_anew(live, task.mistakes[0].actions)
    for _ in range(2):
        assert learning.look(lesson, task, live) is task.mistakes[0]
    assert learning.hints_of(lesson, task) == ["forced"]
    assert not learning.offers_solution(lesson, task)
    learning.give_hint(lesson, task, "hint")
    assert learning.offers_solution(lesson, task)
    step.panel.begin_anew(live, lesson.way_to(task))
    assert learning.look(lesson, task, live) is None
    assert learning.is_solved(lesson, task) and not learning.was_shown(lesson, task)
    step.panel.begin_anew(live)
    learning.look(lesson, task, live)
    learning.solve(lesson, task, shown=True)
    assert learning.solved_in(lesson) == 1 and not learning.was_shown(lesson, task)


def test_it_comes_back_from_its_record(lesson):
    learning, (_, step) = Learning(), lesson.steps
    (task,) = step.tasks
    version = learning.version
    learning.solve(lesson, task, shown=True)
    learning.give_hint(lesson, task, "hint")
    learning.reach(lesson, step)
    assert learning.version == version + 3
    again = Learning.restored(json.loads(json.dumps(learning.record())))
    assert again.record() == learning.record()
    assert again.was_shown(lesson, task) and again.reached == {"two": "press"}


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"solved": [["a"]], "hints": [], "reached": []},
        {"solved": [], "hints": [["a/b/c", "hint"]], "reached": []},
        {"solved": [["x" * 201, True]], "hints": [], "reached": []},
    ],
)
def test_a_broken_record_is_refused(data):
    with pytest.raises(BrokenRecord):
        Learning.restored(data)
