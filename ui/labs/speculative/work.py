"""The speed trial in the background: plain decoding and every draft length in turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from engine.model import LanguageModel
from engine.sampling.speculation import SpeculativeSettings
from engine.study.speedup import SpeedCurve, SpeedTrial
from ui.jobs import Job
from ui.words.language import marked

TOKENS = 40  # of each text
TURNS = 3


class SpeedWork(Job):
    """One speed trial.

    Args:
        model, prompt_ids, draft, settings: as `SpeedTrial` has them.

    Raises:
        DecodingError: a setting out of range, or a draft that does not fit.
    """

    doing = marked("the measurement")
    breaks_off = True

    def __init__(
        self,
        model: LanguageModel,
        prompt_ids: Sequence[int],
        draft: LanguageModel | None,
        settings: SpeculativeSettings,
    ) -> None:
        self.settings = settings
        self._trial = SpeedTrial(model, prompt_ids, draft, settings, tokens=TOKENS, turns=TURNS)
        super().__init__(self._trial.total)

    def _passes(self) -> Iterator[float | None]:
        for _ in self._trial:
            yield self._left_by_count()
            if self.is_cancelled:
                return

    @property
    def texts_done(self) -> int:
        """Texts that are there."""
        return self._trial.done

    @cached_property
    def curve(self) -> SpeedCurve:
        """The figures, once it is done; raises `SettingError` where there is nothing to measure."""
        return self._trial.result()
