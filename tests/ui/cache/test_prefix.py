"""Prefix reuse on the cache page: words, table, chart, and refusals."""

from dataclasses import replace

import pytest

from engine.measure.prefix_reuse import PrefixResult, Reuse
from ui.cache.prefix import SECTION, PrefixInputs, reuse_figure
from ui.jobs import UNKNOWN
from ui.measurements.section import Laid
from ui.measurements.section_state import SectionState

RESULT = PrefixResult(
    can_crop=True,
    repeats=3,
    lengths=(
        Reuse(10, 15, (20.0, 22.0, 21.0), (20.0, 21.0, 22.0), 1, 1, 0.0, True),
        Reuse(100, 105, (90.0, 80.0, 85.0), (20.0, 21.0, 22.0), 2, 1, 0.25, True),
    ),
)


def test_notice_reports_time_saved_and_logit_difference():
    notice = SECTION.notice(RESULT)
    assert notice.startswith("100 of 105 tokens") and "21 ms instead of 85 ms, 75 %" in notice
    assert "1.9 s together (computed)" in notice, "29 times 64 ms"
    assert "by up to 0.25, and the likeliest token is the same" in notice
    alike = SECTION.notice(replace(RESULT, lengths=RESULT.lengths[:1]))
    assert "no time here: 21 ms against 21 ms." in alike and "equal to the last bit" in alike


def test_table_and_chart_show_the_measurements():
    table, repeats = SECTION.tables(RESULT)
    assert table.rows[1][:7] == ("100 of 105", 85.0, 89.5, 21.0, 21.9, 64.0, 4.05)
    assert all(len(row) == len(table.head) for row in table.rows)
    assert len(repeats.rows) == 6
    full, reused = reuse_figure(RESULT).data
    assert full.x == (10, 100) and full.y == (21, 85) and reused.y == (21, 21)
    assert full.error_y.array == (1, 5) and full.error_y.arrayminus == (1, 5)
    assert len(reuse_figure(RESULT, True, Laid("other", RESULT)).data) == 4


def test_overlong_prefix_is_refused_and_result_kept(model):
    inputs = PrefixInputs("w1|w2|" * 4, "w1", "w2", longest=6, repeats=1)
    held = SectionState("section", SECTION, model, inputs)
    held.begin(UNKNOWN)
    held.work.wait(60)
    result = held.result()
    tokens = len(model.vocabulary.encode("w1|w2|" * 4))
    assert held.work.is_done and [one.shared for one in result.lengths][-1] >= 6
    held.change(longest=tokens + 1)
    held.begin(UNKNOWN)
    assert f"more than the {tokens} tokens" in held.error and held.result() == result
    held.change(longest=6, second="")
    held.begin(UNKNOWN)
    assert "second prompt is empty" in held.error and held.result() == result


def test_default_beginning_is_long_enough(bundled):
    inputs = PrefixInputs()
    assert len(bundled.vocabulary.encode(inputs.beginning)) >= inputs.longest
    assert SECTION.begin(bundled, inputs).count == 30


@pytest.mark.parametrize("can_crop", [True, False])
def test_page_reports_cache_that_cannot_be_cropped(can_crop, monkeypatch):
    from ui.cache import prefix as section

    said = []
    monkeypatch.setattr(section.st, "caption", said.append)
    monkeypatch.setattr(section, "sheet", lambda table: None)
    shown = type("Shown", (), {"is_running": True})
    section._picture(replace(RESULT, can_crop=can_crop), shown)
    assert any("can be cropped" in one for one in said) != can_crop
