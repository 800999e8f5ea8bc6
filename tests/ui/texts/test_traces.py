"""Visitors' traces: one that would delay all others is refused before it is read."""

import json

import pytest

from engine.errors import TraceError
from engine.trace import Trace
from ui.texts.traces import trace_of


@pytest.mark.parametrize(
    ("part", "count", "most"),
    [
        ("[]", 50_001, "50,000 lists"),
        ("[[]]", 25_001, "50,000 lists"),
        ('{"a":0}', 250_001, "250,000 lists and objects"),
        ("1.5", 1_000_002, "1,000,000 values"),
    ],
)
def test_oversized_trace_is_refused_before_parsing(part, count, most, monkeypatch):
    bomb = f'{{"x":[{",".join([part] * count)}]}}'
    with pytest.raises(TraceError, match="decoding trace"):
        Trace.from_json(bomb)  # in a person's own program, no others wait
    monkeypatch.setattr(json, "loads", None)
    with pytest.raises(TraceError, match=f"has more than {most}; use one from a shorter run"):
        trace_of(bomb, ("sampling",))
