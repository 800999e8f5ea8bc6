"""The step page on the live channel: its events applied to the session of its visit.

    browser                                           server
    hello {visit, tab, page, client, have, ...}     state: everything, with `visit`, `table` and
                                                    `examples`; number 0
    an action {kind, client, number, at, ...}       state: what changed
    a question {kind, client, number, ...}          answer: what was asked for
                                                    state, number null: an unrequested change

`ui.step.events` lists actions and questions, `ui.step.message` describes a state. An answer
names `client` and `number` of its event, and has `error`, a sentence or nothing. An action is done
once, however often it is sent; a question may be asked again.

Slow work reports its progress (see `ui.server.websocket`). It ends early, before its next pass, if
an action of `INTERRUPTING` is waiting. Then the text stays as it was. All other events wait for the
work, so that an impatient press costs nothing. A page sends ``stop`` without waiting for an answer.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from engine.errors import CancelledError, DecodingError, panics_as_errors
from engine.guarded import asking
from engine.model import LanguageModel
from engine.runner import Job, as_job
from engine.sampling import SamplingSettings
from ui.models.chooser import stage_name
from ui.models.first_model import first_model, load
from ui.server.problems import report
from ui.server.visitor import this_address
from ui.server.websocket import WORKING, Activity, Connection, Gone, Refused
from ui.step import busy
from ui.step.events import QUESTIONS, Event, Hello, parse, parse_hello, sender
from ui.step.linked import opened
from ui.step.message import Sent, packed, row_answer, state_message
from ui.step.questions import answer
from ui.step.record import TextRecord
from ui.step.session import Session
from ui.texts.examples import examples_of
from ui.texts.settings import page_table
from ui.visits.handover import STEP, HandedOver
from ui.visits.records import BrokenRecord, read
from ui.visits.visits import FULL, VISITS, Abandoned, TooManyVisits, Visit, is_secret
from ui.words.language import marked, say, speaking

INTERRUPTING = ("start", "reopen", "open", "stop")  # actions that interrupt slow work
MOST_REPORTS = 20  # of failures, from one page
_log = logging.getLogger(__name__)


class PageFailure(Exception):
    """Error for something that broke on a page, as the browser reports it."""


class SessionSource(Protocol):
    """The source of a visit's session; see `step_session`."""

    def __call__(
        self,
        visit: Visit,
        told: Callable[[str, int, int | None], None],
        is_gone: Callable[[], bool],
        is_cancelled: Callable[[], bool],
        waits: Callable[[int], None] | None,
    ) -> Session:
        """Raise `Abandoned` if no page is waiting, `DecodingError` if there can be no session."""


