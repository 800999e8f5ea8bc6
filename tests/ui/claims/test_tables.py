"""Tables of claims: texts by a person or a model are shown unchanged, in every language."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.claims.claim import claim_of
from engine.claims.experiments.beam import GREEDY, BeamTexts, Searched
from engine.claims.experiments.broken_json import KEPT, BrokenJson, JsonRun, Judged
from engine.claims.experiments.determinism import Compared, Determinism
from engine.claims.experiments.speculative import Sped, Speedups
from engine.claims.experiments.tail import Absurd, Tail, Tails
from engine.claims.experiments.truth import Answered, Truth
from engine.claims.facts import Fact
from engine.claims.verdict import judge
from ui.claims.claims import plain_table, table_of
from ui.claims.words import all_words
from ui.words.language import localised, speaking

TYPED = "0.5"
JUDGED = (Judged(KEPT, TYPED, True, ""),)
ABSURD = (Absurd("", TYPED, 9, -3.0),)


@pytest.mark.parametrize(
    ("key", "result", "count"),
    [
        ("beam", BeamTexts((Searched(TYPED, GREEDY, TYPED, -1.0, 1.0),)), 2),
        ("broken_json", BrokenJson((JsonRun(1, 1, TYPED, TYPED, JUDGED),)), 3),
        ("determinism", Determinism((Compared(TYPED, "", 0.0, (0.0,), 0, TYPED, TYPED),), ""), 3),
        ("speculative", Speedups((Sped(TYPED, 2, 1, 1, 3, 2, 1.0),), 2.0, True, (1.0,)), 1),
        ("tail", Tails((), 9, (Tail(TYPED, ABSURD, (), (), (), ()),)), 2),
        ("truth", Truth((Answered(Fact("", TYPED, (TYPED,)), TYPED, TYPED, 1),), 1), 4),
    ],
)
def test_typed_texts_keep_their_decimal_point(key: str, result: Any, count: int):
    with speaking("de"):
        rows = table_of(claim_of(key), result).rows
        shown = [localised(value) for row in rows for value in row]
    assert shown.count(TYPED) == count and "0,5" not in shown


def test_own_kind_of_fact_stays_untranslated():
    said = Truth(
        tuple(Answered(Fact(kind, "a", ("b",)), "b", "b", 1) for kind in ("yes", "world")), 1
    )
    with speaking("de"):
        rows = table_of(claim_of("truth"), said).rows
        parts = [part for _, part, *_ in plain_table(all_words()["truth"], judge(said.checks)).rows]
    assert [row[-1] for row in rows] == ["yes", "Welt"] == parts[:2]


def test_texts_show_prompt_and_measured_values():
    def script() -> None:
        from engine.claims.claim import claim_of
        from engine.claims.experiments.one_token import Fork, OneToken
        from ui.claims.claims import draw_table, table_of

        fork = Fork("Once", " upon", " a", "\n", 0.5, " time", "<b>", (True, False), 0.0)
        draw_table(claim_of("one_token"), table_of(claim_of("one_token"), OneToken((fork,))))

    app = AppTest.from_function(script, default_timeout=60).run()
    assert not app.exception
    (texts,) = [str(one.proto.body) for one in app.get("html")]
    assert texts.count("<span>Once upon</span>") == 2, "both texts go on from the fork"
    assert "</span> time" in texts and "</span>&lt;b&gt;" in texts
    assert "token: ␣a" in texts and "replaced by: ⏎" in texts and "0.500" in texts
