"""What the browser sends: understood, or refused in words."""

import math

import pytest

from engine.errors import DecodingError, SettingError
from ui.events import EventError, Have, Place, parse, sender

SENT = {
    "client": "c1",
    "number": 7,
    "kind": "force",
    "at": {"run": "r", "branch": 2, "length": 5},
    "have": {"run": "r", "branch": 2, "length": 5, "row": "k"},
    "settings": {"temperature": 0.7, "top_k": 50.0, "top_p": 0.9, "seed": 3},
    "limits": {"max_tokens": 20, "stop_strings": ["\n\n"]},
    "manual": True,
    "token_id": 300.0,
    "index": 4,
}


def test_an_event_is_read_whole():
    event = parse(SENT)
    assert (event.client, event.number, event.kind) == ("c1", 7, "force")
    assert event.at == Place("r", 2, 5)
    assert event.have == Have("r", 2, 5, "k")
    assert event.settings.top_k == 50
    assert event.settings.seed == 3
    assert (event.max_tokens, event.stop_strings) == (20, ("\n\n",))
    assert (event.token_id, event.index) == (300, 4)
    assert event.manual
    assert not event.playing


def test_what_is_missing_has_its_default():
    event = parse({"client": "c1", "number": 1, "kind": "step"})
    assert event.have == Have()
    assert event.settings.chain == ()
    assert event.token_id is None


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "explode"},
        {"kind": 3},
        {"number": "seven"},
        {"number": 1.5},
        {"number": math.nan},
        {"number": 10**400},
        {"at": []},
        {"have": {"length": "x"}},
        {"settings": "hot"},
        {"limits": {"stop_strings": [1]}},
        {"token_id": math.inf},
        {"query": 4},
    ],
)
def test_another_shape_is_refused(change):
    with pytest.raises(EventError):
        parse({**SENT, **change})


@pytest.mark.parametrize("data", [None, 3, "step", [], {}])
def test_what_is_no_event_is_refused_and_has_no_sender(data):
    with pytest.raises(DecodingError):
        parse(data)
    assert sender(data) == ("", 0)


def test_a_setting_out_of_range_is_refused_by_name_and_the_sender_is_known():
    data = {**SENT, "settings": {"top_p": 1.4}}
    with pytest.raises(SettingError, match=r"top_p must be above 0 and at most 1, got 1\.4"):
        parse(data)
    assert sender(data) == ("c1", 7)


def test_half_a_surrogate_pair_can_be_sent_back():
    event = parse({**SENT, "prompt": "a\ud83d", "limits": {"stop_strings": ["x\ud83d"]}})
    assert event.prompt == "a?"
    assert event.stop_strings == ("x?",)


def test_a_long_value_is_quoted_shortly():
    with pytest.raises(EventError) as error:
        parse({**SENT, "token_id": "x" * 10**6})
    assert len(str(error.value)) < 200
