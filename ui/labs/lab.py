"""One visitor's text on a decoder page, and what may be done with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from msgspec import Meta

from engine.decoding import Generation
from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.trace import Trace
from ui.labs.inputs import Inputs
from ui.labs.opening import Opened, check_one_setting, opened
from ui.labs.state import InputsState, Kept
from ui.playing import PlayedText, Player
from ui.texts.limits import MOST_TOKENS
from ui.texts.texts import check_prompt
from ui.texts.traces import trace_of
from ui.visits.in_hand import Prompt
from ui.words.language import marked

AnyInputs = TypeVar("AnyInputs", bound=Inputs)
AnyGeneration = TypeVar("AnyGeneration", bound=Generation)

SPEEDS = {
    marked("1 step/s"): (1.0, 0.0),
    marked("3 steps/s"): (0.33, 0.0),
    marked("Fastest"): (0.2, 0.15),
}


class _KeptLab(Kept):
    speed: Literal[*SPEEDS]
    steps: Annotated[int, Meta(ge=0, le=100_000)]


class Lab(InputsState[AnyInputs], ABC, Generic[AnyInputs, AnyGeneration]):
    """A text being generated, and the inputs that it began with.

    A change of an input begins the text again, with as many steps as it had; one that is refused
    leaves everything as it was, and `error` says why.

    Args:
        model, inputs: what it begins with.
        speed: how fast it plays, by a name in `SPEEDS`.
        steps: that it has at once; None for `first_steps`, taken once the page is on screen.

    Class attributes a lab sets, besides those of `InputsState`:
        first_steps: how many steps the text has when the page opens.
        limit: how many steps it may have while it plays; None for any number.
        opens: strategies of the traces that the page opens.
        needs: what a model must be able to do (`engine.backend.CAPABILITIES`).

    Attributes, besides those:
        player: plays the text.
        said: what came of the trace that was opened last, until the text begins again.
    """

    kept: ClassVar[type[Kept]] = _KeptLab
    works: ClassVar[tuple[str, ...]] = ()
    first_steps: ClassVar[int] = 8
    limit: ClassVar[int | None] = MOST_TOKENS
    opens: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ("full_row",)

    said = ""

    def __init__(
        self,
        model: LanguageModel,
        inputs: AnyInputs | None = None,
        speed: str = "3 steps/s",
        steps: int | None = None,
    ) -> None:
        super().__init__(model, inputs)
        self.player: Player[PlayedText[AnyGeneration]] = Player(self, SPEEDS, speed, self.limit)
        self.begin_with(self.inputs, steps)

    @property
    def text(self) -> AnyGeneration | None:
        """The text; None if the model or the inputs allow none, and `error` says why."""
        return self.player.texts[0].text if self.player.texts else None

    # --- what a lab says --------------------------------------------------------------------------

    @abstractmethod
    def begun(self, model: LanguageModel, inputs: AnyInputs) -> AnyGeneration:
        """A text before its first step.

        Raises:
            DecodingError: the inputs or the model allow none; the sentence is shown as it is.
        """

    def goes_on_with(self, inputs: AnyInputs) -> bool:
        """Return True if the text as it stands takes changed inputs from its next step on.

        If it does, this sets them on `text`; what it raises leaves them as they were.
        """
        return False

    @property
    def steps_again(self) -> int:
        """The number of steps that a text with other inputs begins with."""
        return self.player.aim if self.text is not None else self.first_steps

    def inputs_of(self, trace: Trace) -> AnyInputs:
        """The inputs that make the text of a trace, of a strategy in `opens`.

        What they do not tell is found out by comparing; only what that cannot find is refused here,
        and a model that this visitor may not load.

        Raises:
            DecodingError: none do.
        """
        raise NotImplementedError

    def begun_anew(self) -> None:
        """Forget what belonged to the text before, such as results of an experiment."""

    def pressed(self) -> None:
        """Do what else a press of Step, Play, Back or Rewind does."""

    # --- changes ----------------------------------------------------------------------------------

    def change(self, **changes: Any) -> None:
        """Take other inputs, by name."""
        inputs = replace(self.inputs, **changes)
        if inputs == self.inputs and self.text is not None:
            return
        steps = self.steps_again
        self.player.stop()
        try:
            if self.text is not None and self.goes_on_with(inputs):
                self.inputs, self.error = inputs, ""
                return
        except DecodingError as error:
            self.refuse(error)
            return
        self.begin_with(inputs, steps)

    def begin_with(self, inputs: AnyInputs, steps: int | None) -> None:
        """Begin with these inputs and a number of steps, whatever was there before.

        Args:
            inputs: the inputs; those that are refused leave everything as it was.
            steps: None for `first_steps`, taken once the page is on screen.
        """
        self.player.stop()
        try:
            text = self._begun(self.model, inputs)
        except DecodingError as error:
            self.refuse(error)
        else:
            self._take(self.model, inputs, text, steps)

    def take_prompt(self, prompt: Prompt, settings: SamplingSettings | None = None) -> None:
        """Begin with another prompt, and with those of the settings that are among the inputs."""
        self.begin_with(self.inputs.following(prompt.text, settings), None)

    def load(self, model: LanguageModel) -> None:
        """Continue with another model from the same inputs; raises what refuses them."""
        text = self._begun(model, self.inputs)
        self.player.stop()
        self._take(model, self.inputs, text, None)

    def open_trace(self, data: str) -> None:
        """Make the text of a trace again in a job; it takes the place of this one once it is.

        Args:
            data: the text of its JSON file.
        """
        if self.player.is_busy:
            return
        try:
            trace = trace_of(data, self.opens)
            check_one_setting(trace)
            inputs = self.inputs_of(trace)  # not in the job, which does not know the visitor
        except DecodingError as error:
            self.refuse(error)
            return

        def take(found: Opened) -> None:
            self._take(self.model, found.inputs, found.text, len(found.text.steps))
            self.said = found.said

        self.player.stop()
        made = partial(opened, trace, inputs, partial(self._begun, self.model))
        self.player.do("Opening the trace", made, take)

    def _begun(self, model: LanguageModel, inputs: AnyInputs) -> AnyGeneration:
        check_prompt("prompt", inputs.prompt)
        return self.begun(model, inputs)

    def _take(
        self, model: LanguageModel, inputs: AnyInputs, text: AnyGeneration, steps: int | None
    ) -> None:
        self.model, self.inputs, self.error, self.said = model, inputs, "", ""
        wanted = self.first_steps if steps is None else steps
        self.begun_anew()
        self.player.take([PlayedText(text=text, wanted=wanted)], now=steps is not None)

    # --- to disk and back, to another tab ---------------------------------------------------------

    @property
    def version(self) -> object:
        """Compares unequal once the record would be another."""
        return super().version, self.player.version

    def record(self) -> dict[str, Any]:
        """All of it as plain values; a text comes back by generating it again."""
        return super().record() | {"speed": self.player.speed, "steps": self.player.aim}

    def copy(self) -> Self:
        """An independent lab with the same text, for a second tab."""
        twin = super().copy()
        twin.player = self.player.copy(twin)
        return twin

    def release(self) -> None:
        """Give back the memory of caches, and end what is being done."""
        super().release()
        self.player.release()
