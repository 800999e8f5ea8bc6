"""What one visitor has: a model, a text with its branches, the step that is inspected.

The session changes only by `apply`, once per event however often it is sent. A failure leaves
everything as it was and becomes `error`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from engine import stopping
from engine.decoder import Decoder
from engine.errors import DecodingError, SettingError
from engine.model import LanguageModel
from engine.ranking import RankedRow
from engine.sampling import Distribution, SamplingSettings
from engine.snippets import Snippet
from engine.trace import Step
from ui.answers import Found, found_tokens, settings_as_code, tokens_of
from ui.chains import cards_of, fitted
from ui.events import NOTHING, Event, Have, Place
from ui.labels import tokens_text
from ui.token_labels import labels_of

T = TypeVar("T")

RUN_BUDGET_S = 0.1  # Run to end comes back this often, so that the page follows and can stop it
MOST_BRANCHES = 50
UNSHAPED = SamplingSettings()

# Streamlit runs each event in a thread of its own, and PyTorch gives every new thread a new pool to
# warm up, which costs more than a step. Forward passes take turns anyway, so one thread does them.
_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decoding")


def _on_worker(function: Callable[..., T], *arguments: object) -> T:
    return _WORKER.submit(function, *arguments).result()


@dataclass
class Branch:
    """One of the texts that grew from a prompt.

    Attributes:
        number: from 1, in the order of their making.
        decoder: the text.
        parent: the branch that it departed from, None for the first.
        departs_at: index of the first step that differs from the parent's.
    """

    number: int
    decoder: Decoder
    parent: int | None = None
    departs_at: int = 0


class Session:
    """One visitor's state.

    Attributes:
        token: a secret by which a reloaded page finds its session again.
        model: the model, shared with other visitors.
        prompt, chat: what the text started from, and whether through the chat template.
        order: names of the stages that have a card on the page, also of those that are off, in the
            order of the chain.
        branches: by number.
        error: what went wrong with the last event, empty if nothing did.
        have: what the browser holds already.
        acknowledged: the last event's client and number.
        found, tokenized, snippets: answers to the last event if it asked for them.
        wants_trace: whether the last event asked for the trace.
        asked_labels: ids of tokens whose labels the last event asked for.
    """

    def __init__(self, model: LanguageModel, prompt: str, settings: SamplingSettings) -> None:
        """A first run; raises what `Decoder` raises."""
        self.token = secrets.token_urlsafe(16)
        self.error = ""
        self.have = NOTHING
        self.acknowledged = ("", 0)
        self._forget_questions()
        self.max_tokens = 64
        self.order = cards_of(settings)
        self._runs = 0
        self._begin(Decoder(model, prompt, settings), prompt, chat=False)

    def _forget_questions(self) -> None:
        self.found: list[Found] | None = None
        self.tokenized: list[Found] | None = None
        self.snippets: list[Snippet] | None = None
        self.asked_labels: tuple[int, ...] = ()
        self.wants_trace = False
        self.playing = False

    def _begin(self, decoder: Decoder, prompt: str, chat: bool) -> None:
        self.model = decoder.model
        self.prompt = prompt
        self.chat = chat
        self.branches = {1: Branch(1, decoder)}
        self.current = 1
        self._inspected: int | None = None
        self._pending = False
        self._changes = 0
        self._intact = 0  # this many leading steps are those of before the last event
        self._runs += 1

    # --- what is on screen ------------------------------------------------------------------------

    @property
    def run(self) -> str:
        """Names the text that grows from the present prompt; a new Start gives a new one."""
        return f"{self.token}:{self._runs}"

    @property
    def decoder(self) -> Decoder:
        """The text on screen."""
        return self.branches[self.current].decoder

    @property
    def settings(self) -> SamplingSettings:
        """How the next token is chosen."""
        return self.decoder.settings

    @property
    def index(self) -> int:
        """The step on screen; the number of steps where it is the next token's."""
        length = len(self.decoder.steps)
        if self._inspected is not None:
            return min(self._inspected, length)
        return length if self._pending or not length else length - 1

    @property
    def is_pending(self) -> bool:
        """Whether the token of the step on screen is not drawn yet."""
        return self.index == len(self.decoder.steps)

    @property
    def row_key(self) -> str:
        """Names the logits on screen: equal keys, equal rows."""
        state = "next" if self.is_pending else "step"
        return f"{self.run}/{self.current}/{self.index}/{state}/{self._changes}"

    def logits(self) -> np.ndarray | None:
        """(vocab,) float32 raw logits of the step on screen, None where no token can follow.

        Those of the next token may need a forward pass; a failure becomes `error`.
        """
        if not self.is_pending:
            return self.decoder.logits(self.index)
        distribution = self.distribution(UNSHAPED)
        return None if distribution is None else distribution.logits

    def distribution(self, settings: SamplingSettings | None = None) -> Distribution | None:
        """What settings (None: those in force) make of the step on screen.

        None where no token can follow or all are banned; why becomes `error`.
        """
        settings = settings or self.settings
        try:
            if not self.is_pending:
                return self.decoder.distribution(self.index, settings)
            if self.is_over:
                return None
            return _on_worker(self.decoder.next_distribution, settings)
        except DecodingError as error:
            self.error = self.error or str(error)
            return None

    def _raw(self) -> RankedRow | None:
        distribution = self.distribution(UNSHAPED)
        return None if distribution is None else distribution.raw

    @property
    def is_over(self) -> bool:
        """Whether the text is complete, so that only going back or starting anew makes sense."""
        left = self.decoder.tokens_left
        if left is not None and left <= 0:
            return True
        return self.decoder.stop_reason in (stopping.EOS, stopping.STOP_STRING)

    @property
    def has_reached_limit(self) -> bool:
        """Whether Play and Run to end have nothing left to do."""
        return self.is_over or len(self.decoder.steps) >= self.max_tokens

    @property
    def stop_sentence(self) -> str:
        """Which stop rule has fired and what to do about it; empty while none has."""
        if not self.decoder.steps:
            return ""
        step = self.decoder.steps[-1]
        remedy = "press Back or Rewind to go on from an earlier token, or Start for a new run."
        if step.stop_reason == stopping.EOS:
            label = labels_of(self.model.vocabulary)[step.token_id]
            return f"Stopped: the end-of-text token {label} was appended; {remedy}"
        if step.stop_reason == stopping.STOP_STRING:
            return f'Stopped: the text holds the stop string "{step.stop_string}"; {remedy}'
        if self.is_over:
            length = self.model.context_length
            return f"Stopped: context full, all {length:,} positions are used; {remedy}"
        if self.has_reached_limit:
            made = tokens_text(len(self.decoder.steps))
            return (
                f"Stopped: max tokens is {self.max_tokens:,}, and there are {made}; "
                "raise Max tokens for Play and Run to end, or go on with Step."
            )
        return ""

    # --- events -----------------------------------------------------------------------------------

    def apply(self, event: Event) -> None:
        """Do what a person did, once."""
        client, number = self.acknowledged
        if event.client == client and event.number <= number:
            return  # sent again because the connection was lost
        self.acknowledged = (event.client, event.number)
        self.have = event.have
        self.error = ""
        self._forget_questions()
        self.wants_trace = event.kind == "trace"
        self.asked_labels = tuple(i for i in event.ids if 0 <= i < self.model.vocab_size)
        self.playing = event.playing
        self._intact = len(self.decoder.steps)
        try:
            self._take_settings(event)
            _HANDLERS[event.kind](self, event)
        except DecodingError as error:
            self.error = str(error)

    def refuse(self, client: str, number: int, error: DecodingError) -> None:
        """Answer an event that could not be understood."""
        self.acknowledged = (client, number)
        self._forget_questions()
        self.error = str(error)

    def load(self, model: LanguageModel) -> None:
        """Go on with another model from the same prompt; raises what `Decoder` raises.

        The cards stay. What names tokens of the old vocabulary cannot, and `error` says so.
        """
        settings, lost = fitted(self.settings, self.model, model)
        self._begin(Decoder(model, self.prompt, settings), self.prompt, chat=False)
        self.error = lost
        self._forget_questions()

    def copy(self) -> Session:
        """An independent session with the same texts, for a second tab."""
        twin = Session.__new__(Session)
        twin.__dict__.update(self.__dict__)
        twin.token = secrets.token_urlsafe(16)
        twin.have = NOTHING
        twin.branches = {
            branch.number: Branch(
                branch.number, branch.decoder.fork(), branch.parent, branch.departs_at
            )
            for branch in self.branches.values()
        }
        return twin

    def _take_settings(self, event: Event) -> None:
        if event.kind in ("sync", "resume"):
            return  # a page that has just appeared knows no settings yet
        max_tokens = stopping.checked_max_new_tokens(event.max_tokens)
        stop_strings = stopping.checked_stop_strings(event.stop_strings)
        if event.kind == "start":
            return  # they are those of the text to come, once it is there
        self.decoder.settings = event.settings  # the last that may be refused
        self.decoder.stop_strings = stop_strings
        self.order = event.order
        self.max_tokens = max_tokens

    def _is_here(self, at: Place) -> bool:
        """Whether a person saw the text as it is: else the event came too late for it."""
        return at == Place(self.run, self.current, len(self.decoder.steps))

    def _nothing(self, event: Event) -> None:
        pass

    def _start(self, event: Event) -> None:
        prompt: str | Sequence[int] = event.prompt
        if event.chat:
            prompt = self.model.vocabulary.chat_ids(event.prompt)
        decoder = Decoder(self.model, prompt, event.settings, stop_strings=list(event.stop_strings))
        self._begin(decoder, event.prompt, event.chat)
        self.order = event.order
        self.max_tokens = event.max_tokens

    def _step(self, event: Event) -> None:
        if not self._is_here(event.at) or self.is_over:
            return
        if event.playing:
            _on_worker(next, self.decoder.run(self.max_tokens), None)
        else:
            _on_worker(self.decoder.step)
        self._follow(event)

    def _run(self, event: Event) -> None:
        if not self._is_here(event.at):
            return
        end = time.monotonic() + RUN_BUDGET_S
        steps = self.decoder.run(self.max_tokens)
        while _on_worker(next, steps, None) is not None and time.monotonic() < end:
            pass
        self._follow(event)

    def _propose(self, event: Event) -> None:
        self._follow(event)
        self._pending = True

    def _follow(self, event: Event) -> None:
        """Show the newest step, or in manual mode the one to come."""
        self._inspected = None
        self._pending = event.manual and not event.playing and not self.is_over
        self._changes += 1

    def _back(self, event: Event) -> None:
        if self._is_here(event.at) and event.at.length:
            self._go_back(event.at.length - 1)
            self._follow(event)

    def _rewind(self, event: Event) -> None:
        self._go_back(0)
        self._follow(event)

    def _go_back(self, length: int) -> None:
        self.decoder.rewind(length)
        self._intact = min(self._intact, length)

    def _reroll(self, event: Event) -> None:
        """Draw a step again; the browser has chosen another seed."""
        index = len(self.decoder.steps) - 1 if event.index is None else event.index
        if self._is_here(event.at) and 0 <= index < event.at.length:
            self._depart(index, None)
            self._follow(event)

    def _inspect(self, event: Event) -> None:
        length = len(self.decoder.steps)
        if event.index is None or not 0 <= event.index <= length:
            remedy = f"choose 1 to {length + 1}, the last of them being the token to come"
            index = None if event.index is None else event.index + 1
            raise SettingError("step", index, "is not in this text", remedy)
        self._inspected = event.index
        self._pending = False

    def _force(self, event: Event) -> None:
        if not self._is_here(event.at):
            self.error = "The text had moved on before the token was forced; nothing was changed."
            return
        index = event.at.length if event.index is None else event.index
        if event.token_id is None or not 0 <= index <= event.at.length:
            return
        if index < event.at.length:
            if self.decoder.token_ids[index] == event.token_id:
                return  # it is the token that stands there
            self._depart(index, event.token_id)
        else:
            _on_worker(self.decoder.step, event.token_id)
        self._follow(event)

    def _depart(self, index: int, token_id: int | None) -> None:
        """Take another step at `index`: a drawn one, or the forced `token_id`.

        On a new branch where later tokens would be lost, or the forced token differs from the one
        that stood there. What fails, fails before anything has changed.
        """
        replaces_last = token_id is None and index == len(self.decoder.steps) - 1
        if not replaces_last and len(self.branches) >= MOST_BRANCHES:
            remedy = "press Start for a new run"
            raise SettingError("branches", MOST_BRANCHES, "is the most there can be", remedy)
        decoder = self.decoder.fork()
        decoder.rewind(index)
        _on_worker(decoder.step, token_id)
        if replaces_last:
            self.branches[self.current].decoder = decoder
            self._intact = min(self._intact, index)
            return
        number = max(self.branches) + 1
        self.branches[number] = Branch(number, decoder, self.current, index)
        self.current = number

    def _branch(self, event: Event) -> None:
        if event.branch not in self.branches:
            remedy = f"choose one of {', '.join(map(str, self.branches))}"
            raise SettingError("branch", event.branch, "does not exist", remedy)
        self.current = event.branch
        self._take_settings(event)
        self._follow(event)

    def _find(self, event: Event) -> None:
        raw = self._raw()
        if raw is not None:
            self.found = found_tokens(self.model.vocabulary, event.query, raw)

    def _tokenize(self, event: Event) -> None:
        self.tokenized = tokens_of(self.model.vocabulary, event.query, self._raw())

    def _snippets(self, event: Event) -> None:
        self.snippets = settings_as_code(
            self.model,
            self.settings,
            self.prompt,
            chat=self.chat,
            max_tokens=self.max_tokens,
            stop_strings=self.decoder.stop_strings,
        )

    def steps_from(self, have: Have) -> tuple[int, list[Step]]:
        """The steps that the browser lacks, and the index of the first of them."""
        same = have.run == self.run and have.branch == self.current
        first = min(have.length, self._intact, len(self.decoder.steps)) if same else 0
        first = max(0, first)
        return first, self.decoder.steps[first:]


_HANDLERS: dict[str, Callable[[Session, Event], None]] = {
    "sync": Session._nothing,
    "resume": Session._nothing,  # the page has done it: see `ui.session_store`
    "settings": Session._nothing,
    "start": Session._start,
    "step": Session._step,
    "run": Session._run,
    "propose": Session._propose,
    "back": Session._back,
    "rewind": Session._rewind,
    "reroll": Session._reroll,
    "inspect": Session._inspect,
    "force": Session._force,
    "branch": Session._branch,
    "find": Session._find,
    "tokenize": Session._tokenize,
    "snippets": Session._snippets,
    "labels": Session._nothing,  # the message brings them
    "trace": Session._nothing,  # and this
}
