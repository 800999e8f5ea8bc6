"""What a visitor times: the prompt, how many tokens, and the results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from engine.errors import DecodingError
from engine.measure.machine import Machine
from engine.study.one_clock import OneClock, Timed
from ui.jobs import Job, Owner
from ui.labs.inputs import ConstrainableInputs, PlainInputs
from ui.labs.one_clock.decoders import DECODERS, Beginning
from ui.labs.state import InputsState
from ui.texts.texts import check_prompt
from ui.words.language import marked, say
from ui.words.refusals import told

MOST_TOKENS = 64


@dataclass(frozen=True)
class ClockInputs(ConstrainableInputs):
    """What every decoder begins with.

    Attributes, besides the prompt and the constraint of constrained decoding:
        tokens: most new tokens of each.
        seed: of those that leave something to chance.
    """

    prompt: str = "Once upon a time, there was a little"
    language: str = "regex"
    source: str = r" [a-z ,']{20,200}\."
    tokens: int = 24
    seed: int = 1


class ClockWork(Job):
    """All decoders on one prompt.

    Args:
        beginning: what they begin with.

    Attributes:
        beginning: as given.
        running: name of the decoder at work; empty before and after.
        was_busy: whether other programs had the cores when the runs began.

    Raises:
        DecodingError: the prompt does not fit the model.
    """

    doing = marked("the runs")
    noun = "run"
    breaks_off = True

    def __init__(self, beginning: Beginning) -> None:
        self.beginning = beginning
        self.running = ""
        self.was_busy = Machine.here().is_busy
        prompt_ids = beginning.model.vocabulary.encode(beginning.prompt)
        entrants, self._refused = [], {}
        for decoder in DECODERS:
            try:
                entrants.append(decoder.entrant(decoder.name, beginning))
            except DecodingError as error:
                self._refused[decoder.name] = told(error)
        self._clock = OneClock(beginning.model, prompt_ids, entrants)
        super().__init__(self._clock.runs)

    def _passes(self) -> Iterator[float | None]:
        try:
            for name in self._clock.run():
                if self.is_cancelled:
                    return
                self.running = name
                yield self._left_by_count()
        finally:
            self.running = ""

    def _in_words(self) -> str:
        words = super()._in_words()
        return f"{words}: {say(self.running)}" if self.running else words

    @property
    def texts_done(self) -> int:
        """Runs that are over."""
        return self._clock.done

    @property
    def timed(self) -> dict[str, Timed]:
        """Results so far, by decoder, in the page's order."""
        timed = self._clock.timed
        return {one.name: timed[one.name] for one in DECODERS if one.name in timed}

    @property
    def failed(self) -> dict[str, str]:
        """Why decoders could not be run."""
        return self._refused | self._clock.failed


class Clock(InputsState[ClockInputs]):
    """One visitor's inputs, and the runs begun from them.

    Attributes, besides those of `InputsState`:
        work: the last runs.
    """

    name: ClassVar[str] = "one_clock"
    inputs_class: ClassVar[type[PlainInputs]] = ClockInputs
    work: ClockWork | None = None

    def take(self, inputs: ClockInputs) -> None:
        if inputs.constraint is not None:
            inputs.constraint.check_tokens(self.model.places)
        super().take(inputs)

    def begin(self, owner: Owner) -> None:
        """Begin runs from the inputs; what is refused leaves the last ones."""
        self.begin_work("work", self._runs, owner)

    def _runs(self) -> ClockWork:
        one = self.inputs
        check_prompt("prompt", one.prompt)
        return ClockWork(Beginning(self.model, one.prompt, one.tokens, one.seed, one.constraint))
