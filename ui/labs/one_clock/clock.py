"""What a visitor times: the prompt, how many tokens, and the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from ui.jobs import Owner
from ui.labs.inputs import ConstrainableInputs, Kept
from ui.labs.one_clock.decoders import Beginning
from ui.labs.one_clock.work import ClockWork
from ui.texts.texts import check_prompt
from ui.visits.in_hand import Prompt
from ui.visits.records import choice_of, choice_record, read
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


class Clock:
    """One visitor's inputs, and the runs begun from them.

    Attributes:
        model: the model that writes.
        inputs: what the next runs begin with.
        work: the last runs; None where the inputs allow none, and `error` says why.
        error: what went wrong last, empty if nothing did.
    """

    name: ClassVar[str] = "one_clock"

    def __init__(self, model: LanguageModel, inputs: ClockInputs | None = None) -> None:
        self.model = model
        self.inputs = inputs or ClockInputs()
        self.error = ""
        self.work: ClockWork | None = None
        self.began_alone = False  # whether the first runs were begun without a press

    def change(self, **changes: Any) -> None:
        """Other inputs, by name; the runs on screen stay until new ones begin."""
        inputs, self.error = replace(self.inputs, **changes), ""
        try:
            if inputs.constraint is not None:
                inputs.constraint.check_tokens(self.model.places)
        except DecodingError as error:
            self.refuse(error)
            return
        self.inputs = inputs

    @property
    def prompt_held(self) -> Prompt:
        """Its prompt, for `ui.visits.in_hand`."""
        return Prompt(self.inputs.prompt)

    def take_prompt(self, prompt: Prompt, settings: SamplingSettings | None = None) -> None:
        """Another prompt for the next runs, and with the settings their seed and constraint."""
        self.change(**asdict(self.inputs.following(prompt.text, settings)))

    def refuse(self, error: DecodingError) -> None:
        """Say why something was not done."""
        self.error = told(error)

    def begin(self, owner: Owner) -> None:
        """Begin runs from the inputs; what is refused leaves the last ones."""
        inputs, self.error = self.inputs, ""
        try:
            check_prompt("prompt", inputs.prompt)
            beginning = Beginning(
                self.model, inputs.prompt, inputs.tokens, inputs.seed, inputs.constraint
            )
            work = ClockWork(beginning)
        except DecodingError as error:
            self.refuse(error)
            return
        work.start(owner)
        if self.work is not None:
            self.work.cancel()
        self.work = work

    def load(self, model: LanguageModel) -> None:
        """Go on with another model; its runs begin when they are asked for."""
        self.release()
        self.model, self.work, self.error, self.began_alone = model, None, "", False

    @property
    def version(self) -> object:
        """Compares unequal once the record would be another."""
        return id(self.model), self.inputs

    def record(self) -> dict[str, Any]:
        """Model and inputs; times are measured again."""
        return {"model": choice_record(self.model), "inputs": self.inputs.record()}

    @classmethod
    def restored(cls, data: Any, load: Callable[[str, str | None], LanguageModel]) -> Clock:
        """The inverse of `record`.

        Raises:
            DecodingError: a record that cannot be used, or a model that cannot be loaded.
        """
        kept = read(data, Kept)
        return cls(load(*choice_of(kept.model)), ClockInputs.restored(kept.inputs))

    def release(self) -> None:
        """End what nobody waits for any more."""
        if self.work is not None:
            self.work.cancel()
