"""What the browser sends to the step page: one event at a time, parsed once into a value.

An event is something that a person did, together with what the page looked like when they did it,
or a question, which changes nothing. Nothing in it is trusted: whatever has another shape than
expected is refused with a sentence.
"""

from __future__ import annotations

import base64
import math
import reprlib
import zlib
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from engine.decoding.guidance import OFF
from engine.sampling import SamplingSettings
from ui.texts.limits import LONGEST_PROMPT, checked_stops
from ui.texts.settings import FIRST, MOST, EventError, parse_settings
from ui.texts.texts import Contrastive
from ui.words.language import ENGLISH, LANGUAGES

Action = Literal[
    "sync",  # the browser lacks something: send everything
    "settings",  # nothing but what every action carries
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
    "reopen",  # go on with an earlier text
    "open",  # make the text of a trace again, and go on with it
]
Question = Literal[
    "row",  # the whole row on screen
    "check",  # a typed value, as the engine takes it
    "admit",  # what would let a token survive
    "find",
    "tokenize",  # which tokens a text is split into
    "snippets",  # the settings as code for other programs
    "labels",  # of tokens that did not come with the row
    "trace",  # everything so far, to keep
    "failed",  # no question: something on the page broke
    "stop",  # nor this: it ends what is being done
]
ACTIONS: tuple[str, ...] = get_args(Action)
QUESTIONS: tuple[str, ...] = get_args(Question)
NOT_TOLD = ("sync", "reopen", "open")  # actions that take no settings over

LONGEST_QUERY = 1000
LONGEST_NAME = 64  # characters of a client, of a sampler's name
LONGEST_REPORT = 4000  # characters of what a page says of its own failure
MOST_IDS = 1000
MOST_PRESSES = 64
MOST_TOKENS_SENT = 100_000
LONGEST_TRACE = 8 * 2**20  # bytes of a file, unpacked


@dataclass(frozen=True)
class Place:
    """Where a person was: which text, and how long it was."""

    run: str = ""
    branch: int = 0
    length: int = 0


@dataclass(frozen=True)
class Have:
    """What a page that connects holds already, so that it need not be sent again.

    Attributes:
        run, branch: which text.
        ids: its tokens.
        forced: which of them a person chose, by index.
        prompt, chat: what a sampled text without guidance began from; None for other texts.
    """

    run: str = ""
    branch: int = 0
    ids: tuple[int, ...] = ()
    forced: frozenset[int] = frozenset()
    prompt: str | None = None
    chat: bool = False


@dataclass(frozen=True)
class Hello:
    """The first frame of a page.

    Attributes:
        client: names the mounted component; a new one begins its numbers at 1.
        have: what it holds.
        settings: what it shows, for tokens of `have` that the server lacks; None without any.
        language: what it is read in.
    """

    client: str
    have: Have = field(default_factory=Have)
    settings: SamplingSettings | None = None
    language: str = ENGLISH


@dataclass(frozen=True)
class Event:
    """One thing a person did, or asked.

    Attributes:
        client: who sent it; see `Hello`.
        number: counts the events of a client; an action that comes twice is done once.
        kind: what was done.
        at: the text that it was done to.
        settings: the samplers that are on, and the seed.
        order: names of all samplers shown, also of those that are off, in the order of the chain.
        max_tokens, stop_strings: the stop rules.
        playing: whether Play or Run to end asked, so that stop rules hold.
        manual: whether the next token is proposed and waits for a person.
        whole: whether the whole row is wanted, and not a light one.
        what_if: whether the page shows what these settings would make of a step of the past.
        count: presses of Step that this event stands for.
        index: the step that is inspected, or that a token is forced at.
        token_id: the token to force, or to admit.
        branch: the branch to show.
        text_number: the earlier text to reopen.
        trace: the text of a trace's file.
        prompt, chat: for a new run.
        negative_prompt: what its guidance leads away from; None for a run without guidance.
        guidance_scale: of the steps to come, in a run with guidance.
        strategy: contrastive search, or None for sampling; for a new run, and for steps to come.
        query: text to look for in the vocabulary, or to split into tokens.
        ids: tokens whose labels are asked for.
        setting, setting_field, value: a value that was typed, and where.
        failure: what broke on the page, its message, and where in the program.
    """

    client: str
    number: int
    kind: str
    at: Place = Place()
    settings: SamplingSettings = field(default_factory=SamplingSettings)
    order: tuple[str, ...] = FIRST
    max_tokens: int = 64
    stop_strings: tuple[str, ...] = ()
    playing: bool = False
    manual: bool = False
    whole: bool = False
    what_if: bool = False
    count: int = 1
    index: int | None = None
    token_id: int | None = None
    branch: int | None = None
    text_number: int | None = None
    trace: str = ""
    prompt: str = ""
    chat: bool = False
    negative_prompt: str | None = None
    guidance_scale: float = OFF
    strategy: Contrastive | None = None
    query: str = ""
    ids: tuple[int, ...] = ()
    setting: str = ""
    setting_field: str = ""
    value: Any = None
    failure: tuple[str, str, str] = ("", "", "")

    @property
    def is_question(self) -> bool:
        """Whether nothing changes by it."""
        return self.kind in QUESTIONS


