"""Likelihood of a given text under a model; any decoder may have written it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from engine.backend import require
from engine.decoding import inputs
from engine.decoding.prompt import encode_prompt
from engine.errors import ContextFullError, msg
from engine.model import LanguageModel
from engine.runner.runner import open_sequence
from engine.sampling.ranking import RankedRow

_NUMBERS = 2**22  # logits at once: 16 MiB, so 256 rows of a vocabulary of 16,384


def token_logprobs(
    model: LanguageModel, prompt: str | Sequence[int], token_ids: Sequence[int]
) -> np.ndarray:
    """Return the log-probability of each token, given the prompt and the tokens before it.

    Args:
        model: the judging model, at temperature 1 and without samplers.
        prompt: text or token ids, at least one.
        token_ids: the text, n tokens.

    Returns:
        (n,) float64, nats; minus infinity for a token that the model rules out.

    Raises:
        PromptError: an empty prompt, or ids outside the vocabulary.
        ContextFullError: prompt and text are longer than the context.
        LogitsError: the model returned NaN.
        OutOfMemoryError: the device is out of memory.
    """
    rows = next_rows(model, prompt, token_ids)
    chosen = zip(rows, token_ids, strict=True)
    return np.array([RankedRow(row).logprob(own) for row, own in chosen], np.float64)


def next_rows(
    model: LanguageModel, prompt: str | Sequence[int], token_ids: Sequence[int]
) -> Iterator[np.ndarray]:
    """Yield, for each token of a text, the logits from which the model would draw it.

    Args:
        model, prompt, token_ids: as in `token_logprobs`.

    Yields:
        (vocab,) float32 logits, one row for each token.

    Raises:
        PromptError, ContextFullError, OutOfMemoryError: as in `token_logprobs`.
    """
    require(model, msg("The probability of a given text"), "all_positions")
    prompt_ids = encode_prompt(model, prompt)
    wanted = [inputs.checked_token(token_id, model) for token_id in token_ids]
    total = len(prompt_ids) + len(wanted)
    if model.context_length is not None and total > model.context_length:
        raise ContextFullError(
            "Prompt and text have {total:,} tokens, and the context of {name} holds at most "
            "{context_length:,}; score a shorter text.",
            (total, model.name, model.context_length),
        )
    if not wanted:
        return
    runner = open_sequence(model, msg("score a shorter text"))
    try:
        if len(prompt_ids) > 1:
            runner.extend(prompt_ids[:-1])
        read = [prompt_ids[-1], *wanted[:-1]]
        rows = max(1, _NUMBERS // model.vocab_size)
        for start in range(0, len(read), rows):
            part = read[start : start + rows]
            yield from runner.extend(part, all_positions=True).forward.logits
    finally:
        runner.release()
