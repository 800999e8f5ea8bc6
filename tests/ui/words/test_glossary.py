"""The glossary: short, whole, and with every term that a page explains."""

import re
from pathlib import Path

import pytest

from ui.words.glossary import glossary, meaning

UI = Path(__file__).resolve().parents[3] / "ui"


@pytest.mark.parametrize("key", glossary())
def test_a_term_has_a_name_and_one_or_two_sentences(key):
    term = glossary()[key]
    assert term.keys() == {"name", "text"} and term["name"]
    sentences = re.split(r"(?<=[.])\s+", term["text"])
    assert 1 <= len(sentences) <= 2 and term["text"].endswith(".")
    assert max(len(sentence.split()) for sentence in sentences) <= 26


def test_every_term_that_a_page_explains_is_there():
    used = {
        key
        for file in UI.rglob("*.py")
        for key in re.findall(r'meaning\("([^"]+)"\)', file.read_text("utf-8"))
    }
    assert used and used <= glossary().keys()
    with pytest.raises(KeyError):
        meaning("no such term")
