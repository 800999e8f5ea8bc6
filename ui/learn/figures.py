"""Figures in the words of a step that are measured elsewhere than in the state on screen.

    [[steps.figures]]
    as = "epsilon_keeps"
    check = "kept"
    actions = [{ do = "settings", epsilon_cutoff = 0.0009 }]

`check` names a measure of the panel. It is measured in a panel of its own after the actions, and
stands for ``{epsilon_keeps}`` in all words of the step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.model import LanguageModel
from ui.learn.checks import written
from ui.learn.functions import Call
from ui.learn.model import lesson_model
from ui.learn.panels.panel import Panel
from ui.words.labels import markdown_text


@dataclass(frozen=True)
class Figure:
    """One of them.

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
