"""The page's words for the engine's names of hypotheses and texts."""

from __future__ import annotations

from engine.study import BEAM, GREEDY, SAMPLE, SetText
from engine.trace import FINISHED, KEPT, PRUNED
from ui.words.language import marked, say

_WORDS = {
    KEPT: marked("kept"),
    PRUNED: marked("pruned"),
    FINISHED: marked("finished"),
    BEAM: marked("beam"),
    GREEDY: marked("greedy"),
    SAMPLE: marked("nucleus sample"),
}


def word(name: str) -> str:
    """Return the page's word for a fate of a hypothesis or a kind of text."""
    return say(_WORDS[name])


def text_name(text: SetText) -> str:
    """Return the name of one of the compared texts."""
    number = text.name.rpartition(" ")[2]
    if text.kind == BEAM:
        return say("beam {number}", number=number)
    return say("sample {number}", number=number) if text.kind == SAMPLE else word(text.kind)
