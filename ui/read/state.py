"""A visitor's state of the page Read: a text, what comes before it, and the readings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from engine.backend import require
from engine.errors import ModelError, PromptError, msg
from engine.model import LanguageModel
from engine.study import PendingPair, PendingReading, TextReading, parse_answer
from engine.trace import ON_PAGES, Trace
from ui.jobs import Job, Owner
from ui.labs.inputs import LONGEST_TEXT, Inputs, PlainInputs
from ui.labs.state import InputsState
from ui.models.chooser import begins_alone
from ui.words.language import marked, say

LONGEST = 10_000  # characters of a text
NEEDS = ("all_positions", "full_row")  # capabilities of a model
_EVERY = 16  # tokens between two looks at whether to go on
EXAMPLES = {
    marked("A story as the model knows it"): (
        "",
        "Once upon a time, there was a little girl named Lily. She loved to play outside in the "
        "sunshine. One day, she saw a big, red ball in the park. She wanted to play with it, but "
        "it belonged to a boy.",
        "",
    ),
    marked("A surprise in a story"): (
        "",
        "Once upon a time, there was a little girl named Lily. She loved to play with her "
        "committee. One day, her mom said: Lily, the parliament of the refrigerator is closed.",
        "",
    ),
    marked("Two answers"): ("The capital of France is", " Paris.", " London."),
    marked("Two spellings"): ("The sky is", " grey today.", " gray today."),
}
_FIRST = next(iter(EXAMPLES.values()))


_TRACE = re.compile(r'\s*\{\s*"format"\s*:\s*"decoding-trace"')


@dataclass(frozen=True)
class ReadInputs(Inputs):
    """Inputs of the page Read.

    Attributes in addition to the text, which is called `prompt`:
        before: what comes before the text, and is not judged.
        other: another text in its place, to compare; empty for none.
    """

    prompt: str = _FIRST[1]
    before: str = _FIRST[0]
    other: str = _FIRST[2]


class ReadJob(Job):
    """Reads a text, and the other one if there is one.

    If the text is the answer of an API or a trace, as JSON, its text is read.

    Attributes:
        vocabulary: that of the model.
        answer: the answer, with the probabilities that its API gave; None for other texts.
        trace: the trace of which the text is read; None for other texts.
        before: what comes before the text, and is not judged.
        second: another model that reads the text, too; None for none.
        pair: its reading beside the first model's; None without it.
    """

    doing = marked("the text")
    noun = "token"
    kept = marked("What was read is kept; press Continue to resume.")

    def __init__(
        self, model: LanguageModel, inputs: ReadInputs, second: LanguageModel | None = None
    ) -> None:
        self.vocabulary = model.vocabulary
        _check_length(inputs.prompt, LONGEST_TEXT)
        self.trace = _trace(inputs.prompt)
        self.answer = None if self.trace else parse_answer(inputs.prompt)
        text, before = inputs.prompt, inputs.before
        if self.trace is not None:
            text, before = self.trace.text, self.trace.prompt
        elif self.answer is not None:
            text = self.answer.text
        texts = [text, *([inputs.other] if inputs.other else [])]
        self._pending = [_pending(model, text, before) for text in texts]
        self.pair = None
        if second is not None:
            self.pair = PendingPair(model, second, text, prompt=before)
            self._pending[0] = self.pair.one
        self.second, self.before = second, before
        super().__init__(sum(len(one.token_ids) for one in self._all))

    def _passes(self) -> Iterator[float | None]:
        first = self._pending[0] if self.pair is None else self.pair
        for pending in (first, *self._pending[1:]):
            for done in pending.run():
                if done % _EVERY == 0:
                    yield self._left_by_count()
                    if self.is_cancelled:
                        return
        yield None

    @property
    def texts_done(self) -> int:
        """Number of tokens read."""
        return sum(one.done for one in self._all)

    @property
    def _all(self) -> list[PendingReading]:
        return [*self._pending, *([self.pair.other] if self.pair else [])]

    @property
    def readings(self) -> list[TextReading]:
        """The readings: of the text, and of the other one."""
        return [one.result for one in self._pending]


class ReadState(InputsState[ReadInputs]):
    """One visitor's page Read.

    Attributes in addition to those of `InputsState`:
        work: the last reading; None before the first.
        second: a second model that reads the text, too; None for none.
    """

    name: ClassVar[str] = "read"
    inputs_class: ClassVar[type[PlainInputs]] = ReadInputs
    prompt_holders: ClassVar[tuple[()]] = ()
    work: ReadJob | None = None
    second: LanguageModel | None = None

    def take(self, inputs: ReadInputs) -> None:
        """Set the inputs, and read at once on a model that reads quickly."""
        super().take(inputs)
        if begins_alone(self.model):
            self.begin(self.owner)

    def begin(self, owner: Owner) -> None:
        """Start to read the text on screen; if it is refused, the last reading stays."""
        self.begin_work("work", lambda: ReadJob(self.model, self.inputs, self.second), owner)
        self.began_alone = True

    def load_second(self, model: LanguageModel) -> None:
        """Read the text with a second model, too; raises `DecodingError` if it cannot read it."""
        if model is self.model:
            raise ModelError(
                say("{model} is the page's model; choose another one.", model=model.name)
            )
        require(model, msg("This page"), *NEEDS)
        self.second = model
        self.begin(self.owner)

    def drop_second(self) -> None:
        """Read with the page's model alone."""
        self.second = None
        self.begin(self.owner)

    def load(self, model: LanguageModel) -> None:
        super().load(model)
        if model is self.second:
            self.second = None


def _trace(typed: str) -> Trace | None:
    """Return the trace in a typed text, with the figures of its steps; None for other texts."""
    if not _TRACE.match(typed):
        return None
    trace = Trace.from_json(typed, ON_PAGES)
    TextReading.of_trace(trace)
    return trace


def _pending(model: LanguageModel, text: str, before: str) -> PendingReading:
    for typed in (text, before):
        _check_length(typed, LONGEST)
    return PendingReading(model, text, prompt=before)


def _check_length(typed: str, most: int) -> None:
    if len(typed) > most:
        raise PromptError(
            say(
                "The text has {count} characters, and the page reads at most {most}; shorten "
                "it, or use read_text in Python.",
                count=f"{len(typed):,}",
                most=f"{most:,}",
            )
        )
