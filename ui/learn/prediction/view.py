"""A prediction on a page: bars to draw, the model's values next to them, the gap as a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import streamlit as st

from engine.errors import DecodingError
from engine.model import LanguageModel
from ui.components.apps import mount_app
from ui.learn.prediction.prediction import Bars, Gap, Prediction
from ui.learn.progress.entries import Predicted
from ui.learn.progress.mine import Done, on_screen
from ui.learn.progress.store import now
from ui.texts.limits import LONGEST_PROMPT
from ui.texts.texts import check_prompt
from ui.words.errors import told
from ui.words.labels import markdown_text
from ui.words.language import say

APP = "prediction"


@dataclass(frozen=True)
class Revealed:
    """A person's prediction and the model's values.

    Attributes:
        drawn, truth: values, one for each bar.
        gap: the distance between them.
    """

    drawn: tuple[float, ...]
    truth: tuple[float, ...]
    gap: Gap


@dataclass
class Attempt:
    """One attempt at a prediction on this page.

    Attributes:
        prompt: the prompt to predict from.
        number: counts attempts, so that the browser begins again with each.
        tries: number of requests for the truth, as the model may fail to compute it.
        bars: the bars to draw; None before they are computed.
        drawn: the drawn values, once the truth is requested.
        revealed: the drawn values with the truth, once it is computed; not changed after that.
    """

    prompt: str
    number: int = 1
    tries: int = 0
    bars: Bars | None = None
    drawn: tuple[float, ...] | None = None
    revealed: Revealed | None = None

    def reveal(self, said: Any) -> None:
        """Take the drawn values from the browser; ignore values that cannot have been drawn."""
        if self.bars is None or self.drawn is not None or not hasattr(said, "get"):
            return
        if said.get("number") == self.number:
            self.drawn, self.tries = self.bars.taken(said.get("values")), self.tries + 1

    def compute(self, prediction: Prediction, model: LanguageModel) -> Revealed | None:
        """Compute the bars, and the truth once it is asked for; return a new truth, else None.

        Raises:
            DecodingError: the model cannot compute them; the drawn values may be revealed again.
        """
        if self.bars is None:
            check_prompt("prompt", self.prompt)
            self.bars = prediction.bars(model, self.prompt)
        if self.drawn is None or self.revealed is not None:
            return None
        try:
            truth = prediction.truth(model, self.prompt, self.bars)
            self._name_bars(prediction, model)
        except DecodingError:
            self.drawn = None
            raise
        gap = self.bars.gap(self.drawn, truth)
        self.revealed = Revealed(self.drawn, truth, gap)
        return self.revealed

    def _name_bars(self, prediction: Prediction, model: LanguageModel) -> None:
        labels = prediction.revealed_labels(model, self.prompt, self.bars)
        self.bars = replace(self.bars, labels=labels)


def draw_prediction(
    lesson: str,
    place: str,
    prediction: Prediction,
    asks: str,
    seen: str,
    model: LanguageModel,
    done: Done,
) -> None:
    """Draw a prediction, for a fragment.

    Args:
        lesson: the key of the lesson.
        place: its name within the lesson.
        prediction: the prediction.
        asks: the question to the person, in Markdown.
        seen: the conclusion to draw from it, shown after the reveal.
        model: computes the truth.
        done: the person's progress; gets each reveal, of which the first counts.
    """
    name = f"{lesson}/{place}"
    key = f"prediction_{name}"
    attempts = on_screen("predictions")
    if name not in attempts:
        known = done.progress.find(Predicted, lesson, place)
        attempts[name] = _resumed(prediction, model, known)
    attempt: Attempt = attempts[name]
    with st.container(key=f"card_{key}"):
        predict = say("Predict.")
        st.markdown(f":material/insights: **{predict}** {asks}")
        st.markdown(say("Prompt: **{prompt}**", prompt=markdown_text(attempt.prompt)))
        try:
            with st.spinner(say("The model computes"), show_time=True):
                new = attempt.compute(prediction, model)
        except DecodingError as error:
            st.error(markdown_text(told(error)))
            new = None
        if new is not None:
            gap = new.gap
            done.note(
                Predicted(
                    lesson,
                    place,
                    now(),
                    attempt.prompt,
                    new.drawn,
                    new.truth,
                    gap.value,
                    gap.largest,
                )
            )
        if attempt.bars is not None:
            _mount(key, attempt)
        if attempt.revealed is not None:
            st.markdown(markdown_text(gap_sentence(attempt.bars, attempt.revealed)))
            st.markdown(seen)
        if attempt.revealed is not None or attempt.bars is None:
            _again(key, prediction, attempt, partial(attempts.__setitem__, name))


def _resumed(prediction: Prediction, model: LanguageModel, before: Predicted | None) -> Attempt:
    """Return an attempt as it was left; a new one if its bars have changed."""
    fresh = Attempt(prediction.prompts[0])
    if before is None:
        return fresh
    attempt = Attempt(before.prompt)
    try:
        attempt.compute(prediction, model)
        if len(attempt.bars.labels) != len(before.drawn):
            return fresh
        attempt._name_bars(prediction, model)
    except DecodingError:
        return fresh  # drawing it reports the reason
    drawn, truth = before.drawn, before.truth
    attempt.drawn = drawn
    attempt.revealed = Revealed(drawn, truth, attempt.bars.gap(drawn, truth))
    return attempt


def _mount(key: str, attempt: Attempt) -> None:
    bars, revealed = attempt.bars, attempt.revealed
    app = f"{key}_bars"
    data = {
        "name": f"{key}_{attempt.number}_{attempt.prompt}",
        "number": attempt.number,
        "tries": attempt.tries,  # shows the browser that one has failed
        "labels": bars.labels,
        "axis": say(bars.axis) if bars.axis else "",
        "figure": say(bars.figure),
        "unit": say(bars.unit.name),
        "one": say(bars.unit.one) if bars.unit.one else "",
        "digits": bars.unit.digits,
        "low": bars.low,
        "high": bars.high,
        "is_curve": bars.is_curve,
        "is_distribution": bars.is_distribution,
        "start": bars.start,
        "revealed": None
        if revealed is None
        else {"drawn": revealed.drawn, "truth": revealed.truth, "worst": revealed.gap.worst},
    }
    mount_app(
        APP,
        "Prediction",
        data,
        key=app,
        reveal=lambda: attempt.reveal(st.session_state[app].reveal),
    )


def gap_sentence(bars: Bars, revealed: Revealed) -> str:
    """Describe the gap: its size, its meaning, and the place where it is largest."""
    gap = revealed.gap
    if bars.is_distribution:
        distance = say(
            "Your bars and the model's are {gap} apart (total variation): {share} % of the "
            "probability would have to move.",
            gap=f"{gap.value:.2f}",
            share=f"{100 * gap.value:.0f}",
        )
    else:
        distance = say(
            "Your values are {gap} off on average (mean absolute difference).",
            gap=bars.unit.difference(gap.value),
        )
    label = bars.labels[gap.worst]
    mine, real = (bars.unit.text(row[gap.worst]) for row in (revealed.drawn, revealed.truth))
    worst = say(
        "The largest miss is at {place}: you said {mine}, the model has {real}.",
        place=f"{say(bars.axis)} {label}" if bars.axis else label,
        mine=mine,
        real=real,
    )
    return f"{distance} {worst}"


def _again(
    key: str, prediction: Prediction, attempt: Attempt, begin: Callable[[Attempt], None]
) -> None:
    """Draw the choice of another prompt, and begin a new attempt with it."""
    offered = [prompt for prompt in prediction.prompts if prompt != attempt.prompt]
    number = attempt.number
    with st.container(horizontal=True, vertical_alignment="bottom"):
        prompt = st.text_input(
            say("Another prompt"),
            value=offered[0] if offered else "",
            max_chars=LONGEST_PROMPT,
            key=f"{key}_{number}_prompt",
        )

        def on_again() -> None:
            begin(Attempt(prompt, number + 1))

        st.button(say("Predict again"), key=f"{key}_again", disabled=not prompt, on_click=on_again)
