import html
import unicodedata

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.hostile import HOSTILE
from ui.labels import (
    chart_text,
    html_text,
    markdown_text,
    percent,
    size,
    token_label,
    tokens_text,
    visible,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" the", "␣the"),
        ("a\n", "a⏎"),
        ("\r\n", "␍⏎"),
        ("\t", "⇥"),
        ("\u200b", "⟨U+200B⟩"),
        ("\u202ea", "⟨U+202E⟩a"),
        ("\xa0", "⟨U+00A0⟩"),
        ("\x00", "⟨U+0000⟩"),
        ("\u0301", "◌\u0301"),
        ("\u3164", "⟨U+3164⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("naïve 日本 🙂", "naïve␣日本␣🙂"),
        ("<0xE2>", "<0xE2>"),
    ],
)
def test_everything_without_ink_gets_a_glyph(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_a_label_is_never_empty_and_holds_nothing_invisible(text):
    label = token_label(text)
    assert label
    assert not {unicodedata.category(c) for c in label} & {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"}


@given(st.text(alphabet=st.characters()))
def test_html_shows_the_text_and_no_markup(text):
    escaped = html_text(text)
    assert not set("<>\"'") & set(escaped)
    assert html.unescape(escaped) == text.encode("utf-8", "replace").decode()


def test_a_lone_surrogate_can_be_sent_to_a_browser():
    assert html_text("a\ud800") == "a?"
    assert markdown_text("a\ud800") == "a?"
    html_text(token_label("\ud800")).encode()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_chart_label_is_short_escaped_text(text):
    label = chart_text(token_label(text))
    assert not set("<>") & set(label)
    assert len(html.unescape(label)) <= 10
    go.Figure(layout={"xaxis": {"ticktext": [label]}}).to_json()


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("top_p must be in (0, 1], got 1.4", r"top_p must be in (0, 1\], got 1.4"),
        ("$x$ *b* `c` ~s~", r"\$x\$ \*b\* \`c\` \~s\~"),
        ("_a_ <b>", r"\_a\_ \<b\>"),
        (":red[r] :material/add: C:\\x", ":\u2060red\\[r\\] :\u2060material/add: C:\\\\x"),
        ("&lt;", r"\&lt;"),
    ],
)
def test_messages_show_markdown_literally(text, escaped):
    assert markdown_text(text) == escaped


def test_numbers_for_reading():
    assert [percent(p) for p in (0, 1, 0.5, 0.00123, 0.0003, 0.000085, 3e-9, 0.99999)] == [
        "0", "100.00 %", "50.00 %", "0.12 %", "0.0300 %", "0.0085 %", "< 0.0001 %", "> 99.99 %",
    ]  # fmt: skip
    assert [tokens_text(n) for n in (0, 1, 16_384)] == ["0 tokens", "1 token", "16,384 tokens"]
    assert [size(n) for n in (0, 1023, 1024, 1536, 5 * 2**20, 3 * 2**30)] == [
        "0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.0 GiB",
    ]  # fmt: skip


def test_a_quotation_mark_stays_one_in_a_chart():
    # Plotly reads tags and a few entities, but not this one.
    assert chart_text('"<b>') == '"&lt;b&gt;'
