"""CSV files with texts written by a model."""

import csv
import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.shell.csv_file import spreadsheet_csv

FORMULAS = tuple("=+-@＝＋－＠")


def test_no_text_becomes_a_formula_and_nothing_else_changes():
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


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (" =1", " '=1"),
        ("\ufeff=1", "\ufeff'=1"),
        ("the end;=1+cmd", "the end;'=1+cmd"),
        ("the end; =1;+2", "the end; '=1;'+2"),
        ("one\n=1\r\n-2", "one\n'=1\r\n'-2"),
    ],
)
def test_no_part_of_a_text_becomes_one_where_another_separator_holds(text, written):
    frame = pd.DataFrame({"text": [text]})
    read = pd.read_csv(io.BytesIO(spreadsheet_csv(frame)), keep_default_na=False)
    assert read["text"].tolist() == [written]


@given(st.lists(st.text("ab=+-@＝;,\t\r\n \"'\x00", max_size=12), min_size=1, max_size=4))
def test_whatever_separates_no_cell_begins_like_a_formula(texts):
    file = spreadsheet_csv(pd.DataFrame({"text": texts, "n": 1.0})).decode()
    for separator in ",;\t":
        # As a spreadsheet reads it: quotation marks within a cell are ordinary characters.
        for row in csv.reader(io.StringIO(file, newline=""), delimiter=separator):
            assert not [cell for cell in row if cell.strip(" \t\r\n\x00").startswith(FORMULAS)]


def test_a_table_without_rows_is_a_head():
    assert spreadsheet_csv(pd.DataFrame({"text": []})) == b'"text"\r\n'
