"""Traces opened on the step page: replayed and compared, or refused in a sentence."""

import base64
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.decoding.contrastive import ContrastiveSearch
from engine.errors import ModelError
from engine.runner.job import as_job
from engine.sampling import SamplingSettings
from engine.sampling.samplers import RepetitionPenalty, Temperature
from engine.trace import Trace
from tests.ui.step.visitor import PROMPT, Visitor
from ui.models.first_model import load_quietly
from ui.step import events
from ui.step.events import EventError, parse
from ui.step.record import TextRecord
from ui.step.session import Session
from ui.texts.texts import Contrastive


@pytest.fixture
def visitor(bundled) -> Visitor:
    visitor = Visitor(Session(bundled, PROMPT, SamplingSettings()))
    visitor.steps(2)
    return visitor


def sampled(model) -> Decoder:
    """Return a text with a forced token; its settings change midway and once more at its end."""
    text = Decoder(model, "The dog", SamplingSettings(temperature=0.8, seed=5))
    list(text.run(3))
    text.settings = text.settings.replace(top_p=0.9, seed=7)
    text.step(text.next_distribution().candidates(4)[3].token_id)
    text.step()
    text.settings = text.settings.replace(temperature=0.5)
    return text


def guided(model) -> Decoder:
    text = Decoder(model, "The dog", negative_prompt="The sad dog", guidance_scale=2.0)
    list(text.run(2))
    text.guidance_scale = 1.0
    text.step()
    return text


def searched(model) -> ContrastiveSearch:
    text = ContrastiveSearch(model, "The dog", 5, 0.6)
    list(text.run(2))
    text.penalty_alpha, text.chain = 0.4, [RepetitionPenalty(1.4)]
    text.step()
    return text


@pytest.mark.parametrize("made", [sampled, guided, searched])
def test_opened_trace_replays_continues_and_survives_restart(visitor, bundled, made):
    text = made(bundled)
    session = visitor.session
    before = session.decoder
    visitor.do("open", trace=text.trace().to_json())
    steps = len(text.steps)
    said = f"Opened the trace. The text is identical in all {steps} steps."
    assert (session.said, session.error) == (said, "")
    assert visitor.read_all()[0]["said"] == said
    assert session.decoder.token_ids == text.token_ids and session.prompt == "The dog"
    assert session.decoder.trace().settings == text.trace().settings
    assert session.guidance_scale == getattr(text, "guidance_scale", 1.0)
    assert [earlier.lengths for earlier in session.earlier] == [[len(before.steps)]]
    record = json.loads(json.dumps(session.record()))
    again = Session.restored(TextRecord.parse(record["text"]), record, bundled)
    following = text.step().token_id
    for each in (session, again):
        strategy = Contrastive(5, 0.4) if each.search else None
        visitor.session = each
        visitor.do("step", settings=each.settings, guidance_scale=1.0, strategy=strategy)
        assert each.error == "" and each.decoder.token_ids[steps:] == [following]


def test_changed_trace_reports_the_first_difference(visitor, bundled):
    data = json.loads(sampled(bundled).trace().to_json())
    data["steps"][2]["survivors"] -= 1
    visitor.do("open", trace=json.dumps(data))
    assert "Step 3 is the first to differ: survivors was" in visitor.session.said
    assert "tokens are the same to the end" in visitor.session.said


def refusals(model) -> list[tuple[str, str]]:
    """List (text of a file, expected message)."""
    beam = BeamSearch(model, "a", BeamSettings(width=2))
    beam.step()
    trace = sampled(model).trace()
    warm = ContrastiveSearch(model, "a", 3, chain=[Temperature(2.0)])
    warm.step()
    parity = Decoder(model, "a", SamplingSettings(parity=True))
    parity.step()
    other = trace.model | {"source": ELSEWHERE, "weights_hash": "0" * 64}
    brief = replace(trace, model=other).to_dict(brief=True)
    seed = json.loads(trace.to_json())  # the seed of its first steps, to which the page goes back
    seed["settings"][0][1]["seed"] = 2**60 + 1
    return [
        (json.dumps(seed), "Seed is out of range"),
        (replace(trace, prompt="a" * 20_001, model=other).to_json(), "has 20,001 characters"),
        (json.dumps(brief), "has no figures that could be read without its model"),
        ("{", "not valid JSON"),
        (beam.trace().to_json(), "strategy beam; this page opens sampling"),
        (warm.trace().to_json(), "The trace has temperature, and a contrastive search"),
        (parity.trace().to_json(), "parity mode"),
        ("[]", "decoding trace"),
        (replace(trace, stop_strings=("x" * 300,)).to_json(), "A stop string has 300 characters"),
    ]


@pytest.mark.parametrize("source", ["owner/name", "x" * 5_000])
def test_trace_from_elsewhere_opens_on_the_current_model(visitor, bundled, source):
    data = json.loads(sampled(bundled).trace().to_json())
    data["model"]["source"] = source
    visitor.session.apply(visitor.event("open", trace=json.dumps(data)), load=load_quietly)
    assert visitor.session.error == ""
    assert source[:80] in visitor.session.said and "identical in all 5" in visitor.session.said


ELSEWHERE = "/home/alice/models/smollm2"
OTHER = {
    "parameters": 1,
    "architecture": "LlamaForCausalLM",
    "tokenizer_hash": "0" * 64,
    "weights_hash": "0" * 64,
    "vocab_size": 20_000,
}


def open_recorded(visitor, trace: Trace, **facts) -> dict:
    """Open a trace of a model with different facts; return the file's data."""
    data = json.loads(trace.to_json())
    data["model"] |= facts
    visitor.session.apply(visitor.event("open", trace=json.dumps(data)), load=load_quietly)
    return data


