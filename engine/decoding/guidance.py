"""Classifier-free guidance: steer towards the prompt, away from a negative prompt.

    >>> decoder = Decoder(model, "A kind answer:", negative_prompt="An answer:", guidance_scale=1.5)

Each step runs the model twice, on the prompt's text and on the same tokens after the negative
prompt, each with its own cache. The chain then sees

    negative + scale * (prompt - negative)

computed on the two rows' natural log-probabilities (Sanchez et al. 2023, "Stay on topic with
Classifier-Free Guidance", arXiv:2306.17806), as with transformers' `guidance_scale`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence as Ids
from collections.abc import Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from engine.backend import Backend, Reading, Sequence, require
from engine.cache_formula import CacheFormula
from engine.decoding.prompt import encode_prompt
from engine.errors import PromptError, SettingError, msg
from engine.model.cache_size import CacheSize, sum_of
from engine.model.forward import Forward
from engine.runner.runner import open_sequence
from engine.runner.turns import short_turn
from engine.trace import Guidance

if TYPE_CHECKING:
    from engine.decoding.record import LogitRecord, RowSource
    from engine.decoding.row_file import RowFile

# The paper goes up to 3; far beyond this, float32 would begin to lose the difference of two rows.
MAX_SCALE = 100.0
UNGUIDED = 1.0
_GIVE_SCALE = msg("use 0 to {max_scale:g}; 1 switches guidance off, 1.5 is a good start", MAX_SCALE)


def checked_guidance(
    model: Backend,
    prompt_ids: Ids[int],
    negative_prompt: str | Ids[int] | None,
    scale: float,
) -> Guidance | None:
    """Return the guidance, checked against the model; None at scale 1, which changes nothing.

    Args:
        prompt_ids: token ids of the prompt.
        negative_prompt: text or token ids; None for the prompt's last token, as transformers does.
        scale: above 1 towards the prompt, below 1 towards the negative prompt, 0 to `MAX_SCALE`.

    Raises:
        SettingError: a scale out of range, or an empty negative prompt.
        PromptError: a negative prompt longer than the context, or with ids outside the vocabulary.
        TokenizerError: a text for a model without a tokenizer.
    """
    scale = checked_scale(scale)
    given = prompt_ids[-1:] if negative_prompt is None else negative_prompt
    if isinstance(given, Sized) and len(given) == 0:
        remedy = msg("type at least one character, or leave it out to use the prompt's last token")
        raise SettingError("negative_prompt", negative_prompt, "contains no token", remedy)
    try:
        ids = encode_prompt(model, given)
    except PromptError as error:
        said = error.message
        values = said.values | {"the_prompt": msg("The negative prompt")}
        raise PromptError(said.template, tuple(values.values())) from error
    if scale == UNGUIDED:
        return None
    require(model, msg("Guidance"), "full_row")
    text = b"".join(model.vocabulary.token_bytes(token_id) for token_id in ids)
    return Guidance(scale, tuple(ids), text.decode("utf-8", "replace"))


def checked_scale(scale: object) -> float:
    """Return a scale as a float; raises `SettingError` if it is not a number, or out of range."""
    if isinstance(scale, bool) or not isinstance(scale, (int, float, np.number)):
        raise SettingError("guidance_scale", scale, "must be a number", _GIVE_SCALE)
    if not 0 <= scale <= MAX_SCALE:  # NaN fails this too
        problem = msg("must be from 0 to {max_scale:g}", MAX_SCALE)
        raise SettingError("guidance_scale", scale, problem, _GIVE_SCALE)
    return float(scale)


def guided_row(
    prompt: np.ndarray, negative: np.ndarray, scale: float, dtype: torch.dtype
) -> np.ndarray:
    """Return the guided log-probabilities, not normalised, read-only: (vocab,) float32.

    A token that either row rules out (-inf) is ruled out; the formula alone would make it NaN.

    Args:
        prompt, negative: (vocab,) float32 raw logits.
        scale: the guidance scale.
        dtype: dtype of the negative row's softmax. In parity mode it is the model's, as in
            transformers; otherwise float32, which costs bfloat16 models the least precision.
    """
    return guided_rows(prompt, negative, dtype).at(scale)


@dataclass(frozen=True)
class GuidedRows:
    """The two rows from which a guided row is computed.

    Attributes:
        prompt, negative: (vocab,) float32 natural log-probabilities after each text; read-only.
    """

    prompt: np.ndarray
    negative: np.ndarray

    def at(self, scale: float) -> np.ndarray:
        """Return the guided row at a scale, read-only: (vocab,) float32.

        At 1, it is the prompt's row unchanged. Otherwise it takes three operations, each rounded to
        float32, so that other programs can reproduce the same bits.
        """
        if scale == UNGUIDED:
            return self.prompt
        with np.errstate(invalid="ignore"):  # -inf - -inf, which is fixed below
            row = np.float32(scale) * (self.prompt - self.negative) + self.negative
        row[np.isneginf(self.prompt) | np.isneginf(self.negative)] = -np.inf
        row.setflags(write=False)
        return row


def guided_rows(prompt: np.ndarray, negative: np.ndarray, dtype: torch.dtype) -> GuidedRows:
    """Return the log-probabilities of two rows of raw logits; see `guided_row`."""
    # In a turn: a thread's first operation fixes its number of threads.
    with short_turn():
        towards = torch.log_softmax(torch.tensor(prompt), -1).numpy()
        away = torch.log_softmax(torch.tensor(negative).to(dtype), -1).float().numpy()
    towards.setflags(write=False)
    away.setflags(write=False)
    return GuidedRows(towards, away)


@dataclass(frozen=True)
class GuidedReading(Reading):
    """The readings of both texts; `forward.logits` is the guided row, the times cover both.

    Attributes:
        prompt, negative: the reading of each text.
    """

    prompt: Reading
    negative: Reading


class GuidedRunner:
    """A `Sequence` of two texts, the prompt's and the negative one, each with its own cache.

    Attributes:
        guidance: the guidance; a new scale applies from the next reading on.
    """

    formula: CacheFormula | None = None  # two texts of two lengths have no single position

    def __init__(
        self,
        model: Backend,
        guidance: Guidance,
        runners: tuple[Sequence, Sequence] | None = None,
    ) -> None:
        self._model = model
        self.guidance = guidance
        self._prompt, self._negative = runners or (open_sequence(model), open_sequence(model))
        self._longer = 0  # how many tokens longer the negative text is

    @property
    def positions(self) -> int:
        """Number of tokens of the prompt's text that have been read."""
        return self._prompt.positions

    @property
    def negative_size(self) -> CacheSize | None:
        """Size of the negative text's cache, in bytes; None if the model does not report it."""
        return self._negative.usage

    @property
    def usage(self) -> CacheSize | None:
        """Size of both caches together, in bytes; None if the model does not report it."""
        return sum_of((self._prompt.usage, self._negative.usage))

    def extend(self, token_ids: np.ndarray, *, parity: bool) -> GuidedReading:
        """Read more tokens of both texts; the negative one begins with the negative prompt.

        Raises:
            OutOfMemoryError, CancelledError: nothing of either text has been read.
        """
        before = self._prompt.positions
        of_negative = token_ids
        if not before:
            of_negative = np.array(self.guidance.negative_prompt_ids)
            self._longer = len(of_negative) - len(token_ids)
        prompt = self._prompt.extend(token_ids, parity=parity)
        start = time.perf_counter()
        try:
            negative = self._negative.extend(of_negative, parity=parity)
            dtype = _dtype(self._model, parity)
            rows = prompt.forward.logits, negative.forward.logits
            row = guided_row(*rows, self.guidance.scale, dtype)
        except BaseException:
            self.truncate(before)
            raise
        ms = prompt.ms + (time.perf_counter() - start) * 1e3
        is_prefill = prompt.is_prefill or negative.is_prefill
        forward_ms = prompt.forward_ms + negative.forward_ms
        forward = Forward(row, None, ms)
        return GuidedReading(forward, ms, forward_ms, prompt.passes, is_prefill, prompt, negative)

    def truncate(self, positions: int) -> None:
        """Truncate both texts to at most `positions` of the prompt's text; 0 forgets both."""
        self._prompt.truncate(positions)
        self._negative.truncate(positions + self._longer if positions else 0)

    def fork(self) -> GuidedRunner:
        """Return an independent copy; the two share only data that is never written to."""
        runners = self._prompt.fork(), self._negative.fork()
        twin = GuidedRunner(self._model, self.guidance, runners)
        twin._longer = self._longer
        return twin

    def release(self) -> bool:
        """Free the memory of both caches; returns False if one is in use."""
        return all([self._prompt.release(), self._negative.release()])

    def distrust(self) -> None:
        """Drop both caches, which an invalid value may have reached."""
        self._prompt.distrust()
        self._negative.distrust()


