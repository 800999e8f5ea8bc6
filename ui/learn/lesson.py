"""A lesson as its files describe it: steps with a live panel, tasks, mistakes, and their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.model import BUNDLED, LanguageModel
from ui.learn.checks import Check, read_check, written
from ui.learn.functions import Call
from ui.learn.panels import SAME, read_panel
from ui.learn.panels.panel import Panel
from ui.learn.prediction.kinds import read_prediction
from ui.learn.prediction.prediction import Prediction
from ui.learn.quiz.questions import FOLDER as QUIZ
from ui.learn.quiz.questions import quiz_of
from ui.learn.source import Table, wrong
from ui.learn.words import ENGLISH, Words, read_words
from ui.models.opening import load_quietly
from ui.words.labels import markdown_text


def lesson_model() -> LanguageModel:
    """The bundled model, for everybody the same one; raises `DecodingError`."""
    return load_quietly(BUNDLED, None)


@dataclass(frozen=True)
class Figure:
    """A figure in the words of a step that is measured elsewhere than in the state on screen.

        [[steps.figures]]
        as = "epsilon_keeps"
        check = "kept"
        actions = [{ do = "settings", epsilon_cutoff = 0.0009 }]

    `check` names a measure of the panel. It is measured in a panel of its own after the actions,
    and stands for ``{epsilon_keeps}`` in all words of the step.

    Attributes:
        name: under which words show it.
        panel: what it is measured in.
        measure: what is measured.
        actions: what is done before, from the beginning of the panel.
    """

    name: str
    panel: Panel
    measure: Call
    actions: tuple[Call, ...]

    def value(self, model: LanguageModel) -> Any:
        """What is measured; None where there is nothing to measure.

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
        """What the lessons' model gives, measured once; raises as `value` does."""
        return self.value(lesson_model())

    @property
    def words(self) -> str:
        """The same for a sentence, in the language of the person."""
        return markdown_text(written(self.measure, self.lesson_value))


def as_words(figures: Iterable[Figure]) -> dict[str, str]:
    """Figures by their names, for sentences; raises `DecodingError`."""
    return {figure.name: figure.words for figure in figures}


FILE = "lesson.toml"


@dataclass(frozen=True)
class Mistake:
    """Something that people often do instead of what a task asks for.

    Attributes:
        key: names it; its words are the hint for it.
        when: what holds once it has been made.
        actions: how it is made.
    """

    key: str
    when: tuple[Check, ...]
    actions: tuple[Call, ...]


@dataclass(frozen=True)
class Task:
    """Something to do in the panel.

    Attributes:
        key: names it within its step.
        place: where its words are: ``press/three``.
        solved: what holds once it is done.
        solution: how it can be done, from where the tasks before it end.
        mistakes: those that have hints of their own; the first that holds is meant.
    """

    key: str
    place: str
    solved: tuple[Check, ...]
    solution: tuple[Call, ...]
    mistakes: tuple[Mistake, ...]

    def words_of(self, part: str) -> str:
        """Where the words of a part are: ``solved``, ``hint`` or the key of a mistake."""
        return f"{self.place}/{part}"


