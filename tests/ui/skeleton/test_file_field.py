"""A file that the tab has read: taken, refused by its size, or passed over."""

import pytest

from ui.skeleton.file_field import MOST_BYTES, chosen


@pytest.mark.parametrize(
    ("said", "took"),
    [
        ({"size": 3, "text": "abc"}, ["abc"]),
        ({"size": MOST_BYTES, "text": "a"}, ["a"]),
        ({"size": MOST_BYTES + 1, "text": ""}, ["1,048,577 bytes"]),
        ({"size": "3", "text": "abc"}, []),
        ({"size": 3}, []),
        (None, []),
        ("abc", []),
    ],
)
def test_what_a_tab_may_say(said, took):
    found = []
    chosen(said, found.append, lambda sentence: found.append(sentence))
    assert len(found) == len(took)
    assert all(part in whole for part, whole in zip(took, found, strict=True))
