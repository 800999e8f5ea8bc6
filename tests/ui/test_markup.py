"""The token strip and the candidates table, read back by an HTML parser."""

from html.parser import HTMLParser

import pytest

from engine.decoder import Decoder
from tests.ui.conftest import SETTINGS
from tests.ui.hostile import END, VOCAB
from ui import table, tokens
from ui.labels import percent, token_label
from ui.view import step_view


class Reader(HTMLParser):
    """Collects tags with attributes, and the text of each `li`, `td` and `th`."""

    def __init__(self, markup):
        super().__init__()
        self.tags, self.cells, self._open = [], [], False
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("li", "td", "th"):
            self.cells.append("")
            self._open = True

    def handle_endtag(self, tag):
        self._open = self._open and tag not in ("li", "td", "th")

    def handle_data(self, data):
        if self._open:
            self.cells[-1] += data


def test_the_strip_shows_every_token_literally(model):
    decoder = Decoder(model, list(range(30)))
    read = Reader(tokens.strip(decoder, None))
    assert read.cells == [token_label(model.vocabulary.label(i)) for i in range(30)]
    assert {tag for tag, _ in read.tags} == {"ol", "li", "div", "span"}
    assert not any(name.startswith("on") for _, attrs in read.tags for name in attrs)
    (names,) = [attrs for tag, attrs in read.tags if tag == "ol"]
    assert names["aria-label"] == "Tokens"


def test_the_strip_marks_forced_special_and_inspected_tokens(decoder):
    decoder.step(VOCAB.index(END))
    items = [a for tag, a in Reader(tokens.strip(decoder, 2)).tags if tag == "li"]
    assert len(items) == 3 + 7
    assert "forced" not in items[3]["class"].split()
    assert "forced" in items[8]["class"].split()
    assert {"forced", "special"} <= set(items[9]["class"].split())
    assert [i for i, item in enumerate(items) if "aria-current" in item] == [3 + 2]
    assert "forced" in items[8]["title"]


@pytest.mark.parametrize("probability", [0, 0.05, 0.2, 0.49, 0.8, 1])
def test_likelier_tokens_are_darker(probability):
    assert tokens.shade(probability) >= tokens.shade(probability * 0.5)


def test_the_table_has_a_row_per_candidate_and_one_for_the_others(decoder):
    view = step_view(decoder, 5, SETTINGS, 15)
    read = Reader(table.candidates(view))
    assert len(view.rows) == 16, "the forced token ranks below the leading 15"
    rows = [read.cells[i : i + 8] for i in range(0, len(read.cells), 8)]
    assert len(rows) == 1 + 16 + 1
    for row, cells in zip(view.rows, rows[1:-1], strict=True):
        assert cells[:3] == [f"{row.rank:,}", row.label, str(row.token_id)]
        assert cells[4:6] == [percent(row.prob), percent(row.cumulative)]
        assert cells[7] == percent(row.final_prob)
        assert ("chosen" in cells[6]) == row.chosen
        assert ("removed by" in cells[6]) == (row.removed_by is not None)
    assert rows[-1][1] == f"{view.others} others"
    assert {tag for tag, _ in read.tags} <= {
        "div", "table", "caption", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip


def test_hostile_labels_stay_text_in_the_table(decoder):
    view = step_view(decoder, 0, SETTINGS, 64)
    read = Reader(table.candidates(view))
    assert not any(tag in ("script", "img", "b", "i") for tag, _ in read.tags)
    assert token_label("<script>alert(1)</script>") in read.cells
