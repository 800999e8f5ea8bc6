"""The section on the roofline: its sentences, tables and chart."""

import pytest

from engine.errors import SettingError
from tests.ui.cache.made_up import roofline
from tests.ui.hostile import HOSTILE
from ui.cache.roofline.section import SECTION, RooflineInputs, _law_words, roofline_figure
from ui.measurements.section import Laid

MARKUP = next(text for text in HOSTILE if "<" in text)


def rows(result, name: str) -> list[tuple]:
    (found,) = [one for one in SECTION.tables(result) if one.name == name]
    assert all(len(row) == len(found.head) for row in found.rows)
    return list(found.rows)


def test_the_notice_names_the_ceiling_and_the_law():
    said = SECTION.notice(roofline())
    assert "1.00 operations per byte. Below 10" in said and "decode waits for memory" in said
    assert "1,000 tokens/s; 500 were measured, 50 %" in said and "4.0 times" in said
    assert "first" in SECTION.notice(roofline(passes=()))


def test_table_compares_decode_law_with_measurement():
    ((name, weights, cache, predicted, again, measured, share),) = rows(roofline(), "Decode law")
    assert (name, predicted, again, measured, share) == ("after 16 tokens", 1000, 4000, 500, "50 %")
    assert (weights, cache) == ("8.6 MiB", "976.6 KiB")
    words = _law_words(roofline())
    assert "1.000 ms; a layer takes 0.50 ms" in words and "500 PyTorch operators" in words
    assert "no list of its layers" in _law_words(roofline(layers=None))
    assert rows(roofline(layers=None), "Layers") == []


def test_passes_have_a_share_of_their_roof():
    passes = {row[0]: row for row in rows(roofline(), "Passes")}
    assert passes["decode after 16 tokens"][-1] == "50 %"
    assert passes["prefill of 64 tokens"][-1] == "58 %"
    assert passes["batch of 8 after 64 tokens"][8] == 2000
    assert len(rows(roofline(), "Ceilings")) == 4
    assert rows(roofline(), "Ceilings")[3][3:5] == ("64 x 64", "100 GFLOP/s")


def test_chart_shows_ceilings_points_and_other_machine():
    figure = roofline_figure(roofline(), True)
    by_name = {one.name: one for one in figure.data}
    roof = by_name["roof"]
    assert roof.y[-1] == 100 and roof.x[1] == 10 and roof.y[1] == 100
    assert list(by_name["decode"].x) == [1.0] and list(by_name["decode"].y) == [5.0]
    assert list(by_name["batch"].text) == ["1", "8"]
    notes = [one.text for one in figure.layout.annotations]
    assert notes == ["memory 10.0 GB/s", "float32 products 100 GFLOP/s"]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    other = roofline_figure(roofline(), True, Laid(MARKUP, roofline(layers=None)))
    assert len(other.data) == len(figure.data) + 4
    assert not any(MARKUP in one.name for one in other.data)


@pytest.mark.parametrize("typed", ["1.5", "0"])
def test_invalid_batches_are_refused(typed, bundled):
    with pytest.raises(SettingError, match="atch"):
        SECTION.begin(bundled, RooflineInputs(batches=typed))
