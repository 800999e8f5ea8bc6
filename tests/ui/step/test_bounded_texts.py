"""No text that a page sends is longer than the longest prompt, whatever field it stands in."""

import pytest

from ui.step.events import _Fields, sender
from ui.texts.limits import LONGEST_PROMPT
from ui.texts.settings import EventError


@pytest.mark.parametrize("name", ["client", "run", "row", "token", "query", "prompt", "kind"])
def test_a_text_that_is_too_long_is_refused_by_name(name):
    with pytest.raises(EventError, match=f"The {name} has 10,000,000 characters; use at most 20,"):
        _Fields({name: "x" * 10_000_000}).text(name)
    longest = "x" * LONGEST_PROMPT
    assert _Fields({name: longest}).text(name) == longest


def test_the_name_of_a_sender_is_not_kept_where_it_is_a_book():
    assert sender({"client": "x" * 10_000_000, "number": 3}) == ("", 0)
