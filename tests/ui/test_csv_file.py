"""CSV files whose texts a model wrote."""

import io

import pandas as pd

from ui.shared.csv_file import spreadsheet_csv


def test_no_text_becomes_a_formula_and_nothing_else_changes():
    formulas = ['=HYPERLINK("http://x", "y")', "+1", "-1", "@SUM(1)", "\tx", "\rx"]
    harmless = [" =1", "a=b", "", "“-”", "one,\ntwo"]
    frame = pd.DataFrame(
        {"text": formulas + harmless, "seed": range(11), "mean_logprob": [-0.5] * 11}
    )
    frame["stop_reason"] = ["eos", None] * 5 + [None]
    before = frame.copy()
    read = pd.read_csv(io.BytesIO(spreadsheet_csv(frame)), keep_default_na=False, dtype=str)
    assert read["text"].tolist() == ["'" + text for text in formulas] + harmless
    assert read["mean_logprob"].tolist() == ["-0.5"] * 11
    assert read["stop_reason"].tolist() == ["eos", ""] * 5 + [""]
    pd.testing.assert_frame_equal(frame, before)


def test_a_table_without_rows_is_a_head():
    assert spreadsheet_csv(pd.DataFrame({"text": []})) == b"text\r\n"
