"""What stands on a page in English although there are other words for it."""

import html
import json
import re
from functools import cache

from streamlit.testing.v1 import AppTest

from tests.charts import charts
from ui.words.language import sentences

SHORTEST = 15  # characters of a piece of a sentence: what is shorter may stand in any text
PLACE = re.compile(r"%?\{+[^}]*\}+|<[^>]*>")
UNREAD = {"bidi_component", "component_instance"}  # what they get holds texts of a model


def left_in_english(app: AppTest, code: str) -> list[str]:
    """Pieces of English sentences on a page that is to speak another language."""
    shown = "\n".join(
        html.unescape(str(element.proto).encode().decode("unicode_escape"))
        for element in app.main
        if element.type not in UNREAD
    )
    shown += json.dumps(charts(app), ensure_ascii=False)
    return [piece for piece in _pieces(code) if piece in shown]


@cache
def _pieces(code: str) -> tuple[str, ...]:
    """The longest piece of each English sentence without figures, where the other has it not."""
    said = "\n".join(sentences(code).values())
    pieces = {max(PLACE.split(english), key=len).strip(" .,;:") for english in sentences(code)}
    return tuple(p for p in sorted(pieces) if len(p) >= SHORTEST and " " in p and p not in said)
