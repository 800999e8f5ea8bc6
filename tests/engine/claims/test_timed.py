"""Claims about times: verdicts on made-up times, and short experiments whose times are ignored."""

import itertools
import time

import pytest

from engine.claims.experiments.cached_flat import CachedFlat
from engine.claims.experiments.output_slower import OutputSlower
from engine.claims.experiments.output_time import OutputTime
from engine.claims.inputs import MOST_LINES
from engine.claims.verdict import DEPENDS, FAILS, HOLDS, OPEN, judge
from engine.errors import SettingError
from engine.measure.machine import Setting
from engine.measure.pace import Pace
from engine.measure.prefill_and_decode import Cell, PrefillAndDecode
from engine.measure.report import Report
from engine.measure.with_and_without import WithAndWithout
from engine.runner.turns import processor_clock
from tests.engine.claims.experiments import experiment

ROUNDS = 6
PROMPTS, OUTPUTS = (10, 20, 80), (2, 4)
STEADY, UNSTEADY = (1.0,) * 20, (1.0,) * 14 + (2.0,) * 6  # reference products


def outcome(result) -> str:
    return judge(result.checks).outcome


def cell(prompt: int, output: int, first: float, later: float) -> Cell:
    """A cell whose rounds differ a little, as they do on a real machine."""
    noise = [1 + 0.01 * n for n in range(ROUNDS)]
    firsts, laters = (tuple(ms * one for one in noise) for ms in (first, later))
    return Cell(prompt, output, firsts, laters, (0.0,) * ROUNDS)


@pytest.mark.parametrize(
    ("prefill_ms", "wanted"),
    [((10.0, 10.0), HOLDS), ((200.0, 400.0), FAILS), ((10.0, 400.0), DEPENDS)],
)
def test_output_slower_verdict_compares_decode_and_prefill_times(prefill_ms, wanted):
    cells = [cell(n, 5, ms, 40.0) for n, ms in zip((10, 20), prefill_ms, strict=True)]
    result, unsteady = (
        OutputSlower(PrefillAndDecode((10, 20), (5,), tuple(cells), reference, 1))
        for reference in (STEADY, UNSTEADY)
    )
    assert outcome(result) == wanted
    assert outcome(unsteady) == OPEN, "times of a machine that changed its speed do not compare"
    slower, prefill, decode = result.checks[:3]
    assert slower.figure.value == pytest.approx(10 * 10 / prefill_ms[0])
    assert slower.figure.value == pytest.approx(
        prefill.figure.value / decode.figure.value, rel=0.01
    )


def grid(
    of_prompt: float,
    of_output: float,
    bend: float = 0.0,
    count: int = 6,
    reference: tuple[float, ...] = STEADY,
) -> OutputTime:
    """The first `count` cells of times that follow a plane, except for the longest prompt."""
    cells = tuple(
        cell(n, m, 3 + of_prompt * n + (bend if n == PROMPTS[-1] else 0), of_output * m)
        for n in PROMPTS
        for m in OUTPUTS
    )
    return OutputTime(PrefillAndDecode(PROMPTS, OUTPUTS, cells[:count], reference, 1), hardly=0.1)


def test_output_time_verdict_follows_from_fitted_plane():
    result = grid(0.5, 10.0)
    assert outcome(result) == HOLDS
    values = {check.name: check.figure.value for check in result.checks}
    assert values["share"] == pytest.approx(0.05)
    assert values["output"] == pytest.approx(10.0, rel=0.05)
    assert outcome(grid(5.0, 10.0)) == FAILS and outcome(grid(0.5, -1.0)) == FAILS
    assert outcome(grid(0.5, 10.0, bend=200.0)) == DEPENDS, "long prompts take longer"
    assert outcome(grid(0.5, 10.0, count=1)) == OPEN, "one cell says nothing of a slope"


