"""Tables and lists of texts: anything a model writes stays text."""

import html.parser

import pytest

from tests.ui import hostile
from ui.shell.tables import escaped, table, text_list


class Tags(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)

    def handle_data(self, data) -> None:
        self.text += data


@pytest.mark.parametrize("text", hostile.VOCAB)
def test_no_text_becomes_markup(text):
    assert not Tags(escaped(text)).tags
    written = Tags(text_list(text, text, [((text,), text)]))
    assert set(written.tags) == {"ol", "li", "p", "span", "div"}
    shown = Tags(table(text, [text, text], [(text, text)]))
    assert set(shown.tags) <= {
        "div", "table", "caption", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert text in shown.text or text == "\r\n"


def test_invisible_characters_are_shown_as_glyphs():
    assert escaped("a b\n\u202e\t") == "a b\n⟨U+202E⟩⇥"
