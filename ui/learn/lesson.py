"""A lesson as its files describe it: steps with a live panel, tasks, mistakes, and their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta
from msgspec.structs import asdict

from engine.model import BUNDLED, LanguageModel
from ui.learn.checks import Check, read_check, written
from ui.learn.functions import Call, call_with
from ui.learn.panels import AnyPanel, Same
from ui.learn.panels.panel import Panel
from ui.learn.prediction.kinds import AnyPrediction
from ui.learn.prediction.prediction import Prediction
from ui.learn.quiz.questions import FOLDER as QUIZ
from ui.learn.quiz.questions import quiz_of
from ui.learn.source import Written, check_once, fitted, read_file, reading, refuse, within
from ui.learn.words import ENGLISH, Words, check_words, read_words
from ui.models.first_model import load_quietly
from ui.words.labels import markdown_text


def lesson_model() -> LanguageModel:
    """Return the bundled model, shared by all visitors; raises `DecodingError`."""
    return load_quietly(BUNDLED, None)


class Figure:
    """A figure in a step's words that is measured separately from the state on screen.

    It is measured in its own panel, after some actions.

    Args:
        name: the name under which words show it.
        panel: the panel to measure in.
        measure: the measure.
        actions: the actions to do first, from the beginning of the panel.
    """

    def __init__(self, name: str, panel: Panel, measure: Call, actions: tuple[Call, ...]) -> None:
        self.name, self.panel, self.measure, self.actions = name, panel, measure, actions

    def value(self, model: LanguageModel) -> Any:
        """Return the measured value; None if there is nothing to measure.

        Raises:
            DecodingError: the panel refuses an action.
        """
        live = self.panel.begun(model)
        try:
            self.panel.begin_anew(live, self.actions)
            return self.measure(live)
        finally:
            live.release()

    @cached_property
    def lesson_value(self) -> Any:
        """The value that the lessons' model gives, measured once; raises as `value` does."""
        return self.value(lesson_model())

    @property
    def words(self) -> str:
        """The value as text for a sentence, in the person's language."""
        return markdown_text(written(self.measure, self.lesson_value))


def as_words(figures: Iterable[Figure]) -> dict[str, str]:
    """Return figures as text for sentences, by name; raises `DecodingError`."""
    return {figure.name: figure.words for figure in figures}


FILE = "lesson.toml"
Entry = TypeVar("Entry")
Some = Annotated[tuple[Entry, ...], Meta(min_length=1)]


class Mistake(Written):
    """A frequent wrong solution of a task.

    Attributes:
        key: its name; its words are the hint for it.
        when: the checks that hold once it has been made.
        actions: the actions that make it.
    """

    key: str
    when: Some[Check]
    actions: Some[Call]


class WrittenTask(Written):
    """A task in a panel, as written in the file.

    Attributes:
        key: its name within its step.
        solved: the checks that hold once it is done.
        solution: actions that solve it, from where the tasks before it end.
        mistakes: mistakes with their own hints; the first that holds counts.
    """

    key: str
    solved: Some[Check]
    solution: Some[Call]
    mistakes: tuple[Mistake, ...] = ()

    def __post_init__(self) -> None:
        check_once("mistakes", [*(mistake.key for mistake in self.mistakes), "solved", "hint"])


class Task(WrittenTask, kw_only=True):
    """A task within its step.

    Attributes in addition to those of `WrittenTask`:
        place: where its words are: ``press/three``.
    """

    place: str

    def words_of(self, part: str) -> str:
        """Return the place of the words for ``solved``, ``hint`` or the key of a mistake."""
        return f"{self.place}/{part}"


@dataclass(frozen=True)
class Step:
    """One screen of a lesson.

    Attributes:
        key: its name, also in addresses.
        panel: its live part; None for text alone.
        panel_key: the key of the step that began the panel: this one, or an earlier one.
        tasks: the tasks in the panel.
        predictions: the predictions, by the place of their words: ``press/first_token``.
        figures: figures in its words that are measured separately.
    """

    key: str
    panel: Panel | None
    panel_key: str
    tasks: tuple[Task, ...]
    predictions: dict[str, Prediction]
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Lesson:
    """One lesson.

    Attributes:
        key: the name of its folder.
        folder: the folder of its files.
        minutes: its author's estimate of the time that it takes.
        steps: in order.
        quiz: the folder of its questions, which end its last step; None without any.
        languages: its words by language.
    """

    key: str
    folder: Path
    minutes: int
    steps: tuple[Step, ...]
    quiz: Path | None
    languages: dict[str, Words] = field(repr=False)

    def words(self, language: str = ENGLISH) -> Words:
        """Return its words in a language, in English if it lacks that language."""
        return self.languages.get(language, self.languages[ENGLISH])

    def step(self, key: str) -> Step | None:
        """Return the step with this key; None if there is none."""
        return next((step for step in self.steps if step.key == key), None)

    def tasks(self) -> Iterator[Task]:
        """Yield all tasks in order."""
        for step in self.steps:
            yield from step.tasks

    def steps_of(self, panel_key: str) -> tuple[Step, ...]:
        """Return the steps that share a panel."""
        return tuple(step for step in self.steps if step.panel and step.panel_key == panel_key)

    def way_to(self, task: Task) -> tuple[Call, ...]:
        """Return the solutions of all tasks in the same panel, up to and including this one."""
        (panel_key,) = (step.panel_key for step in self.steps if task in step.tasks)
        actions: list[Call] = []
        for step in self.steps_of(panel_key):
            for other in step.tasks:
                actions += other.solution
                if other is task:
                    return tuple(actions)
        raise ValueError(f"{task.place} is not a task of {self.key}.")


