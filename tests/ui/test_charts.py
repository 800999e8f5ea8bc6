import html
from dataclasses import replace

import numpy as np
import pytest

from engine.sampling import SamplingSettings
from tests.ui.conftest import SETTINGS
from ui.charts import cost, distribution
from ui.view import step_view

GREEDY = SamplingSettings(temperature=0)


def traces(figure, *names):
    return [trace for trace in figure.data if trace.name in names]


def by_place(figure, *names):
    """Place on the token axis -> top of the bar, over the named traces."""
    tops = {}
    for trace in traces(figure, *names):
        base = trace.base or 0
        tops |= {x: base + y for x, y in zip(trace.x, trace.y, strict=True)}
    return tops


@pytest.mark.parametrize("settings", [SETTINGS, GREEDY, SamplingSettings()])
def test_bars_of_logits_end_at_the_logits(decoder, settings):
    view = step_view(decoder, 2, settings, 15)
    figure = distribution.logits(view)
    tops = by_place(figure, "kept", "removed", "chosen")
    assert [tops[place] for place in range(len(view.rows))] == pytest.approx(
        [decoder.logits(2)[row.token_id] for row in view.rows]
    )
    low, high = figure.layout.yaxis.range
    assert low < min(tops.values()) <= max(tops.values()) < high


@pytest.mark.parametrize("index", [2, 5])
def test_softmax_shows_three_probabilities_of_each_token(decoder, index):
    view = step_view(decoder, index, SETTINGS, 15)
    figure = distribution.softmax(view)
    probs = decoder.distribution(index, SETTINGS).probs

    final = by_place(figure, "kept", "chosen")
    for place, row in enumerate(view.rows):
        assert final.get(place, 0.0) == pytest.approx(probs[row.token_id])
    before = by_place(figure, "after temperature", "removed")
    assert [before[place] for place in range(len(view.rows))] == [row.prob for row in view.rows]
    (circles,) = traces(figure, "model: T = 1, no cut")
    assert list(circles.y) == [row.model_prob for row in view.rows]
    (removed,) = traces(figure, "removed")
    assert set(removed.x) == {i for i, row in enumerate(view.rows) if row.removed_by}


def test_states_differ_by_pattern_and_not_by_colour_alone(decoder):
    view = step_view(decoder, 2, SETTINGS, 15)
    shapes = {trace.name: trace.marker.pattern.shape for trace in distribution.logits(view).data}
    assert shapes == {"kept": None, "removed": "/", "chosen": "x"}


def test_cumulative_marks_cuts_and_u_at_their_ranks(decoder):
    view = step_view(decoder, 2, SETTINGS, 15)
    figure = distribution.cumulative(view)
    lines = {trace.name: trace for trace in figure.data}
    result = decoder.distribution(2, SETTINGS)
    for stage, name in zip(result.stages[2:], ("top-k", "top-p", "min-p"), strict=True):
        line = next((lines[full] for full in lines if full.startswith(name)), None)
        if stage.survivors == decoder.model.vocab_size:
            assert line is None
        else:
            assert set(line.x) == {stage.survivors}
    step = decoder.steps[2]
    u = next(trace for trace in figure.data if trace.name.startswith("u = "))
    rank = next(row.rank for row in view.rows if row.chosen)
    assert (u.x[-1], u.y[-1]) == (rank, step.u)
    (curve,) = traces(figure, "after temperature")
    assert list(curve.y[1:]) == pytest.approx(view.curve.cumulative.tolist())
    (kept,) = traces(figure, "in the draw")
    assert kept.y[-1] == pytest.approx(1)


@pytest.mark.parametrize(("index", "settings"), [(5, SETTINGS), (2, GREEDY)])
def test_charts_without_a_draw_or_with_one_survivor(decoder, index, settings):
    view = step_view(decoder, index, settings, 15)
    for chart in (
        distribution.logits,
        distribution.softmax,
        distribution.cumulative,
        distribution.rank_curve,
    ):
        chart(view).to_json()
    has_u = [t for t in distribution.cumulative(view).data if t.name.startswith("u = ")]
    assert bool(has_u) == (view.draw is not None)


def test_the_rank_curve_is_the_whole_vocabulary(decoder):
    view = step_view(decoder, 2, SETTINGS, 15)
    figure = distribution.rank_curve(view)
    kept, removed = traces(figure, "kept")[0], traces(figure, "removed")[0]
    assert [*kept.x, *removed.x] == list(range(1, decoder.model.vocab_size + 1))
    assert [*kept.y, *removed.y] == pytest.approx(view.curve.probs.tolist())
    assert len(kept.x) == decoder.steps[2].survivors
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    (chosen,) = traces(figure, "chosen")
    assert (chosen.x[0], chosen.y[0]) == (view.chosen.rank, view.chosen.prob)


