"""Live panel of a lesson: how it begins, what can be done in it, and what can be measured."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Generic, NoReturn, Self, TypeVar

from msgspec.structs import replace

from engine.model import LanguageModel
from ui.learn.functions import Call, Functions
from ui.learn.source import Written, check_known
from ui.visits.visits import PageState, Visit

Live = TypeVar("Live", bound=PageState)
LoadModel = Callable[[str, str | None], LanguageModel]


class Panel(Written, Generic[Live], kw_only=True, tag_field="kind"):
    """A part of the app as a lesson sets it up; a frozen value, of which visitors have live states.

    Attributes:
        parts: what is shown, of the parts that the kind has.

    Attributes of a kind:
        measures: what checks may ask of a live state. A measure returns None where there is nothing
            to measure.
        actions: what a person does in it, done without a browser; they raise `DecodingError` where
            the panel refuses.
        page: the name of the page that shows all of it, as the band calls it; empty
            for a panel of lessons alone.
    """

    parts: tuple[str, ...] = ()

    measures: ClassVar[Functions]
    actions: ClassVar[Functions]

    @property
    @abstractmethod
    def page(self) -> str:
        """Name of the page that shows all of it, as the band calls it."""

    def __post_init__(self) -> None:
        check_known("parts", self.parts, self.known_parts())

    @classmethod
    def known_parts(cls) -> Iterable[str]:
        """The parts that a lesson may choose from."""
        return ()

    def continued(self, parts: tuple[str, ...] | None) -> Self:
        """The same over the same live state, perhaps with other parts; raises `Refused`."""
        return self if parts is None else replace(self, parts=parts)

    @abstractmethod
    def begun(self, model: LanguageModel) -> Live:
        """A new live state.

        Raises:
            DecodingError: the panel cannot begin like this.
        """

    @abstractmethod
    def restored(self, record: dict[str, Any], load: LoadModel) -> Live:
        """A live state from its record; raises `DecodingError`."""

    @abstractmethod
    def begin_anew(self, live: Live, actions: Iterable[Call] = ()) -> None:
        """Set a live state back to the beginning of the panel, then do the actions.

        Anyone who looks at the live state sees the result at once.

        Raises:
            DecodingError: an action is refused.
        """

    @abstractmethod
    def draw(self, live: Live, address: str, key: str) -> None:
        """Draw it.

        Args:
            live: its state.
            address: names the state among those of all lessons: ``the_loop/press``.
            key: names the drawing.
        """

    @abstractmethod
    def open_page(self, live: Live, visit: Visit) -> NoReturn:
        """Go to the page that shows all of it, in the same state."""

    def at_rest(self, live: Live) -> AbstractContextManager[object]:
        """Return a context that keeps the live state as it is, so that checks see one moment."""
        return nullcontext()

    def look_every(self, live: Live) -> float | None:
        """Seconds between two drawings; None where it stands still, or draws itself."""
        return None
