"""Traces opened on the step page: made again and compared, or refused in a sentence."""

import base64
import gzip
import json
from dataclasses import replace

import pytest

from engine.decoder import Decoder
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.decoding.contrastive import ContrastiveSearch
from engine.errors import ModelError
from engine.runner.scheduler import job
from engine.sampling import SamplingSettings
from engine.sampling.stages import RepetitionPenalty, Temperature
from engine.trace import Trace
from tests.ui.step.visitor import PROMPT, Visitor
from ui.models.opening import load_quietly
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
    """A text with a forced token, whose settings change on the way and once more at its end."""
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
def test_a_trace_is_made_again_and_goes_on_and_comes_back_after_a_restart(visitor, bundled, made):
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
    assert [earlier.tokens for earlier in session.earlier] == [len(before.steps)]
    record = json.loads(json.dumps(session.record()))
    again = Session.restored(TextRecord.parse(record["text"]), record, bundled)
    following = text.step().token_id
    for each in (session, again):
        strategy = Contrastive(5, 0.4) if each.search else None
        visitor.session = each
        visitor.do("step", settings=each.settings, guidance_scale=1.0, strategy=strategy)
        assert each.error == "" and each.decoder.token_ids[steps:] == [following]


def test_a_changed_file_says_where_it_first_differs(visitor, bundled):
    data = json.loads(sampled(bundled).trace().to_json())
    data["steps"][2]["survivors"] -= 1
    visitor.do("open", trace=json.dumps(data))
    assert "Step 3 differs first: survivors was" in visitor.session.said
    assert "tokens are the same to the end" in visitor.session.said


def refusals(model) -> list[tuple[str, str]]:
    """(text of a file, what is said)."""
    beam = BeamSearch(model, "a", BeamSettings(width=2))
    beam.step()
    trace = sampled(model).trace()
    warm = ContrastiveSearch(model, "a", 3, chain=[Temperature(2.0)])
    warm.step()
    parity = Decoder(model, "a", SamplingSettings(parity=True))
    parity.step()
    other = json.loads(trace.to_json())
    other["model"] |= {"source": "another/model", "tokenizer_hash": "0" * 64}
    tokens = json.loads(trace.to_json())
    tokens["model"]["vocab_size"] += 1
    seed = json.loads(trace.to_json())  # of its first steps, which the page goes back to
    seed["settings"][0][1]["seed"] = 2**60 + 1
    return [
        (json.dumps(seed), "Seed is out of range"),
        ("{", "no valid JSON"),
        (beam.trace().to_json(), "strategy beam; this page opens sampling"),
        (warm.trace().to_json(), "The trace has temperature, and a contrastive search"),
        (parity.trace().to_json(), "parity mode"),
        (json.dumps(other), "another/model is not among the models"),
        (json.dumps(tokens), "made with a vocabulary of"),
        ("[]", "decoding trace"),
        (replace(trace, stop_strings=("x" * 300,)).to_json(), "A stop string has 300 characters"),
    ]


@pytest.mark.parametrize("source", ["/home/alice/models/smollm2", "owner/name", "x" * 5_000])
def test_a_trace_of_a_model_elsewhere_opens_on_the_one_in_use(visitor, bundled, source):
    data = json.loads(sampled(bundled).trace().to_json())
    data["model"]["source"] = source
    visitor.session.apply(visitor.event("open", trace=json.dumps(data)), load=load_quietly)
    assert visitor.session.error == ""
    assert source[:80] in visitor.session.said and "identical in all 5" in visitor.session.said


@pytest.mark.parametrize("fact", ["parameters", "architecture", "tokenizer_hash"])
def test_a_trace_of_other_weights_elsewhere_is_refused(visitor, bundled, fact):
    data = json.loads(sampled(bundled).trace().to_json())
    other = {"parameters": 1, "architecture": "LlamaForCausalLM", "tokenizer_hash": "0" * 64}
    data["model"] |= {"source": "/home/alice/models/smollm2", fact: other[fact]}
    visitor.session.apply(visitor.event("open", trace=json.dumps(data)), load=load_quietly)
    assert "/home/alice/models/smollm2 is not on this computer" in visitor.session.error


def test_what_cannot_be_opened_is_refused_and_the_text_stays(visitor, bundled):
    def load(source, revision):
        raise ModelError(f"{source} is not among the models that may be loaded here.")

    session, before = visitor.session, visitor.session.decoder
    tokens = before.token_ids
    for data, said in refusals(bundled):
        session.apply(visitor.event("open", trace=data), load=load)
        assert said in session.error, (session.error, said)
        assert session.decoder is before and before.token_ids == tokens
        assert not session.said and not len(session.earlier)


def test_one_that_is_cancelled_changes_nothing(visitor, bundled):
    before, trace = visitor.session.decoder, sampled(bundled).trace().to_json()
    with job(lambda: True):
        visitor.do("open", trace=trace)
    assert visitor.session.error == (
        "Cancelled: the trace was not opened; the text on screen stays."
    )
    assert visitor.session.cancelled and visitor.session.decoder is before


def test_it_comes_packed_and_within_bounds(bundled, monkeypatch):
    sent = {"client": "c", "number": 1, "kind": "open"}
    text = sampled(bundled).trace().to_json()

    def packed(data: bytes) -> str:
        return base64.b64encode(gzip.compress(data)).decode()

    assert Trace.from_json(parse(sent | {"trace": packed(text.encode())}).trace)
    monkeypatch.setattr(events, "LONGEST_TRACE", 1000)
    with pytest.raises(EventError, match="more than 1,000 bytes"):
        parse(sent | {"trace": packed(b" " * 10**6)})
    for broken in ("", "no base64!", packed(b"x")[:-8], 5):
        with pytest.raises(EventError, match=r"a trace that is none|half a trace|trace must be"):
            parse(sent | {"trace": broken})
