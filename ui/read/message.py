"""The message to the browser with a reading (`ui/components/js/parts/reading/types.js`)."""

from __future__ import annotations

import json
import math
from typing import Any

from engine.model import Vocabulary
from engine.study import ApiAnswer, GivenToken, ReadToken, TextReading
from ui.readings.view import MAX_GAP
from ui.words.labels import token_label

DIGITS = 6  # significant ones of a figure


def packed(reading: TextReading, vocabulary: Vocabulary, *, can_go_on: bool = True) -> str:
    """Return the message with a reading as JSON; `can_go_on`: on the step page, from a token."""

    def label(token_id: int) -> str:
        return token_label(vocabulary.label(token_id))

    def token_of(token: ReadToken) -> dict[str, Any]:
        ids, logprobs = token.top
        top = zip(ids.tolist(), logprobs.tolist(), strict=True)
        return {
            "label": label(token.token_id),
            "is_special": token.is_special,
            "probability": _rounded(math.exp(token.logprob)),
            "surprisal": _rounded(token.surprisal_bits),
            "rank": token.rank,
            "entropy": _rounded(token.entropy_bits),
            "top": [
                (label(each), _rounded(math.exp(logprob)), each == token.token_id)
                for each, logprob in top
            ],
        }

    message = {
        "can_go_on": can_go_on,
        "before": "".join(map(label, reading.prompt_ids)),
        "tokens": [token_of(token) for token in reading.tokens],
        "forks": reading.forks(MAX_GAP),
    }
    return json.dumps(message, separators=(",", ":"))


def packed_answer(answer: ApiAnswer) -> str:
    """Return the message with the probabilities that an API gave."""

    def token_of(token: GivenToken) -> dict[str, Any]:
        is_known = not math.isnan(token.logprob)
        return {
            "label": token_label(token.text),
            "is_special": False,
            "probability": _rounded(math.exp(token.logprob)) if is_known else None,
            "surprisal": _rounded(token.surprisal_bits) if is_known else None,
            "rank": token.rank,
            "entropy": None,
            "top": [
                (token_label(text), _rounded(math.exp(logprob)), text == token.text)
                for text, logprob in token.top
            ],
        }

    tokens = [token_of(token) for token in answer.tokens]
    forks = [place for place, token in enumerate(answer.tokens) if abs(token.gap) <= MAX_GAP]
    message = {"can_go_on": False, "before": "", "tokens": tokens, "forks": forks}
    return json.dumps(message, separators=(",", ":"))


def _rounded(value: float) -> float:
    """Return a figure with as many digits as the page shows; infinity becomes a large number."""
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else 1e9
