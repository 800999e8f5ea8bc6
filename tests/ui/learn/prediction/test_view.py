"""A prediction on a page: the truth is computed once on request, and then stays."""

from typing import ClassVar

import pytest

from engine.errors import ModelError
from ui.learn.prediction.prediction import Bars, Prediction, Unit
from ui.learn.prediction.view import Attempt, _resumed
from ui.learn.progress.entries import Predicted


class Scripted(Prediction, tag="scripted"):
    """Two bars, and the model's answer for them."""

    fails: ClassVar[bool] = False
    asked: ClassVar[int] = 0

    def bars(self, model, prompt):
        return Bars(("a", "b"), "", "Probability", Unit("%"), is_distribution=True)

    def revealed_labels(self, model, prompt, bars):
        return tuple(f"{label} ␣{prompt}" for label in bars.labels)

    def truth(self, model, prompt, bars):
        type(self).asked += 1
        if self.fails:
            raise ModelError("The model has gone; load it again.")
        return (0.9, 0.1)


@pytest.fixture
def prediction(monkeypatch) -> Scripted:
    monkeypatch.setattr(Scripted, "asked", 0)
    return Scripted(key="first", prompt="Once")


def said(*values: float, number: int = 1) -> dict:
    return {"number": number, "values": list(values)}


def test_truth_is_computed_once_and_drawing_stays(prediction):
    attempt = Attempt("Once")
    assert attempt.compute(prediction, None) is None and prediction.asked == 0
    attempt.reveal(said(0.6, 0.4))
    assert attempt.bars.labels == ("a", "b"), "nothing is given away"
    revealed = attempt.compute(prediction, None)
    assert attempt.bars.labels == ("a ␣Once", "b ␣Once")
    assert (revealed.drawn, revealed.truth) == ((0.6, 0.4), (0.9, 0.1))
    assert revealed.gap.value == pytest.approx(0.3)
    attempt.reveal(said(0.9, 0.1))
    assert attempt.compute(prediction, None) is None
    assert (attempt.revealed, prediction.asked) == (revealed, 1)


@pytest.mark.parametrize("message", [None, {}, said(0.6), said(0.6, 0.4, number=2), "reveal"])
def test_malformed_reveal_message_is_ignored(prediction, message):
    attempt = Attempt("Once")
    attempt.compute(prediction, None)
    attempt.reveal(message)
    assert attempt.compute(prediction, None) is None and attempt.revealed is None


def test_reveal_can_be_retried_after_model_failure(prediction, monkeypatch):
    monkeypatch.setattr(Scripted, "fails", True)
    attempt = Attempt("Once")
    attempt.compute(prediction, None)
    attempt.reveal(said(0.6, 0.4))
    with pytest.raises(ModelError):
        attempt.compute(prediction, None)
    assert (attempt.drawn, attempt.tries) == (None, 1)
    monkeypatch.setattr(Scripted, "fails", False)
    attempt.reveal(said(0.6, 0.4))
    assert attempt.compute(prediction, None).truth == (0.9, 0.1)


def kept(prompt, drawn, truth) -> Predicted:
    return Predicted("two", "press/first", 10, prompt, drawn, truth, 0.4, 1.0)


def test_revealed_prediction_is_restored_without_computing_it(prediction):
    attempt = _resumed(prediction, None, kept("Twice", (0.5, 0.5), (0.9, 0.1)))
    shown = attempt.revealed
    assert (attempt.prompt, shown.drawn, prediction.asked) == ("Twice", (0.5, 0.5), 0)
    assert shown.gap.value == pytest.approx(0.4)
    assert attempt.bars.labels == ("a ␣Twice", "b ␣Twice")
    older = kept("Once", (1.0,), (1.0,))
    assert _resumed(prediction, None, older).revealed is None, "its bars are others by now"
