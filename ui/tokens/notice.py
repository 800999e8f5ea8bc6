"""What there is to notice in a text as tokens, in sentences computed from it."""

from __future__ import annotations

from collections.abc import Sequence

from ui.tokens.state import Shown
from ui.words.labels import counted, visible

_LONGEST = 40  # characters of a pre-token in a sentence


def notice(shown: Sequence[Shown]) -> str:
    """How many tokens there are, what is cut most, and what the second tokenizer makes of it."""
    first, *others = shown
    words = len(first.cut.text.split())
    found = [
        f"{first.name} makes {counted(len(first.cut.tokens), 'token')} of "
        f"{counted(words, 'word')}.",
        _most_cut(first),
    ]
    for other in others:
        found.append(_against(first, other))
    return " ".join(filter(None, found))


def _most_cut(shown: Shown) -> str:
    most = max(shown.cut.pre_tokens, key=lambda one: len(one.ids), default=None)
    if most is None:
        return ""
    word = visible(shown.cut.text[most.start : most.end])
    if len(word) > _LONGEST:
        word = word[: _LONGEST - 1] + "…"
    word = f"\u2068{word}\u2069"  # set apart, whichever way its letters run
    if len(most.ids) == 1:
        return f"No pre-token is cut, so {word} is a single id to the model."
    return f"“{word}” is cut most, into {counted(len(most.ids), 'token')}."


def _against(first: Shown, other: Shown) -> str:
    one, two = len(first.cut.tokens), len(other.cut.tokens)
    if one == two:
        return f"{other.name} makes as many."
    if two > one:
        return f"{other.name} makes {two / one:.1f} times as many."
    return f"{other.name} makes {one / two:.1f} times fewer."
