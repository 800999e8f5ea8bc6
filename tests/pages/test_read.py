"""The page Read without a browser: readings, two continuations, limits, going on from a token."""

import json
import math
import re

import pytest
from streamlit.testing.v1 import AppTest

from engine import load_model, read_text
from engine.decoder import Decoder
from engine.errors import ModelError
from engine.sampling import SamplingSettings
from engine.study import TextReading, read_with_two
from tests.browser.app_server import ROOT
from tests.bundled import bundled
from tests.pages.tab import field, in_tab, new_app, restarted, visit_of
from tests.pages.translated import left_in_english
from ui.models.startup import START
from ui.read.message import packed, packed_answer
from ui.read.page import _go_on
from ui.read.state import EXAMPLES, LONGEST, ReadState
from ui.readings.file import EDGES, frame, page
from ui.visits.link import Link, address

PAGE = "pages/read.py"


@pytest.fixture
def app(monkeypatch) -> AppTest:
    monkeypatch.delenv("DECODING_MODEL", raising=False)
    app = in_tab(new_app()).run()
    START.wait(lambda activity: None, lambda: True)
    app.switch_page(PAGE).run()
    return settled(app)


def held(app: AppTest) -> ReadState:
    return visit_of(app).present("read")


def settled(app: AppTest) -> AppTest:
    assert held(app).work is None or held(app).work.wait(30)
    assert not app.run().exception
    return app


def html(app: AppTest) -> str:
    return " ".join(str(each.proto.body) for each in app.get("html"))


def test_text_is_read_at_once_and_again_after_a_change(app):
    [reading] = held(app).work.readings
    assert reading == read_text(bundled(), EXAMPLES["A story as the model knows it"][1])
    assert f"perplexity {reading.perplexity:.2f} per token" in html(app)
    assert any("surprises most" in each.value for each in app.markdown)
    field(app, "text_area", "read_prompt").set_value("The cat sat on the mat.").run()
    settled(app)
    assert held(app).work.readings[0].tokens[-1].text == "."
    restarted(app)
    assert held(settled(app.run())).inputs.prompt == "The cat sat on the mat."


def test_two_continuations_are_compared(app):
    field(app, "selectbox", "read_example").set_value("Two answers").run()
    settled(app)
    one, other = held(app).work.readings
    times = math.exp(one.logprob - other.logprob)
    assert times > 100 and one.tokens[0].text == " Paris"
    said = " ".join(each.value for each in app.markdown).replace("\\", "")
    rounded = f"{round(times, 2 - int(math.log10(times))):,.0f}"
    assert f"is {rounded} times as likely" in said and "They part at token 1" in said
    assert "Figures of both" in html(app)


def test_message_has_every_token_with_its_alternatives():
    reading = read_text(bundled(), "Once upon a time", top=3)
    message = json.loads(packed(reading, bundled().vocabulary))
    assert message["before"] == "Once" and message["forks"] == reading.forks()
    for sent, token in zip(message["tokens"], reading.tokens, strict=True):
        assert sent["probability"] == pytest.approx(math.exp(token.logprob), rel=1e-5)
        assert sent["surprisal"] == pytest.approx(token.surprisal_bits, rel=1e-5)
        assert (sent["rank"], len(sent["top"])) == (token.rank, 3)
        assert [own for _, _, own in sent["top"]].count(True) == (token.rank <= 3)


def test_long_and_empty_texts_are_refused_and_the_reading_stays(app):
    before = held(app).work
    field(app, "text_area", "read_prompt").set_value("a" * (LONGEST + 1)).run()
    assert "at most 10,000" in held(app).error and held(app).work is before
    field(app, "text_area", "read_prompt").set_value("").run()
    assert "text is empty" in held(app).error and held(app).work is before


def test_step_page_goes_on_from_a_token(app, monkeypatch):
    handed = []
    monkeypatch.setattr("ui.read.page.this_visit", lambda: None)
    monkeypatch.setattr("ui.read.page.open_in_step_page", lambda visit, text: handed.append(text))
    state = held(app)
    _go_on(state, state.work, 4)
    _go_on(state, state.work, 10_000)
    _go_on(state, state.work, "x")
    assert [each.beginning.prompt for each in handed] == ["Once upon a time,"]


def test_page_is_translated(app):
    held(app).change(prompt=" Paris.", before="The capital of France is", other=" London.")
    app.session_state["language"] = "de"
    assert left_in_english(settled(app), "de") == []


