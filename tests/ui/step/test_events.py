"""Events from the browser: understood, or refused in words."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.errors import DecodingError, SettingError
from engine.sampling import STAGES
from ui.step.events import (
    ACTIONS,
    LONGEST_QUERY,
    QUESTIONS,
    Event,
    EventError,
    Have,
    Place,
    parse,
    parse_hello,
    sender,
)
from ui.texts.limits import LONGEST_PROMPT, LONGEST_STOP_STRING, MOST_STOP_STRINGS
from ui.texts.settings import FIRST
from ui.texts.texts import Contrastive

SENT = {
    "client": "c1",
    "number": 7,
    "kind": "force",
    "at": {"run": "r", "branch": 2, "length": 5},
    "settings": {
        "order": ["top_p", "min_p", "temperature", "top_k"],
        "temperature": 0.7,
        "top_k": 50.0,
        "top_p": 0.9,
        "min_p": 0,
        "seed": 3,
    },
    "limits": {"max_tokens": 20, "stop_strings": ["\n\n"]},
    "manual": True,
    "token_id": 300,
    "index": 4,
}


def test_event_is_parsed_with_all_its_fields():
    event = parse(SENT)
    assert (event.client, event.number, event.kind) == ("c1", 7, "force")
    assert event.at == Place("r", 2, 5)
    assert [stage.name for stage in event.settings.chain] == ["top_p", "temperature", "top_k"]
    assert event.settings.top_k == 50
    assert event.settings.seed == 3
    assert event.order == ("top_p", "min_p", "temperature", "top_k")
    assert (event.max_tokens, event.stop_strings) == (20, ("\n\n",))
    assert (event.token_id, event.index) == (300, 4)
    assert event.manual
    assert not event.playing
    for kind in (*ACTIONS, *QUESTIONS):
        assert parse({**SENT, "kind": kind}) == structs.replace(event, kind=kind)


def test_missing_fields_get_their_defaults():
    event = parse({"client": "c1", "number": 1, "kind": "step"})
    assert event.settings.chain == ()
    assert event.order == FIRST
    assert (event.at, event.max_tokens, event.count) == (Place("", 0, 0), 64, 1)
    assert event.token_id is event.index is event.negative_prompt is event.strategy is None
    assert not (event.playing or event.manual or event.whole or event.what_if or event.chat)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "explode"}, "kind must be one of those this version knows, got 'explode'"),
        ({"number": "seven"}, "number must be a whole number, got 'seven'"),
        ({"number": -1}, "number must be"),
        ({"number": 1.5}, "number must be a whole number, got 1.5"),
        ({"number": math.nan}, "number must be a whole number, got nan"),
        ({"number": 10**400}, "number must be a whole number of at most"),
        ({"at": []}, "at must be an object"),
        ({"at": {"branch": "x"}}, "at.branch must be a whole number, got 'x'"),
        ({"count": 0}, "count must be"),
        ({"count": 65}, "count must be a whole number of at most 64, got 65"),
        ({"setting": "x" * 100}, "setting must be text of length 64 or less"),
        ({"limits": {"stop_strings": [1]}}, "limits.stop_strings[0] must be text, got 1"),
        ({"token_id": math.inf}, "token_id must be a whole number or nothing, got inf"),
        ({"token_id": "x" * 10**6}, "token_id must be a whole number or nothing, got 'xxx"),
        ({"ids": [1] * 1001}, "ids must be a list of length 1000 or less"),
        ({"query": 4}, "query must be text, got 4"),
        ({"guidance_scale": True}, "guidance_scale must be a number, got True"),
        ({"settings": "hot"}, "settings that are none"),
        ({"settings": None}, "settings that are none"),
        ({"settings": {}}, "The app was updated since this page was loaded"),
        ({"settings": {"order": ["heat"]}}, "an unknown sampler, 'heat'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_malformed_field_is_refused_by_its_path(change, said):
    with pytest.raises(EventError) as error:
        parse({**SENT, **change})
    message = str(error.value)
    assert said in message and message.endswith("reload the page.") and len(message) < 250


@pytest.mark.parametrize("data", [None, "step", [], {}])
def test_non_event_is_refused_and_has_no_sender(data):
    with pytest.raises(DecodingError):
        parse(data)
    assert sender(data) == ("", 0)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (
            {"settings": {"order": ["top_p"], "top_p": 1.4}},
            SettingError,
            "top_p must be above 0 and at most 1, got 1.4",
        ),
        ({"limits": {"stop_strings": ["."] * 200_000}}, DecodingError, "200,000 stop strings"),
        (
            {"limits": {"stop_strings": ["."] * (MOST_STOP_STRINGS + 1)}},
            DecodingError,
            "33 stop strings; use at most 32",
        ),
        (
            {"limits": {"stop_strings": ["\n", "x" * (LONGEST_STOP_STRING + 1)]}},
            DecodingError,
            "A stop string has 201 characters",
        ),
        *(
            (
                {"guided": True, name: "x" * (LONGEST_PROMPT + 1)},
                EventError,
                f"The {name.replace('_', ' ')} has 20,001 characters; use at most 20,",
            )
            for name in ("query", "prompt", "negative_prompt")
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_value_out_of_range_is_refused_by_name(change, kind, said):
    with pytest.raises(kind, match=re.escape(said)):
        parse({**SENT, **change})
    assert sender({**SENT, **change}) == ("c1", 7)


def test_texts_are_accepted_up_to_their_limits():
    longest = "x" * LONGEST_PROMPT
    stops = ["x" * LONGEST_STOP_STRING] * MOST_STOP_STRINGS
    texts = {"prompt": longest, "negative_prompt": longest, "guided": True, "query": longest}
    event = parse({**SENT, **texts, "limits": {"stop_strings": stops}})
    assert event.prompt == event.negative_prompt == longest
    assert len(event.query) == LONGEST_QUERY and event.is_question is False
    assert event.stop_strings == tuple(stops)
    assert sender({"client": longest, "number": 3}) == ("", 0)


def test_negative_prompt_is_read_only_with_guidance():
    sent = {**SENT, "negative_prompt": "b", "guidance_scale": 2}
    assert parse(SENT).negative_prompt is None
    assert parse({**sent, "guided": False}).negative_prompt is None
    event = parse({**sent, "guided": True})
    assert (event.negative_prompt, event.guidance_scale) == ("b", 2)


def test_event_carries_its_strategy():
    assert parse(SENT).strategy is None
    search = {"top_k": 6, "penalty_alpha": 1}
    assert parse({**SENT, "strategy": search}).strategy == Contrastive(6, 1)
    for broken in ("search", [4], {"top_k": "4"}, {"top_k": 4.5}, {"penalty_alpha": None}):
        with pytest.raises(EventError):
            parse({**SENT, "strategy": broken})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
FIELDS = sorted({*SENT, *Event.__struct_fields__})


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4),
    st.dictionaries(st.sampled_from([*STAGES, "order", "seed"]), JSON, max_size=4),
    st.booleans(),
)
def test_any_input_parses_to_an_event_or_refusal(changes, chain, has_chain):
    data = {**SENT, **changes}
    if has_chain:
        data["settings"] = {**SENT["settings"], **chain}
    try:
        event = parse(data)
    except DecodingError as refusal:
        assert str(refusal).endswith(".")
        client, number = sender(data)
        assert isinstance(client, str) and isinstance(number, int)
    else:
        assert event.kind in (*ACTIONS, *QUESTIONS)
        assert {stage.name for stage in event.settings.chain} <= set(event.order)


def test_lone_surrogate_is_replaced():
    event = parse({**SENT, "prompt": "a\ud83d", "limits": {"stop_strings": ["x\ud83d"]}})
    assert event.prompt == "a?"
    assert event.stop_strings == ("x?",)


def test_hello_carries_the_page_state():
    have = {"run": "r", "branch": 1, "ids": [4, 5], "forced": [1]}
    hello = parse_hello({"client": "c1", "have": have})
    assert hello.have == Have("r", 1, (4, 5), frozenset({1}))
    assert (hello.client, hello.settings) == ("c1", None)
    assert parse_hello({"client": "c1", "settings": SENT["settings"]}).settings.seed == 3
    assert parse_hello({"language": "de"}).language == "de"
    assert parse_hello({"language": "xx"}).language == parse_hello({}).language == "en"


@pytest.mark.parametrize(
    "change",
    [
        {"client": 3},
        {"client": "x" * 65},
        {"have": []},
        {"have": {"ids": ["a"]}},
        {"have": {"ids": [1] * 100_001}},
        {"settings": "hot"},
    ],
)
def test_malformed_hello_is_refused(change):
    with pytest.raises(EventError):
        parse_hello({"client": "c1", **change})
