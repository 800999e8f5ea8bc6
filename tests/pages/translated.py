"""English text on a page that has a translation."""

import html
import json
import re
from functools import cache

from streamlit.testing.v1 import AppTest

from tests.charts import charts
from ui.words.language import sentences

SHORTEST = 15  # characters in a piece of a sentence: shorter pieces may be part of any text
PLACE = re.compile(r"%?\{+[^}]*\}+|<[^>]*>")
UNREAD = {"bidi_component", "component_instance"}  # their values hold texts of a model


def left_in_english(app: AppTest, code: str) -> list[str]:
    """List pieces of English sentences on a page that should speak a different language."""
    shown = "\n".join(
        html.unescape(str(element.proto).encode().decode("unicode_escape"))
        for element in app.main
        if element.type not in UNREAD
    )
    shown += json.dumps(charts(app), ensure_ascii=False)
    return [piece for piece in _pieces(code) if piece in shown]


@cache
def _pieces(code: str) -> tuple[str, ...]:
    """List each English sentence's longest piece between placeholders, if translations lack it."""
    said = "\n".join(sentences(code).values())
    pieces = {max(PLACE.split(english), key=len).strip(" .,;:") for english in sentences(code)}
    return tuple(p for p in sorted(pieces) if len(p) >= SHORTEST and " " in p and p not in said)