class GuidedSource:
    """Source of a guided row: the sources of its two rows, which are recorded exactly."""

    __slots__ = ("dtype", "negative", "prompt", "scale")

    def __init__(
        self, prompt: RowSource, negative: RowSource, scale: float, dtype: torch.dtype
    ) -> None:
        self.prompt = prompt
        self.negative = negative
        self.scale = scale
        self.dtype = dtype

    @property
    def bytes_held(self) -> int:
        return self.prompt.bytes_held + self.negative.bytes_held

    def move_to(self, file: RowFile) -> None:
        """Move the sources of both rows to a file; see `Source.move_to`."""
        self.prompt.move_to(file)
        self.negative.move_to(file)

    def rows(self, model: Backend) -> GuidedRows:
        """Return the two rows, restored from the record."""
        return guided_rows(self.prompt.row(model), self.negative.row(model), self.dtype)

    def row(self, model: Backend) -> np.ndarray:
        return self.rows(model).at(self.scale)

    def at(self, scale: float) -> GuidedSource:
        """Return the source of the same step's row at a new scale."""
        return GuidedSource(self.prompt, self.negative, scale, self.dtype)


def changed_scale(guidance: Guidance | None, scale: float) -> Guidance:
    """Return guidance with the same negative prompt at a new scale, which may be 1.

    Raises:
        SettingError: a scale out of range, or one for a text without a negative prompt.
    """
    scale = checked_scale(scale)
    if guidance is None:
        remedy = msg("start a decoder with a negative prompt and a guidance scale other than 1")
        raise SettingError(
            "guidance_scale", scale, "needs a negative prompt, which this text lacks", remedy
        )
    return replace(guidance, scale=scale)