def steps(
    cached: float, uncached: float, blocks: int = 16, slow: int = 0, in_products: bool = True
) -> CachedFlat:
    """Steps whose times grow by `cached` and `uncached` ms per position, with two outliers.

    From block `slow` on, the machine takes twice as long for everything. With `in_products` False
    the reference product keeps its speed, as when another program saturates the memory bandwidth.
    """
    count = 16 * blocks

    def speed(block: int) -> float:
        return 2.0 if slow and block >= slow else 1.0

    with_cache, without = (
        [(10 + slope * n + 0.1 * (n % 3)) * speed(n // 16) for n in range(count)]
        for slope in (cached, uncached)
    )
    with_cache[0], with_cache[20] = 500.0, 90.0  # the first step reads the prompt
    positions = tuple(range(5, 5 + count))
    found = WithAndWithout(
        *(5, "", tuple(with_cache), (0,) * count, positions, tuple(without)),
        *((1,) * count, 1, None, False),
        *(tuple(speed(n) if in_products else 1.0 for n in range(blocks)),),
        *(tuple(map(speed, range(blocks))), 16),
    )
    return CachedFlat(found, flat=1.25)


def test_cached_flat_verdict_compares_halves_of_the_text():
    result = steps(0.01, 1.0)
    assert outcome(result) == HOLDS
    # Half a text is 128 steps; a quarter into the middle blocks is step 60.
    assert result.cached.value == pytest.approx((10 + 0.01 * 188) / (10 + 0.01 * 60), rel=0.02)
    assert result.uncached.value == pytest.approx((10 + 188) / (10 + 60), rel=0.02)
    assert outcome(steps(1.0, 1.0)) == DEPENDS and outcome(steps(0.0, 0.001)) == DEPENDS
    assert outcome(steps(1.0, 0.0)) == FAILS
    assert outcome(steps(0.01, 1.0, blocks=9)) == OPEN, "too few pairs of blocks"
    assert outcome(steps(0.01, 1.0, slow=15)) == HOLDS, "the machine grew slow for a moment"
    assert outcome(steps(0.01, 1.0, slow=8)) == OPEN, "the machine grew slow for half of it"
    alike = steps(0.01, 1.0, slow=8, in_products=False)
    assert outcome(alike) == HOLDS, "passes of any length grew slow"


SHORT = {
    "output_slower": {"prompts": "2, 4", "output": 3, "rounds": 2},
    "output_time": {"prompts": "2, 4", "outputs": "2, 3", "rounds": 2},
    "cached_flat": {"prompt": "the dog", "positions": 20},
}


@pytest.mark.parametrize("name", SHORT)
def test_experiment_runs_and_its_result_round_trips(name, chain):
    run = experiment(name, chain, **SHORT[name])
    assert run.result is None and run.seconds(Pace((1, 8), (1.0, 2.0), 1.0)) > 0
    steps = run.run()
    next(steps)
    assert judge(run.result.checks).outcome, "a first part is enough to draw"
    list(run.run())
    result = run.result
    kept = Report.from_json(
        Report(Setting.here(chain), {name: result}).to_json(), {name: type(result)}
    )
    assert kept.parts[name] == result


def test_claims_are_timed_by_the_processor_clock(chain, monkeypatch):
    ticks = itertools.count()  # every pass takes one tick

    def clock() -> float:
        return next(ticks) / 1e3

    for place in ("grid", "experiments.cached_flat"):
        monkeypatch.setattr(f"engine.claims.{place}.processor_clock", lambda model: clock)
    found = {name: experiment(name, chain, **inputs) for name, inputs in SHORT.items()}
    for run in found.values():
        list(run.run())
    cells = found["output_slower"].result.measured.cells
    assert [cell.first_ms for cell in cells] == [pytest.approx((1.0, 1.0))] * 2
    assert [cell.later_ms for cell in cells] == [pytest.approx((2.0, 2.0))] * 2, "of two tokens"
    steps = found["cached_flat"].result.measured
    assert (*steps.cached_ms, *steps.uncached_ms) == pytest.approx(
        [1.0] * (len(steps.cached_ms) + len(steps.uncached_ms))
    )
    assert processor_clock(chain) in (time.thread_time, time.process_time)


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("output_time", {"prompts": "2"}, "Prompt tokens are too few"),
        ("output_time", {"prompts": "0, 2"}, "Prompt tokens"),
        ("cached_flat", {"flat": 0.5}, "Flat below"),
        (
            "speculative",
            {"prompts": "the dog\n" * (MOST_LINES + 1)},
            "Lines must number at most 200",
        ),
        ("speculative", {"lengths": "1, 2, 3, 4, 5, 6, 7, 8, 9"}, "must be 1 to 8 numbers"),
    ],
)
def test_invalid_experiment_inputs_are_refused(name, inputs, said, chain):
    with pytest.raises(SettingError, match=said):
        experiment(name, chain, **SHORT.get(name, {}) | inputs)
