"""One visitor's text on a decoder page, and what may be done with it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from msgspec import Meta

from engine.decoding.generation import Generation
from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.trace import Trace
from ui.jobs import UNKNOWN, Call, Owner
from ui.labs.inputs import Inputs, Kept
from ui.labs.opening import Opened, check_one_setting, opened
from ui.texts.limits import MOST_TOKENS
from ui.texts.texts import check_prompt
from ui.texts.traces import trace_of
from ui.visits.in_hand import Prompt
from ui.visits.records import choice_of, choice_record, read
from ui.words.language import marked
from ui.words.refusals import told

AnyInputs = TypeVar("AnyInputs", bound=Inputs)
AnyGeneration = TypeVar("AnyGeneration", bound=Generation)

PATIENCE_SECONDS = 0.8  # that a press of a button waits; what takes longer shows progress
BUDGET_SECONDS = 0.6  # of steps at once where a text catches up
SPEEDS = {  # name: seconds between two looks, and of stepping in each; one step at least
    marked("1 step/s"): (1.0, 0.0),
    marked("3 steps/s"): (0.33, 0.0),
    marked("Fastest"): (0.2, 0.15),
}
LOOK_SECONDS = 0.3  # between two looks at a step that takes long


class _KeptLab(Kept):
    speed: Literal[*SPEEDS]
    steps: Annotated[int, Meta(ge=0, le=100_000)]


class Lab(ABC, Generic[AnyInputs, AnyGeneration]):
    """A text being generated, and the inputs that it began with.

    A change of an input begins the text anew, with as many steps as it had; one that is refused
    leaves everything as it was, and `error` says why.

    Class attributes a lab sets:
        name: of the page, in addresses, keys and records.
        inputs_class: its `Inputs`; the defaults are what a new visitor sees.
        first_steps: how many steps the text has when the page opens.
        opens: strategies of the traces that the page opens.
        needs: what a model must be able to do (`engine.backend.CAPABILITIES`).

    Attributes:
        model: the model, shared with other visitors.
        inputs: what the text began with.
        text: the text; None where the model or the inputs allow none, and `error` says why.
        playing: whether steps are being added.
        speed: how fast, by a name in `SPEEDS`.
        error: what went wrong last, empty if nothing did.
        said: what came of the trace that was opened last, until the text begins anew.
        task: what is being done in a worker; None before the first.
        owner: whose text it is.
    """

    name: ClassVar[str]
    inputs_class: ClassVar[type[Inputs]]
    first_steps: ClassVar[int] = 8
    opens: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ("full_row",)

    owner: Owner = UNKNOWN

    def __init__(self, model: LanguageModel) -> None:
        self._prepare(model, self.inputs_class())
        self._begin_later()

    def _prepare(self, model: LanguageModel, inputs: Inputs) -> None:
        self.model = model
        self.inputs: AnyInputs = inputs
        self.text: AnyGeneration | None = None
        self.playing, self.speed, self.error = False, "3 steps/s", ""
        self.said = ""
        self.task: Call[None] | None = None
        self._opened: Opened | None = None  # which the next look takes over
        self._wanted = 0  # steps that the text is to have again after it was begun anew

    # --- what a lab says --------------------------------------------------------------------------

    @abstractmethod
    def begun(self, model: LanguageModel, inputs: AnyInputs) -> AnyGeneration:
        """A text before its first step.

        Raises:
            DecodingError: the inputs or the model allow none; the sentence is shown as it is.
        """

    def goes_on_with(self, inputs: AnyInputs) -> bool:
        """Whether the text as it stands takes changed inputs from its next step on.

        Where it does, this sets them on `text`; what it raises leaves them as they were.
        """
        return False

    def inputs_of(self, trace: Trace) -> AnyInputs:
        """The inputs that make the text of a trace, of a strategy in `opens`.

        What they do not tell is found out by comparing; only what that cannot find is refused here,
        and a model that this visitor may not load.

        Raises:
            DecodingError: none do.
        """
        raise NotImplementedError

    @property
    def limit(self) -> int | None:
        """What `Generation.run` may go to while it plays; None for any length."""
        return MOST_TOKENS

    def begun_anew(self) -> None:
        """Forget what belonged to the text before, such as results of an experiment."""

    # --- changes ----------------------------------------------------------------------------------

    def change(self, **changes: Any) -> None:
        """Other inputs, by name."""
        inputs = replace(self.inputs, **changes)
        if inputs == self.inputs and self.text is not None:
            return
        steps = self._length if self.text is not None else self.first_steps
        self.stop()
        before = self.inputs
        try:
            if self.text is not None and self.goes_on_with(inputs):
                self.inputs, self.error = inputs, ""
                return
        except DecodingError as error:
            self.inputs, self.error = before, told(error)
            return
        self.inputs = inputs
        if not self._begin(steps):
            self.inputs = before

    def begin_anew(self, inputs: AnyInputs, steps: int) -> None:
        """Begin with these inputs and so many steps, whatever was there before."""
        self.stop()
        before, self.inputs = self.inputs, inputs
        if not self._begin(steps):
            self.inputs = before

    def _begin_later(self) -> None:
        """Begin with the inputs; the steps come once the page is on screen."""
        if self._begin(0):
            self._wanted = self.first_steps

    @property
    def prompt_held(self) -> Prompt | None:
        """Its prompt, for `ui.visits.in_hand`; None if that belongs to its other inputs."""
        return Prompt(self.inputs.prompt)

    def take_prompt(self, prompt: Prompt, settings: SamplingSettings | None = None) -> None:
        """Begin with another prompt, and with those of the settings that are among the inputs."""
        self.stop()
        before, self.inputs = self.inputs, self.inputs.following(prompt.text, settings)
        self._begin_later()
        if self.error:
            self.inputs = before

    def load(self, model: LanguageModel) -> None:
        """Go on with another model from the same inputs; raises what refuses them."""
        text = self._new_text(model)
        self.stop()
        self.model = model
        self._take(text, 0)
        self._wanted = self.first_steps  # taken once the page is on screen

    def open_trace(self, data: str) -> None:
        """Make the text of a trace again in a worker; it takes the place of this one once it is.

        Args:
            data: the text of its JSON file.
        """
        if self.is_busy:
            return
        try:
            trace = trace_of(data, self.opens)
            check_one_setting(trace)
            inputs = self.inputs_of(trace)  # not in the worker, which does not know the visitor
        except DecodingError as error:
            self.refuse(error)
            return

        def work() -> None:
            self._opened = opened(trace, inputs, partial(self._begun, self.model))

        self.stop()
        self.do("Opening the trace", work)

    def refuse(self, error: DecodingError) -> None:
        """Say why something was not done; for fields that check what was typed."""
        self.error = told(error)

    def _begin(self, steps: int) -> bool:
        """A new text with so many steps; False, and `error`, where it is refused."""
        self.error = ""
        try:
            text = self._new_text(self.model)
        except DecodingError as error:
            self.error = told(error)
            return False
        self._take(text, steps)
        return True

    def _new_text(self, model: LanguageModel) -> AnyGeneration:
        return self._begun(model, self.inputs)

    def _begun(self, model: LanguageModel, inputs: AnyInputs) -> AnyGeneration:
        check_prompt("prompt", inputs.prompt)
        return self.begun(model, inputs)

    def _take(self, text: AnyGeneration, steps: int) -> None:
        if self.task is not None:
            self.task.cancel()
            self.task = None  # what it still does is done to the text before
        if self.text is not None:
            self.text.release_cache()
        self.text, self.error, self.said = text, "", ""
        self.begun_anew()
        self._wanted = steps
        self._catch_up()

    # --- stepping ---------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """Whether a worker changes the text just now."""
        return self.task is not None and self.task.is_running

    @property
    def is_growing(self) -> bool:
        """Whether `tick` is to be called: it plays, or catches up."""
        return self._is_behind or (self.playing and self.can_go_on)

    @property
    def _is_behind(self) -> bool:
        return self.text is not None and len(self.text.steps) < self._wanted and self.can_go_on

    @property
    def can_go_on(self) -> bool:
        """Whether the text may have another step."""
        return self.text is not None and self.text.can_go_on(self.limit)

    @property
    def look_every(self) -> float | None:
        """Seconds between two drawings; None where the text stands still."""
        if self.playing and self.can_go_on:
            return SPEEDS[self.speed][0]
        return LOOK_SECONDS if self._is_behind or self.is_busy else None

    def step(self) -> None:
        """One step more."""
        self.stop()
        if self.text is not None:
            self.do("Taking a step", lambda: self._steps(1, 0.0))

    def back(self) -> None:
        """One step less."""
        self.rewind_to(len(self.text.steps) - 1 if self.text else 0)

    def rewind(self) -> None:
        """Back to the prompt."""
        self.rewind_to(0)

    def rewind_to(self, steps: int) -> None:
        """Keep the first so many steps."""
        self.stop()
        if self.text is not None and not self.is_busy and 0 <= steps <= len(self.text.steps):
            self.error = ""
            self.text.rewind(steps)

    def play(self) -> None:
        """Add steps until the text ends, or `stop`."""
        self.playing, self.error = self.can_go_on, ""

    def stop(self) -> None:
        """Add no more steps."""
        self.playing, self._wanted = False, 0

    def tick(self) -> None:
        """What a look does while it plays or catches up: a step, more while there is time."""
        if self.is_busy:
            return
        self._note_end()
        if self._is_behind:
            self._catch_up()
        elif self.playing and self.can_go_on:
            budget = SPEEDS[self.speed][1]
            self.do("Taking steps", lambda: self._steps(None, budget))
        if not self.can_go_on:
            self.stop()

    def _catch_up(self) -> None:
        missing = self._wanted - len(self.text.steps)
        if missing > 0:
            self.do("Taking steps", lambda: self._steps(missing, BUDGET_SECONDS))
        if not self._is_behind:
            self._wanted = 0

    def _steps(self, most: int | None, budget: float) -> None:
        """Take steps: one at least, at most so many, none after the budget of seconds."""
        end = time.monotonic() + budget
        for taken, _ in enumerate(self.text.run(self.limit), start=1):
            if taken == most or time.monotonic() >= end:
                return

    def do(self, doing: str, work: Callable[[], None]) -> None:
        """Do something in a worker; what takes long goes on beside the page."""
        if self.is_busy:
            return
        self.error = ""
        self.task = Call(doing, work).start(self.owner)
        if self.task.wait(PATIENCE_SECONDS):
            self._note_end()

    def cancel(self) -> None:
        """End what takes long."""
        self.stop()
        if self.task is not None:
            self.task.cancel()

    def _note_end(self) -> None:
        """Take over what a task that has ended says, and a trace that it has opened."""
        if self.task is not None and not self.task.is_running and self.task.problem:
            self.error, self.task.problem = self.task.problem, ""
            self.stop()
        if self._opened is not None and not self.is_busy:
            found, self._opened = self._opened, None
            self.inputs = found.inputs
            self._take(found.text, len(found.text.steps))
            self.said = found.said

    def look(self) -> None:
        """What every drawing does first."""
        if self.is_growing:
            self.tick()
        elif not self.is_busy:
            self._note_end()

    # --- to disk and back -------------------------------------------------------------------------

    @property
    def version(self) -> object:
        """Compares unequal once the record would be another."""
        return id(self.model), self.inputs, self.speed, id(self.text), self._length

    @property
    def _length(self) -> int:
        return max(self._wanted, len(self.text.steps)) if self.text else 0

    def record(self) -> dict[str, Any]:
        """All of it as plain values; a text comes back by generating it again."""
        return {
            "model": choice_record(self.model),
            "inputs": self.inputs.record(),
            "speed": self.speed,
            "steps": self._length,
        }

    @classmethod
    def restored(cls, data: Any, load: Callable[[str, str | None], LanguageModel]) -> Self:
        """The inverse of `record`.

        Args:
            data: the record.
            load: gives a model by source and revision.

        Raises:
            DecodingError: a record that cannot be used, or a model that cannot be loaded.
        """
        kept = read(data, _KeptLab)
        made = cls.__new__(cls)
        inputs = cls.inputs_class.restored(kept.inputs)
        made._prepare(load(*choice_of(kept.model)), inputs)
        made.speed = kept.speed
        made._begin(kept.steps)
        return made

    def copy(self) -> Self:
        """An independent lab with the same text, for a second tab."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.task, twin.error, twin.playing, twin._wanted = None, "", False, 0
        twin._opened = None
        twin.text = self.text.fork() if self.text else None
        twin.begun_anew()
        return twin

    def release(self) -> None:
        """Give back the memory of caches, and end what nobody waits for any more."""
        self.cancel()
        if self.text is not None:
            self.text.release_cache()
