"""One row of a batch: the request, the growing text, the result.

The forward pass belongs to the batch (`batch`). The other parts of a step are here, and follow the
rules of `decoder`: shape, draw, append, stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from engine.backend import Backend
from engine.checks import at_least_one
from engine.decoding import guidance
from engine.decoding.inputs import checked_settings
from engine.decoding.shaping import shaped
from engine.decoding.token_sequence import TokenSequence
from engine.errors import DecodingError, SettingError, msg
from engine.runner.batch_runner import Prompts
from engine.sampling import SamplingSettings
from engine.text import stopping
from engine.trace import Guidance

STEP_RECORD = np.dtype(
    [
        ("token_id", np.int64),
        ("logprob", np.float64),
        ("model_entropy_bits", np.float64),
        ("final_entropy_bits", np.float64),
        ("survivors", np.int64),
        ("probability", np.float64),
    ]
)


@dataclass(frozen=True)
class Row:
    """One text to generate.

    Attributes:
        prompt: text, or token ids.
        settings: how its tokens are chosen; a seed of None is replaced by a fresh one.
        max_new_tokens: most tokens to generate, at least 1.
        negative_prompt, guidance_scale: as in `Decoder`.
    """

    prompt: str | Sequence[int]
    settings: SamplingSettings
    max_new_tokens: int = 64
    negative_prompt: str | Sequence[int] | None = None
    guidance_scale: float = guidance.UNGUIDED


@dataclass(frozen=True)
class BatchText:
    """One row of a batch: a text, finished or not.

    Attributes:
        prompt_ids: token ids of the prompt.
        settings: how its tokens were chosen, with the seed in use.
        text: the generated text, without special tokens and without an unfinished character.
        stop_reason: ``max_tokens``, ``eos``, ``stop_string`` or ``context``; None for a text that
            has not ended.
        stop_string: the stop string that ended it, else None.
        error: why it could not continue, else None.
        records: (tokens,) structured array, one entry per generated token, an end-of-text token
            included: ``token_id``; ``logprob``, natural logarithm of the raw probability
            (temperature 1, nothing cut); ``model_entropy_bits`` of that raw distribution;
            ``final_entropy_bits`` of the one drawn from; ``survivors`` and ``probability`` in the
            draw. Under guidance the guided row counts as the raw one, normalised.
        guidance: its guidance, or None.
    """

    prompt_ids: tuple[int, ...]
    settings: SamplingSettings
    text: str
    stop_reason: str | None
    stop_string: str | None
    error: DecodingError | None
    records: np.ndarray
    guidance: Guidance | None = None

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens."""
        return self.records["token_id"].tolist()

    @property
    def has_ended(self) -> bool:
        """Return whether the row is complete: a stop rule has fired, or it failed."""
        return self.stop_reason is not None or self.error is not None


class GrowingText:
    """A row while it is being generated; the fields are those of `BatchText`."""

    def __init__(
        self,
        model: Backend,
        prompt_ids: tuple[int, ...],
        row: Row,
        stop_strings: tuple[str, ...],
        guided_by: Guidance | None = None,
    ) -> None:
        self._model = model
        self.prompt_ids = prompt_ids
        self.guidance = guided_by
        self.settings = checked_settings(row.settings, model)
        if self.settings.parity:
            remedy = msg("switch parity off, or use a Decoder")
            problem = msg("cannot reproduce generate bit for bit in a batch")
            raise SettingError("parity", True, problem, remedy)
        most = stopping.checked_max_new_tokens(row.max_new_tokens)
        self.limit = at_least_one("max_new_tokens", most)
        self.stop_reason: str | None = None
        self.stop_string: str | None = None
        self.error: DecodingError | None = None
        self._stop_strings = stop_strings
        self._sequence = TokenSequence(model, prompt_ids, max(map(len, self.prompts.texts)))
        self._states: Mapping[str, object] = {}  # the stages' memory, as in `Context.states`
        self._records = np.empty(0, STEP_RECORD)
        self._snapshot: BatchText | None = None

    @property
    def has_ended(self) -> bool:
        return self.stop_reason is not None or self.error is not None

    @property
    def length(self) -> int:
        return self._snapshot.records.size if self._snapshot else self._sequence.length

    @property
    def prompts(self) -> Prompts:
        negative = self.guidance.negative_prompt_ids if self.guidance else None
        return Prompts(self.prompt_ids, negative)

    def token_id(self, place: int) -> int:
        """Return the id of a generated token, by its index among them."""
        return int(self._records[: self.length][place]["token_id"])

    def snapshot(self) -> BatchText:
        if self._snapshot is not None:
            return self._snapshot
        records = self._records[: self.length].copy()
        records.setflags(write=False)
        snapshot = BatchText(
            self.prompt_ids,
            self.settings,
            self._sequence.text,
            self.stop_reason,
            self.stop_string,
            self.error,
            records,
            self.guidance,
        )
        if self.has_ended:  # final: only the snapshot is still needed
            self._snapshot, self._records, self._sequence = snapshot, records, None
        return snapshot

    def append(self, logits: np.ndarray, negative: np.ndarray | None = None) -> None:
        """Shape (vocab,) logits, draw, append: a step of the decoder without its forward pass.

        Under guidance, `negative` contains the logits after the negative prompt's text.
        """
        if negative is not None:
            logits = guidance.guided_row(logits, negative, self.guidance.scale, torch.float32)
        sequence, settings = self._sequence, self.settings
        try:
            context = sequence.context(sequence.length, settings.seed, self._states)
            distribution = shaped(logits, settings, context)
        except DecodingError as error:
            self.error = error.with_traceback(None)  # which would keep the pass's logits alive
            return
        _, drawn = sequence.draw(distribution, settings)
        self._states = distribution.states_after(drawn.token_id)
        if sequence.length == self._records.size:
            self._grow()
        self._records[sequence.length] = (
            drawn.token_id,
            distribution.raw.logprob(drawn.token_id),
            distribution.raw.entropy_bits,
            distribution.final_entropy_bits,
            distribution.survivors,
            drawn.probability,
        )
        piece, self.stop_reason = sequence.addition(drawn.token_id, self._stop_strings, self.limit)
        self.stop_string = piece.stop_string
        sequence.append(drawn.token_id, piece)

    def _grow(self) -> None:
        size = min(self.limit, max(16, 2 * self.length))
        self._records = np.concatenate([self._records, np.empty(size - self.length, STEP_RECORD)])
