"""Links to a page's state: what they carry, and every damaged one refused with a sentence."""

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DecodingError
from ui.visits.link import LONGEST, MOST_UNPACKED, Link, address, opened, said
from ui.visits.records import BrokenRecord

BASE = "https://example.org/app/compare"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def packed(text: str) -> str:
    squeezed = zlib.compress(text.encode(), wbits=-15)
    return "1." + base64.urlsafe_b64encode(squeezed).decode().rstrip("=")


@given(values=st.dictionaries(st.text("abc", max_size=5), JSON, max_size=4))
def test_link_comes_back(values):
    link = Link("compare", "bundled", values)
    found = address(BASE, link)
    assert found.isascii() and found.startswith(BASE + "?state=1.") and len(found) <= LONGEST
    assert opened(found.partition("state=")[2]) == link


def test_long_text_is_refused_with_its_size():
    long = "".join(chr(0x4E00 + 7919 * place % 20000) for place in range(2000))
    with pytest.raises(DecodingError, match=r"would have [\d,]+ bytes, more than the 2,000"):
        address(BASE, Link("step", "bundled", {"prompt": long}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.",
        "1.%%%",
        "x.AAAA",
        packed("{}"),
        packed("[1]"),
        packed('{"page": "step", "model": "m", "values": {}, "run": true}'),
        packed("[" * 5000),
        packed(" " * (MOST_UNPACKED + 1)),
        packed('{"page": "step", "model": "m", "values": {"a": "b"}}')[:-4],
    ],
)
def test_damaged_link_is_refused(text):
    with pytest.raises(BrokenRecord, match="incomplete or damaged"):
        opened(text)


def test_newer_link_names_the_remedy():
    with pytest.raises(BrokenRecord, match="newer version of this app; update"):
        opened("2.AAAA")


def test_another_model_is_named():
    link = Link("step", "smollm2", {})
    assert said(link, "smollm2") == "The link has set the inputs of this page; nothing has run yet."
    assert "made with the model smollm2; here it is bundled" in said(link, "bundled")
