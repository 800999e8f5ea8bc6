"""The text of the step page with its branches, and its step on screen."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.decoder import Decoder
from engine.decoding import UNGUIDED, ContrastiveSearch, GuidedRows
from engine.errors import CancelledError, DecodingError, NoCandidatesError
from engine.model import Scores
from engine.sampling import Distribution, RankedRow, SamplingSettings, StageResult
from ui.step import busy
from ui.step.recorded import RecordedText
from ui.texts.texts import Beginning, Contrastive, Text, begun_anew, is_over, stop_sentence
from ui.words.errors import in_words
from ui.words.language import say

UNSHAPED = SamplingSettings()
IDLE_BYTES = 128 * 2**20  # of caches of a visit's branches that are off screen


@dataclass
class Branch:
    """One of the texts that grew from a prompt.

    Attributes:
        number: from 1, in order of creation.
        decoder: the text.
        parent: the branch that it departed from, None for the first.
        departs_at: index of the first step that differs from the parent's.
        left: the higher, the later the branch was left; 0 if it was never left.
    """

    number: int
    decoder: Text | RecordedText
    parent: int | None = None
    departs_at: int = 0
    left: int = 0

    @property
    def own_tokens(self) -> int:
        """The number of generated tokens that it does not share with its parent."""
        return len(self.decoder.steps) - self.departs_at

    @property
    def cache_bytes(self) -> int:
        """The memory of its cache after its last step, even if it has been released since."""
        return self.decoder.steps[-1].cache_bytes_held if self.decoder.steps else 0


@dataclass(frozen=True)
class _Shaped:
    """A computed distribution, and the inputs that it was computed from."""

    decoder: Text
    row_key: str
    settings: SamplingSettings
    distribution: Distribution


class ShownText:
    """A text grown from one prompt, and the place shown in it; base of `ui.step.session.Session`.

    Attributes:
        run: identifies the text that grows from the present prompt; a new Start gives a new one.
        model: the model that writes the text, shared with other visitors; for a read-only text, the
            facts that its trace records about the model.
        loaded: the model that a new text begins with.
        read_only: why nothing can be changed, as a sentence; empty if there is a model.
        beginning: the beginning of the text, as typed.
        branches: by number.
        current: number of the branch on screen.
        inspected: the step that a person chose to look at; None for the newest.
        proposing: whether the next token is shown before it is drawn.
        what_if: whether past steps are shown with the settings in force.
        max_tokens: stop rule of Play and Run to end.
        error: the last failure, empty if there was none.
        cancelled: whether `error` is due to a person's cancellation, not a failure.
    """

    def __init__(self, text: Text, beginning: Beginning, settings: SamplingSettings) -> None:
        self.error = ""
        self.cancelled = False
        self.max_tokens = 64
        self.what_if = False
        self._begin({1: Branch(1, text)}, beginning, settings)

    def _begin(
        self,
        branches: dict[int, Branch],
        beginning: Beginning,
        settings: SamplingSettings,
        *,
        current: int = 1,
        run: str = "",
    ) -> None:
        self.run = run or secrets.token_hex(8)
        text = branches[current].decoder
        self.model = text.model
        self.read_only = text.read_only if isinstance(text, RecordedText) else ""
        if not self.read_only:
            self.loaded = text.model
        self.beginning = beginning
        self._page_settings = settings  # kept for a search, which uses only some of the samplers
        self.branches = branches
        self.current = current
        for branch in branches.values():
            self._listen_to(branch.decoder)
        self._give_back_idle()
        self.inspected: int | None = None
        self.proposing = False
        self._changes = 0
        self._shaped: _Shaped | None = None
        self.emptied: Sequence[StageResult] = ()

    def _leave_branch(self) -> None:
        """Mark the branch as the one left last, before another comes on screen."""
        branches = self.branches.values()
        self.branches[self.current].left = 1 + max(branch.left for branch in branches)

    def _give_back_idle(self) -> None:
        """Release data of off-screen branches that can be computed again.

        Their rows go at once, as computing them again takes no time. Their caches cost a forward
        pass, so they go only if they hold more than `IDLE_BYTES`, from the branches that were left
        longest ago.
        """
        idle = [branch for branch in self.branches.values() if branch.number != self.current]
        held = 0
        for branch in sorted(idle, key=lambda branch: -branch.left):
            branch.decoder.release_rows()
            held += branch.cache_bytes
            if held > IDLE_BYTES:
                branch.decoder.release_cache()

    def _listen_to(self, text: Text) -> None:
        """Keep the distribution that a step of this text computes, for its message."""
        if not isinstance(text, ContrastiveSearch):
            text.on_shaped = self._take_shaped

    def _take_shaped(self, distribution: Distribution) -> None:
        self._drawn_from = distribution

    _drawn_from: Distribution | None = None

    @property
    def thinking_budget(self) -> int | None:
        """Most tokens of a thinking span; None for no limit, and for a search."""
        return getattr(self.decoder, "thinking_budget", None)

    @thinking_budget.setter
    def thinking_budget(self, budget: int | None) -> None:
        for branch in self.branches.values():
            if isinstance(branch.decoder, Decoder):
                branch.decoder.thinking_budget = budget

    @property
    def prompt(self) -> str:
        """The prompt that the text started from."""
        return self.beginning.prompt

    @property
    def chat(self) -> bool:
        """True if the prompt was formatted with the chat template."""
        return self.beginning.chat

    @property
    def decoder(self) -> Text:
        """The text on screen."""
        return self.branches[self.current].decoder

    @property
    def search(self) -> ContrastiveSearch | None:
        """The text on screen if it is found by contrastive search; None if it is sampled."""
        return self.decoder if isinstance(self.decoder, ContrastiveSearch) else None

    @property
    def strategy(self) -> Contrastive | None:
        """The strategy that finds the next token; None for sampling."""
        return begun_anew(self.beginning, self.decoder).strategy

    @property
    def guidance_scale(self) -> float:
        """The guidance scale of the next step; 1 without guidance."""
        return UNGUIDED if self.search else self.decoder.guidance_scale

    @property
    def is_guided(self) -> bool:
        """True if each row is guided: computed from two rows of logits."""
        return not self.search and self.decoder.guidance is not None

    @property
    def settings(self) -> SamplingSettings:
        """The settings that sample the next token; in a search, those that would sample it.

        A search uses only those samplers that edit single tokens; sampled texts use all of them.
        """
        return self._page_settings if self.search else self.decoder.settings

    def _set_samplers(self, settings: SamplingSettings) -> None:
        """Apply settings from the next token on; raises if they are refused."""
        if self.search:
            self.search.chain = settings.edits
            self._page_settings = settings
        else:
            self.decoder.settings = settings

    @property
    def shown_settings(self) -> SamplingSettings:
        """The settings with which the step on screen is shown.

        A step to come uses those in force. A step that was taken uses its own, unless the page asks
        for the effect of those in force.
        """
        if self.search or self.is_pending or self.what_if:
            return self.settings
        return self.decoder.settings_at(self.index)

    @property
    def shown_scale(self) -> float | None:
        """The guidance scale with which the step on screen is shown, as for `shown_settings`."""
        if not self.is_guided:
            return None
        if self.is_pending or self.what_if:
            return self.guidance_scale
        return self.decoder.steps[self.index].guidance_scale

    @property
    def length(self) -> int:
        """The number of tokens in the text on screen."""
        return len(self.decoder.steps)

    @property
    def index(self) -> int:
        """The index of the step on screen; the number of steps if it is the next token's."""
        length = self.length
        if self.read_only:  # a trace ends with its last step
            length = max(0, length - 1)
        if self.inspected is not None:
            return min(self.inspected, length)
        if self.read_only:
            return length
        return length if self.proposing or not length else length - 1

    @property
    def is_pending(self) -> bool:
        """True if the token of the step on screen is not drawn yet."""
        return self.index == self.length

    @property
    def row_key(self) -> str:
        """A key for the logits on screen: equal keys mean equal rows."""
        state = "next" if self.is_pending else "step"
        if self.is_guided:
            state += f" at {self.shown_scale}"
        return f"{self.run}/{self.current}/{self.index}/{state}/{self._changes}"

    @property
    def listed(self) -> Scores | None:
        """The scores that the model listed in the row on screen; None if it gave all."""
        if self.model.listed is None or self.read_only:
            return None
        return self.decoder.listed(self.index)

    def guided_rows(self) -> GuidedRows | None:
        """Return the rows that the guided row on screen is computed from; None without guidance."""
        return self.decoder.guided_rows(self.index)

    def distribution(self, settings: SamplingSettings | None = None) -> Distribution | None:
        """Return the distribution of the step on screen under settings (None: `shown_settings`).

        None in a search, if no token can follow, or if the samplers remove all tokens; `emptied`
        then has their results. Any other failure becomes `error`.
        """
        self.emptied = ()
        if self.search or self.read_only or (self.is_pending and self.is_over):
            return None
        settings = settings or self.shown_settings
        key, kept = self.row_key, self._shaped
        is_kept = kept is not None and kept.decoder is self.decoder and kept.row_key == key
        if is_kept and kept.settings == settings:
            return kept.distribution
        try:
            if self.is_pending:
                found = self.decoder.next_distribution(settings)
            else:
                found = self.decoder.distribution(self.index, settings, self.shown_scale)
        except NoCandidatesError as error:
            self.emptied = error.stages
            return None
        except CancelledError:
            if not self.error:
                self.error = say(busy.SCORES if self.length else busy.PROMPT)
                self.cancelled = True
            self._has_failed = True
            return None
        except DecodingError as error:
            self.error = self.error or in_words(error)
            self._has_failed = True
            return None
        self._shaped = _Shaped(self.decoder, key, settings, found)
        return found

    _has_failed = False

    def _take_step_s_own(self) -> None:
        """Use the distribution of the last draw if that step is on screen."""
        distribution, self._drawn_from = self._drawn_from, None
        is_last = not self.search and 0 < self.length == self.index + 1
        if distribution is not None and is_last:
            settings = self.decoder.settings_at(self.index)
            self._shaped = _Shaped(self.decoder, self.row_key, settings, distribution)

    def forget_shaped(self) -> None:
        """Release computed distributions: they take several times the memory of the row."""
        self._shaped = self._drawn_from = None

    def raw(self) -> RankedRow | None:
        """Return the raw logits of the step on screen; None if no token can follow.

        Those of the next token may need a forward pass; a failure becomes `error`. A search has
        none: it passes on only its candidates.
        """
        self._has_failed = False
        distribution = self.distribution()
        if distribution is None and not self._has_failed:  # the settings leave no token
            distribution = self.distribution(UNSHAPED)
        return None if distribution is None else distribution.raw

    def logits(self) -> np.ndarray | None:
        """Return the raw logits of the step on screen; None as for `raw`: (vocab,) float32."""
        raw = self.raw()
        return None if raw is None else raw.scores

    @property
    def is_over(self) -> bool:
        """True if the text is complete, so that only going back or starting over makes sense."""
        return bool(self.read_only) or is_over(self.decoder)

    @property
    def has_reached_limit(self) -> bool:
        """True if Play and Run to end have nothing left to do."""
        return self.is_over or self.length >= self.max_tokens

    @property
    def stop_sentence(self) -> str:
        """The stop rule that has fired, with a remedy; empty while none has."""
        return self.read_only or stop_sentence(self.decoder, self.max_tokens)
