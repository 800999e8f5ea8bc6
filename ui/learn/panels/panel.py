"""Live panel of a lesson: its initial state, actions and measures."""

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
    """A part of the app, set up by a lesson; frozen, while each visitor has a live state of it.

    Attributes:
        parts: the parts shown, out of those of the kind.

    Attributes of a kind:
        measures: measures of a live state, for checks. A measure returns None if there is nothing
        to measure.
        actions: a person's actions in it, done without a browser; they raise `DecodingError` if the
        panel refuses.
        page: the name in the navigation of the page that shows the whole panel; empty for a panel
            that is only in lessons.
    """

    parts: tuple[str, ...] = ()

    measures: ClassVar[Functions]
    actions: ClassVar[Functions]

    @property
    @abstractmethod
    def page(self) -> str:
        """The name in the navigation of the page that shows the whole panel."""

    def __post_init__(self) -> None:
        check_known("parts", self.parts, self.known_parts())

    @classmethod
    def known_parts(cls) -> Iterable[str]:
        """Return the parts that a lesson may choose from."""
        return ()

    def continued(self, parts: tuple[str, ...] | None) -> Self:
        """Return the panel over the same live state, perhaps with other parts; raises `Refused`."""
        return self if parts is None else replace(self, parts=parts)

    @abstractmethod
    def begun(self, model: LanguageModel) -> Live:
        """Return a new live state.

        Raises:
            DecodingError: the panel cannot begin with these values.
        """

    @abstractmethod
    def restored(self, record: dict[str, Any], load: LoadModel) -> Live:
        """Restore a live state from its record; raises `DecodingError`."""

    @abstractmethod
    def begin_anew(self, live: Live, actions: Iterable[Call] = ()) -> None:
        """Set a live state back to the beginning of the panel, then do the actions.

        All viewers of the live state see the result at once.

        Raises:
            DecodingError: an action is refused.
        """

    @abstractmethod
    def draw(self, live: Live, address: str, key: str) -> None:
        """Draw the panel.

        Args:
            live: its state.
            address: the name of the state among all lessons: ``the_loop/press``.
            key: the name of the drawing.
        """

    @abstractmethod
    def open_page(self, live: Live, visit: Visit) -> NoReturn:
        """Go to the page that shows the whole panel, in the same state."""

    def at_rest(self, live: Live) -> AbstractContextManager[object]:
        """Return a context that keeps the live state as it is, so that checks see one moment."""
        return nullcontext()

    def look_every(self, live: Live) -> float | None:
        """Return the seconds between two redraws; None if the panel is at rest, or draws itself."""
        return None
