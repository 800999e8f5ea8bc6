"""Search for a token: by its label, or as part of a text; its rank in the step on screen."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import SettingError, panics_as_errors
from engine.model import (
    Vocabulary,
)
from engine.sampling import RankedRow
from ui.words.language import say
from ui.words.token_labels import labels_of

MOST_FOUND = 13  # the page shows 12, and says if there are more
LONGEST_TEXT = 200  # characters of a text that is split into tokens


@dataclass(frozen=True)
class Found:
    """A token that was asked for.

    Attributes:
        token_id: the token.
        raw_rank: place among the raw logits of the step on screen, 1 for the highest; None if there
            are none, or if the model does not score this token.
        logit: its raw logit there, under the same condition.
    """

    token_id: int
    raw_rank: int | None = None
    logit: float | None = None


def found_tokens(vocabulary: Vocabulary, query: str, raw: RankedRow) -> list[Found]:
    """Tokens whose label holds the query, best match first, at most `MOST_FOUND`."""
    ids = labels_of(vocabulary).find(query, raw.scores, MOST_FOUND)
    return [_placed(token_id, raw) for token_id in ids]


@panics_as_errors()
def tokens_of(vocabulary: Vocabulary, text: str, raw: RankedRow | None) -> list[Found]:
    """The tokens that a text is split into; the tokenizer adds none around it.

    The list is empty for an empty text, or if there is no tokenizer.

    Raises:
        SettingError: a text of more than `LONGEST_TEXT` characters.
    """
    if len(text) > LONGEST_TEXT:
        remedy = say("use at most {most} characters at once", most=LONGEST_TEXT)
        problem = say("is too long to be split into tokens here")
        raise SettingError(say("text"), text, problem, remedy)
    if vocabulary.tokenizer is None:
        return []
    ids = vocabulary.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return [_placed(token_id, raw) for token_id in ids]


def _placed(token_id: int, raw: RankedRow | None) -> Found:
    # A tokenizer may know ids that the model has no output for.
    if raw is None or token_id >= raw.scores.size:
        return Found(token_id)
    return Found(token_id, raw.rank(token_id), float(raw.scores[token_id]))
