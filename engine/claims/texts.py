"""Experiments that continue every prompt in several ways, up to the same number of tokens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from engine.claims import inputs
from engine.claims.claim import Stop, Table
from engine.claims.experiment import AnyResult, Experiment, checked_prompts, writing_seconds
from engine.decoding.batch import Batch, BatchText, Progress, Row
from engine.errors import msg
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.study.metrics import text_metrics
from engine.values import Name, Share, Text, Whole

PROMPTS = inputs.prompts("""They think that
The most important thing is
The meaning of life is
The old house stood
I would like to
We talked about
He said that he
He was not
The history of
The sun and the moon
In the middle of the forest
My favourite thing in the world is
One day, the king
She opened the box and
I think that the
It was a""")
TOKENS = inputs.tokens(96, 16, 1024)  # with fewer, a text is too short to loop
TOGETHER = 8  # tokens of every text between two results


@dataclass(frozen=True)
class Way:
    """One way to continue a prompt.

    Attributes:
        name: name of the way in the results.
        settings: settings that choose its tokens.
        before: text placed before the prompt.
    """

    name: str
    settings: SamplingSettings
    before: str = ""


@dataclass(frozen=True)
class Written:
    """A generated text and its figures.

    Attributes:
        prompt: the prompt that it continues.
        way: name of the way in which it was written.
        text: the generated text.
        tokens: number of its tokens.
        repeated: share of its runs of four tokens that repeat an earlier one; None without such
            runs.
        loop_tokens: tokens of the loop in which it ended, 0 without one.
        stop_reason: why it ended; empty if it has not.
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
        """True if the text ended in a loop."""
        return self.loop_tokens > 0

    @classmethod
    def measured(cls, prompt: str, way: str, text: BatchText) -> Written:
        """Compute the figures of one text of a batch.

        Raises:
            DecodingError: the text could not continue.
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


def texts_experiment(
    model: LanguageModel,
    prompts: Sequence[str],
    tokens: int,
    ways: Sequence[Way],
    judged: Callable[[tuple[Written, ...]], AnyResult],
) -> Experiment[AnyResult]:
    """Continue every prompt in every way, all in one batch.

    Args:
        model: the model that writes.
        prompts: the prompts that the texts continue.
        tokens: maximum number of tokens per text.
        ways: the ways to continue each prompt.
        judged: turns the texts so far, prompt by prompt, into a result with checks.

    Raises:
        PromptError, SettingError: there are no prompts, or one leaves too little room for the
            tokens.
    """
    longest = max((way.before for way in ways), key=len)
    checked_prompts(model, [longest + prompt for prompt in prompts], tokens)
    texts = list(product(prompts, ways))
    batch = Batch(model, [Row(way.before + prompt, way.settings, tokens) for prompt, way in texts])
    parts = math.ceil(tokens / TOGETHER)
    runs: list[Iterator[Progress]] = []  # the current one

    def look(part: int) -> list[Written]:
        if not runs:
            runs.append(batch.run())
        try:
            for progress in runs[0]:
                due = (part + 1) / parts * progress.tokens_at_most
                if part + 1 < parts and progress.tokens_done >= due:
                    break
        except BaseException:
            runs.clear()  # the next run continues from the existing tokens
            raise
        written = zip(texts, batch.texts, strict=True)
        return [Written.measured(prompt, way.name, text) for (prompt, way), text in written]

    return Experiment(
        range(parts),
        look,
        lambda found: judged(found[-len(texts) :]),  # every part returns all texts so far
        lambda pace: writing_seconds(pace, tokens, len(texts)),
    )


def texts_table(ways: Mapping[str, str]) -> Table:
    """Create the table of the texts and their figures, with the display names of the ways."""
    return Table(
        msg("Texts"),
        lambda result: result.texts,
        {
            msg("prompt"): lambda one: one.prompt,
            msg("way"): lambda one: ways[one.way],
            msg("tokens"): lambda one: one.tokens,
            msg("repeated 4-grams"): lambda one: one.repeated,
            msg("tokens in a loop"): lambda one: one.loop_tokens,
            msg("ended by"): lambda one: Stop(one.stop_reason),
            msg("text"): lambda one: one.text,
        },
        texts=1,
    )
