"""A field that reads one of the visitor's text files.

The tab reads the file itself and sends its text over the page's connection: the server takes no
uploads (see `ui/server/guard.py`).
"""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from ui.words.language import say

MOST_BYTES = 2**20
PROGRAM = """
export default function ({ parentElement, data, setTriggerValue }) {
  const field = parentElement.querySelector('input');
  field.onchange = async () => {
    const file = field.files[0];
    if (!file) return;
    const is_small = file.size <= data.most;
    const text = is_small ? await file.text() : '';
    setTriggerValue('file', { size: file.size, text });
    field.value = '';
  };
}
"""


@cache
def _component(label: str, endings: str) -> Any:
    return st.components.v2.component(
        f"decoding.file.{label}",
        html=(
            f'<label class="dv-file">{html.escape(label)}'
            f'<input type="file" accept="{html.escape(endings)}"></label>'
        ),
        js=PROGRAM,
        isolate_styles=False,
    )


def file_field(
    name: str, label: str, endings: str, take: Callable[[str], None], refuse: Callable[[str], None]
) -> None:
    """Draw a field that reads a text file.

    Args:
        name: the name of the field within the session.
        label: its accessible name.
        endings: file name endings to choose from, such as ``.json``.
        take: called with the text of a chosen file.
        refuse: called with a sentence if the file cannot be used.
    """

    def on_file() -> None:
        state = st.session_state.get(name)
        chosen(state.get("file") if state is not None else None, take, refuse)

    _component(label, endings)(key=name, data={"most": MOST_BYTES}, on_file_change=on_file)


def chosen(said: object, take: Callable[[str], None], refuse: Callable[[str], None]) -> None:
    """Pass on a file that the tab has read; ignore messages that no file field sends."""
    if not hasattr(said, "get"):
        return
    size, text = said.get("size"), said.get("text")
    if not isinstance(size, int) or not isinstance(text, str):
        return
    size = max(size, len(text.encode("utf-8", "surrogatepass")))  # the reported size is not trusted
    if size > MOST_BYTES:
        refuse(
            say(
                "The file has {size} bytes, more than the {most} that this field takes; choose "
                "another file.",
                size=f"{size:,}",
                most=f"{MOST_BYTES:,}",
            )
        )
    else:
        take(text)
