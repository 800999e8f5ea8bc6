"""The state of a page with a model and inputs: changes, background jobs and records."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from msgspec import Struct, structs

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from ui.jobs import UNKNOWN, Job, Owner
from ui.labs.inputs import PlainInputs
from ui.models.chooser import begins_alone
from ui.visits.in_hand import Prompt
from ui.visits.link import Link
from ui.visits.records import Choice, choice_of, choice_record, read
from ui.words.errors import told

AnyInputs = TypeVar("AnyInputs", bound=PlainInputs)


class Kept(Struct):
    """The record of a page; a page that keeps more adds fields, passed to its class by name."""

    model: Choice
    inputs: dict[str, Any]


class InputsState(Generic[AnyInputs]):
    """A model, inputs, and the background jobs started from them.

    Class attributes that a page sets:
        name: the page's name in addresses, keys and records.
        inputs_class: its inputs; a new visitor sees the defaults.
        kept: the type of its record; without a field `inputs`, each input is a field of the record.
        works: names of the attributes for its jobs, each None before the first.

    Attributes:
        model: the model, shared with other visitors.
        inputs: the inputs on screen, which the next job uses.
        error: message of the last failure; empty if there was none.
        owner: the visitor it belongs to.
        began_alone: True once the first job was started without a button press, or left to one.
    """

    name: ClassVar[str]
    inputs_class: ClassVar[type[PlainInputs]]
    kept: ClassVar[type[Kept]] = Kept
    works: ClassVar[tuple[str, ...]] = ("work",)

    error = ""
    owner: Owner = UNKNOWN
    began_alone = False

    def __init__(self, model: LanguageModel, inputs: AnyInputs | None = None) -> None:
        self.model = model
        self.inputs: AnyInputs = inputs or self.inputs_class()

    # --- changes ----------------------------------------------------------------------------------

    def change(self, **changes: Any) -> None:
        """Change inputs, by name; if they are refused, the old ones stay."""
        with self.refusing():
            self.take(replace(self.inputs, **self.inputs.checked(changes)))

    def take(self, inputs: AnyInputs) -> None:
        """Set the inputs; raises `DecodingError` to refuse them, and then changes nothing."""
        self.inputs = inputs

    def refuse(self, error: DecodingError) -> None:
        """Set `error` to the reason for a refusal."""
        self.error = told(error)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Turn a refusal inside the `with` block into `error`."""
        self.error = ""
        try:
            yield
        except DecodingError as error:
            self.refuse(error)

    @property
    def prompt_held(self) -> Prompt | None:
        """Its prompt, for `ui.visits.in_hand`; None if the prompt fits only its other inputs."""
        return Prompt(self.inputs.prompt)

    def take_prompt(self, prompt: Prompt, settings: SamplingSettings | None = None) -> None:
        """Set a new prompt, and those settings that are among the inputs."""
        self.change(**vars(self.inputs.following(prompt.text, settings)))

    def load(self, model: LanguageModel) -> None:
        """Continue with a new model and the same inputs; jobs start only when asked for."""
        self.forget_works()
        self.model, self.error, self.began_alone = model, "", False

    # --- works ------------------------------------------------------------------------------------

    def begin(self, owner: Owner) -> None:
        """Start the job of the page."""
        raise NotImplementedError

    def begin_alone(self, owner: Owner) -> None:
        """Start the job once without a button press, if this visitor's pages may do so."""
        if not self.began_alone:
            if begins_alone(self.model):
                said = self.error  # about the model, from opening the page
                self.begin(owner)
                self.error = self.error or said
            self.began_alone = True  # not before: any call to Streamlit may redraw the page

    def begin_work(self, name: str, made: Callable[[], Job], owner: Owner) -> None:
        """Start a job that replaces the last one, which stays if the new one is refused.

        Args:
            name: name of the attribute for the job.
            made: returns the job without starting it; raises `DecodingError` to refuse.
            owner: the visitor for whom it runs.
        """
        before = getattr(self, name)
        with self.refusing():
            work = made()
            work.inputs = self.inputs
            work.start(owner)  # first: any call to Streamlit may redraw the page before that
            setattr(self, name, work)
            if before is not None and before.is_running:
                before.cancel()

    def _works(self) -> dict[str, Job]:
        works = {name: getattr(self, name) for name in self.works}
        return {name: work for name, work in works.items() if work is not None}

    def forget_works(self, *names: str) -> None:
        """End jobs and forget their results: the named ones, or all if no names are given."""
        for name, work in self._works().items():
            if name in (names or self.works):
                work.cancel()
                setattr(self, name, None)

    # --- to disk and back, to another tab ---------------------------------------------------------

    @property
    def version(self) -> object:
        """A value that changes whenever the record would change."""
        return id(self.model), self.inputs

    def record(self) -> dict[str, Any]:
        """Return model and inputs as plain values; a page that keeps more adds to them."""
        inputs = self.inputs.record()
        is_apart = "inputs" in self.kept.__struct_fields__
        return {"model": choice_record(self.model)} | ({"inputs": inputs} if is_apart else inputs)

    @classmethod
    def restored(cls, data: Any, load: Callable[[str, str | None], LanguageModel]) -> Self:
        """Restore a state; the inverse of `record`.

        Args:
            data: the record.
            load: returns a model by source and revision.

        Raises:
            DecodingError: the record cannot be used, or the model cannot be loaded.
        """
        more = structs.asdict(read(data, cls.kept))
        choice, inputs = more.pop("model"), cls.inputs_class.restored(more.pop("inputs", data))
        return cls(load(*choice_of(choice)), inputs, **more)

    def link(self) -> Link:
        """Return the contents of a link to this state."""
        return Link(self.name, self.model.name, self.inputs.record())

    def follow_link(self, values: dict[str, Any]) -> None:
        """Set the inputs of a link, without starting anything; raises `DecodingError`."""
        self.began_alone = True
        self.inputs = self.inputs_class.restored(values)

    def copy(self) -> Self:
        """Return a copy for another tab, which keeps only finished jobs."""
        twin = copy.copy(self)
        twin.error = ""
        for name, work in self._works().items():
            if not work.is_done:
                setattr(twin, name, None)
                twin.began_alone = False
        return twin

    def release(self) -> None:
        """End all work."""
        for work in self._works().values():
            work.cancel()


class ModelState(InputsState[PlainInputs]):
    """The state of a page that keeps only its model."""

    inputs_class: ClassVar[type[PlainInputs]] = PlainInputs
    prompt_holders: ClassVar[tuple[()]] = ()
    works: ClassVar[tuple[str, ...]] = ()
