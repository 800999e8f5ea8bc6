"""Token texts made visible, and made safe for each place where they are shown.

A token may contain anything: markup, formulas, line breaks, text that runs right to left, or only
invisible characters. `visible` turns everything invisible into glyphs. The app's own components
show the result as text. Streamlit's messages read Markdown, for which `markdown_text` escapes it.
"""

from __future__ import annotations

import re
import unicodedata

from engine.text import CONTEXT, EOS, MAX_TOKENS, STOP_STRING
from engine.trace import FILLED, FULL_POOL, NO_IMPROVEMENT
from ui.words.language import Literal, marked, say

_GLYPHS = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}

# Cc control, Cf format (zero-width, direction marks), Co private use, Cn unassigned, Cs surrogate,
# Zl and Zp line and paragraph separators, Zs spaces of other widths.
_INVISIBLE = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"}

# Letters without ink: Hangul fillers and the Braille blank.
_BLANK = {"\u115f", "\u1160", "\u2800", "\u3164", "\uffa0"}

# Characters that start a construct in the Markdown of Streamlit's messages.
_MARKDOWN = re.compile(r"[\\`*\[\]<>$~#|]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])")

# Patterns that Streamlit interprets even in escaped text: icons and emoji (`:name:`), addresses of
# pages and people, typographic arrows and dashes (`->`, `--`); at the beginning of a line, lists,
# headings and code. An invisible word joiner breaks these up.
_FOUND = re.compile(
    r":(?=[\w+:/-])|(?<=www)(?=\.)|(?<=\w)(?=@)|(?<=[<>~-])(?=[>=-])|^(?=[ \t]|[-+=]|\d+[.)])",
    re.IGNORECASE | re.MULTILINE,
)


def visible(text: str) -> str:
    """Return text with a glyph for each invisible character: ``␣``, ``⏎``, ``⇥``, ``⟨U+200B⟩``."""
    if text.isascii() and text.isprintable():
        return Literal(text.replace(" ", "␣"))
    shown = "".join(_visible_character(character) for character in text)
    # A combining mark alone would attach to the character before it.
    is_mark = text and unicodedata.category(text[0]).startswith("M")
    return Literal("◌" + shown if is_mark else shown)


def _visible_character(character: str) -> str:
    if character in _GLYPHS:
        return _GLYPHS[character]
    if character in _BLANK or unicodedata.category(character) in _INVISIBLE:
        return f"⟨U+{ord(character):04X}⟩"
    return character


def token_label(text: str) -> str:
    """Return a token's text as shown in lists: visible, and never empty."""
    return visible(text) or Literal("⟨empty⟩")


def markdown_text(text: str) -> str:
    """Escape a text so that Streamlit's Markdown shows it literally."""
    clean = text.encode("utf-8", "replace").decode("utf-8")
    apart = _FOUND.sub(lambda found: found.group() + "\u2060", clean)
    return Literal(_MARKDOWN.sub(lambda found: "\\" + found.group(), apart))


def tokens_text(count: int) -> str:
    """Return a number of tokens with its noun: ``1 token``, ``25 tokens``."""
    return counted(count, "token")


def counted(count: int, noun: str) -> str:
    """Return a number of things with its noun: ``1 text``, ``25 texts``."""
    one, many = _COUNTED.get(noun, (f"{{count}} {noun}", f"{{count}} {noun}s"))
    return say(one if count == 1 else many, count=f"{count:,}")


_COUNTED = {  # phrases that several pages share
    "answer": (marked("{count} answer"), marked("{count} answers")),
    "beginning": (marked("{count} beginning"), marked("{count} beginnings")),
    "block": (marked("{count} block"), marked("{count} blocks")),
    "cell": (marked("{count} cell"), marked("{count} cells")),
    "check": (marked("{count} check"), marked("{count} checks")),
    "character": (marked("{count} character"), marked("{count} characters")),
    "fact": (marked("{count} fact"), marked("{count} facts")),
    "length": (marked("{count} length"), marked("{count} lengths")),
    "mask": (marked("{count} mask"), marked("{count} masks")),
    "object": (marked("{count} object"), marked("{count} objects")),
    "other": (marked("{count} other"), marked("{count} others")),
    "part": (marked("{count} part"), marked("{count} parts")),
    "pass": (marked("{count} pass"), marked("{count} passes")),
    "passage": (marked("{count} passage"), marked("{count} passages")),
    "path": (marked("{count} path"), marked("{count} paths")),
    "position": (marked("{count} position"), marked("{count} positions")),
    "prediction": (marked("{count} prediction"), marked("{count} predictions")),
    "prompt": (marked("{count} prompt"), marked("{count} prompts")),
    "reading": (marked("{count} reading"), marked("{count} readings")),
    "round": (marked("{count} round"), marked("{count} rounds")),
    "run": (marked("{count} run"), marked("{count} runs")),
    "search": (marked("{count} search"), marked("{count} searches")),
    "second": (marked("{count} second"), marked("{count} seconds")),
    "seed": (marked("{count} seed"), marked("{count} seeds")),
    "step": (marked("{count} step"), marked("{count} steps")),
    "task": (marked("{count} task"), marked("{count} tasks")),
    "text": (marked("{count} text"), marked("{count} texts")),
    "token": (marked("{count} token"), marked("{count} tokens")),
    "user": (marked("{count} user"), marked("{count} users")),
    "word": (marked("{count} word"), marked("{count} words")),
}


def size(count: int) -> str:
    """Format a number of bytes, in units of 1,024: ``27.0 KiB``."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024 or unit == "GiB":
            break
    return f"{value:,.1f} {unit}"


def parameters_text(count: int) -> str:
    """Format a model's size: "8.6 M parameters"."""
    for unit, name in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= unit:
            return say("{count} {unit} parameters", count=f"{count / unit:.3g}", unit=name)
    return say("{count} parameters", count=f"{count:,}")


def about(seconds: float) -> str:
    """Format an estimated time, rounded to its accuracy: ``about 12 s``."""
    if seconds < 1:
        return say("under 1 s")
    if seconds < 90:
        return say("about {time}", time=f"{seconds:.0f} s")
    minutes = f"{seconds / 60:.0f} min"
    return say("about {time}", time=minutes if seconds < 5400 else f"{seconds / 3600:.1f} h")


def with_minus(figure: str) -> str:
    """Replace the hyphen in a figure by a typographic minus sign: ``−0.56``."""
    return figure.replace("-", "−")


_STOPS = {
    MAX_TOKENS: marked("max tokens"),
    EOS: marked("end of text"),
    STOP_STRING: marked("stop string"),
    CONTEXT: marked("context full"),
    FILLED: marked("every mask filled"),
    FULL_POOL: marked("as many texts as beams"),
    NO_IMPROVEMENT: marked("no beam can become better"),
}


def stop_name(reason: str | None) -> str:
    """Return the reason that a text ended, in words: ``end of text``."""
    return say(_STOPS.get(reason, marked("ended")))
