"""A fixed k against the nucleus at every step of several texts, for two claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.claims import inputs
from engine.claims.claim import DOTS, LINE, Chart, Claim, Series, Table, Token
from engine.claims.experiment import Experiment, checked_prompts, checked_range, writing_seconds
from engine.claims.inputs import Real, Whole
from engine.decoding.batch import Batch
from engine.decoding.batch import Row as TextRow
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings, shape
from engine.study.likelihood import next_rows
from engine.values import Amount, Name, Positive, Row, Share, Text

QUARTER = 25  # percent of the steps that count as sure, and as uncertain
PROMPTS = """Once upon a time, there was a little
The capital of France is
In the middle of the forest
User: Hello!
The history of
She opened the box and"""


@dataclass(frozen=True)
class Steps:
    """The steps of one text.

    Attributes:
        prompt: the prompt that the text continues.
        tokens: labels of its tokens.
        bits: entropy of the model's distribution at every step.
        nucleus: number of tokens that top-p keeps there.
        mass: total probability of the k likeliest tokens.
    """

    prompt: Text
    tokens: Row[Name]
    bits: Row[Amount]
    nucleus: Row[Positive]
    mass: Row[Share]


@dataclass(frozen=True)
class Survivors:
    """The numbers of tokens that top-k and top-p keep at each step.

    Attributes:
        texts: the steps of each text.
        top_k, top_p: settings of the samplers.
    """

    texts: Row[Steps]
    top_k: Positive
    top_p: Share

    @cached_property
    def edges(self) -> tuple[float, float]:
        """Entropies, in bits, up to which a step counts as sure and from which as uncertain."""
        every = np.concatenate([text.bits for text in self.texts])
        low, high = np.percentile(every, (QUARTER, 100 - QUARTER))
        return float(low), float(high)


def survivors(
    kind: Callable[..., Survivors],
    model: LanguageModel,
    prompts: Sequence[str],
    top_k: int,
    top_p: float,
    tokens: int,
    texts: int,
) -> Experiment[Survivors]:
    """Draw texts from the model's own distribution, and examine every step.

    The compared samplers do not shape the texts; `kind` is the class of the result.
    """
    checked_range(msg("Top-k"), top_k, 1, model.vocab_size)
    checked_prompts(model, prompts, tokens)
    seeds = [SamplingSettings(seed=seed) for seed in range(texts)]
    batch = Batch(model, [TextRow(prompt, seed, tokens) for prompt in prompts for seed in seeds])
    nucleus, label = SamplingSettings(top_p=top_p), model.vocabulary.label

    def look(place: int) -> list[Steps]:
        if place < 0:
            for _ in batch.run():
                pass
            return []
        written = map(batch.text, range(place * texts, (place + 1) * texts))
        return [steps(prompts[place], text.token_ids) for text in written]

    def steps(prompt: str, token_ids: Sequence[int]) -> Steps:
        bits, sizes, masses = [], [], []
        for row in next_rows(model, prompt, token_ids):
            kept = shape(row, nucleus)
            bits.append(kept.raw.entropy_bits)
            sizes.append(kept.survivors)
            kept.raw.sort_to_depth(top_k)
            masses.append(float(kept.raw.cumulative[top_k - 1] / kept.raw.total))
        labels = tuple(label(token_id)[:200] for token_id in token_ids)
        return Steps(prompt, labels, tuple(bits), tuple(sizes), tuple(masses))

    def seconds(pace: Pace) -> float:
        count = len(prompts) * texts
        return writing_seconds(pace, tokens, count) + pace.read_seconds(tokens) * count

    places = range(-1, len(prompts))  # -1 writes all texts; then each prompt's are examined
    return Experiment(places, look, lambda found: kind(found, top_k, top_p), seconds)


def survivors_claim(key: str, kind: type[Survivors]) -> Claim[Survivors]:
    """Create a claim that compares how many tokens top-k and top-p keep."""
    return Claim(
        key,
        kind,
        (
            inputs.prompts(PROMPTS),
            Whole("top_k", msg("Top-k"), 40, low=1, high=None),
            Real("top_p", msg("Top-p"), 0.9, low=0.01, high=0.9999, step=0.05),
            inputs.tokens(48, 1, 256),
            Whole("texts", msg("Texts per prompt"), 3, low=1, high=16),
        ),
        partial(survivors, kind),
        STEPS,
        charts=lambda result: (_every_step(result),),
    )


def _every_step(result: Survivors) -> Chart:
    """Chart the size of the nucleus against the entropy, with a line at the fixed k."""
    pairs = [pair for text in result.texts for pair in zip(text.bits, text.nucleus, strict=True)]
    widest = max(bits for bits, _ in pairs)
    nucleus = Series(
        msg("nucleus, p = {p}", f"{result.top_p:g}"),
        pairs,
        [Token(label) for text in result.texts for label in text.tokens],
        form=DOTS,
    )
    fixed = Series(
        msg("top-k, k = {k}", f"{result.top_k:,}"),
        [(0, result.top_k), (widest, result.top_k)],
        form=LINE,
    )
    return Chart(
        "steps",
        msg("Every step"),
        msg(
            "A dot is a step. Left of the first dotted line is the surest quarter of "
            "the steps, right of the second the least sure."
        ),
        msg("entropy of the model, bits"),
        msg("tokens kept"),
        (nucleus, fixed),
        logs="y",
        edges=result.edges,
    )


STEPS = Table(
    msg("Steps"),
    lambda result: [(result, text, n) for text in result.texts for n in range(len(text.tokens))],
    {
        msg("prompt"): lambda result, text, n: text.prompt,
        msg("step"): lambda result, text, n: n + 1,
        msg("token"): lambda result, text, n: text.tokens[n],
        msg("entropy, bits"): lambda result, text, n: text.bits[n],
        msg("tokens in the nucleus"): lambda result, text, n: text.nucleus[n],
        "k": lambda result, text, n: result.top_k,
        msg("probability of the k likeliest"): lambda result, text, n: text.mass[n],
    },
)
