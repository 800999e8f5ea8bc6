"""Sentences on what to notice in a tokenized text."""

from __future__ import annotations

from collections.abc import Sequence

from ui.tokens.message import shortened
from ui.tokens.state import Shown
from ui.words.labels import counted
from ui.words.language import say


def notice(shown: Sequence[Shown]) -> str:
    """Say how many tokens there are, which word has the most, and how other tokenizers compare."""
    first, *others = shown
    text = first.cut.text
    tokens, words = counted(len(first.cut.tokens), "token"), counted(len(text.split()), "word")
    characters = counted(len(text), "character")
    count = say(
        "The {name} tokenizer splits {words} ({characters}) into {tokens}.",
        name=first.name,
        tokens=tokens,
        words=words,
        characters=characters,
    )
    against = (_against(first, other) for other in others)
    return " ".join(filter(None, (count, _most_cut(first), *against)))


def _most_cut(shown: Shown) -> str:
    most = max(shown.cut.pre_tokens, key=lambda one: len(one.ids), default=None)
    if most is None:
        return ""
    word = shortened(shown.cut.text[most.start : most.end])
    word = f"\u2068{word}\u2069"  # bidirectional isolates, for words written from right to left
    if len(most.ids) == 1:
        return say("No word is split: the model gets a single id for each.")
    return say(
        "“{word}” is cut most, into {tokens}.", word=word, tokens=counted(len(most.ids), "token")
    )


def _against(first: Shown, other: Shown) -> str:
    times = len(other.cut.tokens) / len(first.cut.tokens)
    if times == 1:
        return say("{name} makes as many.", name=other.name)
    return say("{name} makes {times} times as many.", name=other.name, times=f"{times:.2g}")
