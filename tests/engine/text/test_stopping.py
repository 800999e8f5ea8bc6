"""Stop strings are found in text wherever token borders fall; limits are checked first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingError
from engine.text.stopping import (
    LONGEST_RUN,
    StopStringMatch,
    checked_max_new_tokens,
    checked_stop_strings,
    find_stop_string,
)


def stops_after(pieces: list[str], stop_strings: tuple[str, ...]):
    """Feed a text in pieces like a decoder; return (number of pieces, match) of the first hit."""
    text = ""
    for count, piece in enumerate(pieces, start=1):
        text += piece
        match = find_stop_string(text, len(piece), stop_strings)
        if match is not None:
            return count, match
    return None


@pytest.mark.parametrize(
    ("pieces", "stop_strings", "count", "string", "start"),
    [
        (["a", "E", "N", "D", "b"], ("END",), 4, "END", 1),  # spans three tokens
        (["aE", "ND", "b"], ("END",), 2, "END", 1),  # begins inside a token
        (["a", "EN", "Db"], ("END",), 3, "END", 1),  # ends inside a token
        (["aENDb"], ("END",), 1, "END", 1),  # both inside one token
        (["END"], ("END",), 1, "END", 0),  # at the very start
        (["E", "", "", "ND"], ("END",), 4, "END", 0),  # with unfinished characters between
        (["aaa"], ("aa",), 1, "aa", 0),  # overlaps itself: the first place counts
        (["one two"], ("two", "one"), 1, "one", 0),  # several: the first to begin
        (["ab", "c"], ("abc", "bc"), 2, "abc", 0),  # overlapping: begins first
        (["abc"], ("abc", "ab"), 1, "ab", 0),  # equal start: ends first
        (["abc"], ("ab", "abc"), 1, "ab", 0),  # in whatever order they are given
        (["a", "b", "c"], ("abc", "ab"), 2, "ab", 0),
        (["🙂", "ßé"], ("🙂ß",), 2, "🙂ß", 0),  # characters are counted, not bytes
    ],
)
def test_stop_string_is_found_with_its_completing_token(pieces, stop_strings, count, string, start):
    assert stops_after(pieces, stop_strings) == (count, StopStringMatch(string, start))


@pytest.mark.parametrize(
    ("text", "added", "stop_strings"),
    [
        ("abc", 3, ()),
        ("abc", 3, ("abd", "END")),
        ("", 0, ("END",)),
        ("EN", 2, ("END",)),
        ("END", 0, ("END",)),  # no new text: it was found and passed earlier
        ("END more", 5, ("END",)),  # ended before the last five characters
        ("end", 3, ("END",)),  # case matters
    ],
)
def test_absent_stop_string_is_not_found(text, added, stop_strings):
    assert find_stop_string(text, added, stop_strings) is None


short_text = st.text("ab\n", max_size=12)


@given(st.lists(short_text, max_size=8), st.lists(st.text("ab\n", min_size=1, max_size=4)))
def test_piecewise_search_matches_whole_text_search(pieces, stop_strings):
    found = stops_after(pieces, tuple(stop_strings))
    whole = "".join(pieces)
    assert (found is not None) == any(string in whole for string in stop_strings)
    if found is None:
        return
    count, match = found
    text = "".join(pieces[:count])
    assert text.startswith(match.string, match.start)
    before = "".join(pieces[: count - 1])
    assert not any(string in before for string in stop_strings), "an earlier token completed one"
    # No match begins further left, and no shorter one begins at the same place.
    places = [(text.find(string), len(string)) for string in stop_strings if string in text]
    assert (match.start, len(match.string)) == min(places)


@pytest.mark.parametrize(
    ("given_strings", "checked"),
    [
        ((), ()),
        ("END", ("END",)),  # a single text is one string, not three letters
        (["a", "b"], ("a", "b")),
    ],
)
def test_stop_strings_become_a_tuple(given_strings, checked):
    assert checked_stop_strings(given_strings) == checked


@pytest.mark.parametrize("bad", ["", ["END", ""], [None], [b"END"], None, 3])
def test_a_bad_stop_string_is_explained(bad):
    with pytest.raises(SettingError, match="stop_strings "):
        checked_stop_strings(bad)


@pytest.mark.parametrize("count", [0, 1, LONGEST_RUN, np.int64(7)])
def test_max_new_tokens_in_range_is_accepted(count):
    checked = checked_max_new_tokens(count)
    assert checked == count
    assert type(checked) is int


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (LONGEST_RUN + 1, "got 1,000,001"),
        (-1, "must not be negative, got -1"),
        (True, "must be a whole number, got True"),
        (1.5, "must be a whole number, got 1.5"),
        (None, "must be a whole number, got None"),
        ("64", "must be a whole number, got '64'"),
    ],
)
def test_a_bad_max_new_tokens_is_explained(value, said):
    with pytest.raises(SettingError, match="max_new_tokens ") as caught:
        checked_max_new_tokens(value)
    assert said in str(caught.value)
