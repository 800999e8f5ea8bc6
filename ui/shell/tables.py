"""Tables and lists of texts as HTML: every foreign text is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from ui.words.labels import visible
from ui.words.language import localised

LONGEST_FACT = 40  # characters of a fact that stays on one line


def escaped(text: str) -> str:
    """Escape text for HTML, invisible characters as glyphs; spaces and line breaks stay."""
    lines = text.encode("utf-8", "replace").decode("utf-8").split("\n")
    shown = (" ".join(visible(word) for word in line.split(" ")) for line in lines)
    return html.escape("\n".join(shown))


def facts(words: Iterable[str]) -> str:
    """A line of facts that breaks between them, not within ``distinct-2``."""
    return " · ".join(
        f'<span style="white-space: nowrap">{html.escape(word)}</span>'
        if len(word) <= LONGEST_FACT
        else html.escape(word)
        for word in words
    )


def table(caption: str, head: Iterable[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table of plain texts.

    Args:
        caption: its name.
        head: names of the columns.
        rows: the cells; the first one of a row is its heading.
        kind: ``figures`` if the cells are numbers.
    """
    named = "".join(f'<th scope="col">{_cell(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{_cell(first)}</th>'
        + "".join(f"<td>{_cell(cell)}</td>" for cell in others)
        + "</tr>"
        for first, *others in rows
    )
    caption = html.escape(caption)
    return (
        f'<div class="dv-sheet {kind}" tabindex="0" role="region" aria-label="{caption}"><table>'
        f"<caption>{caption}</caption><thead><tr>{named}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    return html.escape(localised(text))


def text_list(name: str, prompt: str, texts: Iterable[tuple[Sequence[str], str]]) -> str:
    """A list of texts to read.

    Args:
        name: the name of the list.
        prompt: the text that all of them continue.
        texts: facts about each, and the text.
    """
    items = "".join(
        f'<li><p class="dv-facts">{facts(about)}</p><div class="dv-written"><span>'
        f"{escaped(prompt)}</span>{escaped(text)}</div></li>"
        for about, text in texts
    )
    return f'<ol class="dv-text-list" tabindex="0" aria-label="{html.escape(name)}">{items}</ol>'
