"""Common behaviour of all sections of measuring pages, on the smallest section."""

import json
from contextlib import suppress

import psutil
import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException

from engine.measure.machine import Setting
from engine.measure.report import Report
from tests.pages.tab import field
from tests.ui.measurements.drawn import drawn
from tests.ui.measurements.example import SECTION, Readings
from ui import jobs
from ui.jobs import UNKNOWN
from ui.labs import state as labs_state
from ui.measurements.page import MeasurementPage
from ui.measurements.state import MeasurementState

OTHER = SECTION.__class__(**{**vars(SECTION), "key": "again", "name": "Again"})
PAGE = MeasurementPage("cache", "", [SECTION, OTHER])


@pytest.fixture
def state(bundled) -> MeasurementState:
    return PAGE.begun(bundled)


def measured(state: MeasurementState) -> MeasurementState:
    """Return the page after it has timed a few passes and done its short measurements."""
    state.look(UNKNOWN)
    state.bench.pacing.wait(60)
    state.look(UNKNOWN)
    state.held.work.wait(60)
    assert state.held.work.is_done
    return state


def test_section_starts_automatically_and_keeps_results(state):
    assert state.held.result() is None
    first = measured(state).held
    assert len(first.result().ms) == 3 and all(ms > 0 for ms in first.result().ms)
    state.choose("again")
    measured(state)
    state.choose("reading")
    assert state.held is first and len(first.result().ms) == 3
    work = first.work
    state.look(UNKNOWN)
    assert first.work is work, "it begins alone once"


@pytest.mark.parametrize(
    "place", [1, 3, *(pytest.param(place, marks=pytest.mark.long) for place in (2, 4, 5))]
)
def test_measurement_starts_even_if_drawing_is_interrupted(state, monkeypatch, place):
    """Streamlit ends a drawing at the next call to it if a new one is due."""
    words = iter(range(1, 100))

    def word(*arguments: object) -> str:
        if next(words) == place:
            raise RerunException(RerunData())
        return "en"

    monkeypatch.setattr(jobs, "language", word)
    monkeypatch.setattr(labs_state, "begins_alone", word)
    for _ in range(3):
        with suppress(RerunException):
            state.look(UNKNOWN)
        if state.bench.pacing is not None:
            state.bench.pacing.wait(60)
    assert state.held.work.wait(60) and state.held.work.is_done
    assert next(words) > 6, "two words each to time passes and to measure, one to begin alone"


def test_long_measurement_waits_for_a_press(state):
    state.held.change(times=10**6)
    state.look(UNKNOWN)
    state.bench.pacing.wait(60)
    state.look(UNKNOWN)
    assert state.held.work is None and state.held.seconds(state.bench.pacing.result) > 60
    state.held.change(times=1)
    state.look(UNKNOWN)
    assert state.held.work is None, "a change of the fields alone begins nothing"


def test_cancelled_measurement_resumes(state):
    held = state.held
    held.change(times=400)
    held.begin(UNKNOWN)
    held.work.cancel()
    held.work.wait(60)
    done = held.work.texts_done
    assert done < 400 and not held.work.problem
    held.work.measurement._costs = (1.0,) * (done + 2)
    held.work.start()
    held.work.wait(60)
    assert held.work.is_done and len(held.result().ms) == done + 2


def test_a_record_keeps_section_and_inputs(state, bundled):
    state.choose("again")
    state.held.change(times=7)
    record = json.loads(json.dumps(state.record()))
    again = PAGE.visit_page.restore(record, lambda source, revision: bundled)
    assert again.chosen == "again" and again.held.inputs.times == 7
    assert again.sections["reading"].inputs.times == 3
    del record["inputs"]["again"]  # as if this version had added the section
    again = PAGE.visit_page.restore(record, lambda source, revision: bundled)
    assert again.held.inputs.times == 3
    record["chosen"] = "visitors"  # this version no longer has it
    again = PAGE.visit_page.restore(record, lambda source, revision: bundled)
    assert again.chosen == "reading" and again.bench.inputs["reading"].times == 3


def test_record_keeps_only_finished_results(state, bundled):
    def restored(record) -> MeasurementState:
        kept = json.loads(json.dumps(record))
        return PAGE.visit_page.restore(kept, lambda source, revision: bundled)

    assert restored(state.record()).held.result() is None
    before = state.version
    held = measured(state).held
    assert state.version != before, "so that it is written down"
    again = restored(state.record())
    assert again.held.result() == held.result() and again.held.setting == held.setting
    assert again.held.measured == held.measured and again.held.work.took == held.work.took
    assert restored(again.record()).held.result() == held.result(), "and once more"
    work = again.held.work
    again.look(UNKNOWN)
    again.bench.pacing.wait(60)
    again.look(UNKNOWN)
    assert again.held.work is work, "nothing is measured again by itself"
    held.change(times=400)
    held.begin(UNKNOWN)
    held.work.cancel()
    held.work.wait(60)
    assert restored(state.record()).held.result() is None, "a part of it could not go on"


