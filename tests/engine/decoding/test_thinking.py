"""The thinking budget: after that number of tokens the closing mark is forced."""

import pytest

from engine import replay
from engine.decoder import Decoder
from engine.errors import SettingError
from engine.sampling import SamplingSettings
from engine.text import CLOSE, OPEN, checked_budget, tokens_thought
from engine.trace import Trace
from tests.bundled import bundled

GREEDY = SamplingSettings(temperature=0.0)


@pytest.mark.parametrize(
    ("before", "pieces", "expected"),
    [
        ("Hi", ["a", "b"], None),
        (f"Hi{OPEN}", ["a", "b"], 2),
        (f"Hi{OPEN}\n", [], 0),
        ("Hi", ["a", OPEN, "b", "c"], 2),
        ("Hi", ["a", "<", "think", ">", "b"], 1),
        ("Hi<thi", ["nk>b", "c"], 1),
        ("Hi", [OPEN, "b", CLOSE, "c"], None),
        ("Hi", [OPEN, "b", CLOSE, OPEN, "c"], 1),
        ("Hi", [OPEN, "b", "</thi"], 2),
    ],
)
def test_tokens_since_the_opening_mark_are_counted(before, pieces, expected):
    assert tokens_thought(before, pieces) == expected


def thinking(budget: int | None) -> Decoder:
    decoder = Decoder(bundled(), f"Who was there? {OPEN}", GREEDY)
    decoder.thinking_budget = budget
    return decoder


def test_budget_forces_the_closing_mark():
    model, mark = bundled(), bundled().vocabulary.encode_inside(CLOSE)
    free, bound = thinking(None), thinking(3)
    list(free.run(12))
    list(bound.run(12))
    assert bound.token_ids[:3] == free.token_ids[:3]
    assert bound.token_ids[3 : 3 + len(mark)] == mark and len(mark) > 1
    forced = [step.index for step in bound.steps if step.forced]
    assert forced == list(range(3, 3 + len(mark)))
    assert tokens_thought(f" {OPEN}", [bound.text]) is None
    trace = Trace.from_json(bound.trace().to_json())
    assert replay(trace, model).identical
    bound.rewind(4)
    assert bound.step().token_id == mark[1] and bound.fork().thinking_budget == 3


@pytest.mark.parametrize("budget", [0, -1, 1.5, True, "3"])
def test_other_budgets_are_refused(budget):
    with pytest.raises(SettingError, match="thinking_budget must be a whole number from 1 on"):
        checked_budget(budget)
