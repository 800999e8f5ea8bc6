"""Passages in few and in many steps, written in the background."""

from __future__ import annotations

from collections.abc import Iterator

from engine.model import LanguageModel
from engine.model.diffusion_model import DiffusionModel
from engine.study.steps_and_quality import Passage, Plan
from ui.jobs import Job
from ui.words.language import marked


class PassagesWork(Job):
    """All passages of a plan.

    Args:
        plan: which they are.
        model: fills the canvas.
        judge: writes autoregressively, and scores every passage.

    Attributes:
        plan, model, judge: as given.
        passages: those that are done.

    Raises:
        PromptError, SettingError: what does not fit the models.
    """

    doing = marked("the passages")
    noun = "passage"

    def __init__(self, plan: Plan, model: DiffusionModel, judge: LanguageModel) -> None:
        super().__init__(plan.count)
        plan.check(model, judge)
        self.plan, self.model, self.judge = plan, model, judge
        self.passages: list[Passage] = []

    def _passes(self) -> Iterator[float | None]:
        run = self.plan.run(
            self.model, self.judge, done=tuple(self.passages), should_stop=self._cancel.is_set
        )
        for passage in run:
            self.passages.append(passage)
            yield self._left_by_count()

    @property
    def texts_done(self) -> int:
        return len(self.passages)

    @property
    def version(self) -> int:
        """Counts the passages; each one more on screen is a new one."""
        return len(self.passages)
