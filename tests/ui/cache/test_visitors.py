"""The visitors of the cache page: lanes without names, waits in words, visitors that leave."""

import re
from dataclasses import replace

import pytest

from engine.measure.visitors import KindWaits, ShownPass, VisitorsResult
from tests.pages.tab import field
from tests.ui.measurements.drawn import drawn
from ui.cache.visitors.lanes import lanes, queue
from ui.cache.visitors.section import SECTION, VisitorsInputs
from ui.measurements.held import Held

RESULT = VisitorsResult(
    stepping=2,
    batching=1,
    prompting=0,
    seconds=12.0,
    span=10.0,
    shown=(
        ShownPass("prefill", None, 9.0, 8.0, 7.0),
        ShownPass("step", 11, 8.5, 7.0, 6.5),
        ShownPass("prefill", None, 7.5, 6.5, 6.0),  # came while the other real prompt was read
        ShownPass("prefill", None, 5.0, 5.0, 4.5),
        ShownPass("step", 2, 12.0, 2.0, 1.0),
        ShownPass("batch", 3, 0.4, 0.1, None),
        ShownPass("step", None, 0.05, None, None),
        ShownPass("step", 11, 0.02, None, None),
    ),
    kinds=(
        KindWaits("step", 20, 1.5, 30.0, 40.0, 9.0, 12.0),
        KindWaits("batch", 5, 20.0, 60.0, 90.0, 14.0, 15.0),
    ),
    longest_line=4,
    busy=0.25,
    steps=20,
    step_p50=11.0,
    step_p95=45.0,
)


def test_simulated_visitors_have_lanes_and_real_ones_share_them_by_kind():
    shown = lanes(RESULT)
    names = re.findall(r'<div class="line-name">([^<]+)</div>', shown)
    real = ["step, real", "prompt, real", "prompt, real"]
    assert names == ["simulated 2", "simulated 3", "simulated 11", *real]
    rows = dict(zip(names, shown.split('<div class="line-lane">')[1:], strict=True))
    bars = re.findall(r'class="line-(\w+)" style="left:([\d.]+)%;width:([\d.]+)%"', rows[names[2]])
    assert bars == [
        ("waits", "15.00", "15.00"),
        ("step", "30.00", "5.00"),
        ("waits", "99.80", "0.20"),
    ]
    early = re.findall(r'style="left:([\d.]+)%;width:([\d.]+)%"', rows["simulated 2"])
    assert early == [("0.00", "80.00"), ("80.00", "10.00")], "what was before is cut off"


def test_the_queue_names_kinds_and_numbers():
    shown = queue(RESULT)
    assert "Runs: batch of simulated 3, for 100 ms." in shown
    assert "2 passes wait, the next first: step of a visitor, 50 ms; step of simulated 11" in shown
    free = queue(replace(RESULT, shown=RESULT.shown[:5]))
    assert "The device is free. Nobody waits." in free
    many = [ShownPass("step", number, 0.1, None, None) for number in range(1, 15)]
    assert "14 passes wait" in queue(replace(RESULT, shown=tuple(many)))
    assert "and 4 more" in queue(replace(RESULT, shown=tuple(many)))
    assert "No pass in this time" in lanes(replace(RESULT, shown=()))


def test_the_notice_is_computed():
    notice = SECTION.notice(RESULT)
    assert "3 simulated visitors: at most 4 wait at once" in notice and "busy 25 %" in notice
    assert "A step has the device for 9.0 ms (median) and waits 1.5 ms for it" in notice
    assert "The batches wait longest, 60 ms at p95" in notice
    assert "step takes 11 ms, p95 45 ms" in notice
    calm = replace(RESULT, kinds=(), longest_line=0, step_p50=None, step_p95=None)
    assert SECTION.notice(calm).startswith("3 simulated visitors: nobody waits")
    waits, passes = SECTION.tables(RESULT)
    assert waits.rows[0] == ("step", 20, 1.5, 30.0, 40.0, 9.0, 12.0) and len(passes.rows) == 8


def test_they_come_leave_at_a_cancel_and_stay_for_the_rest_of_their_time(model):
    held = Held("section", SECTION, model, VisitorsInputs(2, 0, 0, seconds=1))
    held.begin(lambda: True)
    work = held.work
    for _ in range(600):
        if work.result is not None:
            break
        work.wait(0.01)
    work.cancel()
    work.wait(30)
    assert not work.is_running and not work.is_done and not work.problem
    assert not any(thread.is_alive() for thread in work._visitors._crowd._threads)
    assert work.result.stepping == 2
    work.start()
    work.wait(30)
    assert work.is_done and work.texts_done == 1 and work.share == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"stepping": 60}, "visitors are too many, got 62"), ({"seconds": 500}, "seconds")],
)
def test_more_than_is_allowed_is_refused(model, changes, words):
    held = Held("section", SECTION, model, VisitorsInputs())
    held.change(**changes)
    held.begin(lambda: True)
    assert words in held.error and held.work is None


def example_page() -> None:
    import streamlit as st

    from engine.model import LanguageModel
    from tests.ui import hostile
    from ui.cache.visitors.section import SECTION
    from ui.measurements.page import MeasurementPage

    page = MeasurementPage("cache", "", [SECTION])
    if "state" not in st.session_state:
        model = LanguageModel(hostile.language_model(), hostile.tokenizer(), name="hostile")
        state = st.session_state["state"] = page.begun(model)
        state.held.change(stepping=1, batching=0, prompting=0, seconds=1)
        state.held.begin(lambda: True)
    page.draw_state(st.session_state["state"])


def test_the_page_shows_them_and_refuses_ten_thousand():
    app = drawn(example_page)
    assert any("1 simulated visitor:" in one.value for one in app.markdown)
    field(app, "number_input", "cache_visitors_stepping").set_value(10_000)
    app.run()
    assert any("Who step is out of range, got 10,000" in one.value for one in app.error)