class _Step(Written, kw_only=True):
    key: str
    panel: AnyPanel | Same | None = None
    tasks: tuple[Any, ...] = ()  # read once their panel is known
    predictions: tuple[AnyPrediction, ...] = ()
    figures: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        check_once("predictions", [each.key for each in self.predictions])


class _Lesson(Written):
    minutes: Annotated[int, Meta(ge=1, le=60)]
    steps: Some[_Step]

    def __post_init__(self) -> None:
        check_once("steps", [step.key for step in self.steps])


def read_lesson(folder: Path) -> Lesson:
    """Read the lesson in a folder.

    Raises:
        LessonError: a mistake in its files; the sentence gives its place and a remedy.
    """
    written = read_file(folder / FILE, _Lesson)
    steps: list[Step] = []
    for each in written.steps:
        with reading(folder / FILE, f"steps.{each.key}"):
            steps.append(_step(each, steps[-1] if steps else None))
    quiz = folder / QUIZ if (folder / QUIZ).is_dir() else None
    if quiz is not None:
        quiz_of(quiz)  # reports a mistake in the quiz at once
    lesson = Lesson(folder.name, folder, written.minutes, tuple(steps), quiz, read_words(folder))
    check_words(lesson.languages, words_needed(lesson), FILE)
    return lesson


class _Live(Written):
    """The parts of a step that need its panel: tasks and figures."""

    tasks: tuple[WrittenTask, ...] = ()
    figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        check_once("tasks", [task.key for task in self.tasks])
        check_once("figures", [figure.name for figure in self.figures])


def _step(step: _Step, before: Step | None) -> Step:
    panel, panel_key = (before.panel, before.panel_key) if before else (None, step.key)
    if isinstance(step.panel, Panel):
        panel, panel_key = step.panel, step.key
    if panel is None and (step.panel or step.tasks or step.figures):
        refuse("panel", "is missing", "add one that says what is live")
    if isinstance(step.panel, Same):
        with within("panel"):
            panel = panel.continued(step.panel.parts)
    live = fitted({"tasks": step.tasks, "figures": step.figures}, _Live, partial(_in_panel, panel))
    tasks = tuple(Task(**asdict(each), place=f"{step.key}/{each.key}") for each in live.tasks)
    predictions = {f"{step.key}/{each.key}": each for each in step.predictions}
    return Step(step.key, panel, panel_key, tasks, predictions, live.figures)


def _in_panel(panel: Panel, kind: type, data: Any) -> Call | Check | Figure:
    """Convert a part of a step whose meaning depends on the panel; raises `Refused`."""
    if kind is Call:
        return panel.actions.call(data)
    if kind is Check:
        return read_check(data, panel.measures)
    function = panel.measures.named(data, "check")
    own = (("check", str), ("as", str), ("actions", Some[Call], ()))
    measure, table = call_with(function, data, own, partial(_in_panel, panel))
    return Figure(getattr(table, "as"), panel, measure, table.actions)


# --- words ----------------------------------------------------------------------------------------


def words_needed(lesson: Lesson) -> dict[str, set[str]]:
    """Return the headings that a lesson's words must have, each with the figures it may show."""
    needed: dict[str, set[str]] = {"": set()}
    for step in lesson.steps:
        elsewhere = {figure.name for figure in step.figures}
        needed[step.key] = elsewhere
        for task in step.tasks:
            solved = elsewhere | {check.name for check in task.solved}
            needed[task.place] = elsewhere
            needed[task.words_of("solved")] = needed[task.words_of("hint")] = solved
            for mistake in task.mistakes:
                own = {check.name for check in mistake.when}
                needed[task.words_of(mistake.key)] = solved | own
        for place in step.predictions:
            needed[place] = needed[f"{place}/seen"] = elsewhere
    return needed


def words_missing(lesson: Lesson) -> dict[str, list[str]]:
    """Return the headings whose words are taken from English, by language."""
    needed = words_needed(lesson)
    return {
        language: [key for key in needed if key not in words.entries]
        for language, words in lesson.languages.items()
    }
