"""No text from a page may be longer than the longest prompt, in any field."""

import pytest

from ui.step.events import parse, sender
from ui.texts.limits import LONGEST_PROMPT
from ui.texts.settings import EventError


@pytest.mark.parametrize("name", ["query", "prompt", "negative_prompt"])
def test_a_text_that_is_too_long_is_refused_by_name(name):
    sent = {"client": "c", "number": 1, "kind": "start", "guided": True}
    shown = name.replace("_", " ")
    with pytest.raises(EventError, match=f"The {shown} has 10,000,000 characters; use at most 20,"):
        parse(sent | {name: "x" * 10_000_000})
    longest = "x" * LONGEST_PROMPT
    assert longest.startswith(getattr(parse(sent | {name: longest}), name))


def test_the_name_of_a_sender_is_not_kept_where_it_is_a_book():
    assert sender({"client": "x" * 10_000_000, "number": 3}) == ("", 0)
