"""One visitor's text on a decoder page, and its operations."""

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
from ui.labs.open_trace import Opened, check_one_setting, opened
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
    """A text being generated, and its inputs.

    Changing an input begins the text again, with as many steps as it had. A refused change
    leaves everything as it was, and `error` says why.

    Args:
        model, inputs: the model and the inputs of the text.
        speed: the playing speed, a key of `SPEEDS`.
        steps: number of initial steps; None for `first_steps`, taken once the page is on screen.

    Class attributes that a lab sets in addition to those of `InputsState`:
        first_steps: number of steps of the text when the page opens.
        limit: maximum number of steps; None for no limit.
        opens: strategies whose traces the page can open.
        needs: capabilities that a model must have (`engine.backend.CAPABILITIES`).

    Attributes:
        player: plays the text.
        said: a sentence on the last opened trace, until the text begins again.
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
        """The text; None if the model or the inputs allow none, in which case `error` says why."""
        return self.player.texts[0].text if self.player.texts else None

    # --- for a lab's class ------------------------------------------------------------------------

    @abstractmethod
    def begun(self, model: LanguageModel, inputs: AnyInputs) -> AnyGeneration:
        """Return a text before its first step.

        Raises:
            DecodingError: the inputs or the model allow no text; the page shows the message.
        """

    def goes_on_with(self, inputs: AnyInputs) -> bool:
        """Return True if the current text can apply changed inputs from its next step on.

        If so, this sets them on `text`; an error leaves the old ones in force.
        """
        return False

    @property
    def steps_again(self) -> int:
        """Number of initial steps of a text whose inputs have changed."""
        return self.player.aim if self.text is not None else self.first_steps

    def inputs_of(self, trace: Trace) -> AnyInputs:
        """Return the inputs that reproduce the text of a trace, whose strategy is in `opens`.

        Comparing the reproduced text reveals most differences. This method refuses only cases that
        the comparison cannot find, and a model that this visitor may not load.

        Raises:
            DecodingError: no inputs reproduce the text.
        """
        raise NotImplementedError

    def begun_anew(self) -> None:
        """Forget data about the previous text, such as the results of an experiment."""

    def pressed(self) -> None:
        """React to a press of Step, Play, Back or Rewind."""

    # --- changes ----------------------------------------------------------------------------------

    def change(self, **changes: Any) -> None:
        """Change inputs, by name."""
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
        """Begin a text with these inputs and a number of steps, replacing the previous text.

        Args:
            inputs: the inputs; if they are refused, everything stays as it was.
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
        """Begin a text with a new prompt, and with those settings that are among the inputs."""
        self.begin_with(self.inputs.following(prompt.text, settings), None)

    def load(self, model: LanguageModel) -> None:
        """Continue with a new model and the same inputs; raises `DecodingError` on a misfit."""
        text = self._begun(model, self.inputs)
        self.player.stop()
        self._take(model, self.inputs, text, None)

    def open_trace(self, data: str) -> None:
        """Reproduce the text of a trace in a job; it replaces the current text when complete.

        Args:
            data: the contents of its JSON file.
        """
        if self.player.is_busy:
            return
        try:
            trace = trace_of(data, self.opens)
            check_one_setting(trace)
            inputs = self.inputs_of(trace)  # not in the job: it has no visitor context
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
        """A value that changes whenever the record would change."""
        return super().version, self.player.version

    def record(self) -> dict[str, Any]:
        """Return the lab as plain values; its text is restored by generating it again."""
        return super().record() | {"speed": self.player.speed, "steps": self.player.aim}

    def copy(self) -> Self:
        """Return an independent lab with the same text, for a second tab."""
        twin = super().copy()
        twin.player = self.player.copy(twin)
        return twin

    def release(self) -> None:
        """Free the memory of caches, and end all work."""
        super().release()
        self.player.release()
