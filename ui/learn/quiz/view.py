"""A quiz on a page: one question at a time, an answer with a confidence, the reason at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from engine.errors import DecodingError
from ui.learn.progress.entries import (
    MOST_POINTS,
    Answered,
    calibration,
    calibration_sentence,
    percent,
    points,
)
from ui.learn.progress.mine import Done, on_screen
from ui.learn.progress.store import now
from ui.learn.quiz.questions import Question, Quiz
from ui.visits.visits import Visit
from ui.words.errors import told
from ui.words.labels import markdown_text, with_minus
from ui.words.language import marked, say

WANTED = "quiz_wanted"  # in the session's state: the question to show, by topic
CONFIDENCES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # above that of a guess
_SCORING = marked(
    "Certain and right gives {points} points, a guess 0, certain and wrong takes {loss} "
    "away. All answers together never give less than 0. Points follow Brier's rule (1950): "
    "stating how sure you really are earns most on average."
)
FIRST_COUNTS = marked("Only your first answer to a question counts for points and calibration.")


@dataclass
class Round:
    """A person's round through a quiz on this page.

    Attributes:
        given: answers by question.
        place: the question on screen; the summary comes after the last one.
        number: number of times the quiz was restarted.
    """

    given: dict[str, Answered] = field(default_factory=dict)
    place: int = 0
    number: int = 0

    def again(self) -> None:
        """Restart the quiz."""
        self.given, self.place, self.number = {}, 0, self.number + 1

    def go_on(self) -> None:
        """Go to the next question, or to the summary."""
        self.place += 1


def scoring(answers: int) -> str:
    """Explain how a question with this number of answers is scored."""
    loss = f"{-points(1.0, False, answers):.1f}".removesuffix(".0")
    return say(_SCORING, points=f"{MOST_POINTS:g}", loss=loss)


def at_stake(confidence: float, answers: int) -> str:
    """Describe the points for an answer with this confidence, if it is right and if it is wrong."""
    gain, loss = (points(confidence, is_right, answers) for is_right in (True, False))
    return say(
        "If you are right: {gain} points. If not: {loss}.",
        gain=f"{gain:.1f}",
        loss=with_minus(f"{loss:.1f}"),
    )


def confidences(answers: int) -> list[float]:
    """Return the confidences to choose from, beginning with that of a guess."""
    guess = 1.0 / answers
    return [guess, *(level for level in CONFIDENCES if level > guess + 0.01)]


def turn_to(topic: str, question: str) -> None:
    """Let a quiz show one of its questions when it is next drawn."""
    st.session_state.setdefault(WANTED, {})[topic] = question


def draw_quiz(quiz: Quiz, done: Done, visit: Visit) -> None:
    """Draw the person's current question, or the summary; for a fragment.

    Args:
        quiz: the questions.
        done: the person's progress; gets each answer, of which the first counts.
        visit: the visit in which a question is tried out.
    """
    rounds = on_screen("quizzes")
    if quiz.topic not in rounds:
        before = {q.key: done.progress.find(Answered, quiz.topic, q.key) for q in quiz.questions}
        known = {q.key: before[q.key] for q in quiz.questions if _is_of(before[q.key], q)}
        place = next((n for n, q in enumerate(quiz.questions) if q.key not in known), None)
        rounds[quiz.topic] = Round(known, len(quiz.questions) if place is None else place)
    round_: Round = rounds[quiz.topic]
    wanted = st.session_state.get(WANTED, {}).pop(quiz.topic, None)
    round_.place = next((n for n, q in enumerate(quiz.questions) if q.key == wanted), round_.place)
    with st.container(key=f"card_quiz_{quiz.topic}"):
        if round_.place < len(quiz.questions):
            _question(quiz, round_, done, visit)
        else:
            _summary(quiz, round_, done)


def _is_of(given: Answered | None, question: Question) -> bool:
    """Return whether an answer still belongs to the current question; its file may be edited."""
    return given is not None and question.answer(given.answer) is not None


def _question(quiz: Quiz, round_: Round, done: Done, visit: Visit) -> None:
    question = quiz.questions[round_.place]
    given = round_.given.get(question.key)
    place = say("Question {one} of {all}", one=round_.place + 1, all=len(quiz.questions))
    title = say("Quiz.")
    st.markdown(f":material/quiz: **{title}** {place}")
    if given is None:
        _ask(quiz, question, round_, done)
    else:
        _feedback(question, given)
    title = say("Try it:")
    st.markdown(f"**{title}** {question.trying}")
    with st.container(horizontal=True):
        _try_out(quiz, question, visit)
        if given is not None:
            is_last = round_.place + 1 == len(quiz.questions)
            label = say("See the summary") if is_last else say("Next question")
            st.button(label, type="primary", on_click=round_.go_on)


def _ask(quiz: Quiz, question: Question, round_: Round, done: Done) -> None:
    name = f"quiz_{quiz.topic}_{round_.number}_{question.key}"
    answers = {answer.key: answer.text for answer in question.answers}
    chosen = st.radio(
        f"**{question.text}**",
        list(answers),
        index=None,
        format_func=answers.get,
        key=f"{name}_answer",
    )
    guess = 1.0 / len(answers)
    confidence = st.pills(
        say("How sure are you?"),
        confidences(len(answers)),
        format_func=lambda level: (
            say("{share} (a guess)", share=percent(level)) if level == guess else percent(level)
        ),
        key=f"{name}_confidence",
    )
    st.caption(scoring(len(answers)) if confidence is None else at_stake(confidence, len(answers)))

    def on_answer() -> None:
        is_right = chosen == question.right
        given = Answered(
            quiz.topic, question.key, now(), chosen, is_right, confidence, len(answers)
        )
        round_.given[question.key] = given
        done.note(given)

    lacking = None
    if chosen is None:
        lacking = say("Choose an answer first.")
    elif confidence is None:
        lacking = say("Say how sure you are first.")
    st.button(
        say("Answer"),
        type="primary",
        key=f"{name}_give",
        disabled=lacking is not None,
        on_click=on_answer,
        help=lacking,
    )


def _feedback(question: Question, given: Answered) -> None:
    st.markdown(f"**{question.text}**")
    chosen, right = question.answer(given.answer), question.right_answer
    if given.right:
        st.success(f"**{right.text}**\n\n{right.reason}", icon=":material/check:")
    else:
        st.error(f"**{chosen.text}**\n\n{chosen.reason}", icon=":material/close:")
        st.success(f"**{right.text}**\n\n{right.reason}", icon=":material/check:")
    st.markdown(_worth(given), help=scoring(given.answers))


def _worth(given: Answered) -> str:
    """Describe the worth of an answer, in a sentence."""
    sure, worth = percent(given.confidence), abs(given.points)
    if worth < 0.05:
        return say("You marked this as a guess ({sure}), so it gives 0 points.", sure=sure)
    if given.right:
        return say(
            "You are right and were {sure} sure: this gives {worth} points.",
            sure=sure,
            worth=f"{worth:.1f}",
        )
    return say(
        "You were {sure} sure of another answer: this takes {worth} points away.",
        sure=sure,
        worth=f"{worth:.1f}",
    )


def _try_out(quiz: Quiz, question: Question, visit: Visit) -> None:
    label = say("Open the page {page}", page=question.place.title)
    if st.button(label, key=f"quiz_{quiz.topic}_{question.key}_try", icon=":material/open_in_new:"):
        try:
            question.place.open(visit)
        except DecodingError as error:
            st.error(markdown_text(told(error)))


def _summary(quiz: Quiz, round_: Round, done: Done) -> None:
    given = [round_.given[q.key] for q in quiz.questions if q.key in round_.given]
    here = calibration((one.confidence, one.right) for one in given)
    overall = done.progress.calibration
    total = max(0.0, sum(one.points for one in given))
    worth = say(
        "{right} of {count} right, {points} of {most} points",
        right=sum(one.right for one in given),
        count=len(given),
        points=f"{total:.1f}".removesuffix(".0"),
        most=f"{MOST_POINTS * len(given):g}",
    )
    st.markdown(f"**{quiz.title}: {worth}**")
    if here is not None:
        st.markdown(calibration_sentence(here))
    if overall is not None and (here is None or overall.answers > here.answers):
        st.markdown(say("In all quizzes so far: {said}", said=calibration_sentence(overall)))
    st.button(say("Answer again"), on_click=round_.again, key=f"quiz_{quiz.topic}_again")
    st.caption(say(FIRST_COUNTS))
