"""The words of the claims are data: what they name exists, and figures can be put into them."""

import string
from itertools import groupby

import pytest

from engine.claims.uncertainty import counted, mean
from engine.claims.verdict import ABOVE, DEPENDS, FAILS, HOLDS, OPEN, Check, verdict
from engine.errors import SettingError
from ui.claims.claims import CLAIMS
from ui.claims.facts import facts_of
from ui.claims.inputs import lines, numbers, wholes
from ui.claims.words import KINDS, UNDECIDED, all_words

NO_FIGURES = {"yes", "no", "open"}


def test_every_claim_has_words_and_every_word_its_claim():
    assert [claim.key for claim in CLAIMS] == list(all_words())
    topics = [claim.topic for claim in CLAIMS]
    assert [topic for topic, _ in groupby(topics)] == list(dict.fromkeys(topics))


@pytest.mark.parametrize("key", all_words())
def test_every_mark_is_a_figure(key):
    words = all_words()[key]
    ends = ("", "_low", "_high", "_n")
    known = {name + end for name in words.figures for end in ends} | NO_FIGURES
    for sentence in (words.holds, words.fails, words.depends):
        assert {mark for _, mark, _, _ in string.Formatter().parse(sentence) if mark} <= known
    assert {figure.kind for figure in words.figures.values()} <= set(KINDS)


def test_the_sentence_follows_from_the_figures():
    words = all_words()["greedy_loops"]

    def said(looped: float, gap: float) -> tuple[str, str]:
        checks = [
            Check("looped", counted(looped, 8), ABOVE, 0.5),
            Check("gap", counted(gap, 8), ABOVE, 0.0),
        ]
        found = verdict(checks)
        return found.outcome, words.sentence(found)

    assert said(0.75, 0.3)[0] == HOLDS and said(0.25, -0.3)[0] == FAILS
    outcome, sentence = said(0.25, 0.3)
    assert outcome == DEPENDS and "25 %" in sentence and "30 %" in sentence
    unclear = verdict([Check("gap", mean([0.1]), ABOVE, 0.0)])
    assert unclear.outcome == OPEN and words.sentence(unclear) == UNDECIDED


def test_what_is_typed_is_read_or_refused_in_a_sentence():
    assert lines("a\n\n b \n") == ["a", " b "]
    assert numbers("T", "2, 0.5,2") == [0.5, 2.0]
    for typed in ("", "x", "nan", ",".join(map(str, range(99)))):
        with pytest.raises(SettingError, match="write them as in"):
            numbers("T", typed)
    assert wholes("T", "8, 4") == [4, 8]
    with pytest.raises(SettingError, match="is not whole"):
        wholes("T", "1.5")
    assert len(facts_of("")) > 40 and facts_of('[k]\n"a b" = ["c"]')[0].answers == ("c",)
    for typed in ("x", "a = 1", '[k]\n"a" = "b"', '[k]\n"a" = [1]'):
        with pytest.raises(SettingError, match="cannot be read"):
            facts_of(typed)
