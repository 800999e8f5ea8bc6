"""A visitor's work in lessons: noted once, kept, restored."""

import json
from pathlib import Path

import pytest

from tests.ui.learn.written import write
from ui.learn.learning import Learning
from ui.learn.lesson import lesson_model, read_lesson
from ui.visits.records import BrokenRecord


@pytest.fixture
def lesson(tmp_path: Path):
    return read_lesson(write(tmp_path / "two"))


def test_mistake_shows_hint_and_solved_task_stays_solved(lesson):
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
    assert learning.figures_of(lesson, task) == {"generated": "2"}, "as it was solved"
    learning.solve(lesson, task, shown=True)
    assert learning.solved_in(lesson) == 1 and not learning.was_shown(lesson, task)


def test_learning_is_restored_from_its_record(lesson):
    learning, (_, step) = Learning(), lesson.steps
    (task,) = step.tasks
    version = learning.version
    learning.give_hint(lesson, task, "hint")
    learning.reach(lesson, step)
    assert learning.version == version + 2
    learning.figures["two/press/two"] = {"generated": "*2*"}
    again = Learning.restored(json.loads(json.dumps(learning.record())))
    assert again.record() == learning.record()
    assert again.reached == {"two": "press"} and again.hints_of(lesson, task) == ["hint"]
    assert again.figures_of(lesson, task) == {"generated": r"\*2\*"}, "words, no Markdown"


def test_progress_is_shared_between_tabs(lesson):
    learning, (first, step) = Learning(), lesson.steps
    (task,) = step.tasks
    assert learning.place_in(lesson) == ""
    learning.reach(lesson, first)
    learning.solve(lesson, task, shown=True)
    other = Learning(done=learning.done)
    assert other.was_shown(lesson, task) and other.place_in(lesson) == first.key
    progress = learning.done.progress
    assert [one.key for one in progress.steps] == [first.key]
    assert [(one.topic, one.key, one.helped) for one in progress.tasks] == [
        (lesson.key, task.place, True)
    ]


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"hints": [], "reached": [["a"]], "figures": []},
        {"hints": [], "reached": [["x" * 201, "a"]], "figures": []},
        {"hints": [], "reached": [], "figures": [["a/b/c", 1]]},
    ],
)
def test_a_broken_record_is_refused(data):
    with pytest.raises(BrokenRecord):
        Learning.restored(data)
