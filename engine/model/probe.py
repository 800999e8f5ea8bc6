"""Checks that a model gives the same logits here as in its own `generate`.

Passes over a few arbitrary tokens decide, not a list of architectures. A model is refused if
`generate` gives it inputs other than tokens, cache and positions: its texts would silently differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import torch
from transformers import GenerationConfig, GenerationMixin, PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache

from engine.errors import NotAModelError, msg
from engine.model import cache as caches
from engine.model.cache_size import tensors
from engine.model.kernels import DEFAULT_KERNELS, ENGINE_LOCK, HALF_PRECISION

_PROMPT, _OTHER = (1, 2, 1), (0, 0, 0)
_NEW = 3
# Share of the logits' range by which equal passes may differ: far above rounding, far below the
# difference that a missing or extra token makes.
_TOLERANCE, _HALF_TOLERANCE = 0.01, 0.05
_CHUNKS, _CHUNK = 3, 8
# Errors of models whose inputs, shapes or cache differ from the usual.
_MISFITS = (AttributeError, TypeError, LookupError, ValueError, RuntimeError, NotImplementedError)


class Probed(Protocol):
    """Protocol of a `LanguageModel` under test, before it is fully initialised."""

    name: str
    hf: PreTrainedModel
    config: Any
    device: torch.device
    dtype: torch.dtype
    input_size: int

    def naming_memory(self, at: str, remedy: str) -> AbstractContextManager[None]:
        """Name the circumstances and a remedy if memory runs out in the block."""

    def new_cache(self) -> Cache:
        """Return an empty cache."""

    def forward(self, token_ids: Sequence[int], cache: Cache, position: int, **how: bool) -> Any:
        """Read tokens; the result has `logits`."""


def refuse_unless_as_generate(model: Probed) -> None:
    """Refuse a model whose passes here give different logits from its own `generate`.

    Its cache must be the only state, since decoders share the model. A copied or cropped cache must
    give the logits of its own text.

    Raises:
        NotAModelError: with the reason.
    """
    try:
        with model.naming_memory(
            msg("when it was tried out"), msg("use a smaller model or a smaller dtype")
        ):
            found = _passes(model)
    except _MISFITS as error:
        raise NotAModelError(
            "{name} cannot run step by step with a transformers cache ({error}); choose "
            "another architecture.",
            (model.name, error),
        ) from error
    if found is not None:
        raise NotAModelError("{name} {found}; choose another architecture.", (model.name, found))


def _passes(model: Probed) -> str | None:
    """Return how the model differs from `generate`, to follow its name; None if it does not."""
    token_ids, expected = _generated(model)
    cache = model.new_cache()
    rows = [_row(model, _PROMPT, cache, 0), _row(model, token_ids[:1], cache, 3)]
    # A different text, and a different end of this one: neither may have an effect.
    _row(model, _OTHER, model.new_cache(), 0)
    _row(model, _OTHER[:1], caches.fork(cache), 4)
    rows.append(_row(model, token_ids[1:2], cache, 4))
    if not any(True for _ in tensors(cache)):
        return msg("stores nothing in the cache that it is given, so it cannot run step by step")
    tolerance = tolerance_of(model, expected[0])
    if not all(_close(*pair, tolerance) for pair in zip(rows, expected, strict=True)):
        alone = _alone(model, token_ids)
        if all(_close(*pair, tolerance) for pair in zip(alone, rows, strict=True)):
            return msg(
                "gives different logits for token ids alone than in transformers' generate, "
                "which passes it more inputs"
            )
        return msg(
            "keeps its state inside the model, not in a cache, so texts would mix or differ "
            "from those of generate"
        )
    if caches.can_crop(cache):
        caches.crop(cache, 4)
        if not _close(_row(model, token_ids[1:2], cache, 4), rows[2], tolerance):
            return msg(
                "gives different logits once its cache is cropped, so a rewind would go wrong"
            )
    return None


def _alone(model: Probed, token_ids: Sequence[int]) -> list[np.ndarray]:
    cache = model.new_cache()
    return [
        _row(model, _PROMPT, cache, 0),
        _row(model, token_ids[:1], cache, 3),
        _row(model, token_ids[1:2], cache, 4),
    ]


def _row(model, token_ids, cache, position) -> np.ndarray:
    # By PyTorch's default kernels, as `generate` runs.
    return model.forward(token_ids, cache, position, parity=True).logits


def _generated(model: Probed) -> tuple[list[int], list[np.ndarray]]:
    """Return the tokens that `generate` adds to the prompt greedily, and the logits of each."""
    hf = model.hf
    if not isinstance(hf, GenerationMixin):
        raise TypeError("it has no generate method")
    ids = torch.tensor([_PROMPT], device=model.device)
    usual = hf.generation_config
    plain = GenerationConfig(
        max_new_tokens=_NEW,
        do_sample=False,
        pad_token_id=0,
        output_logits=True,
        return_dict_in_generate=True,
    )
    with ENGINE_LOCK, torch.inference_mode(), DEFAULT_KERNELS.apply(tokens=1):
        try:
            hf.generation_config = plain  # settings missing from a call come from here
            output = hf.generate(ids, generation_config=plain)
        finally:
            hf.generation_config = usual
        rows = [row[0].to(torch.float32).cpu().numpy() for row in output.logits]
    return output.sequences[0, len(_PROMPT) :].tolist(), rows


def tolerance_of(model: Probed, row: np.ndarray) -> float:
    """Return the most by which rounding may change this model's logits."""
    finite = row[np.isfinite(row)]
    share = _HALF_TOLERANCE if model.dtype in HALF_PRECISION else _TOLERANCE
    return share * float(np.ptp(finite)) if finite.size else 0.0


