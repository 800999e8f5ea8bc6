"""A masked diffusion model, and the canvas it fills: a row of token ids, some of them masks."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Unpack

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from engine.checks import is_whole
from engine.errors import NotAModelError, PromptError, SettingError, TokenizerError, msg
from engine.model.kernels import ENGINE_LOCK
from engine.model.loaded import About, LoadedModel
from engine.model.passes import note_pass
from engine.model.vocabulary import Vocabulary

MASK_SIGN = "░"  # shows a mask in a displayed text

# A number in brackets is a gap of that many tokens; after a backslash it is text.
_GAP = re.compile(r"(\\?)\[([0-9]+)\]")
_GAP_EXAMPLE = msg("write a number in brackets for a gap of that many tokens, as in The [4] sat")


class DiffusionModel(LoadedModel):
    """A masked diffusion model, shared by all decoders and threads.

    Attributes, in addition to those of `LoadedModel` (the mask is one of the `vocab_size` tokens):
        vocabulary: tokens as bytes and text.
        mask_id: id of the mask.
        pad_id: id of the padding token; None without one, or if it also ends a text.
    """

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None = None,
        **about: Unpack[About],
    ) -> None:
        """Wrap a loaded transformers model.

        Raises:
            NotAModelError: it names no mask, or does not attend in both directions.
            TokenizerError: model and tokenizer disagree on the mask.
        """
        super().__init__(hf, tokenizer, **about)
        self.mask_id = self._mask_id(self.config)
        self.pad_id = _pad_id(self.config, tokenizer)
        self.vocab_size = self._check_both_directions()
        self.vocabulary = Vocabulary(tokenizer, self.vocab_size)

    def logits(self, ids: Sequence[int]) -> np.ndarray:
        """Return the logits of each position's own token, from one pass: (length, vocab) float32.

        Those of the mask and the padding token are -inf, since no text contains these.

        Args:
            ids: the canvas, masks included; at least one id, at most `context_length`.

        Raises:
            OutOfMemoryError: the device has no memory left.
        """
        scores = self._forward(ids)
        scores[:, self.mask_id] = -np.inf
        if self.pad_id is not None:
            scores[:, self.pad_id] = -np.inf
        return scores

    def text(self, ids: Sequence[int]) -> str:
        """Return a canvas as text: masks as `MASK_SIGN`, other special tokens left out."""
        pieces = []
        for token_id in ids:
            if token_id == self.mask_id:
                pieces.append(MASK_SIGN.encode())
            elif not self.vocabulary.is_special(token_id):
                pieces.append(self.vocabulary.token_bytes(token_id))
        return b"".join(pieces).decode("utf-8", "replace")

    def _forward(self, ids: Sequence[int]) -> np.ndarray:
        at = msg("with a canvas of {ids:,} positions", len(ids))
        remedy = msg("use a shorter one, a smaller model or a smaller dtype")
        with ENGINE_LOCK, torch.inference_mode(), self.naming_memory(at, remedy):
            row = torch.tensor([list(ids)], dtype=torch.long, device=self.device)
            # transformers sets this keyword from config.is_causal too, for mask and kernel alike.
            # Given here, it also applies to a configuration that lacks the field.
            with self.kernels.apply(len(ids)):
                logits = self.hf(input_ids=row, is_causal=False, use_cache=False).logits
            note_pass(self, len(ids))
            return logits[0].to(torch.float32).cpu().numpy()  # (length, vocab)

    def _mask_id(self, config) -> int:
        named = getattr(config, "mask_token_id", None)
        known = getattr(self.tokenizer, "mask_token_id", None)
        if named is None and known is None:
            raise NotAModelError(
                "{name} names no mask token; set mask_token_id in its config.json, or choose "
                "a masked diffusion model.",
                self.name,
            )
        if None not in (named, known) and named != known:
            raise TokenizerError(
                "The mask of {name} has id {named} in the model and {known:,} in the "
                "tokenizer; set mask_token_id in config.json to the tokenizer's.",
                (self.name, repr(named), known),
            )
        mask_id = known if named is None else named
        inputs = self.input_size
        if not is_whole(mask_id) or not 0 <= mask_id < inputs:
            raise NotAModelError(
                "The mask of {name} has id {mask_id}, but the model knows ids 0 to "
                "{inputs:,}; correct mask_token_id in config.json.",
                (self.name, repr(mask_id), inputs - 1),
            )
        return int(mask_id)

    def _check_both_directions(self) -> int:
        """Refuse a model that does not attend to later positions; returns the vocabulary size.

        A causal model would not fail, but fill gaps without reading the text after them.
        """
        mask = self.mask_id
        one, other = (self._forward([mask, mask, last]) for last in (0 if mask else 1, mask))
        if np.array_equal(one[0], other[0]):
            raise NotAModelError(
                "{name} does not look at later positions, so it cannot fill gaps; choose a "
                "masked diffusion model.",
                self.name,
            )
        return one.shape[1]


def _pad_id(config, tokenizer) -> int | None:
    """Return the padding token's id; None if there is none, or if it also ends a text."""
    pad = getattr(config, "pad_token_id", None)
    if pad is None:
        pad = getattr(tokenizer, "pad_token_id", None)
    ends = [getattr(tokenizer, "eos_token_id", None)]
    named = getattr(config, "eos_token_id", None)
    ends += named if isinstance(named, (list, tuple)) else [named]
    return None if pad in ends else pad


# --- The canvas ----------------------------------------------------------------------------------


