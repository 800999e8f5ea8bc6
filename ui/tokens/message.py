"""The message to the browser with a text's tokens (`ui/components/js/types.js`)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import Any

from engine.errors import TokenizerError
from engine.making import BestCuts, Making, MatchHistory, MergeHistory
from engine.tokenizing import PreToken, StagedTokenizer, TextTokenizer, Token, TokenizedText
from ui.tokens.state import LONGEST, Shown
from ui.words.errors import in_words, told
from ui.words.labels import counted, token_label, visible
from ui.words.language import marked, say

MOST_DRAWN = 1_500  # tokens of a text that the browser draws
MOST_SYMBOLS = 150  # symbols of a pre-token whose merges are shown
# Symbols over all pre-tokens. A text has at most as many bytes, so only a tokenizer that makes the
# text longer reaches this.
MOST_OF_ALL = 4 * LONGEST
LONGEST_LABEL = 60  # characters of a pre-token's label
_NO_STEPS = {
    marked("Bytes"): marked("Every byte is a token. Nothing is merged."),
    marked("Code points"): marked("Every code point is a token. Nothing is merged."),
    "WordLevel": marked("The vocabulary contains whole pre-tokens. Nothing is merged."),
}
_OTHER_KIND = marked("This kind of tokenizer has no steps that the page can show.")


def packed(shown: Sequence[Shown]) -> str:
    """Return the message as JSON, with one entry per tokenizer."""
    return json.dumps([_side(one) for one in shown], separators=(",", ":"))


def _side(shown: Shown) -> dict[str, Any]:
    cut, tokenizer = shown.cut, shown.tokenizer
    drawn = cut.tokens[:MOST_DRAWN]
    last = max((one.pre_token for one in drawn if one.pre_token is not None), default=-1)
    problem = say(_NO_STEPS.get(tokenizer.kind, cut.problem))
    pre_tokens = cut.pre_tokens[: last + 1]
    different = {one.text: one for one in pre_tokens}  # equal pre-tokens have equal merges
    numbers = {text: number for number, text in enumerate(different)}
    return {
        "name": shown.name,
        "facts": facts(tokenizer, cut),
        "note": " ".join(filter(None, (*map(told, tokenizer.notices), _left_out(cut), problem))),
        "tokens": [_token(tokenizer, one) for one in drawn],
        "pre_tokens": [
            (shortened(cut.text[one.start : one.end]), numbers[one.text]) for one in pre_tokens
        ],
        "makings": list(_makings(tokenizer, different.values())),
        "first": _first(cut, len(drawn)),
    }


def facts(tokenizer: TextTokenizer, cut: TokenizedText) -> str:
    """Describe a tokenizer, and the text that it has tokenized, in one line."""
    parts = [
        say(tokenizer.kind),
        say("{count} tokens in the vocabulary", count=f"{tokenizer.size:,}"),
    ]
    if isinstance(tokenizer, StagedTokenizer) and tokenizer.merges is not None:
        parts.append(say("{count} merges", count=f"{tokenizer.merges:,}"))
    parts.append(say("this text: {tokens}", tokens=counted(len(cut.tokens), "token")))
    if cut.characters_per_token is not None:
        parts.append(say("{figure} characters per token", figure=f"{cut.characters_per_token:.2f}"))
    return " · ".join(parts)


def _left_out(cut: TokenizedText) -> str:
    if len(cut.tokens) <= MOST_DRAWN:
        return ""
    return say(
        "The first {shown} of {all} tokens are shown; the CSV file has all.",
        shown=f"{MOST_DRAWN:,}",
        all=f"{len(cut.tokens):,}",
    )


def is_partial(token: Token) -> bool:
    """Return whether a token begins or ends within a character."""
    try:
        token.data.decode()
    except UnicodeDecodeError:
        return True
    return False


def _token(tokenizer: TextTokenizer, token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "label": token_label(tokenizer.label(token.id)),
        "bytes": token.data.hex(" ").upper(),
        "start": token.start,
        "end": token.end,
        "first_byte": token.first_byte,
        "is_special": token.is_special,
        "is_inserted": token.is_inserted,
        "is_unknown": token.is_unknown,
        "is_partial": is_partial(token),
        "pre_token": token.pre_token,
    }


def _first(cut: TokenizedText, drawn: int) -> int:
    """Return the initially selected token: the first one of the pre-token with the most tokens."""
    sizes = {number: len(one.ids) for number, one in enumerate(cut.pre_tokens)}
    most = max(sizes, key=sizes.get, default=None)
    found = (n for n, one in enumerate(cut.tokens[:drawn]) if one.pre_token == most)
    return next(found, 0)


def shortened(text: str) -> str:
    """Return a part of a text with glyphs for invisible characters, shortened to fit on a line."""
    shown = visible(text)
    return shown if len(shown) <= LONGEST_LABEL else shown[: LONGEST_LABEL - 1] + "…"


def _makings(
    tokenizer: TextTokenizer, pre_tokens: Collection[PreToken]
) -> Iterator[dict[str, Any]]:
    sized = list(zip(pre_tokens, accumulate(len(one.text) for one in pre_tokens), strict=True))
    reasons = [_too_long(one, symbols) for one, symbols in sized]
    wanted = [one for (one, _), reason in zip(sized, reasons, strict=True) if not reason]
    try:
        makings = iter(tokenizer.makings(wanted))
    except TokenizerError as error:
        reasons = [in_words(error)] * len(sized)
    for reason in reasons:
        if reason:
            yield {"kind": "none", "reason": reason}
        else:
            yield _making(tokenizer, next(makings))


def _too_long(pre_token: PreToken, symbols: int) -> str:
    """Say why a pre-token's steps are not shown, given the number of symbols up to its end."""
    if symbols > MOST_OF_ALL:
        return say(
            "The pre-tokens up to here have {count} symbols; steps are shown for the first {most}.",
            count=f"{symbols:,}",
            most=f"{MOST_OF_ALL:,}",
        )
    if len(pre_token.text) > MOST_SYMBOLS:
        return say(
            "This pre-token has {count} symbols; steps are shown for at most {most}.",
            count=f"{len(pre_token.text):,}",
            most=f"{MOST_SYMBOLS:,}",
        )
    return ""


def _making(tokenizer: TextTokenizer, making: Making | None) -> dict[str, Any]:
    def labels(ids: Sequence[int]) -> list[str]:
        return [token_label(tokenizer.label(one)) for one in ids]

    if isinstance(making, MergeHistory):
        return {
            "kind": "merges",
            "symbols": labels(making.symbols),
            "merges": [
                (one.start, one.middle, one.end, one.rank, *labels((one.id,)), one.id)
                for one in making.merges
            ],
            "ranks": tokenizer.merges,
            "is_whole": making.is_whole,
        }
    if isinstance(making, MatchHistory):
        return {
            "kind": "matches",
            "text": [visible(one) for one in making.text],
            "matches": [(one.end, *labels((one.id,)), one.id, one.tried) for one in making.matches],
        }
    if isinstance(making, BestCuts):
        return {
            "kind": "cuts",
            "cuts": [
                {
                    "score": cut.score,
                    "tokens": [("".join(labels(one.ids)), one.score) for one in cut.tokens],
                }
                for cut in making.cuts
            ],
        }
    return {"kind": "none", "reason": say(_NO_STEPS.get(tokenizer.kind, _OTHER_KIND))}
