"""Masked diffusion: all positions are predicted at once, and a few are kept in each step.

    >>> model = load_diffusion_model()
    >>> canvas = fill_gaps(model, "The [4] sat on the mat.")
    >>> decoder = DiffusionDecoder(model, canvas, DiffusionSettings(steps=2))
    >>> [len(step.unmasked) for step in decoder.run()]
    [2, 2]

A canvas is a row of token ids in which some are the mask. A step runs the whole canvas through a
network that attends in both directions, draws a token for every mask, and keeps some of them. This
is the reverse process of LLaDA (Nie et al. 2025, arXiv:2502.09992), semi-autoregressive blocks
included. With `eta` above 0, a step may also re-mask tokens that earlier steps kept, by the
self-planning of P2 (Peng et al. 2025, arXiv:2502.03540). The number of steps stays the same.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, Self

import numpy as np

from engine.checks import is_whole
from engine.decoding.diffusion.settings import DiffusionSettings, schedule
from engine.decoding.generation import Generation
from engine.decoding.shaping import shaped
from engine.errors import DecodingError, SettingError, msg
from engine.model.diffusion_model import DiffusionModel, checked_canvas
from engine.runner.budget import budget_of
from engine.runner.turns import read_canvas
from engine.sampling import Distribution, SamplingSettings
from engine.trace import DiffusionStep, Trace
from engine.trace.diffusion import FILLED, planner_score


class _Prediction(NamedTuple):
    """Token drawn at one position, and its figures; all None for a position without a mask."""

    token_id: int | None = None
    confidence: float | None = None
    entropy_bits: float | None = None
    u: float | None = None


_NONE = _Prediction()


class DiffusionDecoder(Generation[DiffusionStep]):
    """One canvas being filled by a shared model.

    Args:
        model: the model; many decoders, in many threads, may share it.
        canvas: token ids from `fill_gaps` or `continuation`, or any ids that include the mask.
        settings: how the masks are filled.

    Attributes:
        model: the model.
        canvas: the ids that it began with.
        settings: the settings, with the seed in use.
        schedule: how many tokens each step keeps.
        blocks: positions of the masks, block by block.
        steps: the steps so far; read-only.

    Raises:
        PromptError: a canvas without a mask, beyond the context, or with ids outside the
            vocabulary.
        SettingError: steps or blocks that do not fit the number of masks.

    A decoder may be used from any thread, one call at a time; further calls wait.
    """

    model: DiffusionModel

    def __init__(
        self,
        model: DiffusionModel,
        canvas: Sequence[int],
        settings: DiffusionSettings | None = None,
    ) -> None:
        settings = DiffusionSettings() if settings is None else settings
        if not isinstance(settings, DiffusionSettings):
            remedy = msg("use for example DiffusionSettings(steps=8)")
            raise SettingError("settings", settings, "must be DiffusionSettings", remedy)
        if settings.seed is None:
            settings = replace(settings, seed=secrets.randbelow(2**32))
        super().__init__(model)
        self.canvas = checked_canvas(model, canvas)
        self.settings = settings
        masks = _places(self.canvas, model.mask_id)
        self._gaps = masks
        self.schedule = schedule(len(masks), settings.steps, settings.block_length)
        size = settings.block_length or len(masks)
        self.blocks = tuple(masks[start : start + size] for start in range(0, len(masks), size))
        self._shaping = SamplingSettings(temperature=settings.temperature)
        self._latest: tuple[tuple[int, ...], np.ndarray] | None = None  # a canvas, its logits

    @property
    def ids(self) -> tuple[int, ...]:
        """The current canvas."""
        return self.steps[-1].ids_after if self.steps else self.canvas

    @property
    def text(self) -> str:
        """The canvas as text: masks as `MASK_SIGN`, other special tokens left out."""
        return self.model.text(self.ids)

    @property
    def stop_reason(self) -> str | None:
        """`FILLED` if no mask is left, else None."""
        return FILLED if len(self.steps) == len(self.schedule) else None

    def step(self) -> DiffusionStep:
        """Run one pass over the canvas: forward, predict masks, keep the best, mask the others.

        Raises:
            DecodingError: no mask is left.
            LogitsError: the model returned NaN; the canvas stays.
            OutOfMemoryError: the device is out of memory; the canvas stays.
        """
        return super().step()

    def distribution(self, index: int, position: int) -> Distribution:
        """Return the model's distribution in a step, at a position that was masked at first.

        If it was still masked, the step drew from this distribution. Only the latest pass's logits
        are kept, so an earlier step's canvas is run again.

        Raises:
            SettingError: no such step, or a position whose token was given.
        """
        with self._lock:
            if not is_whole(index) or not 0 <= index < len(self.steps):
                remedy = (
                    msg("use 0 to {steps}", len(self.steps) - 1)
                    if self.steps
                    else msg("take a step first")
                )
                raise SettingError(msg("step index"), index, "is not a recorded step", remedy)
            step = self.steps[index]
            if not is_whole(position) or position not in self._gaps:
                remedy = msg("use a position that was masked at the beginning")
                raise SettingError("position", position, "had no prediction", remedy)
            return shaped(self._logits(step.ids_before)[position], self._shaping)

    def trace(self) -> Trace:
        """Return everything so far as plain values, to save or show; the prompt is the canvas."""
        with self._lock:
            return Trace(
                model=self.model.facts | {"mask_id": self.model.mask_id},
                prompt_ids=self.canvas,
                prompt=self.model.text(self.canvas),
                settings=((0, asdict(self.settings)),),
                steps=tuple(self.steps),
                strategy="diffusion",
            )

    def release_cache(self) -> bool:
        """Forget the logits of the latest pass; returns False if they are in use."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._latest = None
            return True
        finally:
            self._lock.release()

    release = release_cache  # the memory budget's name for it

    # The parts of a step, in order.

    def _step(self, limit: int | None) -> DiffusionStep:
        start = time.perf_counter()
        if self.stop_reason is not None:
            raise DecodingError("Every mask is filled; rewind, or start from another canvas.")
        before = self.ids
        reused = self._latest is not None and self._latest[0] == before
        logits = self._logits(before)
        forwarded = time.perf_counter()
        draws, keys = self._uniforms(len(self.steps))
        masked = _places(before, self.model.mask_id)
        predictions = {place: self._predict(logits[place], draws[place]) for place in masked}
        committed = {
            place: self._confidence(logits[place], before[place])
            for place in self._gaps
            if place not in predictions
        }
        block = len(self.steps) * len(self.blocks) // len(self.schedule)
        kept, remasked = self._choose(block, predictions, committed, keys)
        after = list(before)
        for place in remasked:
            after[place] = self.model.mask_id
        for place in kept:
            after[place] = predictions[place].token_id
        rows = [predictions.get(place, _NONE) for place in range(len(before))]
        step = DiffusionStep(
            index=len(self.steps),
            block=block,
            ids_before=before,
            ids_after=tuple(after),
            predicted=tuple(row.token_id for row in rows),
            confidence=tuple(row.confidence for row in rows),
            model_entropy_bits=tuple(row.entropy_bits for row in rows),
            u=tuple(row.u for row in rows),
            unmasked=tuple(sorted(kept)),
            masked=_places(after, self.model.mask_id),
            reused=reused,
            forward_ms=(forwarded - start) * 1e3,
            total_ms=(time.perf_counter() - start) * 1e3,
            text=self.model.text(after),
            remasked=tuple(sorted(remasked)),
            committed_confidence=tuple(committed.get(place) for place in range(len(before))),
        )
        self.steps.append(step)
        return step

    def _logits(self, ids: tuple[int, ...]) -> np.ndarray:
        """Return a canvas's logits, reused if the latest pass read the same: (length, vocab)."""
        latest = self._latest
        if latest is None or latest[0] != ids:
            self._latest = None  # two passes' rows would be twice the memory
            logits = self._forward(ids)
            logits.setflags(write=False)  # distributions share its rows
            latest = self._latest = ids, logits
        budget_of(self.model.device).used(self, latest[1].nbytes)
        return latest[1]

    def _forward(self, ids: tuple[int, ...]) -> np.ndarray:
        """Run a pass over a canvas in turn, making room if needed; logits: (length, vocab)."""
        return read_canvas(self.model, ids, keep=self)

    def _uniforms(self, index: int) -> np.ndarray:
        """Return a step's uniform numbers, (2, length): to draw tokens, and to keep some at random.

        A number depends only on seed, step and position, whatever was drawn or rewound before.
        """
        seed = np.random.SeedSequence(self.settings.seed, spawn_key=(index,))
        return np.random.Generator(np.random.PCG64(seed)).random((2, len(self.canvas)))

    def _predict(self, logits: np.ndarray, u: float) -> _Prediction:
        distribution = shaped(logits, self._shaping)
        token_id = distribution.draw(u).token_id
        raw = distribution.raw
        used = None if self._shaping.is_greedy else float(u)
        return _Prediction(token_id, math.exp(raw.logprob(token_id)), raw.entropy_bits, used)

    def _confidence(self, logits: np.ndarray, token_id: int) -> float:
        """Return the model's own probability of a committed token."""
        return math.exp(shaped(logits, self._shaping).raw.logprob(token_id))

    def _choose(
        self,
        block: int,
        predictions: dict[int, _Prediction],
        committed: dict[int, float],
        keys: np.ndarray,
    ) -> tuple[list[int], list[int]]:
        """Return positions whose predictions stay, and those to mask again; ties favour the left.

        Args:
            block: the block being filled.
            predictions: the prediction for every mask, by position.
            committed: the confidence in every token filled earlier, by position.
            keys: (length,) uniform numbers.
        """
        places = self.blocks[block]
        share = self.schedule[len(self.steps)]
        if self.settings.eta:
            scores = {
                place: planner_score(predictions[place].confidence)
                if place in predictions
                else planner_score(committed[place], self.settings.eta)
                for place in places
            }
            standing = [place for place in places if place in committed]
            ranked = sorted(places, key=scores.__getitem__, reverse=True)
            stays = set(ranked[: len(standing) + share])
            return (
                [place for place in stays if place in predictions],
                [place for place in standing if place not in stays],
            )
        score = {
            "low_confidence": lambda place: predictions[place].confidence,
            "random": lambda place: keys[place],
            "entropy": lambda place: -predictions[place].entropy_bits,
            "left_to_right": lambda place: -place,
        }[self.settings.remasking]
        candidates = [place for place in places if place in predictions]
        return sorted(candidates, key=score, reverse=True)[:share], []

    # Rewinding, forking, repeating.

    def _rewind(self, length: int) -> None:
        del self.steps[length:]

    def _begun_anew(self) -> DiffusionDecoder:
        return DiffusionDecoder(self.model, self.canvas, self.settings)

    def _take_past(self, other: Any) -> None:
        super()._take_past(other)
        self._latest = other._latest

    @classmethod
    def of_trace(cls, trace: Trace, model: DiffusionModel) -> Self:
        """Begin a decoder with the canvas and settings of a trace; see `Generation`."""
        return cls(model, trace.prompt_ids, DiffusionSettings(**trace.settings_at(0)))

    def repeat(self, trace: Trace) -> DiffusionStep:
        """Repeat a trace's next step; the settings are the same for all steps."""
        return self.step()


def _places(ids: Sequence[int], wanted: int) -> tuple[int, ...]:
    return tuple(place for place, token_id in enumerate(ids) if token_id == wanted)