def test_answer_of_an_api_is_read_and_shown_as_given(app):
    other = {"token": " Rome", "logprob": -0.9}
    given = {"token": " Paris", "logprob": -0.5, "top_logprobs": [other]}
    answer = {"model": "theirs", "choices": [{"logprobs": {"content": [given, given]}}]}
    held(app).change(before="The capital of France is", prompt=json.dumps(answer))
    settled(app)
    assert held(app).work.readings[0].text == " Paris Paris"
    assert any("model theirs: its own tokens" in each.value for each in app.caption)
    message = json.loads(packed_answer(held(app).work.answer))
    sent = message["tokens"]
    assert (message["forks"], message["can_go_on"]) == ([0, 1], False)
    assert [each["probability"] for each in sent] == [pytest.approx(math.exp(-0.5), rel=1e-5)] * 2
    assert (sent[0]["rank"], sent[0]["entropy"]) == (None, None)
    held(app).change(prompt='{"choices": [{"text": "Hi"}]}')
    assert "has no probabilities" in held(app).error


def test_reading_is_saved_as_a_page_and_a_table():
    text = "<b>Once</b> upon a time, said =1+1"
    reading, vocabulary = read_text(bundled(), text), bundled().vocabulary
    saved = page(reading, vocabulary, bundled().facts)
    assert "it is not judged" in saved
    assert "it is not judged" not in page(reading, vocabulary, bundled().facts, "Hi")
    strip = (ROOT / "ui/components/js/parts/reading/strip.js").read_text()
    assert f"edges: [{', '.join(map(str, EDGES))}]" in strip
    assert "<b>" not in saved and "<script" not in saved and "http" not in saved.split("<body>")[1]
    assert f"name: bundled · dtype: bfloat16 · weights_hash: {bundled().weights_hash}" in saved
    spans = re.findall(r'<span class="s(\d)[ fork]*" title="([^"]*)"', saved)
    assert len(spans) == len(reading.tokens)
    for (shade, title), token in zip(spans, reading.tokens, strict=True):
        assert EDGES[int(shade)] <= max(0.0, token.surprisal_bits)
        assert f"rank {token.rank:,}, " in title
    table = frame(reading, vocabulary)
    assert table["logprob"].sum() == pytest.approx(reading.logprob)
    assert table["token"].tolist() == [vocabulary.label(t.token_id) for t in reading.tokens]


def test_trace_is_read_and_shown_as_recorded(app):
    decoder = Decoder(bundled(), "Once upon a", SamplingSettings(seed=1))
    list(decoder.run(3))
    trace = decoder.trace()
    field(app, "text_area", "read_prompt").set_value(trace.to_json()).run()
    settled(app)
    [reading] = held(app).work.readings
    assert reading.text == decoder.text and held(app).error == ""
    recorded = TextReading.of_trace(trace)
    for one, other in zip(reading.tokens, recorded.tokens, strict=True):
        assert one.token_id == other.token_id and one.rank == other.rank
        assert one.logprob == pytest.approx(other.logprob, abs=0.05)  # bfloat16
        assert list(one.top[0][:3]) == list(other.top[0][:3])
        assert one.top[1][:3] == pytest.approx(other.top[1][:3], abs=0.05)
    saved = page(recorded, bundled().vocabulary, trace.model, trace.prompt, run=trace)
    assert "written by bundled" in saved and "from token 1: seed 1" in saved
    field(app, "text_area", "read_prompt").set_value('{"format": "decoding-trace"}').run()
    assert "version" in held(app).error


def test_link_sets_the_inputs_and_starts_nothing(app):
    link = held(app).link()
    values = link.values | {"prompt": "The dog ran.", "before": "One day"}
    app.query_params["state"] = address("", Link(link.page, link.model, values)).partition("=")[2]
    work = held(app).work
    app.run()
    assert held(app).inputs.prompt == "The dog ran." and held(app).work is work
    assert "nothing has run yet" in app.warning[0].value
    assert "state" not in app.query_params
    app.query_params["state"] = "1.broken"
    app.run()
    assert any("incomplete or damaged" in each.value for each in app.warning)
    assert held(app).inputs.prompt == "The dog ran."


def test_second_model_reads_the_same_text(app):
    draft = load_model("bundled-draft")
    state = held(app)
    state.load_second(draft)
    settled(app)
    both = state.work.pair.result
    assert both == read_with_two(bundled(), draft, state.inputs.prompt)
    shown = html(app)
    assert "Where the models differ most" in shown and "mean KL divergence" in shown
    assert any("finds the text likelier than" in each.value for each in app.markdown)
    with pytest.raises(ModelError, match="is the page's model"):
        state.load_second(state.model)
    app.button(key="read_drop_second").click().run()
    settled(app)
    assert state.second is state.work.pair is None