def cache_figures(sequence: Sequence) -> dict[str, int | None]:
    """Return the step fields about its caches; None for figures that the model does not report."""
    usage = sequence.usage
    negative = sequence.negative_size if isinstance(sequence, GuidedRunner) else None
    return {
        "cache_positions": sequence.positions,
        "cache_bytes": usage.logical if usage else None,
        "cache_bytes_held": usage.held if usage else None,
        "negative_cache_bytes": negative.logical if negative else None,
    }


def new_sequence(model: Backend, guidance: Guidance | None) -> Sequence:
    """Return a sequence with nothing read yet, of one text, or of two under guidance."""
    return open_sequence(model) if guidance is None else GuidedRunner(model, guidance)


@dataclass(frozen=True)
class NextRow:
    """Logits waiting for a token to be chosen: the result of the forward half of a step.

    Attributes:
        logits: (vocab,) float32.
        source: source that can restore them.
        forward_ms, passes, is_prefill: those of the reading; `passes` is empty if `reused`.
        reused: whether the logits come from the record.
        negative_forward_ms: the share of `forward_ms` that the negative prompt's pass took; None
            without guidance.
        network_ms: the share of `forward_ms` that is not a server's own; None for a local model.
    """

    logits: np.ndarray
    source: RowSource | GuidedSource
    forward_ms: float
    passes: tuple[int, ...]
    is_prefill: bool
    reused: bool = False
    negative_forward_ms: float | None = None
    network_ms: float | None = None


def keep(
    record: LogitRecord,
    read: Reading,
    model: Backend,
    guidance: Guidance | None,
    *,
    parity: bool,
) -> NextRow:
    """Return a reading's logits as a `NextRow`, with a source that can restore them."""

    def kept(part: Reading) -> RowSource:
        return record.keep(part.forward, tokens=part.passes[-1], parity=parity)

    negative_ms = None
    if guidance is None:
        source = kept(read)
    else:
        prompt, negative = kept(read.prompt), kept(read.negative)
        source = GuidedSource(prompt, negative, guidance.scale, _dtype(model, parity))
        negative_ms = read.negative.ms
    return NextRow(
        read.forward.logits,
        source,
        read.ms,
        read.passes,
        read.is_prefill,
        negative_forward_ms=negative_ms,
        network_ms=read.network_ms,
    )


def _dtype(model: Backend, parity: bool) -> torch.dtype:
    return model.dtype if parity else torch.float32