class StepChannel:
    """One connected step page.

    Args:
        connection: its connection.
        first: its first frame.
        name: the name under which the visit has the session.
        source: returns that session.

    Raises:
        Refused: the frame is malformed, or there is no room for a new visit.
        Gone: the page left before its text was ready.
    """

    def __init__(
        self,
        connection: Connection,
        first: dict[str, Any],
        name: str = STEP,
        source: SessionSource | None = None,
    ) -> None:
        self._connection = connection
        self._name, self._source = name, source or step_session
        token, tab = first.get("visit"), first.get("tab")
        if not (is_secret(token) and is_secret(tab)):
            raise Refused("This page does not say who it is; reload it.")
        try:
            self._hello: Hello = parse_hello(first)
            self._visit = VISITS.open(token, tab, self, lambda: connection.is_open, this_address())
        except DecodingError as error:
            raise Refused(report(error)) from error
        except TooManyVisits as error:
            with speaking(self._hello.language):
                raise Refused(say(FULL)) from error
        self._tab = tab
        self._sent = Sent()
        self._reports = 0
        self._listening_to: Session | None = None
        self._stop_listening: Callable[[], None] = lambda: None
        try:
            self._session()
        except BaseException:
            self.close()
            raise
        connection.can_cancel = True

    # --- the session of the visit -----------------------------------------------------------------

    def _session(self) -> Session:
        """Return the session, restored if it has left memory."""
        try:
            # Without a session, a page that cancelled would have nothing to continue with.
            self._connection.can_cancel = self._visit.has(self._name)
            with speaking(self._hello.language):
                session = self._source(
                    self._visit,
                    self._told,
                    lambda: not self._connection.is_open,
                    self._is_interrupted,
                    self._waits,
                )
        except Abandoned as error:
            raise Gone from error
        except DecodingError as error:
            raise Refused(report(error)) from error
        if session is not self._listening_to:
            self._stop_listening()
            self._listening_to = session
            self._stop_listening = session.listen(self._connection.wake)
        return session

    def _told(self, what: str, done: int, total: int | None) -> None:
        self._connection.activity = Activity(stage_name(what), done, total)

    def _waits(self, behind: int) -> None:
        activity = self._connection.activity or Activity(WORKING)
        self._connection.activity = activity._replace(behind=behind)

    @contextlib.contextmanager
    def _at_work(self, session: Session, kind: str) -> Iterator[None]:
        """Run the work inside so that it reports progress and ends if the person cancels it."""
        spoken, work = (
            speaking(self._hello.language),
            (self._is_interrupted, self._told, self._waits),
        )
        person = self._visit.person or self._visit.token
        own = asking(person=person, gives_up=self._is_not_waited_for)
        with panics_as_errors(), session.lock, spoken, as_job(*work), own:
            self._told(busy.doing(kind, is_empty=not session.decoder.steps), 0, None)
            yield

    def _is_not_waited_for(self) -> bool:
        return not self._connection.is_open or self._is_interrupted()

    # --- calls of the live channel ----------------------------------------------------------------

    def hello(self) -> list[bytes]:
        session = self._session()
        with self._at_work(session, "row"):
            have = self._hello.have
            if session.acknowledged and self._hello.client not in session.acknowledged:
                session.error = ""  # it was meant for a page that is gone
            session.catch_up(have, self._hello.settings)
            session.replay_recorded()
            draft = {} if have.run else self._draft(session)
            draft |= self._linked(session)
            if (have.run, have.branch) == (session.run, session.current):
                self._sent.run, self._sent.branch = have.run, have.branch
                self._sent.steps = _known_steps(session, have.ids)
            return [state_message(session, self._sent, {**self._first_fields(), **draft})]

    def _draft(self, session: Session) -> dict[str, Any]:
        """Return the prompt typed last, if on another page, as an offer: the text here stays."""
        prompt = self._visit.in_hand.due(session) if self._name == STEP else None
        if prompt is None:
            return {}
        self._visit.notices.append(
            say("The prompt is the one that you typed last, on another page. Start begins with it.")
        )
        chat = session.fitting_chat(prompt)
        return {"draft": {"prompt": prompt.text, "chat": chat, "before": list(prompt.before)}}

    def _linked(self, session: Session) -> dict[str, Any]:
        """Return what the link sets by which the page was opened, once."""
        if self._name != STEP or not self._hello.link:
            return {}
        has_template = session.loaded.vocabulary.has_chat_template
        name = session.loaded.name
        shown, sentence = opened(self._hello.link, name, has_template=has_template)
        self._visit.notices.append(sentence)
        return shown

    def _first_fields(self) -> dict[str, Any]:
        return {
            "client": self._hello.client,
            "number": 0,
            "visit": self._visit.token,
            "table": page_table(),
            **self._notices(),
        }

    def _notices(self) -> dict[str, Any]:
        """Return the notices about the visit for the visitor; each is given once."""
        sentences, self._visit.notices = list(self._visit.notices), []
        if VISITS.problem:
            sentences.append(VISITS.problem)
        return {"notices": list(map(say, sentences))}

    def answer(self, data: dict[str, Any]) -> list[bytes]:
        client, number = sender(data)
        named = {"client": client, "number": number}
        try:
            session = self._session()
            with self._at_work(session, str(data.get("kind"))):
                event = self._event(session, data, named)
                if event is None:
                    return [state_message(session, self._sent, named)]
                if event.is_question:
                    return [self._answered(session, event, named)]
                if event.kind == "sync":
                    self._sent.forget()
                session.apply(
                    event, told=self._told, should_stop=self._is_interrupted, load=self._loaded
                )
                return [state_message(session, self._sent, named, whole=event.whole)]
        except (Gone, Refused):
            raise
        except Exception as error:
            sentence = report(error, marked("the step page"))
            return [packed({"kind": "answer", **named, "error": sentence})]

    def _event(self, session: Session, data: dict[str, Any], named: dict[str, Any]) -> Event | None:
        """Parse an event; return None for an action that the session has refused."""
        try:
            return parse(data)
        except DecodingError as error:
            if data.get("kind") in QUESTIONS:
                raise
            session.refuse(named["client"], named["number"], error)
            return None

    def _answered(self, session: Session, event: Event, named: dict[str, Any]) -> bytes:
        """Answer a question."""
        if event.kind == "failed":
            return packed({"kind": "answer", **named, "error": "", "report": self._failed(event)})
        if event.kind == "stop":
            return packed({"kind": "answer", **named, "error": ""})  # the work to end is over
        if event.kind == "row":
            session.what_if = event.what_if
            return row_answer(session, self._sent, named)
        found = answer(session, event, lambda: bool(self._connection.waiting))
        return packed({"kind": "answer", **named, **found})

    def _loaded(self, source: str, revision: str | None) -> LanguageModel:
        try:
            return load(source, revision, self._told, self._is_interrupted)
        except Abandoned as error:
            raise CancelledError(say("The model was not loaded.")) from error

    def _is_interrupted(self) -> bool:
        """Return whether an action is waiting that interrupts the work in progress."""
        return any(data.get("kind") in INTERRUPTING for data in self._connection.waiting)

    def _failed(self, event: Event) -> str:
        """Log a failure of the page, and return the sentence with its number."""
        self._reports += 1
        if self._reports > MOST_REPORTS:
            return ""
        part, message, stack = event.failure
        return report(
            PageFailure(f"{message}\n{stack}"),
            say("drawing {part}", part=part or say("the step page")),
        )

    def update(self) -> list[bytes]:
        session = self._session()
        with self._at_work(session, "open" if session.read_only else "row"):
            session.replay_recorded()
            named = {"client": self._hello.client, "number": None}
            return [state_message(session, self._sent, named | self._notices())]

    def close(self) -> None:
        self._stop_listening()
        self._visit.leave(self._tab, self)


