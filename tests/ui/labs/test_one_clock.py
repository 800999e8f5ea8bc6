"""The page that times every decoder."""

import json

import pytest

from engine.errors import DecodingError
from engine.study.one_clock import Timed
from tests.pages.tab import field, in_tab, new_app, visit_of
from tests.ui.hostile import HOSTILE
from ui.jobs import UNKNOWN
from ui.labs.one_clock import clock as decoders
from ui.labs.one_clock.clock import Clock, ClockInputs
from ui.labs.one_clock.page import balance_figure, time_figure
from ui.labs.one_clock.view import cards, figures, notice, staged_runs

MARKUP = next(text for text in HOSTILE if "<" in text)


@pytest.fixture(scope="module")
def model(bundled):
    return bundled


@pytest.fixture(scope="module")
def run(model) -> Clock:
    clock = Clock(model, ClockInputs("The capital of France is", tokens=3, seed=1))
    clock.begin(UNKNOWN)
    clock.work.wait(120)
    assert clock.work.is_done and not clock.work.failed
    return clock


def timed(**changes) -> Timed:
    values = {
        "text": " Paris",
        "tokens": 2,
        "passes": 3,
        "judge_passes": 2,
        "positions": 9,
        "weight_bytes": 2048,
        "milliseconds": (4.0, 2.0, 3.0),
        "logprob": -1.0,
        "stop_reason": None,
    }
    return Timed(**values | changes)


def test_every_decoder_continues_the_prompt(run):
    found = run.work.timed
    assert list(found) == [one.name for one in decoders.DECODERS]
    assert all(len(one.milliseconds) == 3 and one.tokens for one in found.values())
    assert found["Greedy"].text.startswith(" Paris")
    page = cards("The capital of France is", found, {})
    assert page.count("<section") == len(found) and "all tokens" not in page.split("Greedy")[0]


def test_constrained_decoding_follows_the_entered_constraint(model):
    clock = Clock(model)
    clock.change(language="choices", source='[" Paris", " Rome"]')
    inputs = clock.inputs
    beginning = decoders.Beginning(model, "The capital is", 9, 1, inputs.constraint)
    (one,) = [one for one in decoders.DECODERS if one.name == "Constrained"]
    text = one.entrant(one.name, beginning).begin()
    list(text.run(9))
    assert text.text in (" Paris", " Rome")
    clock.change(source="[")
    assert "not valid JSON at line 1" in clock.error and clock.inputs == inputs
    clock.change(tokens=5)
    assert not clock.error and clock.inputs.source == inputs.source


def test_refused_run_and_record_keep_results_and_inputs(run, model):
    clock = Clock(model, run.inputs)
    clock.work = run.work
    clock.change(prompt="")
    clock.begin(UNKNOWN)
    assert "prompt" in clock.error.lower() and clock.work is run.work
    record = json.loads(json.dumps(run.record()))
    again = Clock.restored(record, lambda source, revision: model)
    assert again.inputs == run.inputs and again.work is None


def test_decoder_that_cannot_run_is_named(run, model, monkeypatch):
    def refused(name, one):
        raise DecodingError("It needs another model.")

    several = (decoders.TimedDecoder("Odd", "nothing", refused), decoders.DECODERS[0])
    monkeypatch.setattr("ui.labs.one_clock.clock.DECODERS", several)
    clock = Clock(model, run.inputs)
    clock.begin(UNKNOWN)
    clock.work.wait(60)
    assert clock.work.failed == {"Odd": "It needs another model."}
    assert list(clock.work.timed) == ["Greedy"] and clock.work.is_done


def test_automatic_start_keeps_the_opening_message(model, monkeypatch):
    monkeypatch.setattr("ui.labs.state.begins_alone", lambda model: True)
    clock = Clock(model)
    clock.error = "The bundled model is in use instead."
    clock.begin_alone(UNKNOWN)
    assert clock.error == "The bundled model is in use instead." and clock.work.is_running
    clock.release()


def test_notice_compares_times_only_if_rounds_agree():
    found = {"A": timed(), "B": timed(milliseconds=(12.0,) * 3, logprob=-0.5), "C": timed(tokens=0)}
    likely = "the text of B likeliest"
    said = notice(found, True, False)
    assert said.startswith("B takes 4.0 times as long per token as A") and likely in said
    assert "4.0" not in notice(found, False, False) and likely not in notice(found, False, False)
    busy = notice(found, True, True)
    assert "4.0" not in busy and likely in busy
    close = found | {"B": timed(milliseconds=(12.0, 12.0, 3.5), logprob=-0.5)}
    assert "overlap" in notice(close, True, False) and "4.0 times" not in notice(close, True, False)
    assert notice({"A": timed()}, True, False) == ""


def test_texts_are_escaped():
    name = decoders.DECODERS[0].name
    shown = cards(MARKUP, {name: timed(text=MARKUP)}, {})
    assert MARKUP not in shown
    assert MARKUP not in figures({MARKUP: timed()})
    found = staged_runs(MARKUP, {MARKUP: timed(text=MARKUP), "C": timed(tokens=0)})
    assert MARKUP not in found and "<b>–</b>" in found


def test_charts_show_every_text_that_has_tokens():
    found = {"A": timed(), "B": timed(tokens=0), "C": timed(logprob=-9.0)}
    bars = time_figure(found, True)
    assert [bar.y[0] for bar in bars.data] == ["A", "C"]
    assert [bar.x[0] for bar in bars.data] == [1.5, 1.5]
    points = balance_figure(found, True)
    assert [(point.name, point.x[0], point.y[0]) for point in points.data] == [
        ("A", 1.5, -0.5),
        ("C", 1.5, -4.5),
    ]
    time_figure({}, False)


def test_page_starts_itself_and_accepts_new_inputs(monkeypatch):
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    app.switch_page("pages/one_clock.py").run()
    assert not app.exception and not app.error
    clock = visit_of(app).present("one_clock")
    assert clock.work is not None and clock.work.count == 3 * len(decoders.DECODERS)
    field(app, "number_input", "one_clock_tokens").set_value(2.5)
    app.run()
    assert any("Max tokens" in error.value for error in app.error)
    field(app, "number_input", "one_clock_tokens").set_value(2.0)
    app.run()
    assert clock.inputs.tokens == 2 and not app.error
    clock.work.cancel()
    clock.work.wait(60)
    app.run()
    (button,) = [button for button in app.button if button.label == "Run all"]
    button.click()
    app.run()
    assert not app.exception and clock.work.beginning.tokens == 2
    clock.work.cancel()
    clock.work.wait(60)
