"""One step of generation under a sampling chain, with or without guidance, as plain values."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from engine.text import stopping
from engine.values import (
    ROUNDING,
    Amount,
    Cost,
    Logprob,
    Name,
    Positive,
    Real,
    Row,
    Share,
    Single,
    Text,
    TokenBytes,
    Uniform,
    Whole,
)

STOP_REASONS = (
    stopping.MAX_TOKENS,
    stopping.EOS,
    stopping.STOP_STRING,
    stopping.CONTEXT,
)
LONGEST_STOP_STRING = 2**16
MOST_TOKENS = 200_000  # in a trace of brief steps
_NESTED = ("stages", "stage_states", "leading")  # fields that are not table columns
MOST_BITS = 64.0  # far above the entropy of any vocabulary

Bits = Annotated[float, Meta(ge=-ROUNDING, le=MOST_BITS)]
StopReason = Literal[STOP_REASONS]
StopString = Annotated[str, Meta(max_length=LONGEST_STOP_STRING)]
MOST_LEADING = 10  # tokens that a step records in addition to the chosen one
_ROW = Meta(max_length=MOST_LEADING)
LeadingIds = Annotated[tuple[Whole, ...], _ROW]
LeadingScores = Annotated[tuple[Single, ...], _ROW]
LeadingShares = Annotated[tuple[Share, ...], _ROW]
TokenText = Annotated[str, Meta(max_length=2**16)]


@dataclass(frozen=True, slots=True)
class StageSummary:
    """Effect of one stage in one step.

    Attributes:
        name: the stage's setting, e.g. ``top_p``.
        survivors: number of tokens left after it.
        mass_removed: share of the incoming probability that it removed, 0 to 1.
    """

    name: Name
    survivors: Positive
    mass_removed: Share


@dataclass(frozen=True, slots=True)
class StageState:
    """One number from a stage's memory or random stream, in one step.

    Attributes:
        stage: the stage's setting, e.g. ``mirostat``.
        name: the number's name, e.g. ``mu`` (see `engine.sampling.samplers.Stage.recorded`).
        value: the number.
    """

    stage: Name
    name: Name
    value: Real


@dataclass(frozen=True, slots=True)
class Leading:
    """The tokens with the model's highest scores in one step, in rank order.

    They are kept as arrays to save memory, since every step holds them as long as its text exists.

    Attributes:
        token_ids: at most `MOST_LEADING` tokens; fewer if a model lists or allows fewer.
        scores: (float32) their raw logits; log-probabilities if the model gives these. See
            `Step.model_probabilities`.
        probabilities: (float32) their probabilities in the draw, after all settings; 0 for a
            removed token.
    """

    token_ids: LeadingIds
    scores: LeadingScores
    probabilities: LeadingShares

    def __post_init__(self) -> None:
        if not len(self.token_ids) == len(self.scores) == len(self.probabilities):
            raise ValueError("every row must have as many entries as there are tokens")
        for name, kind in ("token_ids", "q"), ("scores", "f"), ("probabilities", "f"):
            object.__setattr__(self, name, array(kind, getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Guidance:
    """Classifier-free guidance in a run (see `engine.decoding.guidance`).

    Attributes:
        scale: scale of the next step: above 1 towards the prompt, below 1 towards the negative
            prompt. Every step records its own scale.
        negative_prompt_ids: token ids of the negative prompt.
        negative_prompt: the negative prompt as text.
    """

    scale: Amount
    negative_prompt_ids: tuple[Whole, ...]
    negative_prompt: Text


@dataclass(frozen=True, slots=True)
class Step:
    """One step of generation: the token, its logit, the results of the chain, the cost.

    Attributes:
        index: 0 for the first generated token.
        token_id: the token appended.
        token_bytes: its bytes; for a special token, its name.
        text: text that this token completed; empty for special tokens and unfinished characters.
        is_special: whether it is a control token.
        forced: whether the user chose it.
        u: uniform number of the draw, 0 <= u < 1; None when greedy, forced or in parity mode.
        rank: rank among the raw logits, 1 for the highest.
        logit: raw logit; None if the model gives log-probabilities.
        logprob: natural logarithm of its raw probability (temperature 1, nothing cut or penalised);
            not of `probability`.
        probability: its probability in the draw, after all settings; 0 for a forced token that had
            been removed.
        entropy_bits: entropy after the temperature stage or, without one, before the cuts; 0 if
            greedy.
        model_entropy_bits: entropy of the raw distribution (temperature 1).
        survivors: number of tokens left for the draw.
        stages: the effect of each stage, in order.
        stop_reason: None, ``max_tokens``, ``eos``, ``stop_string`` or ``context``.
        stop_string: the stop string that ended generation here, else None.
        is_prefill: whether the prompt was read, in the first step or to rebuild a released cache;
            `forward_ms` then includes all of these passes.
        reused: whether the logits came from the record (after a rewind), without a forward pass.
        cache_positions: positions that the cache has seen.
        cache_bytes: bytes of the cached values; None if the model does not report them.
        cache_bytes_held: memory kept for these values (see `engine.model.cache_size.CacheSize`).
        forward_ms: wall time of the forward pass, in milliseconds; 0 if reused.
        shape_ms: the chain and its figures.
        draw_ms: the draw.
        total_ms: the whole step, including bookkeeping.
        negative_forward_ms: the share of `forward_ms` that the negative prompt's pass took; None
            without guidance and if reused.
        negative_cache_bytes: the share of `cache_bytes` that the negative prompt's text takes; None
            without guidance.
        guidance_scale: scale of the guidance; None without guidance.
        final_entropy_bits: entropy of the distribution that the token was drawn from, after all
            cuts; None in older traces, which lack it.
        passes: how many tokens each forward pass of this step read, in order; several if a long
            prompt was read in chunks, or a cache was rebuilt. Empty if reused.
        stage_states: numbers from the memory and random streams of stages, in chain order.
        leading: the tokens with the highest raw scores; None in older traces, which lack them.
        network_ms: the share of `forward_ms` that a server did not report as its own: the network,
            JSON, and the wait for other requests; None for a local model.
    """

    index: Whole
    token_id: Whole
    token_bytes: TokenBytes
    text: TokenText
    is_special: bool
    forced: bool
    u: Uniform | None
    rank: Positive
    logit: Real | None
    logprob: Logprob
    probability: Share
    entropy_bits: Bits
    model_entropy_bits: Bits
    survivors: Positive
    stages: Row[StageSummary]
    stop_reason: StopReason | None
    stop_string: StopString | None
    is_prefill: Cost[bool]
    reused: Cost[bool]
    cache_positions: Cost[Whole]
    cache_bytes: Cost[Whole | None]
    cache_bytes_held: Cost[Whole | None]
    forward_ms: Cost[Amount]
    shape_ms: Cost[Amount]
    draw_ms: Cost[Amount]
    total_ms: Cost[Amount]
    negative_forward_ms: Cost[Amount | None] = None
    negative_cache_bytes: Cost[Whole | None] = None
    guidance_scale: Amount | None = None
    final_entropy_bits: Bits | None = None
    passes: Cost[tuple[Positive, ...]] = ()
    stage_states: Row[StageState] = ()
    leading: Leading | None = None
    network_ms: Cost[Amount | None] = None

    @property
    def ids(self) -> Iterator[int]:
        """Ids of the chosen token and of the leading tokens."""
        yield self.token_id
        yield from self.leading.token_ids if self.leading else ()

    @property
    def model_probabilities(self) -> list[float]:
        """The model's own probabilities of the leading tokens (temperature 1, nothing cut)."""
        own = self.logprob if self.logit is None else self.logit
        scores = self.leading.scores if self.leading else ()
        return [math.exp(min(0.0, score - own + self.logprob)) for score in scores]

    def stage_state(self, stage: str, name: str) -> float | None:
        """Return one number from `stage_states`; None if the stage was not in the chain."""
        found = (state for state in self.stage_states if (state.stage, state.name) == (stage, name))
        state = next(found, None)
        return None if state is None else state.value

    @property
    def xtc_uniform(self) -> float | None:
        """XTC's uniform random number, 0 <= u < 1; None if XTC is not in the chain."""
        return self.stage_state("xtc", "uniform")

    @property
    def mirostat_mu(self) -> float | None:
        """Mirostat's limit on the surprisal before the step, in bits; None without Mirostat."""
        return self.stage_state("mirostat", "mu")

    def rows(self) -> list[dict[str, Any]]:
        """Return one table row, with those columns that stages add.

        A stage adds ``survivors_after_``, ``mass_removed_by_`` and the numbers of its state.
        """
        row = {name: getattr(self, name) for name in self.columns()}
        for stage in self.stages:
            row[f"survivors_after_{stage.name}"] = stage.survivors
            row[f"mass_removed_by_{stage.name}"] = stage.mass_removed
        for state in self.stage_states:
            row[f"{state.stage}_{state.name}"] = state.value
        return [row]

    @classmethod
    def columns(cls) -> list[str]:
        """Return the column names of `rows`, without those that stages add."""
        return [item.name for item in fields(cls) if item.name not in _NESTED]


