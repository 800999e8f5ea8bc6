"""One sentence or two on what there is to see at the step that is shown."""

from __future__ import annotations

import math

from engine.study.generation_order import generation_order
from engine.trace import DiffusionStep
from ui.labs.diffusion.lab import DiffusionLab
from ui.words.labels import counted, token_label
from ui.words.labels import with_minus as minus
from ui.words.language import marked, say

_MASKED_AGAIN = marked(
    "“{token}” at position {place} is masked again: {then} when it was committed, {now} now."
)
_STAYS = marked(
    "The model doubts “{token}” at position {place}: {then} when it was committed, {now} now; with "
    "re-masking at 0 it stays."
)
_HELD = marked(
    "The model doubts “{token}” at position {place}: {then} when it was committed, {now} now; it "
    "held its place."
)
_KEEPS_ALL = marked(
    "The model doubts “{token}” at position {place}: {then} when it was committed, {now} now; the "
    "last step keeps all."
)
_NO_DIRECTION = marked(
    "The order follows no direction: Kendall's tau, its agreement with left to right, is {tau}, "
    "where 1 is the same order and −1 the reverse."
)
_MOSTLY_RIGHT = marked(
    "The order goes mostly from left to right: Kendall's tau, its agreement with that, is {tau} of "
    "1."
)
_MOSTLY_LEFT = marked(
    "The order goes mostly from right to left: Kendall's tau, its agreement with left to right, is "
    "{tau}, where −1 is the reverse."
)
_RIGHT = marked(
    "The order goes strictly from left to right: Kendall's tau, its agreement with that, is {tau}."
)
_LEFT = marked(
    "The order goes from right to left: Kendall's tau, its agreement with left to right, is {tau}."
)
DOUBT = 0.2  # of the model's probability, below which a token that stands is worth a word


def percent(share: float) -> str:
    """A probability for reading: ``83 %``, ``<1 %``."""
    if 0 < share < 0.01:
        return "<1 %"
    return f"{100 * share:.0f} %"


def token(lab: DiffusionLab, token_id: int) -> str:
    """A token as a page shows it."""
    return token_label(lab.text.model.vocabulary.label(token_id))


def notice(lab: DiffusionLab) -> str:
    """What there is to see."""
    step = lab.shown
    if step is None:
        return say("Nothing is filled yet: move the scrubber to the first step.")
    done = lab.text.steps[: lab.shown_steps]
    return f"{_step(lab, step)} {_doubt(lab, done)}{_order(done)}"


def _step(lab: DiffusionLab, step: DiffusionStep) -> str:
    return say(
        "One pass predicted {masks} and committed {count}; {left} remain.",
        masks=counted(len(step.predicted_at), "mask"),
        count=len(step.unmasked),
        left=counted(len(step.masked), "mask"),
    )


def _doubt(lab: DiffusionLab, done: list[DiffusionStep]) -> str:
    """The token that the model has come to doubt most, masked again or not."""
    step = done[-1]
    if not step.committed_confidence:
        return ""
    standing = {
        place: value for place, value in enumerate(step.committed_confidence) if value is not None
    }
    places = step.remasked or [place for place, value in standing.items() if value < DOUBT]
    if not places:
        return ""
    place = min(places, key=standing.__getitem__)
    before = _confidence_then(done, place)
    if place in step.remasked:
        words = _MASKED_AGAIN
    elif not lab.text.settings.eta:
        words = _STAYS
    else:
        words = _HELD if step.masked else _KEEPS_ALL
    said = say(
        words,
        token=token(lab, step.ids_before[place]),
        place=place,
        then=percent(before),
        now=percent(standing[place]),
    )
    return f"{said} "


def _confidence_then(done: list[DiffusionStep], place: int) -> float:
    """The confidence with which the token at a position was committed."""
    return next(step.confidence[place] for step in reversed(done) if place in step.unmasked)


def _order(done: list[DiffusionStep]) -> str:
    tau = generation_order(done).tau
    if math.isnan(tau):
        return ""
    words = _NO_DIRECTION
    if abs(tau) >= 0.3:
        words = _MOSTLY_RIGHT if tau > 0 else _MOSTLY_LEFT
    if abs(tau) == 1:
        words = _RIGHT if tau > 0 else _LEFT
    return say(words, tau=minus(f"{tau:.2f}"))
