"""Events that the browser sends to the step page, each parsed once into a value.

An event is an action of a person, together with the state of the page at the time, or a question,
which changes nothing. Nothing in an event is trusted: an unexpected shape is refused with a
sentence.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct, structs

from engine.decoding import UNGUIDED
from engine.sampling import SamplingSettings
from engine.values import ChatMessage, Real, Wrong, convert
from ui.texts.limits import LONGEST_PROMPT, checked_stops
from ui.texts.settings import FIRST, MOST, EventError, parse_settings
from ui.texts.texts import Contrastive, Messages
from ui.visits.link import LONGEST
from ui.words.language import ENGLISH, LANGUAGES, say

Action = Literal[
    "sync",  # the browser lacks something: send everything
    "settings",  # only the fields that every action carries
    "start",
    "reply",  # the next turn of the conversation
    "step",
    "run",
    "propose",  # show the scores of the next token, without drawing it
    "back",
    "rewind",
    "reroll",
    "inspect",
    "fetch_row",  # ask a server for the scores of all tokens at the place on screen
    "force",
    "edit",  # replace the generated text from the first change on
    "branch",
    "reopen",  # continue an earlier text
    "open",  # make the text of a trace again, and continue it
]
Question = Literal[
    "row",  # the whole row on screen
    "check",  # how the engine reads a typed value
    "admit",  # a change that would let a token survive
    "find",
    "tokenize",  # the tokens that a text is split into
    "snippets",  # the settings as code for other programs
    "labels",  # of tokens that did not come with the row
    "trace",  # everything so far, as a trace to keep
    "failed",  # not a question: something on the page broke
    "stop",  # not a question either: it ends the work in progress
]
ACTIONS: tuple[str, ...] = get_args(Action)
QUESTIONS: tuple[str, ...] = get_args(Question)
NOT_TOLD = ("sync", "reopen", "open")  # actions that do not apply settings

LONGEST_QUERY = 1000
LONGEST_NAME = 64  # characters of a client's or a sampler's name
LONGEST_REPORT = 4000  # characters of a page's report of its own failure
MOST_IDS = 1000
MOST_PRESSES = 64
MOST_TOKENS_SENT = 100_000
LONGEST_TRACE = 8 * 2**20  # bytes of a file, unpacked

Number = Annotated[int, Meta(ge=-MOST, le=MOST)]
ShortText = Annotated[str, Meta(max_length=LONGEST_NAME)]
SomeIds = Annotated[tuple[Number, ...], Meta(max_length=MOST_TOKENS_SENT)]


@dataclass(frozen=True)
class Place:
    """The text that a person saw, and its length then."""

    run: ShortText = ""
    branch: Number = 0
    length: Number = 0


@dataclass(frozen=True)
class Have:
    """Data that a connecting page already has, so that it need not be sent again.

    Attributes:
        run, branch: the text.
        ids: its tokens.
        forced: indices of the tokens that a person chose.
        prompt, chat, before: the beginning of a sampled text without guidance; the prompt is None
            for other texts.
    """

    run: ShortText = ""
    branch: Number = 0
    ids: SomeIds = ()
    forced: Annotated[frozenset[Number], Meta(max_length=MOST_TOKENS_SENT)] = frozenset()
    prompt: Annotated[str, Meta(max_length=LONGEST_PROMPT)] | None = None
    chat: bool = False
    before: Messages = ()


@dataclass(frozen=True)
class Hello:
    """The first frame of a page.

    Attributes:
        client: identifies the mounted component; a new one begins its numbers at 1.
        have: the data that it already has.
        settings: the settings that it shows, for tokens of `have` that the server lacks; None if
            there are none.
        language: the language in which it is read.
        link: the link by which the page was opened; see `ui.visits.link`.
    """

    client: str
    have: Have = field(default_factory=Have)
    settings: SamplingSettings | None = None
    language: str = ENGLISH
    link: str = ""


class Event(Struct, frozen=True):
    """One action or question of a person.

    Attributes:
        client: the sender; see `Hello`.
        number: counts the events of a client; an action that comes twice is done once.
        kind: the action or question.
        at: the text that it refers to.
        settings: the samplers that are on, and the seed.
        order: names of all samplers shown, also of those that are off, in the order of the chain.
        max_tokens, stop_strings: the stop rules.
        thinking_budget: most tokens of a thinking span; None for no limit.
        playing: whether Play or Run to end sent the event, so that stop rules apply.
        manual: whether the next token is proposed and waits for a person.
        whole: whether the whole row is wanted, and not a light one.
        what_if: whether the page shows the effect of these settings on a past step.
        count: the number of presses of Step in this event.
        index: the step that is inspected, or that a token is forced at.
        token_id: the token to force, or to admit.
        branch: the branch to show.
        text_number: the earlier text to reopen.
        trace: the text of a trace's file.
        prompt, chat, before: for a new run; `prompt` is also the text of an edit.
        negative_prompt: the prompt that guidance leads away from; None for a run without guidance.
        guidance_scale: of the steps to come, in a run with guidance.
        strategy: contrastive search, or None for sampling; for a new run, and for steps to come.
        query: text to look for in the vocabulary, or to split into tokens.
        ids: tokens whose labels are asked for.
        setting, setting_field, value: a typed value and its field.
        failure: the part of the page that broke, the message, and the stack.
    """

    client: ShortText
    number: Annotated[int, Meta(ge=0, le=MOST)]
    kind: Literal[*ACTIONS, *QUESTIONS]
    at: Place = Place()
    settings: SamplingSettings = msgspec.field(default_factory=SamplingSettings)
    order: tuple[str, ...] = FIRST
    max_tokens: int = 64
    stop_strings: tuple[str, ...] = ()
    thinking_budget: int | None = None
    playing: bool = False
    manual: bool = False
    whole: bool = False
    what_if: bool = False
    count: Annotated[int, Meta(ge=1, le=MOST_PRESSES)] = 1
    index: Number | None = None
    token_id: Number | None = None
    branch: Number | None = None
    text_number: Number | None = None
    trace: str = ""
    prompt: str = ""
    chat: bool = False
    before: Messages = ()
    negative_prompt: str | None = None
    guidance_scale: Real = UNGUIDED
    strategy: Contrastive | None = None
    query: str = ""
    ids: Annotated[tuple[Number, ...], Meta(max_length=MOST_IDS)] = ()
    setting: ShortText = ""
    setting_field: str = ""
    value: Any = None
    failure: tuple[str, str, str] = ("", "", "")

    @property
    def is_question(self) -> bool:
        """True if the event changes nothing."""
        return self.kind in QUESTIONS


class _Sender(Struct):
    client: ShortText = ""
    number: Annotated[int, Meta(ge=0, le=MOST)] = 0


class _Limits(Struct, frozen=True):
    max_tokens: Number = 64
    stop_strings: tuple[str, ...] = ()
    thinking_budget: Number | None = None


class _Rest(Struct):
    """Fields of an event that have other names or types in `Event`."""

    limits: _Limits = _Limits()
    guided: bool = False
    field: ShortText = ""
    part: str = ""
    message: str = ""
    stack: str = ""


_OTHERWISE = {
    "settings",
    "order",
    "max_tokens",
    "stop_strings",
    "thinking_budget",
    "setting_field",
    "failure",
}


class _Greeting(Struct):
    """A first frame as it arrives."""

    client: ShortText = ""
    have: Have = Have()
    settings: Any = None
    language: str = ENGLISH
    link: Annotated[str, Meta(max_length=LONGEST)] = ""


def parse(data: Any) -> Event:
    """Parse an event that the browser sent.

    Raises:
        EventError: an unexpected shape.
        DecodingError: a setting outside its range, or stop strings that are too many or too long.
    """
    rest = _read(data, _Rest)
    event = _read({name: data[name] for name in data if name not in _OTHERWISE}, Event)
    settings, order = event.settings, FIRST
    if "settings" in data:
        settings, order = parse_settings(data["settings"])
    failure = (_bounded(name, getattr(rest, name)) for name in ("part", "message", "stack"))
    negative, value = event.negative_prompt or "", event.value
    return structs.replace(
        event,
        client=_encodable(event.client),
        settings=settings,
        order=order,
        max_tokens=rest.limits.max_tokens,
        stop_strings=tuple(map(_encodable, checked_stops(rest.limits.stop_strings))),
        thinking_budget=rest.limits.thinking_budget,
        trace=_unpacked(event.trace) if "trace" in data else "",
        prompt=_bounded("prompt", event.prompt),
        before=tuple(
            ChatMessage(role=_encodable(each["role"]), content=_bounded("message", each["content"]))
            for each in event.before
        ),
        negative_prompt=_bounded("negative_prompt", negative) if rest.guided else None,
        query=_bounded("query", event.query)[:LONGEST_QUERY],
        setting=_encodable(event.setting),
        setting_field=_encodable(rest.field),
        value=_encodable(value[:LONGEST_NAME]) if isinstance(value, str) else value,
        failure=tuple(text[:LONGEST_REPORT] for text in failure),
    )


def parse_hello(data: Any) -> Hello:
    """Parse the first frame of a page that connects.

    Raises:
        EventError: an unexpected shape.
        SettingError: a setting outside its range.
    """
    sent = _read(data, _Greeting)
    return Hello(
        client=_encodable(sent.client),
        have=sent.have,
        settings=None if sent.settings is None else parse_settings(sent.settings)[0],
        language=sent.language if sent.language in LANGUAGES else ENGLISH,
        link=_encodable(sent.link),
    )


def sender(data: Any) -> tuple[str, int]:
    """Return client and number of an event that `parse` refused, as far as they are readable."""
    try:
        sent = convert(data, _Sender)
    except Wrong:
        return "", 0
    return _encodable(sent.client), sent.number


def _read(data: Any, kind: type) -> Any:
    try:
        return convert(data, kind)
    except Wrong as wrong:
        raise EventError(
            say("The page sent an event in which {wrong}; reload the page.", wrong=wrong)
        ) from wrong


def _bounded(name: str, text: str) -> str:
    if len(text) > LONGEST_PROMPT:  # the longest text that a page sends
        raise EventError(
            f"The {name.replace('_', ' ')} has {len(text):,} characters; use at most "
            f"{LONGEST_PROMPT:,}."
        )
    return _encodable(text)


def _unpacked(data: str) -> str:
    """Unpack the text of a trace's file, which comes as gzip in base64."""
    try:
        unpacking = zlib.decompressobj(wbits=31)
        found = unpacking.decompress(base64.b64decode(data, validate=True), LONGEST_TRACE)
    except (ValueError, zlib.error) as error:
        raise EventError("The page sent a trace that is none; reload the page.") from error
    if not unpacking.eof and not unpacking.unconsumed_tail:
        raise EventError("The page sent half a trace; reload the page.")
    if not unpacking.eof:
        raise EventError(
            f"The trace has more than {LONGEST_TRACE:,} bytes; make it again with `replay` in "
            "Python."
        )
    return found.decode("utf-8", "replace")


def _encodable(text: str) -> str:
    """Replace lone surrogates: a browser's strings may contain them, but UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
