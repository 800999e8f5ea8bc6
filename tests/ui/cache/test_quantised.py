"""Quantised caches on the cache page: words, shades, charts, and refused settings."""

from dataclasses import replace

import pytest

from tests.charts import charts
from tests.pages.tab import field
from tests.ui.measurements.drawn import drawn
from ui.cache.quantised.charts import divergence_figure, saving_figure
from ui.cache.quantised.section import (
    GIVEN_TEXT,
    SAMPLED_TEXT,
    SECTION,
    QuantisedInputs,
    shade_of,
    strip,
)
from ui.jobs import UNKNOWN
from ui.measurements.section import Laid
from ui.measurements.section_state import SectionState

INPUTS = QuantisedInputs(
    prompt="w1|w2|<b>bold</b>", positions=24, group=4, residual=2, compares=False
)


@pytest.fixture(scope="module")
def held(model) -> SectionState:
    held = SectionState("section", SECTION, model, INPUTS)
    held.begin(UNKNOWN)
    held.work.wait(60)
    assert held.work.is_done, held.work.problem or held.error
    return held


def test_notice_reports_bytes_changes_and_divergence(held):
    result = held.result()
    four = result.points[1]
    notice = SECTION.notice(result)
    assert f"({100 * four.bytes / result.exact_bytes:.1f} %)" in notice
    assert f"changes at {four.changed} of {four.positions} positions" in notice
    parted = [one for one in result.along if one.parted_after is not None]
    assert all(f"{one.bits} bits after {one.parted_after} token" in notice for one in parted)
    early = replace(result, along=tuple(replace(one, kl_bits=()) for one in result.along))
    assert SECTION.notice(early).startswith("Nothing is quantised before position 3")
    largest = max(result.along[0].kl_bits)
    rounded = replace(result, rounding_kl_bits=tuple(largest for _ in result.read))
    assert "no more than rounding alone" in SECTION.notice(rounded)
    assert "8 bits cost" in SECTION.notice(replace(result, rounding_kl_bits=(0.0,) * 24))


def test_tables_hold_every_token(held):
    result = held.result()
    summary, settings, tokens = SECTION.tables(result)
    named = [row[0] for row in summary.rows]
    assert named == ["exact", "8 bits", "4 bits", "2 bits", "rounding alone"]
    assert len(settings.rows) == 3 and len(tokens.rows) == 24
    assert all(len(row) == len(tokens.head) for row in tokens.rows)
    assert [row[1] for row in tokens.rows] == list(result.read)


def test_the_text_is_shaded_and_escaped(held):
    result = held.result()
    shown = strip(result)
    assert "<b>" not in shown and "&lt;b&gt;" in shown
    assert shown.count("<span") == 24 + 4
    assert shown.count("dv-kl-changed") == sum(result.along[1].is_changed) + 1
    assert [shade_of(kl) for kl in (0, 1e-4, 2e-4, 1e-2, 0.99, 1, 7)] == [0, 0, 1, 3, 5, 5, 5]


def test_charts_show_the_measured_values(held):
    result = held.result()
    figure = divergence_figure(result)
    lines = {trace.name: trace for trace in figure.data if trace.name}
    for one in result.along:
        shown = lines[f"{one.bits} bits"].y
        assert shown[:2] == (None, None), "0 has no place on a logarithmic axis"
        assert [value for value in shown if value] == [kl for kl in one.kl_bits if kl >= 1e-9]
    crosses = [len(trace.x) for trace in figure.data if trace.marker.symbol == "x-thin"]
    assert crosses == [n for n in (sum(one.is_changed) for one in result.along) if n]
    assert "<b>" not in figure.to_json().replace("<br>", "")
    points = [trace for trace in saving_figure(result).data if trace.mode == "markers"]
    assert len(points) == 3
    assert points[1].x[0] == pytest.approx(100 * result.points[1].bytes / result.exact_bytes)
    laid = Laid("<i>Other</i>", result)
    assert len(divergence_figure(result, True, laid).data) == len(figure.data) + 3
    assert "<i>" not in saving_figure(result, True, laid).to_json()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"group": 12}, "must divide the 8 channels"),
        ({"residual": 24}, "keeps all 24 positions"),
        ({"prompt": ""}, "rompt"),
        ({"text": SAMPLED_TEXT, "temperature": -1.0}, "Temperature must"),
    ],
)
def test_refused_settings_keep_the_last_result(held, changes, words):
    before, work = held.result(), held.work
    held.inputs = replace(INPUTS, **changes)
    held.begin(UNKNOWN)
    assert words in held.error and held.work is work and held.result() == before


def test_given_text_is_read_to_its_end(model):
    inputs = replace(INPUTS, text=GIVEN_TEXT, prompt="w1|w2|" * 3)
    held = SectionState("section", SECTION, model, inputs)
    held.begin(UNKNOWN)
    held.work.wait(60)
    result = held.result()
    assert len(result.read) == len(model.vocabulary.encode("w1|w2|" * 3)) == result.given
    assert "part" not in SECTION.notice(result)


def example_page() -> None:
    import streamlit as st

    from engine.model import LanguageModel
    from tests.ui import hostile
    from ui.cache.quantised.section import SECTION
    from ui.jobs import UNKNOWN
    from ui.measurements.page import MeasurementPage

    page = MeasurementPage("cache", "", [SECTION])
    if "state" not in st.session_state:
        model = LanguageModel(hostile.language_model(), hostile.tokenizer(), name="hostile")
        state = st.session_state["state"] = page.begun(model)
        state.held.change(prompt="w1|w2", positions=20, group=4, residual=2, compares=False)
        state.held.begin(UNKNOWN)
    page.draw_state(st.session_state["state"])


def test_page_measures_and_reports_values_out_of_range():
    app = drawn(example_page)
    assert any("4 bits take" in one.value for one in app.markdown)
    assert len(charts(app)) == 2
    field(app, "number_input", "cache_quantised_positions").set_value(0)
    app.run()
    assert any("Positions is out of range, got 0" in one.value for one in app.error)
    field(app, "number_input", "cache_quantised_group").set_value(5)
    app.run()
    app.button(key="cache_quantised_start").click()
    app.run()
    assert any("group must divide the" in one.value for one in app.error)
    assert len(charts(app)) == 2, "the last result stays"
