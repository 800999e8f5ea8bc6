"""The prompt: text as token ids, checked against the model."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from engine.backend import Backend
from engine.errors import PromptError
from engine.model.vocabulary import THE_PROMPT, ChatIds


def encode_prompt(model: Backend, prompt: str | Sequence[int]) -> list[int]:
    """Return the token ids of a prompt given as text or as ids.

    Raises:
        PromptError: an empty prompt, one longer than the context, or ids outside the vocabulary.
    """
    if isinstance(prompt, str):
        ids = model.vocabulary.encode(prompt)
    else:
        try:
            ids = [operator.index(token_id) for token_id in prompt]
        except TypeError as error:
            raise PromptError(
                "{the_prompt} must be text or one row of token ids; give for example "
                "tokenizer(text)['input_ids'].",
                THE_PROMPT,
            ) from error
    if not ids:
        raise PromptError(
            "{the_prompt} contains no token; type at least one character.", THE_PROMPT
        )
    inputs = model.input_size
    outside = next((token_id for token_id in ids if not 0 <= token_id < inputs), None)
    if outside is not None:
        raise PromptError(
            "{the_prompt} contains token id {outside:,}, but the model knows ids 0 to {inputs:,}; "
            "use the tokenizer that belongs to the model.",
            (THE_PROMPT, outside, inputs - 1),
        )
    length = model.context_length
    if length is not None and len(ids) >= length:
        raise PromptError(
            "{the_prompt} has {ids:,} tokens, but {name} reads at most {length:,}, "
            "one of them for the first new token; shorten it to {most:,} tokens.",
            (THE_PROMPT, len(ids), model.name, length, length - 1),
        )
    return ChatIds(ids, prompt.messages) if isinstance(prompt, ChatIds) else ids
