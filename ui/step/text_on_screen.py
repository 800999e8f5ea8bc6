"""The text of the step page with its branches, and the step of it that is on screen."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from engine.contrastive import ContrastiveSearch
from engine.errors import DecodingError
from engine.guidance import OFF, GuidedRows
from engine.ranking import RankedRow
from engine.sampling import Distribution, SamplingSettings
from engine.trace import Step
from ui.shared.texts import Beginning, Contrastive, Text, begun_anew, is_over, stop_sentence
from ui.step.events import Have

T = TypeVar("T")

UNSHAPED = SamplingSettings()

# Streamlit runs each event in a thread of its own, and PyTorch gives every new thread a new pool to
# warm up, which costs more than a step. Forward passes take turns anyway, so one thread does them.
_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decoding")


def on_worker(function: Callable[..., T], *arguments: object) -> T:
    """Run what needs the model in the one thread for that."""
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
    decoder: Text
    parent: int | None = None
    departs_at: int = 0


class ShownText:
    """What grew from one prompt, and where in it a person is; base of `ui.step.session.Session`.

    Attributes:
        token: a secret by which a reloaded page finds its session again.
        model: the model, shared with other visitors.
        beginning: what the text started from, as typed.
        branches: by number.
        current: number of the branch on screen.
        max_tokens: stop rule of Play and Run to end.
        error: what went wrong last, empty if nothing did.
    """

    def __init__(self, text: Text, beginning: Beginning, settings: SamplingSettings) -> None:
        self.token = secrets.token_urlsafe(16)
        self.error = ""
        self.max_tokens = 64
        self._runs = 0
        self._begin(text, beginning, settings)

    def _begin(self, decoder: Text, beginning: Beginning, settings: SamplingSettings) -> None:
        self.model = decoder.model
        self.beginning = beginning
        self._unused_settings = settings  # of a search, for the next sampled text
        self.branches = {1: Branch(1, decoder)}
        self.current = 1
        self._inspected: int | None = None
        self._pending = False
        self._changes = 0
        self._intact = 0  # this many leading steps are those of before the last event
        self._runs += 1

    @property
    def run(self) -> str:
        """Names the text that grows from the present prompt; a new Start gives a new one."""
        return f"{self.token}:{self._runs}"

    @property
    def prompt(self) -> str:
        """What the text started from."""
        return self.beginning.prompt

    @property
    def chat(self) -> bool:
        """Whether it started through the chat template."""
        return self.beginning.chat

    @property
    def decoder(self) -> Text:
        """The text on screen."""
        return self.branches[self.current].decoder

    @property
    def search(self) -> ContrastiveSearch | None:
        """The text on screen where it is found by contrastive search; None where it is sampled."""
        return self.decoder if isinstance(self.decoder, ContrastiveSearch) else None

    @property
    def strategy(self) -> Contrastive | None:
        """How the next token is found; None for sampling."""
        return begun_anew(self.beginning, self.decoder).strategy

    @property
    def guidance_scale(self) -> float:
        """Scale of the guidance of the next step; 1 without guidance."""
        return OFF if self.search else self.decoder.guidance_scale

    @property
    def settings(self) -> SamplingSettings:
        """How the next token is sampled; in a search, how it would be."""
        return self._unused_settings if self.search else self.decoder.settings

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

        Those of the next token may need a forward pass; a failure becomes `error`. A search has
        none: it hands on its candidates alone.
        """
        if self.search:
            return None
        if not self.is_pending:
            return self.decoder.logits(self.index)
        distribution = self.distribution(UNSHAPED)
        return None if distribution is None else distribution.logits

    def guided_rows(self) -> GuidedRows | None:
        """What `logits` are made of where there are any; None without guidance."""
        return on_worker(self.decoder.guided_rows, self.index)

    def distribution(self, settings: SamplingSettings | None = None) -> Distribution | None:
        """What settings (None: those in force) make of the step on screen.

        None where no token can follow or all are banned; why becomes `error`. None in a search.
        """
        if self.search:
            return None
        settings = settings or self.settings
        try:
            if not self.is_pending:
                return self.decoder.distribution(self.index, settings)
            if self.is_over:
                return None
            return on_worker(self.decoder.next_distribution, settings)
        except DecodingError as error:
            self.error = self.error or str(error)
            return None

    def _raw(self) -> RankedRow | None:
        distribution = self.distribution(UNSHAPED)
        return None if distribution is None else distribution.raw

    @property
    def is_over(self) -> bool:
        """Whether the text is complete, so that only going back or starting anew makes sense."""
        return is_over(self.decoder)

    @property
    def has_reached_limit(self) -> bool:
        """Whether Play and Run to end have nothing left to do."""
        return self.is_over or len(self.decoder.steps) >= self.max_tokens

    @property
    def stop_sentence(self) -> str:
        """Which stop rule has fired and what to do about it; empty while none has."""
        return stop_sentence(self.decoder, self.max_tokens)

    def steps_from(self, have: Have) -> tuple[int, list[Step]]:
        """The steps that the browser lacks, and the index of the first of them."""
        same = have.run == self.run and have.branch == self.current
        first = min(have.length, self._intact, len(self.decoder.steps)) if same else 0
        first = max(0, first)
        return first, self.decoder.steps[first:]
