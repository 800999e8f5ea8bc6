import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.text import stopping
from ui.words.labels import (
    about,
    counted,
    markdown_text,
    size,
    stop_name,
    token_label,
    tokens_text,
    visible,
    with_minus,
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
        ("\u0301", "◌\u0301"),
        ("\u3164", "⟨U+3164⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("naïve 日本 🙂", "naïve␣日本␣🙂"),
    ],
)
def test_invisible_characters_get_a_glyph(text, shown):
    assert visible(text) == shown


@given(st.text())
@example("\ud800")
def test_label_is_visible_and_never_empty(text):
    label = token_label(text)
    assert label and label.encode()
    assert not {unicodedata.category(c) for c in label} & {"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"}


@given(st.text("-+=. \t\n:/@w1", max_size=20))
def test_escaping_keeps_the_message_text(text):
    assert markdown_text(text).replace("\u2060", "") == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("top_p must be in (0, 1], got 1.4", r"top_p must be in (0, 1\], got 1.4"),
        ("$x$ *b* `c` ~s~", r"\$x\$ \*b\* \`c\` \~s\~"),
        ("_a_ <b>", r"\_a\_ \<b\>"),
        (":red[r] :material/add: C:\\x", ":\u2060red\\[r\\] :\u2060material/add: C:\\\\x"),
        ("&lt;", r"\&lt;"),
        ("__x__ a_b_c", r"\_\_x\_\_ a_b_c"),
        # No link, no list, no heading, no code, no emoji, no arrow: a word joiner parts them.
        ("see https://a.example, HTTP://B", "see https:\u2060//a.example, HTTP:\u2060//B"),
        ("www.a.example WWW.B", "www\u2060.a.example WWW\u2060.B"),
        ("mailto:x@a.example", "mailto:\u2060x\u2060@a.example"),
        ("- a\n1. b\n+ c\n2) d", "\u2060- a\n\u20601. b\n\u2060+ c\n\u20602) d"),
        ("a\n===\n    b\n\tc", "a\n\u2060===\n\u2060    b\n\u2060\tc"),
        (":100: :-1:", ":\u2060100: :\u2060-1:"),
        ("a -> b -- c", "a -\u2060\\> b -\u2060- c"),
        ("a\ud800", "a?"),
        ("at 10:30 and 1.5", "at 10:\u206030 and 1.5"),
    ],
)
def test_messages_show_markdown_literally(text, escaped):
    assert markdown_text(text) == escaped


def test_numbers_and_stop_reasons_are_readable():
    assert [counted(n, "text") for n in (1, 2)] == ["1 text", "2 texts"]
    assert [tokens_text(n) for n in (0, 1, 16_384)] == ["0 tokens", "1 token", "16,384 tokens"]
    assert [size(n) for n in (0, 1023, 1024, 1536, 5 * 2**20, 3 * 2**30)] == [
        "0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.0 GiB",
    ]  # fmt: skip
    assert [about(s) for s in (0.4, 12.4, 89.4, 300, 7200)] == [
        "under 1 s", "about 12 s", "about 89 s", "about 5 min", "about 2.0 h",
    ]  # fmt: skip
    assert with_minus("-0.56 to 1e-05") == "−0.56 to 1e−05"
    reasons = (stopping.EOS, stopping.STOP_STRING, stopping.MAX_TOKENS, stopping.CONTEXT, None)
    assert [stop_name(reason) for reason in reasons] == [
        "end of text", "stop string", "max tokens", "context full", "ended",
    ]  # fmt: skip
