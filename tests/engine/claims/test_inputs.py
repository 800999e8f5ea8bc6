"""Inputs of experiments: typed text is parsed, or refused with a sentence."""

import pytest

from engine.claims.claim import claim_of
from engine.claims.facts import FACTS
from engine.claims.inputs import Lines, Numbers, Wholes
from engine.errors import SettingError


def test_typed_input_is_parsed_or_refused():
    assert Lines("x", "X", "").value("a\n\n b \n") == ["a", " b "]
    numbers, wholes = Numbers("t", "T", "1"), Wholes("n", "N", "1")
    assert numbers.value("2, 0.5,2") == [0.5, 2.0] and numbers.value("0,5;2") == [0.5, 2.0]
    for typed in ("", "x", "nan", ",".join(map(str, range(99)))):
        with pytest.raises(SettingError, match="write them as in"):
            numbers.value(typed)
    assert wholes.value("8, 4") == [4, 8]
    with pytest.raises(SettingError, match="is not a whole number"):
        wholes.value("1.5")
    assert len(FACTS.value("")) > 40 and FACTS.value('[k]\n"a b" = ["c"]')[0].answers == ("c",)
    for typed in ("x", "a = 1", '[k]\n"a" = "b"', '[k]\n"a" = [1]'):
        with pytest.raises(SettingError, match="cannot be read"):
            FACTS.value(typed)


def test_unknown_claim_input_raises_type_error():
    with pytest.raises(TypeError, match="tail has no input top_p"):
        claim_of("tail").experiment(None, top_p=0.5)
