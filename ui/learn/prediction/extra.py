"""A prediction in a step of a lesson.

[[steps.predictions]]
key = "first_token"
kind = "next_token"                     # see kinds/, where each says what else it takes
prompt = "The capital of France is"
tokens = [" Paris", " London"]

### first_token: What is asked.
#### seen
What there is to learn from it, once it is revealed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ui.learn.extra import DeclaredExtra
from ui.learn.prediction.kinds import read_prediction
from ui.learn.prediction.prediction import Prediction
from ui.learn.prediction.view import Earlier, Revealed, draw_prediction
from ui.learn.progress.entries import Predicted
from ui.learn.progress.store import now
from ui.learn.source import Table

if TYPE_CHECKING:
    from ui.learn.learning import Learning
    from ui.learn.words import Words


@dataclass(frozen=True)
class PredictionExtra(DeclaredExtra):
    """One prediction.

    Attributes:
        prediction: what is predicted.
        place: where its words are: the keys of the step and of its own, joined by ``/``.
    """

    prediction: Prediction
    place: str

    @property
    def words_needed(self) -> Sequence[str]:
        """What is asked, and what there is to learn."""
        return self.place, f"{self.place}/seen"

    @classmethod
    def read(cls, table: Table, step: str) -> Self:
        """See the module."""
        place = f"{step}/{table.text('key')}"
        return cls(read_prediction(table), place)

    def draw(self, lesson: str, words: Words, learning: Learning) -> None:
        """Draw it; what is revealed first becomes progress."""
        known = learning.done.progress.find(Predicted, lesson, self.place)

        def take(revealed: Revealed) -> None:
            gap = revealed.gap
            learning.done.note(
                Predicted(
                    lesson,
                    self.place,
                    now(),
                    revealed.prompt,
                    revealed.drawn,
                    revealed.truth,
                    gap.value,
                    gap.largest,
                )
            )

        draw_prediction(
            f"{lesson}/{self.place}",
            self.prediction,
            words.entry(self.place).whole,
            words.entry(f"{self.place}/seen").whole,
            learning.model,
            take,
            None if known is None else Earlier(known.prompt, known.drawn, known.truth),
        )