def fill_gaps(model: DiffusionModel, text: str) -> tuple[int, ...]:
    """Return the canvas of a text: ``[4]`` becomes four masks, ``\\[4]`` the text ``[4]``.

    A space before a gap belongs to the gap, since tokens begin with the space before their word.

    Raises:
        PromptError: no gap, an empty gap, a gap beyond the context, or the mask token itself.
        TokenizerError: the model has no tokenizer, or one without the mask.
    """
    pieces: list[str | int] = [""]
    end = 0
    for match in _GAP.finditer(text):
        pieces[-1] += text[end : match.start()]
        end = match.end()
        if match[1]:
            pieces[-1] += match[0].removeprefix("\\")
        else:
            pieces += [_gap_length(model, match[2]), ""]
    pieces[-1] += text[end:]
    if len(pieces) == 1:
        raise PromptError("The text has no gap; {gap_example}.", _GAP_EXAMPLE)
    return _canvas(model, pieces)


def marked_gaps(model: DiffusionModel, canvas: Sequence[int]) -> str:
    """Return the text from which `fill_gaps` makes this canvas, if there is one.

    Control tokens other than the mask are left out; the tokenizer adds its own.
    """
    pieces: list[str] = []
    for is_mask, group in groupby(canvas, lambda token_id: token_id == model.mask_id):
        ids = list(group)
        if is_mask:
            pieces.append(f"[{len(ids)}]")
            continue
        kept = (i for i in ids if not model.vocabulary.is_special(i))
        data = b"".join(map(model.vocabulary.token_bytes, kept))
        pieces.append(_GAP.sub(r"\\\g<0>", data.decode("utf-8", "replace")))
    return "".join(pieces)


def continuation(model: DiffusionModel, prompt: str, masks: int) -> tuple[int, ...]:
    """Return the canvas of a prompt, taken literally, followed by `masks` masks.

    Raises:
        PromptError: the prompt contains the mask token, or exceeds the context with its masks.
        SettingError: `masks` is not a whole number of at least 1.
        TokenizerError: the model has no tokenizer, or one without the mask.
    """
    if not is_whole(masks) or masks < 1:
        remedy = msg("use a whole number of at least 1")
        raise SettingError("masks", masks, "must be the number of tokens to write", remedy)
    return _canvas(model, [prompt, _gap_length(model, str(masks))])


def _gap_length(model: DiffusionModel, digits: str) -> int:
    digits = digits.lstrip("0")
    if not digits:
        raise PromptError(
            "A gap must contain at least one token, got [0]; {gap_example}.", _GAP_EXAMPLE
        )
    # int() refuses very long numbers with its own message.
    length = int(digits) if len(digits) < 10 else math.inf
    if length > _most_positions(model):
        shown = digits if len(digits) < 10 else f"{digits[:6]}..."
        raise PromptError(
            "A gap of {shown} tokens is more than the {model:,} positions of "
            "{name}; make it shorter.",
            (shown, _most_positions(model), model.name),
        )
    return length


def _most_positions(model: DiffusionModel) -> int:
    return model.context_length or 1_000_000


def _canvas(model: DiffusionModel, pieces: Sequence[str | int]) -> tuple[int, ...]:
    """Return the token ids of the pieces, each a text or a number of masks."""
    mask = _mask_text(model)
    if any(isinstance(piece, str) and mask in piece for piece in pieces):
        raise PromptError(
            "The text contains the mask token {mask} itself; {gap_example}.", (mask, _GAP_EXAMPLE)
        )
    whole = ""
    for piece in pieces:
        whole = whole + piece if isinstance(piece, str) else whole.removesuffix(" ") + mask * piece
    # The tokenizer gets the text with the masks, so it splits the text around them as in training.
    ids = tuple(model.vocabulary.encode(whole))
    masks = sum(piece for piece in pieces if not isinstance(piece, str))
    if ids.count(model.mask_id) != masks:
        raise TokenizerError(
            "The tokenizer of {name} does not keep {mask} as one token; add it as a special token.",
            (model.name, mask),
        )
    return checked_canvas(model, ids)


def _mask_text(model: DiffusionModel) -> str:
    if model.vocabulary.tokenizer is None:
        raise TokenizerError("{name} has no tokenizer; give the canvas as token ids.", model.name)
    if model.mask_id not in model.vocabulary.special_ids:
        raise TokenizerError(
            "The tokenizer of {name} has no special token with id {mask_id:,}, the "
            "mask; add it, or give the canvas as token ids.",
            (model.name, model.mask_id),
        )
    return model.vocabulary.token_bytes(model.mask_id).decode("utf-8", "surrogatepass")


def checked_canvas(model: DiffusionModel, canvas: Sequence[int]) -> tuple[int, ...]:
    """Return the ids of a canvas; raises `PromptError` if it has no mask or cannot be read."""
    try:
        ids = tuple(operator.index(token_id) for token_id in canvas)
    except TypeError as error:
        raise PromptError(
            "The canvas must be one row of token ids; make it with fill_gaps or continuation."
        ) from error
    last = model.vocab_size - 1
    outside = next((token_id for token_id in ids if not 0 <= token_id <= last), None)
    if outside is not None:
        raise PromptError(
            "The canvas contains token id {outside:,}, but the model knows ids 0 to {last:,}; use "
            "the tokenizer that belongs to the model.",
            (outside, last),
        )
    masks = ids.count(model.mask_id)
    if not masks:
        raise PromptError("The canvas has no mask to fill in; {gap_example}.", _GAP_EXAMPLE)
    if len(ids) > _most_positions(model):
        raise PromptError(
            "The canvas has {ids:,} tokens, {masks:,} of them masks, and the context of "
            "{name} holds at most {model:,}; shorten text or gaps.",
            (len(ids), masks, model.name, _most_positions(model)),
        )
    return ids