def parse(data: Any) -> Event:
    """The event in what the browser sent.

    Raises:
        EventError: another shape than expected.
        DecodingError: a setting outside its range, or stop strings that are too many or too long.
    """
    fields = _Fields(data)
    kind = fields.text("kind")
    if kind not in ACTIONS and kind not in QUESTIONS:
        raise EventError(
            f"The page sent an unknown event, {kind[:40]!r}; reload the page; if that does not "
            "help, start the app again."
        )
    at, limits = _Fields(data.get("at", {})), _Fields(data.get("limits", {}))
    settings, order = SamplingSettings(), FIRST
    if "settings" in data:
        settings, order = parse_settings(data["settings"])
    return Event(
        client=_name(fields, "client"),
        number=fields.whole("number", 0),
        kind=kind,
        at=_place(at),
        settings=settings,
        order=order,
        max_tokens=limits.whole("max_tokens", 64),
        stop_strings=_stop_strings(limits.data.get("stop_strings", [])),
        playing=bool(data.get("playing")),
        manual=bool(data.get("manual")),
        whole=bool(data.get("whole")),
        what_if=bool(data.get("what_if")),
        count=_presses(fields.whole("count", 1)),
        index=fields.whole("index", None),
        token_id=fields.whole("token_id", None),
        branch=fields.whole("branch", None),
        text_number=fields.whole("text_number", None),
        trace=_unpacked(data["trace"]) if "trace" in data else "",
        prompt=fields.text("prompt"),
        chat=bool(data.get("chat")),
        negative_prompt=fields.text("negative_prompt") if data.get("guided") else None,
        guidance_scale=fields.number("guidance_scale", OFF),
        strategy=_strategy(data.get("strategy")),
        query=fields.text("query")[:LONGEST_QUERY],
        ids=_ids(data.get("ids", []), MOST_IDS),
        setting=_name(fields, "setting"),
        setting_field=_name(fields, "field"),
        value=_value(data.get("value")),
        failure=tuple(fields.text(name)[:LONGEST_REPORT] for name in ("part", "message", "stack")),
    )


def parse_hello(data: Any) -> Hello:
    """What a page says of itself when it connects.

    Raises:
        EventError: another shape than expected.
        SettingError: a setting outside its range.
    """
    fields = _Fields(data)
    have = _Fields(data.get("have", {}))
    settings = parse_settings(data["settings"])[0] if data.get("settings") is not None else None
    return Hello(
        client=_name(fields, "client"),
        have=Have(
            have.text("run")[:LONGEST_NAME],
            have.whole("branch", 0),
            _ids(have.data.get("ids", []), MOST_TOKENS_SENT),
            frozenset(_ids(have.data.get("forced", []), MOST_TOKENS_SENT)),
            have.text("prompt")[:LONGEST_PROMPT] if have.data.get("prompt") is not None else None,
            have.data.get("chat") is True,
        ),
        settings=settings,
        language=spoken if (spoken := data.get("language")) in LANGUAGES else ENGLISH,
    )


def sender(data: Any) -> tuple[str, int]:
    """Client and number of an event that `parse` refused, as far as they can be read."""
    try:
        fields = _Fields(data)
        return fields.text("client")[:LONGEST_NAME], fields.whole("number", 0)
    except EventError:
        return "", 0


def _place(fields: _Fields) -> Place:
    run = fields.text("run")[:LONGEST_NAME]
    return Place(run, fields.whole("branch", 0), fields.whole("length", 0))


def _name(fields: _Fields, name: str) -> str:
    value = fields.text(name)
    if len(value) > LONGEST_NAME:
        raise EventError(
            f"The page sent {name} of {len(value):,} characters, more than {LONGEST_NAME}; "
            "reload the page."
        )
    return value


def _presses(count: int) -> int:
    if not 1 <= count <= MOST_PRESSES:
        raise EventError(f"The page sent count = {count:,}; from 1 to {MOST_PRESSES} are allowed.")
    return count


def _value(value: Any) -> Any:
    """A typed value: a number, or a text that may be one."""
    if isinstance(value, str):
        return _encodable(value[:LONGEST_NAME])
    return value


def _strategy(data: Any) -> Contrastive | None:
    if data is None:
        return None
    fields = _Fields(data)
    usual = Contrastive()
    return Contrastive(
        fields.whole("top_k", usual.top_k), fields.number("penalty_alpha", usual.penalty_alpha)
    )


def _unpacked(data: Any) -> str:
    """The text of a trace's file, which comes as gzip in base64."""
    try:
        unpacking = zlib.decompressobj(wbits=31)
        found = unpacking.decompress(base64.b64decode(data, validate=True), LONGEST_TRACE)
    except (TypeError, ValueError, zlib.error) as error:
        raise EventError("The page sent a trace that is none; reload the page.") from error
    if not unpacking.eof and not unpacking.unconsumed_tail:
        raise EventError("The page sent half a trace; reload the page.")
    if not unpacking.eof:
        raise EventError(
            f"The trace has more than {LONGEST_TRACE:,} bytes; make it again with `replay` in "
            "Python."
        )
    return found.decode("utf-8", "replace")


def _ids(data: Any, most: int) -> tuple[int, ...]:
    is_list = isinstance(data, list) and len(data) <= most
    if not is_list or not all(type(token_id) is int for token_id in data):
        raise EventError("The page sent token ids that are none; reload the page.")
    return tuple(data)


def _stop_strings(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list) or not all(isinstance(string, str) for string in data):
        raise EventError("The page sent stop strings that are no texts; reload the page.")
    return tuple(map(_encodable, checked_stops(data)))


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
        if len(value) > LONGEST_PROMPT:  # the longest text that a page sends; ids are far shorter
            raise EventError(
                f"The {name.replace('_', ' ')} has {len(value):,} characters; use at most "
                f"{LONGEST_PROMPT:,}."
            )
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
