"""CSV files with texts written by a model."""

import csv
import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.shell.csv_file import spreadsheet_csv

FORMULAS = tuple("=+-@＝＋－＠")


def test_formulas_are_escaped_and_other_texts_unchanged():
    formulas = ['=HYPERLINK("http://x", "y")', "+1", "-1", "@SUM(1)", "\tx", "\rx", "\nx", "\x00x"]
    formulas += ["＝1", "＋1", "－1", "＠x"]
    harmless = ["a=b", "", "“-”", "one,\ntwo", "two;three", "a; b"]
    texts = formulas + harmless
    frame = pd.DataFrame(
        {"text": texts, "seed": range(len(texts)), "mean_logprob": [-0.5] * len(texts)}
    )
    frame["stop_reason"] = ["eos", None] * (len(texts) // 2)
    before = frame.copy()
    read = pd.read_csv(io.BytesIO(spreadsheet_csv(frame)), keep_default_na=False, dtype=str)
    assert read["text"].tolist() == ["'" + text for text in formulas] + harmless
    assert read["mean_logprob"].tolist() == ["-0.5"] * len(texts)
    assert read["stop_reason"].tolist() == ["eos", ""] * (len(texts) // 2)
    pd.testing.assert_frame_equal(frame, before)
    assert spreadsheet_csv(pd.DataFrame({"text": []})) == b'"text"\r\n'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\ufeff=1", "\ufeff'=1"),
        ("the end; =1;+2", "the end; '=1;'+2"),
        ("one\n=1\r\n-2", "one\n'=1\r\n'-2"),
    ],
)
def test_formulas_inside_a_text_are_escaped(text, written):
    frame = pd.DataFrame({"text": [text]})
    read = pd.read_csv(io.BytesIO(spreadsheet_csv(frame)), keep_default_na=False)
    assert read["text"].tolist() == [written]


@given(st.lists(st.text("ab=+-@＝;,\t\r\n \"'\x00", max_size=12), min_size=1, max_size=4))
def test_no_cell_starts_a_formula_for_any_separator(texts):
    file = spreadsheet_csv(pd.DataFrame({"text": texts, "n": 1.0})).decode()
    for separator in ",;\t":
        # As a spreadsheet reads it: quotation marks within a cell are ordinary characters.
        for row in csv.reader(io.StringIO(file, newline=""), delimiter=separator):
            assert not [cell for cell in row if cell.strip(" \t\r\n\x00").startswith(FORMULAS)]