def _known_steps(session: Session, ids: tuple[int, ...]) -> list:
    """Return the steps that a page with these tokens already has; the last one is sent again."""
    steps = session.decoder.steps
    same = 0
    for token_id, step in zip(ids, steps, strict=False):
        if token_id != step.token_id:
            break
        same += 1
    return steps[: max(0, min(same, len(ids) - 1))]


# --- the session of a visit -----------------------------------------------------------------------


def step_session(
    visit: Visit,
    told: Callable[[str, int, int | None], None] = lambda what, done, total: None,
    is_gone: Callable[[], bool] = lambda: False,
    is_cancelled: Callable[[], bool] = lambda: False,
    waits: Callable[[int], None] | None = None,
) -> Session:
    """Return a visit's session: from memory, else from its record, else a new one.

    A text that another page has handed over begins in it. So does a prompt that was typed last on
    another page, unless it would replace tokens here.

    Args:
        visit: the visit.
        told: called with the progress of work that takes long.
        is_gone: returns whether the page has stopped waiting.
        is_cancelled: returns whether the person has cancelled generating their last text again; the
            part made by then is shown.
        waits: called with the number of others' passes that go first; see `engine.runner.job.Job`.

    Raises:
        Abandoned: the page has stopped waiting.
        DecodingError: not even the bundled model can be loaded.
    """

    def make() -> Session:
        model, problem = first_model(told, is_gone)
        session = first_text(model)
        session.error = problem
        return session

    def restore(record: dict[str, Any]) -> Session:
        with as_job(lambda: is_gone() or is_cancelled(), told, waits) as work:
            return _restored(visit, record, work, is_gone)

    session = visit.page(STEP, make, restore)
    handed: HandedOver | Session | None = visit.handed.pop(STEP, None)
    if isinstance(handed, Session):
        session.take_over(handed)
    elif handed is not None:
        session.hand_over(
            handed.model,
            handed.beginning,
            handed.settings,
            handed.max_tokens,
            handed.stop_strings,
        )
    visit.note_prompts()
    prompt = visit.in_hand.due(session)
    if prompt is not None and session.is_bare:
        visit.in_hand.follow(session, prompt)
    return session


def first_text(model: LanguageModel) -> Session:
    """Return the session that a new visitor sees."""
    first = examples_of(model)[0]
    return Session(model, first.beginning, SamplingSettings(**first.settings))


def _restored(
    visit: Visit,
    data: dict[str, Any],
    work: Job,
    is_gone: Callable[[], bool],
) -> Session:
    """Restore the session from a record; if that fails, return a new one, and add a notice why."""
    try:
        record = TextRecord.parse(read(data, dict).get("text"))
    except BrokenRecord as error:
        sentence = say("Your last text could not be read, so a new one has begun.")
        visit.notices.append(f"{sentence} {error}")
        session = first_text(first_model(work.told, is_gone)[0])
        if isinstance(data, dict):
            session.take_earlier(data)
        return session
    try:
        if record.read_only:
            model = first_model(work.told, is_gone)[0]
        else:
            model = load(*record.model, work.told, work.should_stop)
        session = Session.restored(record, data, model, work.told, work.should_stop)
    except (DecodingError, Abandoned) as error:
        if is_gone():
            raise Abandoned from error
        is_cancelled = isinstance(error, Abandoned)
        reason = say("Loading its model was cancelled.") if is_cancelled else error
        sentence = say(
            "Your last text, by {model}, could not be generated again, so a new one has begun; "
            "it is among your earlier texts.",
            model=record.trace.model.get("name", ""),
        )
        visit.notices.append(f"{sentence} {reason}")
        session = first_text(first_model(work.told, is_gone)[0])
        session.take_earlier(data, with_text=True)
    if is_gone():
        raise Abandoned
    return session
