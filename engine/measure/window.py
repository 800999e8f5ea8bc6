"""Behaviour at the edge of a sliding window, and at the end of a model's context.

A loaded model seldom has a window that a short measurement fills. So the edge is measured on a
small model of random weights, built here and labelled as such. It runs the same code of
transformers, with a window of a few positions. The end of the context is that of the loaded model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
import torch
from msgspec import Meta
from transformers import AutoModelForCausalLM, MistralConfig, PreTrainedModel

from engine.cache_formula import Last
from engine.checks import at_least_one
from engine.decoder import Decoder
from engine.errors import ContextFullError, NotAModelError, SettingError, msg
from engine.measure.measurement import Measurement
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.model import cache as caches
from engine.model.cache_layers import formula_of, layers_of
from engine.model.cache_size import cache_size
from engine.runner.turns import exclusive
from engine.sampling import SamplingSettings
from engine.values import Amount, Name, Positive, Row, Whole

LEAST_WINDOW, MOST_WINDOW = 4, 64
LAYERS = 2
ROUNDS = 4  # windows to read, to see that no tensor keeps growing
MOST_CONTEXT = 8_192  # longest context whose end is measured: a longer one takes minutes
LAST = 4  # tokens decoded before the end of the context
TOUCHED = 1e-5  # share of the largest change, above which a position counts as reached
_VOCAB, _SPREAD, _ROWS = 128, 0.3, 64


@dataclass(frozen=True)
class Step:
    """The cache after one more token was read by the small model.

    Attributes:
        positions: tokens read so far.
        kept: positions in the tensors of a layer after the step.
        seen: positions that receive any attention from the token, itself included.
        measured: bytes of all tensors.
        held: bytes of the memory held for them.
        computed: bytes by the formula.
    """

    positions: Positive
    kept: Whole
    seen: Positive
    measured: Whole
    held: Whole
    computed: Whole


@dataclass(frozen=True)
class End:
    """The end of the loaded model's context.

    Attributes:
        context: maximum number of positions of the model; 0 if it sets no limit.
        reached: positions in the cache at the last step; 0 if the end was not measured.
        bytes: bytes of the cache there.
        said: the error of one more step, or why the end was not measured.
    """

    context: Whole
    reached: Whole
    bytes: Whole
    said: Name


@dataclass(frozen=True)
class WindowEdge:
    """Behaviour at the edge of a window and at the end of a context, as far as measured.

    Attributes:
        window: positions of the window.
        layers: layers of the small model; all have the window.
        steps: one for each token read.
        changes: by position, the largest change of a logit of the last token after the token at
            that position was replaced.
        own_window: the loaded model's window; 0 if none is known.
        model: name of the loaded model.
        end: end of its context; None until it is measured.
    """

    window: Annotated[int, Meta(ge=LEAST_WINDOW, le=MOST_WINDOW)]
    layers: Positive
    steps: Row[Step]
    changes: Row[Amount]
    own_window: Whole
    model: Name
    end: End | None

    @property
    def is_equal(self) -> bool:
        """True if formula and tensors agree to the byte at every step."""
        return all(step.measured == step.computed for step in self.steps)

    @property
    def reached(self) -> int:
        """Number of positions, including the last, whose token changes the last token's logits."""
        least = TOUCHED * max(self.changes, default=0.0)
        return sum(change > least for change in self.changes)


def small_model(window: int) -> PreTrainedModel:
    """Build a model of random weights, with a sliding window in every layer and eager attention."""
    config = MistralConfig(
        vocab_size=_VOCAB,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=ROUNDS * MOST_WINDOW,
        sliding_window=window,
        attn_implementation="eager",  # the only kind that returns attention weights
    )
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(0)
    for weight in model.requires_grad_(False).parameters():
        if weight.dim() > 1:
            weight.normal_(0.0, _SPREAD, generator=generator)
    return model


_small_model = lru_cache(maxsize=4)(small_model)