def _close(one: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    finite = np.isfinite(one) & np.isfinite(other)
    return bool(np.abs(one - other)[finite].max(initial=0.0) <= tolerance)


def reads_again_after(hf: PreTrainedModel) -> tuple[int | None, int | None]:
    """Return the length at which a model's position encoding changes and its cache becomes invalid.

    Phi-3 and similar models switch to different frequencies there ("longrope"), and `generate`
    rereads the whole text. The model's `prepare_inputs_for_generation` reveals it.

    Returns:
        The number of tokens up to which a cache is valid, None if always; and the length that a
        text may reach if `generate` would forget it there instead, else None.
    """
    switch = getattr(hf.config, "original_max_position_embeddings", None)
    usual = GenerationMixin.prepare_inputs_for_generation
    own = getattr(type(hf), "prepare_inputs_for_generation", usual)
    if not isinstance(switch, int) or own is usual:
        return None, None
    filled = DynamicCache()
    vectors = torch.zeros(1, 1, switch, 1, device=hf.device)
    filled.update(vectors, vectors, 0)
    prepared = hf.prepare_inputs_for_generation(
        torch.zeros(1, switch + 1, dtype=torch.long, device=hf.device),
        past_key_values=filled,
        next_sequence_length=1,
        use_cache=True,
    )
    if prepared.get("past_key_values") is filled:
        return None, None
    if prepared["input_ids"].shape[1] == 1:
        return None, switch
    return switch, None


def can_chunk(model: Probed) -> bool:
    """Return whether a text read in several passes of many tokens gives the logits of one pass.

    Tested at every position of a few chunks. Layers that come with a model may be right at first
    and wrong once they compress, so with any of these the answer is False. The same holds for
    dynamic RoPE scaling, whose frequencies depend on the length of the text in a pass.
    """
    rope = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    if rope.get("rope_type") == "dynamic":
        return False
    ids = (np.arange(_CHUNKS * _CHUNK) * 7 % min(61, model.input_size)).tolist()
    whole_cache, cache, rows = model.new_cache(), model.new_cache(), []
    whole = model.forward(ids, whole_cache, 0, parity=True, all_positions=True).logits
    if not caches.is_known(whole_cache):
        return False
    try:
        for start in range(0, len(ids), _CHUNK):
            new = ids[start : start + _CHUNK]
            rows.append(model.forward(new, cache, start, parity=True, all_positions=True).logits)
        forgets = _forgets_in_chunks(model, ids)
    except _MISFITS:
        return False  # the model takes its prompt at once, then single tokens
    chunked = np.concatenate(rows)
    is_close = chunked.shape == whole.shape and _close(chunked, whole, tolerance_of(model, whole))
    return is_close and not forgets


def _forgets_in_chunks(model: Probed, token_ids: Sequence[int]) -> bool:
    """Return whether a pass over many tokens ignores a state that a single-token pass reads.

    The code of Mamba and similar models does. With some weights, the difference is no larger than
    the rounding of half precision, at least in a short text. So the states are changed, which must
    change the logits.
    """
    cache = model.new_cache()
    model.forward(token_ids[:_CHUNK], cache, 0, parity=True)
    names = caches.recurrent_states(cache)
    if not names:
        return False

    def rows(tokens: int, cache: Cache) -> np.ndarray:
        # At all positions: the change may have faded by the last one.
        new = token_ids[_CHUNK : _CHUNK + tokens]
        return model.forward(new, cache, _CHUNK, parity=True, all_positions=True).logits

    lengths = (1, _CHUNK)
    expected = [rows(tokens, caches.fork(cache)) for tokens in lengths]
    for name in names:
        others = [caches.with_other_states(cache, name) for _ in lengths]
        counts, counts_in_chunk = (
            not np.array_equal(rows(tokens, other), usual)
            for tokens, other, usual in zip(lengths, others, expected, strict=True)
        )
        if counts and not counts_in_chunk:
            return True
    return False