@dataclass(frozen=True)
class Step:
    """One screen of a lesson.

    Attributes:
        key: names it, also in addresses.
        panel: what is live in it; None where it is text alone.
        panel_key: the step that the panel was begun in: this one, or one before it.
        tasks: what is to be done in the panel.
        predictions: what is to be predicted, by where its words are: ``press/first_token``.
        figures: what its words show that is measured in another state.
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
        folder: where its files lie.
        minutes: how long it takes, as its author estimates.
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
        """Its words in a language, in English where there are none."""
        return self.languages.get(language, self.languages[ENGLISH])

    def step(self, key: str) -> Step | None:
        """The step of a key; None where there is none."""
        return next((step for step in self.steps if step.key == key), None)

    def tasks(self) -> Iterator[Task]:
        """All tasks in order."""
        for step in self.steps:
            yield from step.tasks

    def steps_of(self, panel_key: str) -> tuple[Step, ...]:
        """The steps that share a panel."""
        return tuple(step for step in self.steps if step.panel and step.panel_key == panel_key)

    def way_to(self, task: Task) -> tuple[Call, ...]:
        """The solutions of all tasks in the same panel up to this one, this one included."""
        (panel_key,) = (step.panel_key for step in self.steps if task in step.tasks)
        actions: list[Call] = []
        for step in self.steps_of(panel_key):
            for other in step.tasks:
                actions += other.solution
                if other is task:
                    return tuple(actions)
        raise ValueError(f"{task.place} is no task of {self.key}.")


def read_lesson(folder: Path) -> Lesson:
    """The lesson in a folder.

    Raises:
        LessonError: a mistake in its files; the sentence says where and what to do.
    """
    table = Table.of_file(folder / FILE)
    minutes = table.get("minutes", int)
    if not 1 <= minutes <= 60:
        table.wrong("minutes", f"is {minutes}", "use 1 to 60")
    steps: list[Step] = []
    for each in table.tables("steps"):
        steps.append(_step(each, steps))
    table.end()
    if not steps:
        table.wrong("steps", "is empty", "add [[steps]] with a key")
    _check_keys(table, "steps", [step.key for step in steps])
    quiz = folder / QUIZ if (folder / QUIZ).is_dir() else None
    if quiz is not None:
        quiz_of(quiz)  # a mistake in it is said at once
    lesson = Lesson(folder.name, folder, minutes, tuple(steps), quiz, read_words(folder))
    _check_words(lesson)
    return lesson


def _step(table: Table, before: list[Step]) -> Step:
    key = table.get("key", str)
    panel, panel_key = (before[-1].panel, before[-1].panel_key) if before else (None, key)
    if table.has("panel"):
        own = table.table("panel")
        panel_key = panel_key if own.get("kind", str) == SAME else key
        panel = read_panel(own, panel)
    tasks = tuple(_task(each, key, panel) for each in table.tables("tasks", []))
    _check_keys(table, "tasks", [task.key for task in tasks])
    predictions = _predictions(table, key)
    figures = tuple(_figure(each, panel) for each in table.tables("figures", []))
    _check_keys(table, "figures", [figure.name for figure in figures])
    table.end()
    return Step(key, panel, panel_key, tasks, predictions, figures)


def _predictions(table: Table, step: str) -> dict[str, Prediction]:
    tables = table.tables("predictions", [])
    keys = [each.get("key", str) for each in tables]
    _check_keys(table, "predictions", keys)
    found = {}
    for key, each in zip(keys, tables, strict=True):
        found[f"{step}/{key}"] = read_prediction(each)
        each.end()
    return found


def _figure(table: Table, panel: Panel | None) -> Figure:
    if panel is None:
        table.wrong("", "has no panel to be measured in", "add [steps.panel] to its step")
    name = table.get("as", str)
    measure = panel.measures.read(table, "check")
    actions = _actions(table, "actions", panel) if table.has("actions") else ()
    table.end()
    return Figure(name, panel, measure, actions)


def _task(table: Table, step: str, panel: Panel | None) -> Task:
    if panel is None:
        table.wrong("", "has no panel to be done in", "add [steps.panel] to its step")
    key = table.get("key", str)
    solved = _checks(table, "solved", panel)
    solution = _actions(table, "solution", panel)
    mistakes = []
    for each in table.tables("mistakes", []):
        when = _checks(each, "when", panel)
        mistakes.append(Mistake(each.get("key", str), when, _actions(each, "actions", panel)))
        each.end()
    _check_keys(table, "mistakes", [*(mistake.key for mistake in mistakes), "solved", "hint"])
    table.end()
    return Task(key, f"{step}/{key}", solved, solution, tuple(mistakes))


def _checks(table: Table, name: str, panel: Panel) -> tuple[Check, ...]:
    found = tuple(read_check(each, panel.measures) for each in table.tables(name))
    if not found:
        table.wrong(name, "is empty", "add a check")
    return found


def _actions(table: Table, name: str, panel: Panel) -> tuple[Call, ...]:
    found = []
    for each in table.tables(name):
        found.append(panel.actions.read(each, "do"))
        each.end()
    if not found:
        table.wrong(name, "is empty", "add an action")
    return tuple(found)


def _check_keys(table: Table, name: str, keys: list[str]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            table.wrong(name, f'has the key "{key}" twice', "give each a key of its own")


# --- words ----------------------------------------------------------------------------------------


def words_needed(lesson: Lesson) -> dict[str, set[str]]:
    """The headings that a lesson's words must have, each with the figures that it may show."""
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


def _check_words(lesson: Lesson) -> None:
    """Refuse English words that are missing, and in any language those that nothing shows."""
    needed = words_needed(lesson)
    english = lesson.words()
    for key in needed:
        if key not in english.entries or not english.entries[key].whole:
            wrong(english.file, key or "the title", "has no words", f"add a heading for {key}")
    for words in lesson.languages.values():
        for key, entry in words.entries.items():
            if key not in needed:
                wrong(words.file, key, "is no key of lesson.toml", "remove it, or mend the key")
            unknown = entry.figures() - needed[key]
            if unknown:
                known = ", ".join(sorted(needed[key])) or "no figure"
                wrong(words.file, key, f"shows {{{min(unknown)}}}", f"there is {known} here")


def words_missing(lesson: Lesson) -> dict[str, list[str]]:
    """By language, the headings that are taken from English."""
    needed = words_needed(lesson)
    return {
        language: [key for key in needed if key not in words.entries]
        for language, words in lesson.languages.items()
    }
