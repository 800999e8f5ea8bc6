"""No text from a page may be longer than the longest prompt, in any field."""

import pytest

from ui.step.events import parse, sender
from ui.texts.limits import LONGEST_PROMPT
from ui.texts.settings import EventError


@pytest.mark.parametrize("name", ["query", "prompt", "negative_prompt"])
def test_too_long_text_is_refused_by_field_name(name):
    sent = {"client": "c", "number": 1, "kind": "start", "guided": True}
    shown = name.replace("_", " ")
    with pytest.raises(EventError, match=f"The {shown} has 10,000,000 characters; use at most 20,"):
        parse(sent | {name: "x" * 10_000_000})
    longest = "x" * LONGEST_PROMPT
    assert longest.startswith(getattr(parse(sent | {name: longest}), name))


def test_overlong_sender_name_is_dropped():
    assert sender({"client": "x" * 10_000_000, "number": 3}) == ("", 0)