def test_unreadable_results_leave_the_inputs(state, bundled):
    state.held.change(times=2)
    state.held.begin(UNKNOWN)
    record = json.dumps(measured(state).record())
    for broken in ({"result": {"ms": ["x"]}}, {"setting": None}, {"took": "x"}):
        kept = json.loads(record)
        kept["results"][0]["reading"] |= broken
        again = PAGE.visit_page.restore(kept, lambda source, revision: bundled)
        assert again.held.inputs.times == 2 and again.held.result() is None
        assert "measured under Reading cannot be read" in again.error


def test_other_machine_file_is_overlaid_if_valid(state):
    report = json.loads(measured(state).report().to_json())
    report["setting"]["machine"]["processor"] = "Other"
    report["parts"]["unknown"] = {}
    report["parts"]["reading"]["ms"] = [1.5]
    state.lay_over(json.dumps(report))
    assert state.error == "" and state.laid("again") is None
    assert state.laid("reading").name.startswith("Other")
    assert state.laid("reading").result == Readings((1.5,))
    state.lay_over("{")
    assert "JSON" in state.error and state.laid("reading") is not None
    state.take_off()
    assert state.laid("reading") is None and state.error == ""


def test_results_outlast_a_refusal_but_no_new_model(state, model):
    held = measured(state).held
    before = held.result()
    held.change(prompt="")
    held.begin(UNKNOWN)
    assert "rompt" in held.error and held.result() == before
    held.change(times=2)
    state.load(model)
    assert state.held is not held and state.held.work is None and state.held.inputs.times == 2


def example_page(overlays: bool = True) -> None:
    from dataclasses import replace

    import streamlit as st

    from tests.bundled import bundled
    from tests.ui.measurements.example import SECTION
    from ui.measurements.page import MeasurementPage

    page = MeasurementPage("cache", "", [replace(SECTION, overlays=overlays)])
    if "state" not in st.session_state:
        st.session_state["state"] = page.begun(bundled())
    page.draw_state(st.session_state["state"])


def test_the_page_draws_a_section():
    app = drawn(example_page)
    assert any("The slowest of 3 readings" in one.value for one in app.markdown)
    assert any("an estimate" in one.value for one in app.caption)
    field(app, "number_input", "cache_reading_times").set_value(2.5)
    app.run()
    assert any("Readings" in error.value for error in app.error)
    files = [one.label for one in app.get("download_button")]
    assert files == ["Readings as CSV", "Whole measurement as JSON"]


def test_busy_machine_gives_no_conclusion(monkeypatch):
    monkeypatch.setattr(psutil, "getloadavg", lambda: (64.0, 1.0, 1.0))
    app = drawn(example_page)
    assert not any("The slowest of 3 readings" in one.value for one in app.markdown)
    assert any("no conclusion is drawn" in one.value for one in app.warning)
    said = "This computer is busy (load 64.0 on "
    assert any(said in one.value for one in app.caption)
    assert not any("an estimate." in one.value for one in app.caption)


def test_busy_other_machine_gives_no_conclusion():
    app = drawn(example_page, overlays=False)
    state = app.session_state["state"]
    report = json.loads(state.report().to_json())
    report["parts"]["reading"]["ms"] = [1.5]
    for load in (0.1, 64.0):
        report["setting"]["machine"] |= {"load": [load, 1.0, 1.0], "cores": 2}
        state.lay_over(json.dumps(report))
        app.run()
        assert state.error == "" and any(text.value == "1.5 ms" for text in app.text)
        concludes = any("The slowest of 1 readings" in one.value for one in app.markdown)
        said = any("The other computer was busy" in one.value for one in app.warning)
        assert (concludes, said) == (load < 2, load > 2)


def test_report_keeps_setting_and_results(bundled):
    setting = Setting.here(bundled)
    text = Report(setting, {"reading": Readings((1.0, 2.0))}).to_json()
    again = Report.from_json(text, {"reading": Readings})
    assert again.setting == setting and again.parts == {"reading": Readings((1.0, 2.0))}
    assert setting.dtype == str(bundled.dtype).removeprefix("torch.") and setting.threads >= 1
