"""Guidance on the step page: begun with a text, moved while it grows, kept by all actions."""

import math

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.errors import SettingError
from engine.sampling.ranking import RankedRow
from engine.trace import Trace
from tests.ui.components.test_rows import unpack
from tests.ui.step.visitor import Visitor
from ui.step.session import Session
from ui.texts.texts import Beginning, checked_scale, new_text

PROMPT, NEGATIVE = "Once upon a time, a sad little", "Once upon a time, a little"


@pytest.fixture
def visitor(bundled) -> Visitor:
    visitor = Visitor(Session(bundled, PROMPT, Visitor(None).settings))
    visitor.do("start", prompt=PROMPT, negative_prompt=NEGATIVE, guidance_scale=2.0)
    assert visitor.session.error == ""
    return visitor


def steps(visitor: Visitor, count: int, scale: float) -> list[int]:
    for _ in range(count):
        visitor.do("step", guidance_scale=scale)
    assert visitor.session.error == ""
    return visitor.session.decoder.token_ids


def test_guided_text_matches_the_engine(visitor, session, bundled):
    tokens = steps(visitor, 6, 2.0)
    alone = Decoder(bundled, PROMPT, visitor.settings, negative_prompt=NEGATIVE, guidance_scale=2.0)
    list(alone.run(6))
    assert tokens == alone.token_ids
    assert session.beginning.negative_prompt == NEGATIVE


def test_scale_change_applies_from_the_next_step(visitor, session):
    steps(visitor, 2, 2.0)
    visitor.do("settings", guidance_scale=3.5)
    assert session.decoder.guidance_scale == 3.5
    visitor.do("settings", guidance_scale=0.2)
    assert "Guidance scale must be from 1 to 100" in session.error
    assert session.decoder.guidance_scale == 3.5
    visitor.do("step", guidance_scale=3.5)
    assert [step.guidance_scale for step in session.decoder.steps] == [2.0, 2.0, 3.5]


def test_back_rewind_and_branches_keep_guidance(visitor, session):
    first = steps(visitor, 5, 2.0)
    visitor.do("back", guidance_scale=2.0)
    assert steps(visitor, 1, 2.0) == first
    visitor.do("force", index=2, token_id=first[2] + 1, guidance_scale=2.0)
    assert session.error == "" and session.current == 2
    assert session.decoder.guidance.negative_prompt == NEGATIVE
    visitor.do("branch", branch=1, guidance_scale=1.25)
    assert session.decoder.token_ids == first
    assert session.decoder.guidance_scale == 1.25, "the slider did not move along"
    visitor.do("rewind", guidance_scale=2.0)
    assert steps(visitor, 5, 2.0) == first


def test_second_tab_continues_with_guidance(visitor, session):
    steps(visitor, 2, 2.0)
    twin = Visitor(session.copy())
    twin.number = visitor.number
    ahead = steps(visitor, 2, 2.0)
    assert steps(twin, 2, 2.0) == ahead
    assert twin.session.beginning.negative_prompt == NEGATIVE


def test_another_model_continues_with_guidance(visitor, session, model):
    visitor.do("settings", guidance_scale=2.5)
    session.load(model)
    assert session.model is model
    assert session.beginning.negative_prompt == NEGATIVE
    ids = session.decoder.guidance.negative_prompt_ids
    assert list(ids) == model.vocabulary.encode(NEGATIVE)
    assert session.decoder.guidance_scale == 2.5


def test_trace_and_exported_code_include_guidance(visitor, session):
    steps(visitor, 2, 2.0)
    trace = Trace.from_json(visitor.ask("trace")["trace"])
    assert trace.guidance.negative_prompt == NEGATIVE
    assert [step.guidance_scale for step in trace.steps] == [2.0, 2.0]
    found = visitor.ask("snippets", guidance_scale=2.0)["snippets"]
    code = {snippet["target"]: snippet for snippet in found}
    assert NEGATIVE in code["transformers"]["code"]
    assert code["vLLM"]["lacking"][0][0] == "guidance"


def test_both_prompts_go_through_the_chat_template(bundled, monkeypatch):
    vocabulary = bundled.vocabulary

    def chat_ids(self, turns):
        return self.encode(f"User: {turns[0]['content']}\n")

    monkeypatch.setattr(type(vocabulary), "chat_ids", chat_ids)
    beginning = Beginning("Hello", chat=True, negative_prompt="Bye", scale=2.0)
    decoder = new_text(bundled, beginning, Visitor(None).settings)
    assert decoder.prompt_ids == vocabulary.encode("User: Hello\n")
    assert list(decoder.guidance.negative_prompt_ids) == vocabulary.encode("User: Bye\n")


