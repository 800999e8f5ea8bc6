"""The section that decodes with and without the cache: its sentences, tables and chart."""

import pytest

from tests.ui.cache.made_up import DIFFERENCE, text
from ui.cache.with_and_without import SECTION, latency_figure
from ui.measurements.section import Laid


def table(result, name: str) -> list[tuple]:
    (found,) = [one for one in SECTION.tables(result) if one.name == name]
    assert all(len(row) == len(found.head) for row in found.rows)
    return list(found.rows)


def test_notice_compares_last_steps_and_texts():
    same = SECTION.notice(text())
    assert "2.0 ms with the cache and 10.0 ms without, 5.0 times" in same
    assert "The first token took 8.0 ms, a pass over 4 tokens" in same
    assert "Both texts are the same" in same
    different = SECTION.notice(text(difference=DIFFERENCE))
    assert "first differ at 9 tokens: “␣a” with the cache, “⟨U+202E⟩<b>” without" in different
    assert "a state of constant size" in SECTION.notice(text(is_state=True))


def test_totals_count_every_step():
    cached, without = table(text(), "Totals")
    assert cached == ("with the cache", 2.0, pytest.approx(5.5), 0.037, 15, "24.0 KiB", "9.7 KiB")
    assert without[0] == "without" and without[3] == 0.15 and without[4] == sum(range(4, 16))
    some = text(positions=(4, 15), uncached_ms=(10.0, 10.0), passes=(1, 2))
    _, without = table(some, "Totals")
    assert without[0] == "without, estimated" and without[3] == pytest.approx(0.12)
    assert without[5] == "36.0 KiB"  # 18 passes, between one and two per step


def test_rows_by_position_stay_and_outliers_are_marked():
    rows = table(text(), "By position")
    assert [row[0] for row in rows] == ["4 to 11", "12 to 15"]
    assert rows[1][1:] == (2.0, 2.0, 10.0, 10.0, 5.0)
    none = table(text(positions=(4,), uncached_ms=(10.0,), passes=(1,)), "By position")
    assert none[1][3] is None
    assert [row[0] for row in table(text(), "Steps") if row[4]] == [9], "the outlier"
    assert text().uncached_outliers == [7]


def test_chart_shows_curves_outliers_and_other_machine():
    figure = latency_figure(text(), True)
    names = [one.name for one in figure.data if one.name]
    assert names == ["without the cache", "with the cache"]
    assert [list(one.x) for one in figure.data if not one.name] == [[11], [9]]
    assert figure.layout.yaxis.type is None
    figure = latency_figure(text(uncached_ms=(900.0,) * 12), True, Laid("<i>x</i>", text()))
    assert figure.layout.yaxis.type == "log"
    dashed = [one for one in figure.data if one.line.dash == "dash"]
    assert [one.name for one in dashed] == [
        "without the cache, &lt;i&gt;x&lt;/i&gt;",
        "with the cache, &lt;i&gt;x&lt;/i&gt;",
    ]
