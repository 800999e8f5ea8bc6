"""A file that the tab has read: accepted, refused by its size, or ignored."""

import pytest

from ui.shell.file_field import MOST_BYTES, chosen


@pytest.mark.parametrize(
    ("said", "took"),
    [
        ({"size": MOST_BYTES, "text": "a"}, ["a"]),
        ({"size": "3", "text": "abc"}, []),
        ({"size": 3}, []),
        ("abc", []),
    ],
)
def test_only_well_formed_files_are_accepted(said, took):
    texts, sentences = [], []
    chosen(said, texts.append, sentences.append)
    assert texts == took and sentences == []


@pytest.mark.parametrize(
    ("size", "text"), [(MOST_BYTES + 1, ""), (10, "ü" * (MOST_BYTES // 2) + "x")]
)
def test_file_is_refused_by_declared_or_actual_size(size, text):
    texts, sentences = [], []
    chosen({"size": size, "text": text}, texts.append, sentences.append)
    assert texts == [] and "1,048,577 bytes" in sentences[0]