class WindowMeasurement(Measurement[WindowEdge]):
    """Reads past a window, then replaces each token in turn, then decodes to the context's end.

    Args:
        model: the model whose context end is measured.
        window: positions of the small model's window.

    Raises:
        SettingError: the window is too small or too large.
    """

    def __init__(self, model: LanguageModel, window: int) -> None:
        super().__init__([1.0, 1.0, 1.0])
        if not LEAST_WINDOW <= at_least_one(msg("Window"), window) <= MOST_WINDOW:
            remedy = msg("use {least_window} to {most_window}", (LEAST_WINDOW, MOST_WINDOW))
            raise SettingError(msg("Window"), window, "is not measured", remedy)
        self._model = model
        self._small = _small_model(window)
        self._window = window
        self._ids = np.random.Generator(np.random.PCG64(0)).integers(0, _VOCAB, ROUNDS * window)
        self._steps: list[Step] = []
        self._changes: tuple[float, ...] = ()
        self._end: End | None = None

    @staticmethod
    def estimated_seconds(model: LanguageModel, window: int, pace: Pace) -> float:
        """Estimate the duration of the measurement."""
        context = model.context_length
        end = pace.read_seconds(context) if context and context <= MOST_CONTEXT else 0.0
        return 1.0 + ROUNDS * window * 0.003 + end

    def _measure(self, part: int) -> None:
        if part == 0:
            self._steps = list(self._read())
        elif part == 1:
            self._changes = tuple(self._changed())
        else:
            self._end = context_end(self._model)

    def _read(self) -> Iterator[Step]:
        formula = formula_of(self._small.config, torch.float32)
        cache = caches.new_cache(self._small.config)
        for place, token_id in enumerate(self._ids.tolist(), start=1):
            ids = torch.tensor([[token_id]])
            with exclusive():
                output = self._small(ids, past_key_values=cache, output_attentions=True)
            attention = output.attentions[0][0, :, -1]  # (heads, positions)
            size = cache_size(cache)
            yield Step(
                positions=place,
                kept=cache.layers[0].keys.shape[-2],
                seen=int((attention > 0).any(0).sum()),
                measured=size.logical,
                held=size.held,
                computed=formula.bytes_at(place),
            )

    def _changed(self) -> Iterator[float]:
        ids = torch.from_numpy(self._ids)
        for start in range(0, len(ids), _ROWS):
            places = range(start, min(start + _ROWS, len(ids)))
            rows = ids.repeat(len(places) + 1, 1)
            for row, place in enumerate(places):
                rows[row, place] = (ids[place] + 1) % _VOCAB
            with exclusive():
                logits = self._small(rows, use_cache=False, logits_to_keep=1).logits[:, -1]
            yield from (logits[:-1] - logits[-1]).abs().amax(-1).tolist()

    @property
    def result(self) -> WindowEdge | None:
        """The result so far."""
        if not self._steps:
            return None
        return WindowEdge(
            window=self._window,
            layers=LAYERS,
            steps=tuple(self._steps),
            changes=self._changes,
            own_window=window_of(self._model),
            model=self._model.name,
            end=self._end,
        )


def window_of(model: LanguageModel) -> int:
    """Return the smallest window of a loaded model's layers; 0 if none is known."""
    try:
        layers = layers_of(model.hf.config)
    except NotAModelError:
        return 0
    spans = (kept.span for layer in layers for kept in layer.kept)
    return min((span.window.value for span in spans if isinstance(span, Last)), default=0)


def context_end(model: LanguageModel) -> End:
    """Fill a context with random tokens except a few, decode those, then try one more step."""
    context = model.context_length
    if context is None:
        return End(0, 0, 0, f"{model.name} sets no limit to its positions.")
    if not LAST < context <= MOST_CONTEXT:
        said = f"The context of {model.name} is {context:,} positions; ends beyond "
        return End(context, 0, 0, f"{said}{MOST_CONTEXT:,} are not measured here.")
    rng = np.random.Generator(np.random.PCG64(0))
    ids = rng.integers(0, model.vocab_size, context - LAST).tolist()
    decoder = Decoder(model, ids, SamplingSettings(temperature=0))
    reached = size = 0
    try:
        while True:
            step = decoder.step()
            reached, size = step.cache_positions, step.cache_bytes
    except ContextFullError as error:
        return End(context, reached, size, error.message)
    finally:
        decoder.release_cache()
