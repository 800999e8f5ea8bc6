"""Search for tokens by label or by tokenizing a text, with their ranks in the step on screen."""

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
    """A token that was found.

    Attributes:
        token_id: the token's id.
        raw_rank: rank among the raw logits of the step on screen, 1 for the highest; None if there
            are none, or if the model has no logit for this token.
        logit: its raw logit in that step; None under the same conditions.
    """

    token_id: int
    raw_rank: int | None = None
    logit: float | None = None


def found_tokens(vocabulary: Vocabulary, query: str, raw: RankedRow) -> list[Found]:
    """Return at most `MOST_FOUND` tokens whose label contains the query, best match first."""
    ids = labels_of(vocabulary).find(query, raw.scores, MOST_FOUND)
    return [_placed(token_id, raw) for token_id in ids]


@panics_as_errors()
def tokens_of(vocabulary: Vocabulary, text: str, raw: RankedRow | None) -> list[Found]:
    """Return the tokens of a text, without special tokens around it.

    The list is empty for an empty text, or if there is no tokenizer.

    Raises:
        SettingError: the text has more than `LONGEST_TEXT` characters.
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
    # A tokenizer may have ids for which the model has no output.
    if raw is None or token_id >= raw.scores.size:
        return Found(token_id)
    return Found(token_id, raw.rank(token_id), float(raw.scores[token_id]))