def test_scale_1_disables_guidance(visitor, session):
    visitor.do("start", prompt=PROMPT, negative_prompt=NEGATIVE, guidance_scale=1.0)
    assert session.decoder.guidance is None
    assert session.beginning.negative_prompt == NEGATIVE, "what was typed is gone"
    visitor.do("step", guidance_scale=2.0)
    assert session.error == "", "a slider that waits for Start stopped a step"
    visitor.do("start", prompt=PROMPT, guidance_scale=2.0)
    assert (session.decoder.guidance, session.beginning.negative_prompt) == (None, None)


@pytest.mark.parametrize(
    ("negative_prompt", "scale", "said"),
    [
        ("", 2.0, "The negative prompt is empty"),
        (NEGATIVE, 0.5, "Guidance scale must be from 1 to 100, got 0.5"),
        ("a " * 9000, 2.0, "The negative prompt has"),
    ],
)
def test_invalid_guidance_is_refused_and_keeps_the_text(
    visitor, session, negative_prompt, scale, said
):
    before = steps(visitor, 2, 2.0)
    visitor.do("start", prompt=PROMPT, negative_prompt=negative_prompt, guidance_scale=scale)
    assert said in session.error
    assert session.decoder.token_ids == before
    assert session.decoder.guidance_scale == 2.0


@pytest.mark.parametrize("scale", [math.nan, 0.99, 100.5, math.inf])
def test_out_of_range_scale_is_refused(scale):
    with pytest.raises(SettingError, match="must be from 1 to 100"):
        checked_scale(scale)


# Messages to and from the browser.


def assert_row_at(session, header, data, scale: float) -> None:
    """Check the engine's row at a scale, with its leaders' ranks in all three rows."""
    row, rows = header["row"], session.guided_rows()
    raw = RankedRow(rows.at(scale))
    assert (row["scale"], row["exact"]) == (scale, True)
    raw.sort_to_depth(raw.count)
    values, counts, _ = unpack(row, data)
    assert np.array_equal(np.repeat(values, counts), raw.scores[raw.ids])
    told = row["compared"]
    assert [token_id for token_id, *_ in told][:8] == raw.ids[:8].tolist()
    for token_id, *standings in told:
        for ranked, (rank, prob) in zip(
            (raw, RankedRow(rows.prompt), RankedRow(rows.negative)), standings, strict=True
        ):
            assert rank == ranked.rank(token_id)
            assert prob == pytest.approx(math.exp(ranked.logprob(token_id)), rel=1e-12)
    assert {int(rows.prompt.argmax()), int(rows.negative.argmax())} <= {each[0] for each in told}


def test_step_is_sent_at_its_recorded_scale(visitor, session):
    visitor.do("step", guidance_scale=2.0)
    header, data = visitor.read_all(whole=True)
    assert_row_at(session, header, data, 2.0)
    labelled = {token_id for token_id, _ in header["row"]["labels"]}
    assert {token_id for token_id, *_ in header["row"]["compared"]} <= labelled
    assert header["step"]["recorded_scale"] == 2.0
    assert header["text"]["negative_prompt"] == NEGATIVE
    assert header["text"]["guidance_scale"] == 2.0
    ids = [token_id for token_id, *_ in header["text"]["negative_tokens"]]
    assert tuple(ids) == session.decoder.guidance.negative_prompt_ids
    sent = dict(zip(header["step_fields"], header["steps"][0], strict=True))
    step = session.decoder.steps[0]
    assert 0 < sent["negative_forward_ms"] < sent["forward_ms"]
    assert 0 < sent["negative_cache_bytes"] == step.negative_cache_bytes < sent["cache_bytes"]
    assert sent["guidance_scale"] == 2.0


def test_past_step_is_shown_at_the_requested_scale(visitor, session):
    visitor.do("step", guidance_scale=2.0)
    first = visitor.read(whole=True)[0]["row_key"]
    visitor.do("settings", guidance_scale=4.0)
    assert visitor.read(whole=True)[0]["row"] is None, "no what-if, and another row"
    visitor.do("settings", guidance_scale=4.0, what_if=True)
    header, data = visitor.read()
    assert header["row_key"] != first
    assert_row_at(session, header, data, 4.0)
    assert header["step"]["recorded_scale"] == 2.0
    visitor.do("settings", guidance_scale=4.0)
    assert visitor.read()[0]["row_key"] == first


def test_pending_row_uses_the_current_scale(visitor, session):
    steps(visitor, 1, 2.0)
    visitor.do("propose", guidance_scale=3.0, manual=True)
    header, data = visitor.read_all(whole=True)
    assert header["step"]["is_pending"] and header["step"]["recorded_scale"] is None
    assert_row_at(session, header, data, 3.0)