@pytest.mark.parametrize(
    ("fact", "source"), [*((fact, ELSEWHERE) for fact in OTHER), ("weights_hash", "bundled")]
)
def test_trace_of_other_weights_opens_read_only(visitor, bundled, fact, source):
    session, text = visitor.session, sampled(bundled)
    data = open_recorded(visitor, text.trace(), source=source, **{fact: OTHER[fact]})
    why = {
        ELSEWHERE: "cannot be loaded here",
        "bundled": "different weights or a different tokenizer",
    }
    assert session.error == "" and why[source] in session.read_only
    header, _ = visitor.read_all()
    stop = header["stop"]
    assert (stop["sentence"], stop["is_over"]) == (header["text"]["read_only"], True)
    labels = [step[1] for step in header["steps"]]
    assert labels == [
        label.replace(" ", "␣") for label in map(bundled.vocabulary.label, text.token_ids)
    ]
    for step in text.steps:
        visitor.do("inspect", index=step.index)
        header, arrays = visitor.read()
        assert header["row"] is None and not arrays
        shown, file = header["recorded"], data["steps"][step.index]
        assert shown["settings"]["temperature"] == 0.8 and shown["chosen"] == step.token_id
        ids = [row[1] for row in shown["rows"]]
        assert ids[:10] == file["leading"]["token_ids"] and step.token_id in ids
        found = text.distribution(step.index)
        for _label, token_id, rank, logit, own, drawn in shown["rows"]:
            assert (rank, logit) == (found.raw.rank(token_id), found.logits[token_id])
            assert own == pytest.approx(np.exp(found.raw.logprob(token_id)), rel=1e-6)
            assert drawn == pytest.approx(found.probability(token_id), rel=1e-6, abs=1e-40)
    trace = json.loads(visitor.ask("trace")["trace"])
    assert trace == data


def test_read_only_trace_rejects_changes_and_is_restored(visitor, bundled):
    session, text = visitor.session, sampled(bundled)
    open_recorded(visitor, text.trace(), source=ELSEWHERE, weights_hash="0" * 64)
    for kind in ("step", "run", "propose", "back", "rewind", "reroll", "force"):
        visitor.do(kind, index=1, token_id=5)
        assert session.error == session.read_only and session.decoder.token_ids == text.token_ids
    for question in ("find", "snippets", "check", "admit", "tokenize"):
        assert visitor.ask(question, query="a")["error"] == session.read_only
    visitor.do("inspect", index=2)
    record = json.loads(json.dumps(session.record()))
    for again in (
        Session.restored(TextRecord.parse(record["text"]), record, bundled),
        session.copy(),
    ):
        assert (again.read_only, again.index) == (session.read_only, 2)
        assert again.decoder.trace() == session.decoder.trace()
    visitor.do("start", prompt="The cat")
    assert (session.read_only, session.error, session.model) == ("", "", bundled)
    assert len(session.earlier) == 1, "the text before; the file is on the person's own disk"


@pytest.mark.parametrize("made", [guided, searched])
def test_guided_and_search_traces_open_read_only(visitor, bundled, made):
    text = made(bundled)
    open_recorded(visitor, text.trace(), source=ELSEWHERE, weights_hash="0" * 64)
    visitor.do("inspect", index=1)
    header, _ = visitor.read_all()
    assert header["error"] == "" and header["text"]["prompt"] == "The dog"
    assert header["recorded"]["chosen"] == text.token_ids[1]
    if header["text"]["strategy"] is None:
        labels = {row[1]: row[0] for row in header["recorded"]["rows"]}
    else:
        assert header["search"]["penalty_alpha"] == 0.6
        candidates = header["search"]["candidates"]
        assert [each["penalty"] for each in candidates] == [
            each.penalty for each in text.steps[1].candidates
        ]
        labels = {each["token_id"]: each["label"] for each in candidates}
    assert labels[text.token_ids[1]] == header["steps"][1][1] and all(labels.values())


def test_invalid_trace_is_refused_and_keeps_the_text(visitor, bundled):
    def load(source, revision):
        raise ModelError(f"{source} is not among the models that may be loaded here.")

    session, before = visitor.session, visitor.session.decoder
    tokens = before.token_ids
    for data, said in refusals(bundled):
        session.apply(visitor.event("open", trace=data), load=load)
        assert said in session.error, (session.error, said)
        assert session.decoder is before and before.token_ids == tokens
        assert not session.read_only and not session.said and not len(session.earlier)


def test_cancelled_open_changes_nothing(visitor, bundled):
    before, trace = visitor.session.decoder, sampled(bundled).trace().to_json()
    with as_job(lambda: True):
        visitor.do("open", trace=trace)
    assert "the trace was not opened" in visitor.session.error
    assert visitor.session.cancelled and visitor.session.decoder is before


def test_sent_trace_is_unpacked_within_a_limit(bundled, monkeypatch):
    sent = {"client": "c", "number": 1, "kind": "open"}

    def packed(data: bytes) -> str:
        return base64.b64encode(gzip.compress(data)).decode()

    text = sampled(bundled).trace().to_json()
    assert parse(sent | {"trace": packed(text.encode())}).trace == text
    monkeypatch.setattr(events, "LONGEST_TRACE", 1000)
    with pytest.raises(EventError, match="more than 1,000 bytes"):
        parse(sent | {"trace": packed(b" " * 10**6)})
    for broken in ("", "no base64!", packed(b"x")[:-8], 5):
        with pytest.raises(EventError, match=r"a trace that is none|half a trace|trace must be"):
            parse(sent | {"trace": broken})
