"""One visitor's state on the step page: a text with its branches, the step shown, earlier texts.

The session changes only by `apply`, once per event however often that is sent. A failure leaves
everything as it was, and becomes `error`. Questions (`ui.step.questions`) change nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from engine.decoder import Decoder
from engine.decoding import is_same_model
from engine.errors import CancelledError, DecodingError, PromptError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.text import checked_budget
from ui.step import busy
from ui.step.acknowledged import Acknowledged
from ui.step.actions import ACTIONS, ActedOn
from ui.step.events import NOT_TOLD, Event, Have
from ui.step.history import EarlierTexts
from ui.step.linked import MOST_RUNS
from ui.step.open_trace import Opened, opened, replayed
from ui.step.record import Replayed, TextRecord, again, replay, text_record
from ui.step.text_on_screen import UNSHAPED, Branch
from ui.texts.examples import examples_of, is_example
from ui.texts.settings import fitted, plain_settings, shown_samplers
from ui.texts.texts import Beginning, Text, answered, begun_anew, new_text
from ui.visits.handover import STEP
from ui.visits.in_hand import Prompt
from ui.visits.link import Link
from ui.words.errors import in_words
from ui.words.language import say, say_counted

GAP_SECONDS = 0.25  # of waiting for a gap between two events of a busy page
READS = ("sync", "settings", "inspect", "start", "reopen", "open")  # actions without a model
MOST_MISSING = 256  # number of tokens by which a page may be ahead of the record

Told = Callable[[str, int, int], None]
LoadModel = Callable[[str, str | None], LanguageModel]


class Session(ActedOn):
    """One visitor's state: the text on screen, and the page's requests.

    Attributes:
        lock: held by everything that changes or reads it: connections, pages, the record keeper.
        acknowledged: the actions that were done.
        refused: whether the last event's settings and stop rules were refused. The page has drawn
            them already, and must go back to those in force.
        said: a remark on the last change, if the page would not show it.
        earlier: replaced texts, oldest first.
        version: changes whenever the record would.
    """

    name = STEP

    def __init__(
        self, model: LanguageModel, beginning: Beginning | str, settings: SamplingSettings
    ) -> None:
        """Begin a first run; raises errors of `Decoder`."""
        if not isinstance(beginning, Beginning):
            beginning = Beginning(beginning)
        super().__init__(new_text(model, beginning, settings), beginning, settings)
        self.order = shown_samplers(self.settings)
        self.earlier = EarlierTexts()
        self.acknowledged = Acknowledged()
        self.version = 0
        self._prepare()

    def _prepare(self) -> None:
        self.lock = threading.RLock()
        self.said = ""
        self.refused = False
        self.left = 0
        self._listeners: list[Callable[[], None]] = []

    def _begin(self, *text: Any, **place: Any) -> None:
        super()._begin(*text, **place)
        self._interrupted_at: int | None = None
        self._waits_for_replay = False

    # --- listeners --------------------------------------------------------------------------------

    def listen(self, told: Callable[[], None]) -> Callable[[], None]:
        """Call `told` after every change that no event caused; return a function that ends this."""
        self._listeners.append(told)
        return lambda: self._listeners.remove(told) if told in self._listeners else None

    def changed(self) -> None:
        """Notify all listeners after a change that no event caused."""
        self.version += 1
        for told in list(self._listeners):
            told()

    # --- events -----------------------------------------------------------------------------------

    def apply(
        self,
        event: Event,
        *,
        told: Told = lambda what, done, total: None,
        should_stop: Callable[[], bool] = lambda: False,
        load: LoadModel | None = None,
    ) -> None:
        """Apply a person's action, once.

        Args:
            event: an action.
            told: called with the progress of work that takes long.
            should_stop: returns whether the person wants something else by now.
            load: returns a model by source and revision, for earlier texts.
        """
        if self.acknowledged.covers(event.client, event.number):
            return
        self.acknowledged.add(event.client, event.number)
        self.error = self.said = ""
        self.left = 0
        self.cancelled = self.refused = False
        self.what_if = event.what_if
        length = self.length
        try:
            if self.read_only and event.kind not in READS:
                raise PromptError(self.read_only)
            if event.kind not in NOT_TOLD and not (self.read_only and event.kind != "start"):
                self.refused = True
                self._take_settings(event)
                self.refused = False
            if event.kind == "reopen":
                self._reopen(event, told, should_stop, load)
            elif event.kind == "open":
                self._open(event, load)
            elif event.kind == "start":
                self._start(event)
            elif event.kind == "reply":
                self._reply(event)
            else:
                ACTIONS[event.kind](self, event)
            self._make_row()
        except CancelledError:
            self.error = busy.cancelled(event.kind, self.length - length)
            self.cancelled = True
        except DecodingError as error:
            self.error = in_words(error)
        self.version += 1

    def _make_row(self) -> None:
        """Compute the row on screen; if that is cancelled, the last token's step is shown."""
        self.raw()
        if self.cancelled and self.is_pending and self.length:
            self.inspected, self.proposing = None, False

    def refuse(self, client: str, number: int, error: DecodingError) -> None:
        """Answer an event that could not be parsed."""
        self.acknowledged.add(client, number)
        self.error, self.said = in_words(error), ""
        self.cancelled = False
        self.left = 0
        self.refused = True

    def load(self, model: LanguageModel) -> None:
        """Continue with another model from the same prompt; raises errors of `Decoder`.

        The samplers stay, without parts that name tokens of the old vocabulary; `said` reports the
        loss. A read-only text stays, and is made again if the model has the same weights.
        """
        with self.lock:
            if self.read_only:
                self._load_for_recorded(model)
                return
            settings, lost = fitted(self.settings, self.model, model)
            beginning = begun_anew(self.beginning, self.decoder)
            first = examples_of(model)[0].beginning
            if self.is_bare and is_example(self.prompt) and first.chat != beginning.chat:
                beginning = first
            elif not model.vocabulary.has_chat_template:
                beginning = replace(beginning, chat=False)
            text = new_text(model, beginning, settings, self.decoder.stop_strings)
            self._keep_for_later()
            self._begin({1: Branch(1, text)}, beginning, settings)
            if self.settings.chain != settings.chain:
                self.order = shown_samplers(self.settings)
            self.error, self.said, self.cancelled = "", lost, False
            self.changed()

    def _load_for_recorded(self, model: LanguageModel) -> None:
        self.loaded, self.error, self.said, self.cancelled = model, "", "", False
        self._waits_for_replay = is_same_model(self.decoder.trace(), model)
        if not self._waits_for_replay:
            self.said = say(
                "{name} has different weights or a different tokenizer from the model that "
                "wrote this text, so the text stays read-only; Start begins a text with "
                "{name}.",
                name=model.name,
            )
        self.changed()

    def replay_recorded(self) -> None:
        """Generate a read-only text again if its model has been loaded since."""
        if not (self.read_only and self._waits_for_replay):
            return
        self._waits_for_replay = False
        place = self.inspected
        try:
            found = replayed(self.decoder.trace(), self.loaded)
        except CancelledError:
            self.error, self.cancelled = busy.cancelled("open", 0), True
            return
        except DecodingError as error:
            self.error = in_words(error)
            return
        self._show_opened(found)
        self.inspected = place
        self.version += 1

    def hand_over(
        self,
        model: LanguageModel,
        beginning: Beginning,
        settings: SamplingSettings,
        max_tokens: int,
        stop_strings: tuple[str, ...],
    ) -> None:
        """Begin a text that another page asks for; a failure becomes `error`."""
        with self.lock:
            self.error = self.said = ""
            self.cancelled = False
            try:
                text = new_text(model, beginning, settings, stop_strings)
            except DecodingError as error:
                self.error = in_words(error)
            else:
                self._keep_for_later()
                self._begin({1: Branch(1, text)}, beginning, settings)
                self.order = shown_samplers(self.settings)
                self.max_tokens = max_tokens
            self.changed()

    @property
    def prompt_held(self) -> Prompt:
        """The prompt of the text on screen, for `ui.visits.in_hand`."""
        return Prompt(self.prompt, self.chat, self.run, self.beginning.before)

    @property
    def is_bare(self) -> bool:
        """True if there is only the prompt."""
        return not any(branch.decoder.steps for branch in self.branches.values())

    def take_prompt(self, prompt: Prompt, settings: SamplingSettings | None = None) -> None:
        """Begin with another prompt; `fitting_chat` decides on the chat template."""
        with self.lock:
            beginning = replace(
                begun_anew(self.beginning, self.decoder),
                prompt=prompt.text,
                chat=self.fitting_chat(prompt),
                before=prompt.before,
            )
            self.hand_over(
                self.loaded,
                beginning,
                settings or self.settings,
                self.max_tokens,
                self.decoder.stop_strings,
            )

    def fitting_chat(self, prompt: Prompt) -> bool:
        """Return True if another page's prompt goes through the chat template here."""
        chat = self.chat if prompt.chat is None else prompt.chat
        return chat and self.loaded.vocabulary.has_chat_template

    def take_over(self, other: Session) -> None:
        """Continue with the text of another session, which is no longer in use."""
        with self.lock:
            self._keep_for_later()
            settings = other._page_settings
            self._begin(other.branches, other.beginning, settings, current=other.current)
            self.inspected, self.proposing = other.inspected, other.proposing
            self.order, self.max_tokens = other.order, other.max_tokens
            self.error = self.said = ""
            self.cancelled = False
            self.changed()

    def copy(self) -> Session:
        """Return an independent session with the same texts, for a second tab."""
        with self.lock:
            twin = type(self).__new__(type(self))
            twin.__dict__.update(self.__dict__)
            twin._prepare()
            twin.acknowledged = Acknowledged()
            twin.earlier = self.earlier.copy()
            branches = {
                branch.number: Branch(
                    branch.number, branch.decoder.fork(), branch.parent, branch.departs_at
                )
                for branch in self.branches.values()
            }
            place = self.inspected, self.proposing
            twin._begin(
                branches,
                self.beginning,
                self._page_settings,
                current=self.current,
                run=self.run,
            )
            twin.inspected, twin.proposing = place
            return twin

    def release(self) -> None:
        """Release the memory of caches and of data computed for the screen."""
        with self.lock:
            self.forget_shaped()
            for branch in self.branches.values():
                branch.decoder.release_cache()
                branch.decoder.release_rows()

    # --- a new text -------------------------------------------------------------------------------

    def _start(self, event: Event) -> None:
        beginning = Beginning(
            event.prompt,
            event.chat,
            event.negative_prompt,
            event.guidance_scale,
            event.strategy,
            event.before,
        )
        self._begin_with(event, beginning, None)

    def _reply(self, event: Event) -> None:
        """Begin the next turn: the user's new message after the answer on screen."""
        if not (self._is_here(event.at) and self.chat and self.length):
            raise PromptError(
                say(
                    "A reply follows an answer in the chat template, and there is none; press "
                    "Start for a new text."
                )
            )
        beginning = answered(
            begun_anew(self.beginning, self.decoder), self.decoder.text, event.prompt
        )
        self._begin_with(event, beginning, self.decoder)
        text = self.decoder
        if isinstance(text, Decoder) and text.from_cache:
            self.said = say(
                "This turn has read {new} new tokens; the {old} before them were in the KV cache.",
                new=f"{len(text.prompt_ids) - text.from_cache:,}",
                old=f"{text.from_cache:,}",
            )

    def _begin_with(self, event: Event, beginning: Beginning, after: Text | None) -> None:
        text = new_text(self.loaded, beginning, event.settings, event.stop_strings, after)
        if isinstance(text, Decoder):
            text.next_distribution(UNSHAPED)  # reads the prompt before anything changes
        self._keep_for_later()
        self._begin({1: Branch(1, text)}, beginning, event.settings)
        is_taken = self.settings.chain == event.settings.chain  # a back end may need a top-k
        self.order = event.order if is_taken else shown_samplers(self.settings)
        self.max_tokens = event.max_tokens
        self.thinking_budget = checked_budget(event.thinking_budget)

    # --- earlier texts ----------------------------------------------------------------------------

    def _keep_for_later(self) -> None:
        """Put the text on screen among the earlier ones, unless nothing would be lost.

        A text that was read from a file is not kept: the file contains all of it.
        """
        if self.read_only or (is_example(self.prompt) and self.is_bare):
            return
        if self._interrupted_at is not None and self._interrupted_at == self.length:
            return  # the beginning of a text that is kept as a whole
        self.earlier.keep(text_record(self, self.order))

    def _reopen(
        self,
        event: Event,
        told: Told,
        should_stop: Callable[[], bool],
        load: LoadModel | None,
    ) -> None:
        found = self.earlier.find(event.text_number)
        record = TextRecord.parse(found.record)
        model = self._model_of(*record.model, load)
        made = replay(record, model, told, should_stop)
        if not made.is_whole:
            raise CancelledError("The text was not generated again.")  # `apply` says how things are
        self.earlier.remove(found)  # before one more is kept: the oldest of ten would be dropped
        self._keep_for_later()
        self._show_again(record, made)

    def _open(self, event: Event, load: LoadModel | None) -> None:
        """Continue with the text of a trace; it is made again before anything changes."""
        found = opened(event.trace, partial(self._model_of, load=load))
        self._keep_for_later()
        self._show_opened(found)

    def _show_opened(self, found: Opened) -> None:
        self._begin({1: Branch(1, found.text)}, found.beginning, found.settings)
        self.order = shown_samplers(found.settings)
        self.said = found.said

    def _model_of(
        self, source: str | None, revision: str | None, load: LoadModel | None
    ) -> LanguageModel:
        """Return the model to make a text again with: the one in use, or one to be loaded."""
        used = self.loaded
        if source is None or (source, revision) == (used.source, used.revision):
            return used
        if load is None:
            raise PromptError(
                say("{source} wrote this text, and is not loaded here.", source=source)
            )
        return load(source, revision)

    def _show_again(self, record: TextRecord, made: Replayed) -> None:
        run = record.run if made.is_whole and made.is_same else ""
        settings = record.sampling
        self._begin(made.branches, record.beginning, settings, current=record.current, run=run)
        if record.index is not None and record.index <= self.length:
            self.inspected = record.index
        self.proposing = record.proposing and not self.search and not self.is_over
        self.order = record.order
        self.max_tokens = record.max_tokens
        self.thinking_budget = record.thinking_budget
        self.said = made.sentence
        self._interrupted_at = None if made.is_whole else self.length

    # --- a link -----------------------------------------------------------------------------------

    def link(self) -> Link:
        """Return the contents of a link: the beginning, the settings, and the steps to repeat."""
        begun, steps = begun_anew(self.beginning, self.decoder), self.decoder.steps
        forced = [step for step in steps if getattr(step, "forced", False)]
        given = {name: value for name, value in asdict(begun).items() if value}
        values = {
            "beginning": {"prompt": ""} | given,
            "settings": [
                [first, plain_settings(settings, self.order)] for first, settings in self._runs
            ],
            "max_tokens": self.max_tokens,
            "thinking_budget": self.thinking_budget,
            "stop_strings": list(self.decoder.stop_strings),
            "steps": len(steps),
            "forced": [[step.index, step.token_id] for step in forced],
        }
        return Link(STEP, self.model.name, values)

    @property
    def _runs(self) -> list[tuple[int, SamplingSettings]]:
        """The settings of the steps, each with the first step, and those of the next step."""
        if self.search or self.read_only:
            return [(0, self.settings)]
        return self.decoder.settings_by_step[-MOST_RUNS:]

    @property
    def can_be_saved(self) -> bool:
        """True if there is a sampled text, which can be saved as a page."""
        return self.length > 0 and self.decoder.outline().strategy == "sampling"

    # --- to disk and back -------------------------------------------------------------------------

    def record(self) -> dict[str, Any] | None:
        """Return the session as plain values; None while a slow event runs: ask again later."""
        if not self.lock.acquire(timeout=GAP_SECONDS):
            return None
        try:
            return {
                "text": text_record(self, self.order),
                "earlier": self.earlier.to_list(),
                "acknowledged": self.acknowledged.to_list(),
            }
        finally:
            self.lock.release()

    @classmethod
    def restored(
        cls,
        record: TextRecord,
        rest: dict[str, Any],
        model: LanguageModel,
        told: Told = lambda what, done, total: None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Session:
        """Restore a session from its record.

        Args:
            record: the record of its text.
            rest: the whole record; broken parts other than the text are left out.
            model: the model that wrote the text.
            told, should_stop: see `ui.step.record.replay`.

        Raises:
            DecodingError: errors of `replay`.
        """
        made = replay(record, model, told, should_stop)
        session = cls.__new__(cls)
        session.loaded = model
        session.error = ""
        session.cancelled = session.what_if = False
        session._take_rest(rest)
        session._prepare()
        session._show_again(record, made)
        session._waits_for_replay = bool(record.read_only) and is_same_model(record.trace, model)
        if not made.is_whole or not made.is_same:
            session.earlier.keep(rest["text"])
        return session

    def take_earlier(self, rest: dict[str, Any], *, with_text: bool = False) -> None:
        """Take the earlier texts of a record whose own text cannot be made again.

        Args:
            rest: the whole record.
            with_text: whether its own text is to be among them.
        """
        self._take_rest(rest)
        if with_text:
            self.earlier.keep(rest["text"])

    def _take_rest(self, rest: dict[str, Any]) -> None:
        """Take earlier texts and numbers of events, as far as they are valid."""
        self.version = 0
        self.earlier = EarlierTexts.from_list(rest.get("earlier"))
        self.acknowledged = Acknowledged.from_list(rest.get("acknowledged"))

    def _begin_from(self, have: Have, settings: SamplingSettings) -> None:
        beginning = Beginning(have.prompt, have.chat, before=have.before)
        try:
            text = new_text(self.loaded, beginning, settings)
        except DecodingError as error:
            self.error = in_words(error)
            return
        branches = {have.branch: Branch(have.branch, text)}
        self._begin(branches, beginning, settings, current=have.branch, run=have.run)
        self.order = shown_samplers(settings)
        self.version += 1

    def catch_up(self, have: Have, settings: SamplingSettings | None) -> None:
        """Generate the last tokens that a page shows but the record lacks.

        Changes in the last second before an abrupt end of the app were not kept. If the page shows
        more tokens than the record, they are made again with its settings, as far as they come out
        equal. If nothing was kept, the text begins from the page's own prompt.
        """
        if self.read_only:
            return
        is_untouched = not (self.length or self.acknowledged or self.earlier)
        if is_untouched and have.run != self.run and have.prompt is not None and settings:
            self._begin_from(have, settings)
        lost = len(have.ids) - self.length
        is_this = (have.run, have.branch) == (self.run, self.current)
        is_longer = 0 < lost <= MOST_MISSING and have.ids[: self.length] == tuple(
            self.decoder.token_ids
        )
        if not is_this or not is_longer:
            return
        length = self.length
        try:
            if settings is not None:
                self._set_samplers(settings)
            for index in range(length, len(have.ids)):
                forced = have.ids[index] if index in have.forced else None
                step = self.decoder.step(*(() if self.search else (forced,)))
                if step.token_id != have.ids[index]:
                    self.decoder.rewind(index)
                    break
        except DecodingError as error:
            self.error, self.cancelled = in_words(error), isinstance(error, CancelledError)
        still_lost = len(have.ids) - self.length
        if still_lost:
            lost = say_counted(
                still_lost,
                "The last token was not kept.",
                "The last {count} tokens were not kept.",
            )
            self.said = f"{self.said} {lost}".strip()
        elif self.said == again(length):
            self.said = again(self.length)
        self.version += 1
