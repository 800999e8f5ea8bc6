"""What one visitor has: a model, a text with its branches, the step that is inspected.

The session changes only by `apply`, once per event however often it is sent. A failure leaves
everything as it was and becomes `error`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import replace

from engine import stopping
from engine.errors import DecodingError, PromptError, SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.snippets import Snippet
from ui.shared.answers import Found, found_tokens, settings_as_code, tokens_of
from ui.shared.settings import cards_of, fitted
from ui.shared.texts import (
    Beginning,
    begun_anew,
    checked_scale,
    new_text,
)
from ui.step.events import NOTHING, Event, Place
from ui.step.text_on_screen import Branch, ShownText, on_worker

RUN_BUDGET_S = 0.1  # Run to end comes back this often, so that the page follows and can stop it
MOST_BRANCHES = 50


class Session(ShownText):
    """One visitor's state: the text on screen, and what the page has asked for.

    Attributes:
        order: names of the stages that have a card on the page, also of those that are off, in the
            order of the chain.
        have: what the browser holds already.
        acknowledged: the last event's client and number.
        refused: whether the last event's settings and stop rules were refused: the page, which has
            drawn them already, must go back to those in force.
        found, tokenized, snippets: answers to the last event if it asked for them.
        wants_trace: whether the last event asked for the trace.
        asked_labels: ids of tokens whose labels the last event asked for.
    """

    def __init__(self, model: LanguageModel, prompt: str, settings: SamplingSettings) -> None:
        """A first run; raises what `Decoder` raises."""
        beginning = Beginning(prompt)
        super().__init__(new_text(model, beginning, settings), beginning, settings)
        self.have = NOTHING
        self.acknowledged = ("", 0)
        self._forget_questions()
        self.order = cards_of(settings)

    def _forget_questions(self) -> None:
        self.refused = False
        self.found: list[Found] | None = None
        self.tokenized: list[Found] | None = None
        self.snippets: list[Snippet] | None = None
        self.asked_labels: tuple[int, ...] = ()
        self.wants_trace = False
        self.playing = False

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
            self.refused = True
            self._take_settings(event)
            self.refused = False
            _HANDLERS[event.kind](self, event)
        except DecodingError as error:
            self.error = str(error)

    def refuse(self, client: str, number: int, error: DecodingError) -> None:
        """Answer an event that could not be understood."""
        self.acknowledged = (client, number)
        self._forget_questions()
        self.refused = True
        self.error = str(error)

    def load(self, model: LanguageModel) -> None:
        """Go on with another model from the same prompt; raises what `Decoder` raises.

        The cards stay. What names tokens of the old vocabulary cannot, and `error` says so.
        """
        settings, lost = fitted(self.settings, self.model, model)
        beginning = replace(begun_anew(self.beginning, self.decoder), chat=False)
        self._begin(new_text(model, beginning, settings), beginning, settings)
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
        if self.search:
            self._take_strategy(event)
        else:
            is_guided = self.decoder.guidance is not None
            scale = checked_scale(event.guidance_scale) if is_guided else 1.0
            self.decoder.settings = event.settings  # the last that may be refused
            self.decoder.guidance_scale = scale
        self.decoder.stop_strings = stop_strings
        self.order = event.order
        self.max_tokens = max_tokens

    def _take_strategy(self, event: Event) -> None:
        if event.strategy is not None:  # else what the page has chosen waits for Start
            self.search.penalty_alpha = event.strategy.penalty_alpha
        self._unused_settings = event.settings

    def _is_here(self, at: Place) -> bool:
        """Whether a person saw the text as it is: else the event came too late for it."""
        return at == Place(self.run, self.current, len(self.decoder.steps))

    def _nothing(self, event: Event) -> None:
        pass

    def _start(self, event: Event) -> None:
        beginning = Beginning(
            event.prompt,
            event.chat,
            event.negative_prompt,
            event.guidance_scale,
            event.strategy,
        )
        decoder = new_text(self.model, beginning, event.settings, event.stop_strings)
        self._begin(decoder, beginning, event.settings)
        self.order = event.order
        self.max_tokens = event.max_tokens

    def _step(self, event: Event) -> None:
        if not self._is_here(event.at) or self.is_over:
            return
        if event.playing:
            on_worker(next, self.decoder.run(self.max_tokens), None)
        else:
            on_worker(self.decoder.step)
        self._follow(event)

    def _run(self, event: Event) -> None:
        if not self._is_here(event.at):
            return
        end = time.monotonic() + RUN_BUDGET_S
        steps = self.decoder.run(self.max_tokens)
        while on_worker(next, steps, None) is not None and time.monotonic() < end:
            pass
        self._follow(event)

    def _propose(self, event: Event) -> None:
        self._check_sampled()
        self._follow(event)
        self._pending = True

    def _follow(self, event: Event) -> None:
        """Show the newest step, or in manual mode the one to come."""
        self._inspected = None
        waits = event.manual and not event.playing and not self.search
        self._pending = waits and not self.is_over
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
        self._check_sampled()
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

    def _check_sampled(self) -> None:
        if self.search:
            raise PromptError(
                "Contrastive search takes the candidate with the best score, so nothing is drawn "
                "or forced; choose Sampling and press Start."
            )

    def _force(self, event: Event) -> None:
        self._check_sampled()
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
            on_worker(self.decoder.step, event.token_id)
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
        on_worker(decoder.step, token_id)
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
            negative_prompt=self.beginning.negative_prompt,
            guidance_scale=self.guidance_scale,
            strategy=self.strategy,
        )


_HANDLERS: dict[str, Callable[[Session, Event], None]] = {
    "sync": Session._nothing,
    "resume": Session._nothing,  # the page has done it: see `ui.step.session_store`
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
