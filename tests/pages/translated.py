"""What stands on a page in English although there are other words for it."""

import html
import re
from functools import cache

from streamlit.testing.v1 import AppTest

from ui.words.language import sentences

SHORTEST = 12  # characters of a piece of a sentence that is looked for: `top-p` is the same in any
PLACE = re.compile(r"%?\{+[^}]*\}+|<[^>]*>")
UNREAD = {"bidi_component", "component_instance"}  # what they get holds all sentences, and texts


def left_in_english(app: AppTest, code: str) -> list[str]:
    """Pieces of English sentences on a page that is to speak another language."""
    shown = "\n".join(
        html.unescape(str(element.proto).encode().decode("unicode_escape"))
        for element in app.main
        if element.type not in UNREAD
    )
    return [piece for piece in _pieces(code) if piece in shown]


@cache
def _pieces(code: str) -> tuple[str, ...]:
    """The longest piece of each English sentence without figures, where the other has it not."""
    said = "\n".join(sentences(code).values())
    pieces = {max(PLACE.split(english), key=len).strip(" .,;:") for english in sentences(code)}
    return tuple(p for p in sorted(pieces) if len(p) >= SHORTEST and " " in p and p not in said)
