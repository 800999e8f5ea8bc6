"""Lists of values and a stop string as a person types them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingError
from engine.sampling import STAGES, SamplingSettings
from engine.study.sweep import Sweep
from ui.texts.settings import is_one_number
from ui.tune import values
from ui.tune.tuning import SWEEPABLE, AxisInput
from ui.tune.values import parse_values, unescaped


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.5, 0.7, 1", (0.5, 0.7, 1)),
        ("0.5 0.7\n1;2", (0.5, 0.7, 1, 2)),
        ("0,5; 0,7 ;1", (0.5, 0.7, 1)),
        ("0,1 to 0,4 step 0,1; 2", (0.1, 0.2, 0.3, 0.4, 2)),
        ("0.1 to 0.4 step 0.1", (0.1, 0.2, 0.3, 0.4)),
        ("0:1:0.25", (0, 0.25, 0.5, 0.75, 1)),
        ("40..10 by 10, 0, 1.0", (40, 30, 20, 10, 0, 1)),
        ("1e-3, .5, +2.", (0.001, 0.5, 2)),
    ],
)
def test_lists_and_ranges_are_read(text, values):
    found = parse_values("X values", text)
    assert found == values
    assert all(isinstance(value, int) == (value == int(value)) for value in found)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.5, hot", "X values contain something that is not a number, got 'hot'"),
        ("0.5, nan", "X values contain something that is not a number, got 'nan'"),
        ("", "X values are missing"),
        ("0 to 1", "X values contain a range without a step, got '0 to 1'"),
        ("0 to 1 step 0", "X values contain a range with a step of 0"),
        ("0 to 1 step 0.000001", "X values are too many, got 1,000,001"),
        ("0 to 1e15 step 1e-300", "X values are too many"),
        ("1e16", "X values contain a number too large for any setting"),
        ("9" * 30_000, "X values are too long"),
        ("9" * 41, "X values contain a number of more than 40 characters, got '999"),
        ("0.5, 1, 0.50", "X values contain a value twice, got 0.5"),
    ],
)
def test_invalid_lists_are_refused_with_a_reason(text, sentence):
    with pytest.raises(SettingError) as caught:
        parse_values("X values", text)
    assert str(caught.value).startswith(sentence)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("9" * 9_000 + "x", "contain a number of more than 40 characters"),
        ("9" * 200 + " to " + "9" * 200 + " step " + "9" * 201, "of more than 40 characters"),
        ("1." * 9_999, "contain a number of more than 40 characters"),
        ("1.." * 6_000, "contain a number of more than 40 characters"),
        ("1" + " " * 19_000 + "to", "contain something that is not a number, got 'to'"),
        ("0 to 19998 step 1; 19998", "contain a value twice, got 19,998"),
        ("0 to 19998 step 1; 19999 19998", "are too many, got 20,001"),
        ("0 to 19999 step 1; 20000", "are too many, got 20,001"),
        ("1 " * 9_999, "contain a value twice, got 1"),
    ],
)
def test_parsing_time_grows_linearly_with_length(text, sentence, monkeypatch):
    # Counted, not timed: the number of matches, and the length of each matched text.
    matched = []

    class Counted:
        def __init__(self, pattern) -> None:
            self.pattern = pattern

        def fullmatch(self, text: str):
            matched.append(len(text))
            return self.pattern.fullmatch(text)

    for name, longest in (("_ONE", values.LONGEST_NUMBER), ("_RANGE", values.LONGEST_RANGE)):
        monkeypatch.setattr(values, name, Counted(getattr(values, name)))
        assert longest <= 160
    with pytest.raises(SettingError, match=re.escape(sentence)):
        parse_values("X values", text)
    assert max(matched, default=0) <= values.LONGEST_RANGE
    assert sum(matched) <= 2 * len(text), "something is matched again and again"


@given(st.text("0123456789.+-eE:to by", max_size=40))
def test_number_pattern_needs_no_backtracking(text):
    # Matched text is never given back, so that the work grows with the length alone. Backtracking
    # would accept nothing more.
    patient = re.sub(r"(?<=[*+?}])\+", "", values._NUMBER)
    assert bool(re.fullmatch(patient, text)) == bool(values._ONE.fullmatch(text))


def test_sweepable_settings_start_with_valid_values():
    assert set(SWEEPABLE) == {name for name in STAGES if is_one_number(name)}
    for name in SWEEPABLE:
        axis = AxisInput(name).axis(name)
        assert STAGES[name].off in axis.values or STAGES[name].off is None
        assert len(Sweep(SamplingSettings(), axis, prompts=["a"]).cells) >= 4


def test_a_stop_string_is_typed_on_one_line():
    assert unescaped(r"\nCustomer: \\n") == "\nCustomer: \\n"
