"""Tables of claims: what a person typed or a model wrote is shown as it is, in every language."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.claims.experiments.beam import GREEDY, BeamTexts, Searched
from engine.claims.experiments.broken_json import KEPT, BrokenJson, JsonRun, Judged
from engine.claims.experiments.determinism import Compared, Determinism
from engine.claims.experiments.speculative import Sped, Speedups
from engine.claims.experiments.tail import Absurd, Tail, Tails
from engine.claims.experiments.truth import Answered, Truth
from engine.claims.facts import Fact
from ui.claims.experiments import beam, broken_json, determinism, speculative, tail, truth
from ui.measurements.section import Table
from ui.words.language import localised, speaking

TYPED = "0.5"


@pytest.mark.parametrize(
    ("table", "result", "count"),
    [
        (beam._texts, BeamTexts((Searched(TYPED, GREEDY, TYPED, -1.0, 1.0),)), 2),
        (
            broken_json._texts,
            BrokenJson((JsonRun(1, 1, TYPED, TYPED, (Judged(KEPT, TYPED, True, ""),)),)),
            3,
        ),
        (
            determinism._texts,
            Determinism((Compared(TYPED, "", 0.0, (0.0,), 0, TYPED, TYPED),), ""),
            3,
        ),
        (speculative._trials, Speedups((Sped(TYPED, 2, 1, 1, 3, 2, 1.0),), 2.0, True, (1.0,)), 1),
        (
            tail._absurd,
            Tails((), 9, (Tail(TYPED, (Absurd("", TYPED, 9, -3.0),), (), (), (), ()),)),
            2,
        ),
        (truth._answers, Truth((Answered(Fact("", TYPED, (TYPED,)), TYPED, TYPED, 1),), 1), 4),
    ],
    ids=["beam", "broken_json", "determinism", "speculative", "tail", "truth"],
)
def test_texts_with_figures_keep_their_point(
    table: Callable[[Any], Table], result: Any, count: int
):
    with speaking("de"):
        shown = [localised(value) for row in table(result).rows for value in row]
    assert shown.count(TYPED) == count and "0,5" not in shown
