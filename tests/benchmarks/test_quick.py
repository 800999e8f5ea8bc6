"""Every benchmark runs in its quick form, from the command line to the JSON line."""

import json
import math
import sys

import pytest

from benchmarks import __main__ as command
from tests.browser.chromium import REMEDY, find

GOALS = {  # one figure that has a goal, of each
    "cache": "DynamicCache / ours, cache alone, 2,048 positions",
    "constrained": "valid objects",
    "engine": "recorded / bare, top-p 0.9",
    "measuring": "the neighbour meanwhile: p95",
    "memory": "left behind by all",
    "search_error": "exact search, all prompts",
    "servers": "2 texts: app / bare",
    "speculative": "chains and bookkeeping / passes of the models",
    "sweep": "whole sweep",
    "page": "Step / the twin's",
    "visitors": "beside a batch of 16 rows: p95",
}
SMALLER = {
    "engine": ["--sizes", "bundled", "--steps", "2", "--threads", "1"],
    "sweep": ["--dtypes", "auto"],
    "page": ["--models", "bundled"],
    "visitors": ["--seconds", "0.1"],
}


def test_every_benchmark_has_a_quick_form_here():
    assert set(GOALS) == set(command.BENCHMARKS)


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[] if each == "cache" else pytest.mark.long) for each in GOALS],
)
def test_benchmark_runs_and_prints_its_json_line(name, monkeypatch, capsys):
    if name == "page":
        assert find(), REMEDY
    monkeypatch.setattr(sys, "argv", ["benchmarks", name, "--quick", *SMALLER.get(name, [])])
    assert command.main() == 0
    *table, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    assert result["benchmark"] == name
    assert result["machine"]["processor"] in table[1]
    assert f"torch {result['versions']['torch']}" in table[2]
    values = [figure["value"] for figure in result["figures"].values()]
    assert all(math.isfinite(value) and value >= 0 for value in values)
    goals = {goal["figure"].split(" | ")[1]: goal for goal in result["goals"]}
    assert goals[GOALS[name]]["met"] in (True, False)


def test_unknown_name_lists_the_known_benchmarks(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "pages"])
    assert command.main() == 2
    said = capsys.readouterr().err
    assert "'pages'" in said and all(name in said for name in command.BENCHMARKS)
