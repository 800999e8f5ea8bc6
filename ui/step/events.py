"""What the browser sends: one event at a time, parsed once into a value.

An event is something that a person did, together with what the page looked like when they did it.
Nothing in it is trusted: whatever has another shape than expected is refused with a sentence.
"""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from engine.guidance import OFF
from engine.sampling import SamplingSettings
from ui.shared.settings import CARDS, MOST, EventError, parse_settings
from ui.shared.texts import Contrastive

Kind = Literal[
    "sync",  # the browser lacks something: send everything
    "resume",  # a reloaded page asks for the session it had
    "settings",  # nothing but what every event carries
    "start",
    "step",
    "run",
    "propose",  # show the scores of the next token, without drawing it
    "back",
    "rewind",
    "reroll",
    "inspect",
    "force",
    "branch",
    "find",
    "tokenize",  # which tokens a text is split into
    "snippets",  # the settings as code for other programs
    "labels",  # of tokens that did not come with the row
    "trace",  # everything so far, to keep
]

LONGEST_QUERY = 1000
MOST_IDS = 1000
MOST_STOP_STRINGS = 32  # every step looks for each, in the thread that all visitors' steps share
LONGEST_STOP_STRING = 200  # characters


@dataclass(frozen=True)
class Place:
    """Where a person was: which text, and how long it was."""

    run: str = ""
    branch: int = 0
    length: int = 0


@dataclass(frozen=True)
class Have:
    """What the browser holds already, so that it need not be sent again."""

    run: str = ""
    branch: int = 0
    length: int = 0
    row: str = ""


NOTHING = Have()


@dataclass(frozen=True)
class Event:
    """One thing a person did.

    Attributes:
        client: names the mounted component; a new one begins its numbers at 1.
        number: counts the events of a client; one that comes twice is applied once.
        kind: what was done.
        at: the text that it was done to.
        have: what the browser holds.
        settings: the stages that are on, and the seed.
        order: names of all cards, also of stages that are off, in the order of the chain.
        max_tokens, stop_strings: the stop rules.
        playing: whether Play or Run to end asked, so that stop rules hold.
        manual: whether the next token is proposed and waits for a person.
        index: the step that is inspected, or that a token is forced at.
        token_id: the token to force.
        branch: the branch to show.
        prompt, chat: for a new run.
        negative_prompt: what its guidance leads away from; None for a run without guidance.
        guidance_scale: of the steps to come, in a run with guidance.
        strategy: contrastive search, or None for sampling; for a new run, and for steps to come.
        query: text to look for in the vocabulary, or to split into tokens.
        ids: tokens whose labels are asked for.
        token: the session that a reloaded page had.
    """

    client: str
    number: int
    kind: Kind
    at: Place = Place()
    have: Have = NOTHING
    settings: SamplingSettings = field(default_factory=SamplingSettings)
    order: tuple[str, ...] = CARDS
    max_tokens: int = 64
    stop_strings: tuple[str, ...] = ()
    playing: bool = False
    manual: bool = False
    index: int | None = None
    token_id: int | None = None
    branch: int | None = None
    prompt: str = ""
    chat: bool = False
    negative_prompt: str | None = None
    guidance_scale: float = OFF
    strategy: Contrastive | None = None
    query: str = ""
    ids: tuple[int, ...] = ()
    token: str = ""


def parse(data: Any) -> Event:
    """The event in what the browser sent.

    Raises:
        EventError: another shape than expected, or stop strings that are too many or too long.
        SettingError: a setting outside its range.
    """
    fields = _Fields(data)
    kind = fields.text("kind")
    if kind not in get_args(Kind):
        remedy = "start the app again and reload the page"
        raise EventError(f"The page sent an unknown event, {kind[:40]!r}; {remedy}.")
    at, have = _Fields(data.get("at", {})), _Fields(data.get("have", {}))
    limits = _Fields(data.get("limits", {}))
    settings, order = SamplingSettings(), CARDS
    if "settings" in data:
        settings, order = parse_settings(data["settings"])
    return Event(
        client=fields.text("client"),
        number=fields.whole("number", 0),
        kind=kind,
        at=Place(at.text("run"), at.whole("branch", 0), at.whole("length", 0)),
        have=Have(
            have.text("run"), have.whole("branch", 0), have.whole("length", 0), have.text("row")
        ),
        settings=settings,
        order=order,
        max_tokens=limits.whole("max_tokens", 64),
        stop_strings=_stop_strings(limits.data.get("stop_strings", [])),
        playing=bool(data.get("playing")),
        manual=bool(data.get("manual")),
        index=fields.whole("index", None),
        token_id=fields.whole("token_id", None),
        branch=fields.whole("branch", None),
        prompt=fields.text("prompt"),
        chat=bool(data.get("chat")),
        negative_prompt=fields.text("negative_prompt") if data.get("guided") else None,
        guidance_scale=fields.number("guidance_scale", OFF),
        strategy=_strategy(data.get("strategy")),
        query=fields.text("query")[:LONGEST_QUERY],
        ids=_ids(data.get("ids", [])),
        token=fields.text("token"),
    )


def sender(data: Any) -> tuple[str, int]:
    """Client and number of an event that `parse` refused, as far as they can be read."""
    try:
        fields = _Fields(data)
        return fields.text("client"), fields.whole("number", 0)
    except EventError:
        return "", 0


def _strategy(data: Any) -> Contrastive | None:
    if data is None:
        return None
    fields = _Fields(data)
    usual = Contrastive()
    return Contrastive(
        fields.whole("top_k", usual.top_k), fields.number("penalty_alpha", usual.penalty_alpha)
    )


def _ids(data: Any) -> tuple[int, ...]:
    is_list = isinstance(data, list) and len(data) <= MOST_IDS
    if not is_list or not all(type(token_id) is int for token_id in data):
        raise EventError("The page sent token ids that are none; reload the page.")
    return tuple(data)


def _stop_strings(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(string, str) for string in data):
        raise EventError("The page sent stop strings that are no texts; reload the page.")
    if len(data) > MOST_STOP_STRINGS:
        remedy = f"use at most {MOST_STOP_STRINGS}, one per line"
        raise EventError(f"There are {len(data):,} stop strings; {remedy}.")
    longest = max(map(len, data), default=0)
    if longest > LONGEST_STOP_STRING:
        remedy = f"use at most {LONGEST_STOP_STRING}"
        raise EventError(f"A stop string has {longest:,} characters; {remedy}.")
    return tuple(map(_encodable, data))


def _encodable(text: str) -> str:
    """Half of a surrogate pair, which a browser's strings may hold, cannot be sent back to it."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _Fields:
    """Fields of a JSON object by type; JSON from a browser may hold 3.0 for 3."""

    def __init__(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise EventError("The page sent an event that is no object; reload the page.")
        self.data = data

    def text(self, name: str) -> str:
        value = self.data.get(name, "")
        if not isinstance(value, str):
            raise EventError(f"The page sent {name} that is no text; reload the page.")
        return _encodable(value)

    def number(self, name: str, default: float) -> float:
        value = self.data.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            shown = reprlib.repr(value)
            raise EventError(f"The page sent {name} = {shown}, which is no number.")
        return value if abs(value) < MOST else math.inf  # a whole number may be too large for float

    def whole(self, name: str, default: int | None) -> int | None:
        value = self.data.get(name, default)
        if value is default:
            return default
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not abs(value) < MOST or value != int(value):  # NaN is not below either
            shown = reprlib.repr(value)
            raise EventError(f"The page sent {name} = {shown}, which is no whole number.")
        return int(value)
