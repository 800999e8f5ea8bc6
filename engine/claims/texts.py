"""Experiments that write texts: of every prompt, the same number of tokens in several ways."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from engine.claims.experiment import (
    AnyResult,
    Experiment,
    checked_prompts,
    checked_range,
    writing_seconds,
)
from engine.decoding.batch import Batch, BatchText, Progress, Row
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study.metrics import text_metrics
from engine.values import Name, Share, Text, Whole

LEAST_TOKENS, MOST_TOKENS = 16, 1024  # fewer cannot loop
TOGETHER = 8  # tokens of every text between two results


@dataclass(frozen=True)
class Way:
    """One way to go on from a prompt.

    Attributes:
        name: of the way, in the results.
        settings: how tokens are chosen.
        before: text that is put in front of the prompt.
    """

    name: str
    settings: SamplingSettings
    before: str = ""


@dataclass(frozen=True)
class Written:
    """A text that was written.

    Attributes:
        prompt: what it goes on from.
        way: name of the way in which it was written.
        text: what was written.
        tokens: how many tokens that is.
        repeated: share of its runs of four tokens that repeat an earlier one; None where it has
            none.
        loop_tokens: tokens of the loop that it ended in, 0 without one.
        stop_reason: why it ended; empty where it has not.
    """

    prompt: Text
    way: Name
    text: Text
    tokens: Whole
    repeated: Share | None
    loop_tokens: Whole
    stop_reason: Name

    @property
    def looped(self) -> bool:
        """Whether it ended in a loop."""
        return self.loop_tokens > 0

    @classmethod
    def measured(cls, prompt: str, way: str, text: BatchText) -> Written:
        """What a text of a batch measures.

        Raises:
            DecodingError: the text could not go on.
        """
        if text.error is not None:
            raise text.error
        metrics = text_metrics(text.records)
        return cls(
            prompt,
            way,
            text.text,
            metrics.length,
            None if math.isnan(metrics.seq_rep_4) else metrics.seq_rep_4,
            metrics.loop_tokens,
            text.stop_reason or "",
        )


class TextsExperiment(Experiment[AnyResult]):
    """Writes texts of some prompts, all of them together.

    Args:
        model: what writes.
        prompts: what the texts go on from.
        tokens: most tokens of a text.
        ways: in which each prompt goes on.

    Raises:
        PromptError, SettingError: no prompt, or one that leaves no room for so many tokens.
    """

    def __init__(
        self, model: LanguageModel, prompts: Sequence[str], tokens: int, ways: Sequence[Way]
    ) -> None:
        checked_range(msg("Tokens"), tokens, LEAST_TOKENS, MOST_TOKENS)
        longest = max((way.before for way in ways), key=len)
        checked_prompts(model, [longest + prompt for prompt in prompts], tokens)
        super().__init__([1.0] * math.ceil(tokens / TOGETHER))
        self._tokens = tokens
        self._texts = list(product(prompts, ways))
        self._batch = Batch(
            model, [Row(way.before + prompt, way.settings, tokens) for prompt, way in self._texts]
        )
        self._run: Iterator[Progress] | None = None
        self._written: tuple[Written, ...] = ()

    def _measure(self, part: int) -> None:
        self._run = self._run or self._batch.run()
        try:
            for progress in self._run:
                due = (part + 1) / self.parts * progress.tokens_at_most
                if part + 1 < self.parts and progress.tokens_done >= due:
                    break
        except BaseException:
            self._run = None  # the next one goes on from the tokens there are
            raise
        texts = zip(self._texts, self._batch.texts, strict=True)
        self._written = tuple(
            Written.measured(prompt, way.name, text) for (prompt, way), text in texts
        )

    @property
    def written(self) -> tuple[Written, ...]:
        """The texts so far, prompt by prompt."""
        return self._written

    def seconds(self, pace: Pace) -> float:
        return writing_seconds(pace, self._tokens, len(self._texts))
