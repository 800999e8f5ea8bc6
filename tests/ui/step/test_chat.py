"""Conversations on the step page: turns, what the cache serves, and what is kept of them."""

import json

import pytest

from engine.sampling import SamplingSettings
from engine.trace import Trace
from tests.bundled import chatting
from tests.ui.step.visitor import Visitor
from ui.step.open_trace import opened
from ui.step.record import TextRecord, text_record
from ui.step.session import Session
from ui.texts.examples import CHAT_EXAMPLES
from ui.texts.texts import Beginning

SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.fixture(scope="module")
def chat_model():
    return chatting()


@pytest.fixture
def talking(chat_model) -> Visitor:
    beginning = Beginning("Who was there?", chat=True, before=(SYSTEM,))
    visitor = Visitor(Session(chat_model, beginning, SamplingSettings()))
    visitor.settings = SamplingSettings(temperature=0.0)
    visitor.steps(3)
    return visitor


def test_reply_continues_the_conversation_from_the_cache(talking):
    session, answer = talking.session, talking.session.decoder.text
    before = [*session.decoder.prompt_ids, *session.decoder.token_ids[:2]]  # the last is not read
    talking.do("reply", prompt="And then?")
    now = session.decoder.prompt_ids
    differ = (i for i, pair in enumerate(zip(before, now, strict=False)) if len(set(pair)) > 1)
    read = next(differ, len(before))
    assert read > len(before) - 3, "the answer was not in the cache"
    said = f"the {read} before them were in the KV cache"
    assert session.error == "" and said in session.said
    assert session.beginning.before == (
        SYSTEM,
        {"role": "user", "content": "Who was there?"},
        {"role": "assistant", "content": answer},
    )
    expected = session.model.vocabulary.chat_ids(
        [*session.beginning.before, {"role": "user", "content": "And then?"}]
    )
    assert session.decoder.prompt_ids == expected
    talking.steps(1)
    step = session.decoder.steps[0]
    assert sum(step.passes) == len(expected) - read and not step.is_prefill
    header, _ = talking.read_all()
    assert header["text"]["from_cache"] == read
    assert header["text"]["before"] == list(session.beginning.before)
    assert [text.record["beginning"]["prompt"] for text in session.earlier] == ["Who was there?"]


def test_start_reads_everything_again(talking):
    talking.do("start", prompt="Who was there?", chat=True, before=(SYSTEM,))
    talking.steps(1)
    assert talking.session.decoder.steps[0].is_prefill and talking.session.said == ""


@pytest.mark.parametrize("kind", ["no answer", "no template"])
def test_reply_needs_an_answer_in_the_template(talking, kind):
    session = talking.session
    if kind == "no answer":
        talking.do("rewind")
    else:
        talking.do("start", prompt="Who was there?", chat=False)
        talking.steps(1)
    talking.do("reply", prompt="And then?")
    assert "A reply follows an answer" in session.error
    assert session.prompt == "Who was there?"


def test_too_many_messages_are_refused(talking):
    many = (SYSTEM,) * 200
    talking.do("start", prompt="Hi", chat=True, before=many)
    assert "has 201 messages; use at most 200" in talking.session.error
    assert talking.session.length == 3


def test_trace_and_record_keep_the_conversation(talking, chat_model):
    talking.do("reply", prompt="And then?")
    talking.steps(3)
    session = talking.session
    trace = session.decoder.trace()
    assert trace.messages == (*session.beginning.before, {"role": "user", "content": "And then?"})
    found = opened(trace.to_json(), lambda source, revision: chat_model)
    assert found.beginning == session.beginning
    assert found.said == "Opened the trace. The text is identical in all 3 steps."
    record = TextRecord.parse(json.loads(json.dumps(text_record(session, session.order))))
    assert record.beginning == session.beginning
    restored = Session.restored(record, {}, chat_model)
    assert restored.decoder.token_ids == session.decoder.token_ids
    assert (restored.decoder.logits(2) == session.decoder.logits(2)).all()


def test_snippets_have_every_message(talking):
    talking.do("reply", prompt="And then?")
    code = {each["target"]: each["code"] for each in talking.ask("snippets")["snippets"]}
    [openai] = [text for name, text in code.items() if "OpenAI" in name and "Python" in name]
    assert openai.index("Be brief.") < openai.index("Who was there?") < openai.index("And then?")


def test_chat_model_begins_with_its_own_example(visitor, session, chat_model):
    visitor.do("start", prompt="A text of my own")
    session.load(chat_model)
    assert session.beginning == Beginning("A text of my own")
    visitor.do("start", prompt="Once upon a")  # an example of models without a template
    session.load(chat_model)
    assert session.beginning == CHAT_EXAMPLES[0].beginning


def test_stop_names_the_reply(talking):
    eos = talking.session.model.eos_ids[0]
    talking.do("force", token_id=eos)
    assert "press Reply" in talking.session.stop_sentence
    trace = Trace.from_json(talking.session.decoder.trace().to_json())
    assert trace.stop_reason == "eos"


def test_thinking_budget_is_kept_and_forces_the_end(talking, chat_model):
    session = talking.session
    talking.do("start", prompt="Hi <think>", chat=False, thinking_budget=2)
    for _ in range(4):
        talking.do("step", thinking_budget=2)
    assert [step.forced for step in session.decoder.steps] == [False, False, True, True]
    record = TextRecord.parse(json.loads(json.dumps(text_record(session, session.order))))
    assert Session.restored(record, {}, chat_model).thinking_budget == 2
    assert session.link().values["thinking_budget"] == 2
    talking.do("settings", thinking_budget=0)
    assert "thinking_budget must be" in session.error and session.thinking_budget == 2
