"""The tune page's HTML: texts from elsewhere stay text, and a star means what it says."""

import json
import math

import pandas as pd
import pytest

from engine.errors import SettingError, msg
from tests.ui import hostile
from ui.charts.tune import Grid
from ui.tune.metrics import Extreme
from ui.tune.results import extremes_table, small_heatmaps, texts_list
from ui.tune.sweep_job import _message, _recorded
from ui.visits.records import BrokenRecord
from ui.words.errors import told
from ui.words.language import speaking


def test_no_text_becomes_markup():
    for text in (*hostile.VOCAB, "<script>x</script>", "<b>&amp;", "a\u202eb"):
        row = {"seed": 0, "length": 1, "text": text, "ended": True, "stop_reason": "eos"}
        row |= {"error": math.nan, "perplexity": 1.0, "distinct_2": 1.0, "seq_rep_4": 0.0}
        html = texts_list(text, pd.DataFrame([row]))
        for tag in ("<script", "<img", "<b>", "<a ", "<svg", "\u202e"):
            assert tag not in html
        heatmaps = small_heatmaps([Grid(text, "", "", ["<b>"], ["<b>"], [[1.0]])], False)
        assert "<b>" not in heatmaps


def test_star_marks_the_better_end_if_any():
    low = Extreme(0.0, "T 1", 2, is_best=True, low=0.0, high=0.2)
    high = Extreme(0.5, "T 0.4", 0, is_best=False)
    shown = extremes_table({"seq_rep_4": (low, high), "looped": (low,)})
    assert "<td>★ 0.00 (0.00 to 0.20) at T 1 and 2 more</td><td>0.50 at T 0.4</td>" in shown
    with speaking("de"):
        assert "0,00 (0,00 bis 0,20) bei" in extremes_table({"seq_rep_4": (low, high)})
    assert "<td>0.00 in every cell</td><td>–</td>" in shown


def test_recorded_message_is_restored_in_any_language():
    error = SettingError("top_k", 0.5, "must be a whole number", msg("use 0 to {steps}", 4))
    notice = msg("A text could not be continued: {error}", error)
    back = _message(json.loads(json.dumps(_recorded(notice))))
    assert (back, back.values) == (notice, notice.values) and _message("as it was") == "as it was"
    with speaking("de"):
        assert told(back).startswith("Ein Text ließ sich nicht fortsetzen: top_k muss")
    for broken in (["{a:>99999999}", 1], ["use 0 to {steps}", 1, 2], [[]], {}, []):
        with pytest.raises(BrokenRecord):
            _message(broken)
