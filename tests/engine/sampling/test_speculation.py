"""Settings of speculative decoding: ranges, the rule of an adaptive length, saving and loading."""

import pytest

from engine.errors import SettingError
from engine.sampling import SamplingSettings
from engine.sampling.speculation import MOST_DRAFT_LENGTH, SpeculativeSettings


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"draft_length": 0}, "at least 1, got 0"),
        ({"draft_length": 2.5}, "whole number, got 2.5"),
        ({"draft_length": 65}, "at most 64, got 65"),
        ({"ngram": 17}, "at most 16"),
        ({"adaptive": 1}, "true or false, got 1"),
        ({"max_new_tokens": -1}, "number of tokens, got -1"),
        ({"forced_acceptance": 1.2}, "0 to 1, got 1.2"),
        ({"forced_acceptance": float("nan")}, "0 to 1"),
        ({"forced_acceptance": True}, "a number"),
        ({"sampling": None}, "SamplingSettings"),
        ({"sampling": SamplingSettings(parity=True)}, "parity"),
    ],
)
def test_invalid_settings_give_a_clear_error(changes, said):
    with pytest.raises(SettingError, match=f"^({next(iter(changes))} must be .*)?{said}"):
        SpeculativeSettings(**changes)


def test_adaptive_length_grows_by_two_shrinks_by_one():
    settings = SpeculativeSettings(adaptive=True)
    assert settings.next_length(4, 4, 4) == 6
    assert settings.next_length(4, 4, 3) == 3
    assert settings.next_length(1, 1, 0) == 1
    assert settings.next_length(4, 0, 0) == 4, "a round without a proposal says nothing"
    assert settings.next_length(MOST_DRAFT_LENGTH, 1, 1) == MOST_DRAFT_LENGTH
    assert SpeculativeSettings(draft_length=5).next_length(5, 5, 5) == 5


def test_settings_survive_to_dict_and_back():
    settings = SpeculativeSettings(SamplingSettings(top_p=0.9), 3, True, 2, 40, 0.5)
    assert settings.to_dict()["text_invalid"] is True
    assert SpeculativeSettings.from_dict(settings.to_dict()) == settings
    for wrong in ({"text_invalid": False}, {"more": 1}):
        with pytest.raises(SettingError):
            SpeculativeSettings.from_dict(settings.to_dict() | wrong)
