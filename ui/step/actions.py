"""Actions on the text on screen: step, go back and forth, choose another token, branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.decoder import Decoder
from engine.decoding import checked_alpha
from engine.errors import DecodingError, PromptError, SettingError
from engine.text import checked_budget, checked_max_new_tokens, checked_stop_strings
from engine.trace import MOST_TOKENS
from ui.playing import taken
from ui.step.edited import edited
from ui.step.events import Event, Place
from ui.step.record import MOST_BRANCHES
from ui.step.text_on_screen import Branch, ShownText
from ui.texts.texts import checked_scale
from ui.words.language import say

RUN_BUDGET_S = 0.1  # Run to end returns this often, so that the page can follow and stop it
STEPS_BUDGET_S = 0.25  # the same for several presses of Step
# Limit for all branches of a text together, without tokens that a branch shares with its parent. A
# token takes about 4.5 KiB that cannot be released (its figures, its hidden state): 144 MiB in all.
MOST_OWN_TOKENS = 32_768


class ActedOn(ShownText):
    """A text on screen that a person acts on; base of `ui.step.session.Session`.

    Attributes:
        order: names of the samplers that are shown, also of those that are off, in the order of the
            chain.
        left: presses of Step in the last event that are still to be done.
    """

    order: tuple[str, ...]
    left: int

    # --- settings ---------------------------------------------------------------------------------

    def _take_settings(self, event: Event) -> None:
        max_tokens = checked_max_new_tokens(event.max_tokens)
        stop_strings = checked_stop_strings(event.stop_strings)
        budget = checked_budget(event.thinking_budget)
        if event.kind in ("start", "reply"):
            return  # they apply to the new text, once it exists
        if self.search:
            self._take_strategy(event)
        else:
            scale = checked_scale(event.guidance_scale) if self.is_guided else 1.0
            self._set_samplers(event.settings)  # last: nothing after this may be refused
            self.decoder.guidance_scale = scale
        self.decoder.stop_strings = stop_strings
        self.thinking_budget = budget
        self.order = event.order
        self.max_tokens = max_tokens

    def _take_strategy(self, event: Event) -> None:
        # Without a strategy in the event, the page has chosen sampling, which begins with Start.
        chosen = event.strategy or self.strategy
        alpha = checked_alpha(chosen.penalty_alpha)
        self._set_samplers(event.settings)  # last: nothing after this may be refused
        self.search.penalty_alpha = alpha

    def _is_here(self, at: Place) -> bool:
        """Return whether the person saw the text as it is now; if not, the event came too late."""
        return at == Place(self.run, self.current, self.length)

    # --- a person's actions -----------------------------------------------------------------------

    def _nothing(self, event: Event) -> None:
        pass

    def _step(self, event: Event) -> None:
        if not self._is_here(event.at) or self.is_over:
            return
        self._check_size()
        length = self.length
        try:
            if event.playing:
                taken(self.decoder.run(self.max_tokens), 1, 0.0)
            else:
                done = taken(self._presses(), event.count, STEPS_BUDGET_S)
                self.left = 0 if self.is_over else event.count - done
        finally:  # also if the second of several presses fails
            if self.length > length or event.playing:
                self._follow(event)

    def _presses(self) -> Iterator[object]:
        """Yield steps beyond any limit that a person has set, until the text ends."""
        while not self.is_over:
            yield self.decoder.step()

    def _run(self, event: Event) -> None:
        if not self._is_here(event.at):
            return
        self._check_size()
        length = self.length
        try:
            taken(self.decoder.run(self.max_tokens), None, RUN_BUDGET_S)
        finally:  # also if a later one fails
            if self.length > length:
                self._follow(event)

    def _propose(self, event: Event) -> None:
        self._check_sampled()
        self._follow(event)
        self.proposing = True

    def _follow(self, event: Event) -> None:
        """Show the newest step, or in manual mode the one to come."""
        self.inspected = None
        waits = event.manual and not event.playing and not self.search
        self.proposing = waits and not self.is_over
        self._changes += 1
        self._take_step_s_own()

    def _back(self, event: Event) -> None:
        if self._is_here(event.at) and event.at.length:
            self.decoder.rewind(event.at.length - 1)
            self._follow(event)

    def _rewind(self, event: Event) -> None:
        self.decoder.rewind(0)
        self._follow(event)

    def _reroll(self, event: Event) -> None:
        """Draw a step again; the browser has chosen another seed."""
        self._check_sampled()
        index = self.length - 1 if event.index is None else event.index
        if self._is_here(event.at) and 0 <= index < event.at.length:
            self._depart(index, None)
            self._follow(event)

    def _inspect(self, event: Event) -> None:
        length = self.length
        if event.index is None or not 0 <= event.index <= length:
            remedy = say("choose 1 to {last}; the last is the token to come", last=length + 1)
            index = None if event.index is None else event.index + 1
            raise SettingError(say("step"), index, say("is not in this text"), remedy)
        self.inspected = event.index
        self.proposing = False

    def _fetch_row(self, event: Event) -> None:
        self._check_sampled()
        self.decoder.fetch_row(self.index)
        self._changes += 1
        self.forget_shaped()

    def _check_sampled(self) -> None:
        if self.search:
            raise PromptError(
                say(
                    "Contrastive search takes the candidate with the best score, so nothing is "
                    "drawn or forced; choose Sampling and press Start."
                )
            )

    def _force(self, event: Event) -> None:
        self._check_sampled()
        if not self._is_here(event.at):
            self.error = say(
                "The text had moved on before the token was forced; nothing was changed."
            )
            return
        index = event.at.length if event.index is None else event.index
        if event.token_id is None or not 0 <= index <= event.at.length:
            return
        if index < event.at.length:
            if self.decoder.token_ids[index] == event.token_id:
                return  # the token is already there
            self._depart(index, event.token_id)
        else:
            self._check_size()
            self.decoder.step(event.token_id)
        self._follow(event)

    def _edit(self, event: Event) -> None:
        """Replace the generated text from the first changed token on, in a new branch.

        The new tokens are forced. They begin one token before the change, as the change may join
        that token.
        """
        self._check_sampled()
        if not self._is_here(event.at):
            self.error = say("The text had moved on before it was edited; nothing was changed.")
            return
        index, token_ids = edited(self.decoder.steps, event.prompt, self.model.vocabulary)
        if index == self.length and not token_ids:
            return
        self._check_another_branch(index + len(token_ids))
        decoder = self.decoder.fork()
        decoder.rewind(index)
        for token_id in token_ids:
            decoder.step(token_id)
        self._show_branch(decoder, index)
        self._follow(event)

    def _depart(self, index: int, token_id: int | None) -> None:
        """Take a different step at `index`: a drawn one, or the forced `token_id`.

        It begins a new branch if later tokens would be lost, or if the forced token differs from
        the present one. A failure leaves everything as it was.
        """
        replaces_last = token_id is None and index == self.length - 1
        if not replaces_last:
            self._check_another_branch(index)
        decoder = self.decoder.fork()
        decoder.rewind(index)
        decoder.step(token_id)
        if replaces_last:
            self.branches[self.current].decoder = decoder
        else:
            self._show_branch(decoder, index)

    def _show_branch(self, decoder: Decoder, index: int) -> None:
        """Show a new branch, which departs from the one on screen at a step."""
        number = max(self.branches) + 1
        self._leave_branch()
        self.branches[number] = Branch(number, decoder, self.current, index)
        self.current = number
        self._give_back_idle()

    def _check_another_branch(self, index: int) -> None:
        if len(self.branches) >= MOST_BRANCHES:
            raise DecodingError(
                say(
                    "This text has {most} branches, the maximum; press Start for a new run.",
                    most=MOST_BRANCHES,
                )
            )
        self._check_size(shared=index)

    def _check_size(self, shared: int | None = None) -> None:
        """Refuse steps that would exceed a visit's memory, or could not be kept on disk.

        A text without branches ends with the model's context.

        Args:
            shared: tokens that a new branch has in common with another; None for one more step.
        """
        branches = self.branches.values()
        if shared is None and len(branches) == 1:
            return
        own = sum(branch.own_tokens for branch in branches)
        if own >= MOST_OWN_TOKENS:
            raise DecodingError(
                say(
                    "The branches of this text have {own} tokens of their own, and at most "
                    "{most} are allowed; press Start for a new run.",
                    own=f"{own:,}",
                    most=f"{MOST_OWN_TOKENS:,}",
                )
            )
        total = sum(len(branch.decoder.steps) for branch in branches) + (shared or 0)
        if total >= MOST_TOKENS:
            raise DecodingError(
                say(
                    "The branches of this text have {total} tokens, and at most {most} can "
                    "be kept; press Start for a new run.",
                    total=f"{total:,}",
                    most=f"{MOST_TOKENS:,}",
                )
            )

    def _branch(self, event: Event) -> None:
        if event.branch not in self.branches:
            remedy = say("choose one of {known}", known=", ".join(map(str, self.branches)))
            raise SettingError(say("branch"), event.branch, say("does not exist"), remedy)
        if event.branch != self.current:
            self._leave_branch()
        self.current = event.branch
        self._give_back_idle()
        self._take_settings(event)
        self._follow(event)


ACTIONS: dict[str, Callable[[ActedOn, Event], None]] = {
    "sync": ActedOn._nothing,
    "settings": ActedOn._nothing,
    "step": ActedOn._step,
    "run": ActedOn._run,
    "propose": ActedOn._propose,
    "back": ActedOn._back,
    "rewind": ActedOn._rewind,
    "reroll": ActedOn._reroll,
    "inspect": ActedOn._inspect,
    "fetch_row": ActedOn._fetch_row,
    "force": ActedOn._force,
    "edit": ActedOn._edit,
    "branch": ActedOn._branch,
}
