"""The words of the claims are data: the names in them exist, and figures fit into them."""

import string
from itertools import groupby

from engine.claims.experiment import steady
from engine.claims.uncertainty import Figure, counted, mean
from engine.claims.verdict import ABOVE, BELOW, DEPENDS, FAILS, HOLDS, OPEN, Check, judge, noted
from ui.claims.claims import CLAIMS
from ui.claims.words import KINDS, FigureName, all_words, interval


def test_every_claim_has_words_whose_placeholders_are_figures():
    assert [claim.key for claim in CLAIMS] == list(all_words())
    topics = [claim.topic for claim in CLAIMS]
    assert [topic for topic, _ in groupby(topics)] == list(dict.fromkeys(topics))
    for key, words in all_words().items():
        ends = ("", "_low", "_high", "_n")
        known = {name + end for name in words.figures for end in ends}
        marks = {mark for _, mark, _, _ in string.Formatter().parse(words.measured) if mark}
        assert marks <= known and words.overturned and words.each, key
        assert {figure.kind for figure in words.figures.values()} <= set(KINDS), key


def test_the_sentence_follows_from_the_figures():
    words = all_words()["greedy_loops"]

    def said(loops, repeats) -> tuple[str, str]:
        checks = [Check("loops", loops, ABOVE, 0.0), Check("repeats", repeats, ABOVE, 0.0)]
        noted_ones = [noted("looped", counted(0.25, 8)), noted("drawn", counted(0.0, 8))]
        found = judge([*checks, *noted_ones])
        return found.outcome, words.sentence(found)

    high, low = counted(0.3, 8), counted(-0.3, 8)
    assert said(high, high)[0] == HOLDS and "claimed" not in said(high, high)[1]
    assert said(low, low)[0] == FAILS
    outcome, sentence = said(low, high)
    assert outcome == DEPENDS and "25 %" in sentence and "30 percentage points higher" in sentence
    assert sentence.startswith("As claimed: repeated 4-grams") and "Not as claimed: " in sentence
    some = mean([-0.2, 0.4, 0.4, -0.2, 0.4, 0.0])
    outcome, sentence = said(some, high)
    assert outcome == OPEN and "Not decided: texts that end in a loop" in sentence
    needed = Check("loops", some, ABOVE, 0.0).needed
    assert f"about {needed} prompts would decide it" in sentence
    assert "would hardly decide it" in said(mean([-1.0, 1.0] * 3), high)[1]
    assert "at least 5 prompts" in said(mean([0.2, 0.4]), some)[1]
    unknown = mean([])
    assert "decide" not in said(unknown, unknown)[1], "no number of prompts is known to help"


def test_unmet_condition_is_reported_without_further_advice():
    words = all_words()["cached_flat"]
    some = mean([1.0, 1.2, 1.5, 1.1, 1.7, 1.2])
    checks = [Check("cached", some, BELOW, 1.25), Check("uncached", some, ABOVE, 1.25)]
    sentence = words.sentence(judge([*checks, steady([1.0] * 6 + [2.0] * 2)]))
    assert "so the times are not comparable" in sentence and "decide it" not in sentence
    assert "would decide" in words.sentence(judge([*checks, steady([1.0] * 8)]))


def test_share_differences_use_percentage_points():
    points, bits = FigureName("x", "points"), FigureName("x", "bits")
    assert points.said(-0.371) == "−37 percentage points" and points.said(0.034).startswith("3.4 ")
    assert points.said(-0.0001) == "0.0 percentage points"
    figure = Figure(0.1, -0.03, 0.2, 9, "bootstrap")
    assert interval(figure, points) == "−3.0 to 20 percentage points"
    assert interval(Figure(1.0, 0.5, 2.0, 9, "bootstrap"), bits) == "0.50 to 2.00 bits"