# --- without figures -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BriefStep:
    """One token of a trace without figures (see `Trace.to_dict`); the fields are as in `Step`."""

    index: int
    token_id: int
    forced: bool = False
    guidance_scale: float | None = None

    @property
    def ids(self) -> Iterator[int]:
        """Id of its only token."""
        yield self.token_id


def taken(step: Any) -> tuple[int, bool, float | None]:
    """Return a step's token, whether the user chose it, and the guidance scale."""
    forced, scale = getattr(step, "forced", False), getattr(step, "guidance_scale", None)
    return step.token_id, forced, scale


class BriefSteps(Struct, omit_defaults=True):
    """Brief steps in the form in which a file stores them.

    Attributes:
        tokens: one token id per step.
        forced: indices of the tokens that the user chose.
        scales: (first step, guidance scale), in order; each applies until the next.
    """

    tokens: Annotated[tuple[Whole, ...], Meta(max_length=MOST_TOKENS)]
    forced: frozenset[Whole] = frozenset()
    scales: tuple[tuple[Whole, Amount], ...] = ()

    @classmethod
    def of(cls, steps: Sequence[Any]) -> BriefSteps:
        """Convert steps, brief or not, to this form."""
        tokens, forced, scales = zip(*map(taken, steps), strict=True) if steps else ((), (), ())
        return cls(
            tokens,
            frozenset(index for index, is_forced in enumerate(forced) if is_forced),
            tuple(
                (index, scale)
                for index, scale in enumerate(scales)
                if scale is not None and (not index or scale != scales[index - 1])
            ),
        )

    def steps(self) -> tuple[BriefStep, ...]:
        """Return one brief step per token; the inverse of `of`."""
        scales, found, scale = dict(self.scales), [], None
        for index, token_id in enumerate(self.tokens):
            scale = scales.get(index, scale)
            found.append(BriefStep(index, token_id, index in self.forced, scale))
        return tuple(found)
