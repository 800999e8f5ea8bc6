"""Tables and lists of texts as HTML; all texts from outside are escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from ui.words.labels import visible
from ui.words.language import localised

LONGEST_FACT = 40  # characters of a fact that is never broken


def escaped(text: str) -> str:
    """Escape text for HTML, with glyphs for invisible characters except spaces and line breaks."""
    lines = text.encode("utf-8", "replace").decode("utf-8").split("\n")
    shown = (" ".join(visible(word) for word in line.split(" ")) for line in lines)
    return html.escape("\n".join(shown))


def facts(words: Iterable[str]) -> str:
    """Format facts on a line, which may break between them but not within, say, ``distinct-2``."""
    return " · ".join(
        f'<span style="white-space: nowrap">{html.escape(word)}</span>'
        if len(word) <= LONGEST_FACT
        else html.escape(word)
        for word in words
    )


def table(caption: str, head: Iterable[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """Format a table of plain texts.

    Args:
        caption: its caption.
        head: names of the columns.
        rows: the cells; the first cell of a row is its heading.
        kind: its CSS classes; ``figures`` if the cells are numbers.
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
    """Format a list of texts.

    Args:
        name: the name of the list.
        prompt: the prompt that all texts continue.
        texts: pairs of facts about a text and the text itself.
    """
    items = "".join(
        f'<li><p class="dv-facts">{facts(about)}</p><div class="dv-written"><span>'
        f"{escaped(prompt)}</span>{escaped(text)}</div></li>"
        for about, text in texts
    )
    return f'<ol class="dv-text-list" tabindex="0" aria-label="{html.escape(name)}">{items}</ol>'
