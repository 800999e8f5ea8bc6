"""The tune page's HTML: every text that is not ours stays text, and a star says what it says."""

import math

import pandas as pd
import pytest

from tests.ui import hostile
from ui.charts.tune import Grid
from ui.tune.metrics import Extreme
from ui.tune.view import extremes_table, small_heatmaps, texts_list
from ui.words.language import speaking


@pytest.mark.parametrize("text", [*hostile.VOCAB, "<script>x</script>", "<b>&amp;", "a\u202eb"])
def test_no_text_becomes_markup(text):
    row = {"seed": 0, "length": 1, "text": text, "ended": True, "stop_reason": "eos"}
    row |= {"error": math.nan, "perplexity": 1.0, "distinct_2": 1.0, "seq_rep_4": 0.0}
    html = texts_list(text, pd.DataFrame([row]))
    for tag in ("<script", "<img", "<b>", "<a ", "<svg", "\u202e"):
        assert tag not in html
    assert small_heatmaps([Grid(text, "", "", ["<b>"], ["<b>"], [[1.0]])], False).count("<b>") == 0


def test_a_star_marks_a_better_end_and_equal_cells_have_no_ends():
    low = Extreme(0.0, "T 1", 2, is_best=True, low=0.0, high=0.2)
    high = Extreme(0.5, "T 0.4", 0, is_best=False)
    shown = extremes_table({"seq_rep_4": (low, high), "looped": (low,)})
    assert "<td>★ 0.00 (0.00 to 0.20) at T 1 and 2 more</td><td>0.50 at T 0.4</td>" in shown
    with speaking("de"):
        assert "0,00 (0,00 bis 0,20) bei" in extremes_table({"seq_rep_4": (low, high)})
    assert "<td>0.00 in every cell</td><td>–</td>" in shown