def test_underflow_does_not_break_the_logarithmic_axis(decoder):
    view = step_view(decoder, 2, SamplingSettings(temperature=1e-4), 15)
    assert view.curve.probs.min() == 0
    figure = distribution.rank_curve(view)
    low, high = figure.layout.yaxis.range
    assert np.isfinite([low, high]).all() and low < high
    assert all(min(trace.y, default=1) > 0 for trace in figure.data)


def test_hostile_tokens_are_escaped_wherever_plotly_reads_markup(decoder):
    view = step_view(decoder, 2, SETTINGS, 64)
    for figure in (distribution.logits(view), distribution.softmax(view)):
        texts = [*figure.layout.xaxis.ticktext, *(t for trace in figure.data for t in trace.text)]
        assert len(texts) >= 2 * len(view.rows)
        assert not any("<" in text or ">" in text for text in texts)
    ticks = [html.unescape(text) for text in distribution.logits(view).layout.xaxis.ticktext]
    assert "<script>a…" in ticks and "␍⏎" in ticks
    assert list(distribution.logits(view).layout.xaxis.tickvals) == list(range(64))


def test_cache_bars_equal_the_recorded_bytes_and_the_formula(decoder):
    formula = decoder.cache_formula
    figure = cost.kv_cache(decoder.steps, formula.bytes_at)
    assert figure.layout.title.text == "KV cache"
    logical, held, line = figure.data
    assert list(logical.y) == [step.cache_bytes for step in decoder.steps]
    assert list(held.y) == [step.cache_bytes_held for step in decoder.steps]
    assert list(line.y) == list(logical.y)
    assert list(logical.x) == [1, 2, 3, 4, 5, 6]
    assert len(cost.kv_cache(decoder.steps).data) == 2


def test_latency_keeps_prefill_apart_and_marks_reused_steps(decoder):
    decoder.rewind(3)
    decoder.step()
    decoder.step()
    steps = decoder.steps
    assert [step.reused for step in steps] == [False, False, False, True, False]
    figure = cost.latency(steps)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    prefill = [trace for trace in bars if trace.xaxis == "x"]
    decode = [trace for trace in bars if trace.xaxis == "x2"]
    assert [tuple(trace.x) for trace in prefill] == [(1,)] * 4
    for trace, name in zip(decode, ("forward_ms", "shape_ms", "draw_ms"), strict=False):
        assert list(trace.y) == [getattr(step, name) for step in steps[1:]]
    tops = np.sum([trace.y for trace in decode], axis=0)
    assert tops == pytest.approx([step.total_ms for step in steps[1:]])
    (reused,) = traces(figure, "reused logits")
    assert list(reused.x) == [4]


def test_titles_are_the_accessible_names_of_the_contract(decoder):
    view = step_view(decoder, 0, SETTINGS, 15)
    figures = [
        distribution.logits(view),
        distribution.softmax(view),
        distribution.cumulative(view),
        distribution.rank_curve(view),
        cost.kv_cache(decoder.steps),
        cost.latency(decoder.steps),
    ]
    assert [figure.layout.title.text for figure in figures] == [
        "Logits",
        "Softmax",
        "Cumulative probability",
        "Rank curve",
        "KV cache",
        "Latency per step",
    ]


@pytest.mark.parametrize("most", [1, 500, 1023, 1024, 73_728, 5 * 2**20, 700 * 2**20, 40 * 2**30])
def test_byte_ticks_cover_the_data_in_one_unit(most):
    values, texts = cost.byte_ticks(most)
    assert values[0] == 0 and values[-1] >= most
    assert 3 <= len(values) <= 6
    assert len({text.split()[1] for text in texts}) == 1


def test_a_run_of_nothing_still_draws():
    cost.kv_cache([]).to_json()
    cost.latency([]).to_json()


def test_a_minus_infinity_logit_has_no_bar(decoder):
    view = step_view(decoder, 0, SETTINGS, 5)
    rows = (*view.rows[:-1], replace(view.rows[-1], logit=-np.inf, prob=0.0))
    figure = distribution.logits(replace(view, rows=rows))
    assert "Infinity" not in figure.to_json()
    assert len(by_place(figure, "kept", "removed", "chosen")) == len(rows) - 1
