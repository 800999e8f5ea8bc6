"""Token texts made visible, and made safe for each place they are shown in.

A token may hold anything: markup, formulas, line breaks, text that runs right to left, nothing that
can be seen. `visible` turns everything invisible into glyphs; the other functions escape the result
for one kind of place each.
"""

from __future__ import annotations

import html
import re
import unicodedata

_GLYPHS = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}

# Cc control, Cf format (zero-width, direction marks), Co private use, Cn unassigned, Cs surrogate,
# Zl and Zp line and paragraph separators, Zs spaces of other widths.
_INVISIBLE = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"}

# Letters without ink of their own: Hangul fillers and the Braille blank.
_BLANK = {"\u115f", "\u1160", "\u2800", "\u3164", "\uffa0"}

# What starts a construct in the Markdown that Streamlit's messages are written in.
_MARKDOWN = re.compile(r"[\\`*\[\]<>$~#|]|(?<!\w)_|_(?!\w)|&(?=[#\w])")

# `:name:` becomes an icon or an emoji even where the colon is escaped, so a word joiner parts them.
_DIRECTIVE = re.compile(r":(?=[A-Za-z+])")


def visible(text: str) -> str:
    """Text with a glyph for everything that has no ink: ``␣``, ``⏎``, ``⇥``, ``⟨U+200B⟩``."""
    shown = "".join(_visible_character(character) for character in text)
    # A combining mark alone would settle on whatever stands before it.
    return "◌" + shown if text and unicodedata.category(text[0]).startswith("M") else shown


def _visible_character(character: str) -> str:
    if character in _GLYPHS:
        return _GLYPHS[character]
    if character in _BLANK or unicodedata.category(character) in _INVISIBLE:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def token_label(text: str) -> str:
    """A token as shown in lists: visible, and never nothing at all."""
    return visible(text) or "⟨empty⟩"


def html_text(text: str) -> str:
    """Text as HTML that shows it literally; lone surrogates become U+FFFD."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"), quote=True)


def markdown_text(text: str) -> str:
    """Text as Streamlit Markdown that shows it literally."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    escaped = _MARKDOWN.sub(lambda found: "\\" + found.group(), clean)
    return _DIRECTIVE.sub(":\u2060", escaped)


def chart_text(text: str, longest: int = 10) -> str:
    """Text as a Plotly label: shortened, then escaped, since Plotly reads tags and entities."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    clean = short.encode("utf-8", "replace").decode("utf-8")
    return html.escape(clean, quote=False)  # Plotly shows an escaped quotation mark as it stands


def percent(probability: float) -> str:
    """A probability for reading; one that is not 0 or 1 never looks as if it were."""
    if probability == 0:
        return "0"
    if probability < 1e-6:
        return "< 0.0001 %"
    if probability < 1e-3:
        return f"{probability * 100:.4f} %"
    if 0.99995 <= probability < 1 - 1e-12:
        return "> 99.99 %"
    return f"{probability * 100:.2f} %"


def tokens_text(count: int) -> str:
    """A number of tokens in words."""
    return f"{count:,} token" if count == 1 else f"{count:,} tokens"


def size(count: int) -> str:
    """Bytes for reading, in units of 1,024."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024 or unit == "GiB":
            break
    return f"{value:,.1f} {unit}"
