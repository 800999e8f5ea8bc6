"""Kinds of predictions, by the name that lessons write."""

from __future__ import annotations

from ui.learn.prediction.kinds.against_input import AgainstInput
from ui.learn.prediction.kinds.against_setting import AgainstSetting
from ui.learn.prediction.kinds.next_token import NextToken
from ui.learn.prediction.kinds.per_step import PerStep
from ui.learn.prediction.kinds.tokens_per_word import TokensPerWord
from ui.learn.prediction.prediction import Prediction
from ui.learn.source import Table

KINDS: dict[str, type[Prediction]] = {
    kind.kind: kind for kind in (NextToken, AgainstSetting, PerStep, AgainstInput, TokensPerWord)
}


def read_prediction(table: Table) -> Prediction:
    """The prediction that a table describes; raises `LessonError`."""
    return KINDS[table.chosen("kind", KINDS)].read(table)
