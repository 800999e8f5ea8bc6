"""What one visitor has: a model to step, a run, the step that is inspected.

The session changes only through the methods here, each called once per event; drawing the page
again changes nothing. A failure leaves everything as it was and becomes `error`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

from engine import stopping
from engine.decoder import Decoder
from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.trace import Step
from ui.labels import tokens_text

T = TypeVar("T")

DEFAULT_PROMPT = "The capital of France is"

# Streamlit runs each event in a thread of its own, and PyTorch gives every new thread a new pool to
# warm up, which costs more than a step. Forward passes take turns anyway, so one thread does them.
_WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="decoding")


def _on_worker(function: Callable[..., T], *arguments: object) -> T:
    return _WORKER.submit(function, *arguments).result()


Mode = Literal["paused", "playing", "running"]


@dataclass
class Session:
    """One visitor's state.

    Attributes:
        decoder: the run.
        prompt: the text that it started from.
        inspected: index of the step that the page shows, None to follow the newest.
        mode: ``playing`` one token at a time, ``running`` to the end, or ``paused``.
        error: what went wrong with the last event, empty if nothing did.
    """

    decoder: Decoder
    prompt: str
    inspected: int | None = None
    mode: Mode = "paused"
    error: str = ""

    @classmethod
    def begin(
        cls, model: LanguageModel, prompt: str, settings: SamplingSettings, stops: Sequence[str]
    ) -> Session:
        """A first run; raises what `Decoder` raises."""
        return cls(Decoder(model, prompt, settings, stop_strings=stops), prompt)

    @property
    def index(self) -> int | None:
        """The step that the page shows, None before the first."""
        count = len(self.decoder.steps)
        if not count:
            return None
        return count - 1 if self.inspected is None else min(self.inspected, count - 1)

    @contextmanager
    def event(self) -> Iterator[None]:
        """Handle one event: its failure becomes `error`, and ends Play and Run to end."""
        self.error = ""
        try:
            yield
        except DecodingError as error:
            self.error = str(error)
            self.mode = "paused"

    def start(
        self, prompt: str, settings: SamplingSettings, stops: Sequence[str], model=None
    ) -> None:
        """A new run; the old one stays if the new one cannot begin."""
        model = model or self.decoder.model
        self.decoder = Decoder(model, prompt, settings, stop_strings=stops)
        self.prompt = prompt
        self.inspected = None
        self.mode = "paused"

    def step(self, token_id: int | None = None) -> Step | None:
        """One token, drawn or forced; None where the text is over (a click that came too late)."""
        self.inspected = None
        return None if self.is_over else _on_worker(self.decoder.step, token_id)

    def rewind(self, length: int) -> None:
        """Keep the first `length` tokens."""
        self.mode = "paused"
        self.inspected = None
        self.decoder.rewind(length)

    def run(self, max_new_tokens: int) -> Iterator[Step]:
        """Step until a stop rule fires or the mode is no longer the one it was called in."""
        mode = self.mode
        self.inspected = None
        steps = self.decoder.run(max_new_tokens)
        while (step := _on_worker(next, steps, None)) is not None:
            yield step
            if self.mode != mode:
                return
        self.mode = "paused"

    def advance(self, max_new_tokens: int) -> Step | None:
        """One token of Play; None, and paused, where a stop rule has fired."""
        step = _on_worker(next, self.decoder.run(max_new_tokens), None)
        if step is None or step.stop_reason is not None:
            self.mode = "paused"
        self.inspected = None
        return step

    @property
    def is_over(self) -> bool:
        """Whether the text is complete, so that only going back or starting anew makes sense."""
        left = self.decoder.tokens_left
        if left is not None and left <= 0:
            return True
        return self.decoder.stop_reason in (stopping.EOS, stopping.STOP_STRING)

    def reached(self, max_new_tokens: int) -> bool:
        """Whether Play and Run to end have nothing left to do."""
        return len(self.decoder.steps) >= max_new_tokens

    def stop_sentence(self, max_new_tokens: int) -> str:
        """Which stop rule has fired and what to do about it; empty while none has."""
        if not self.decoder.steps:
            return ""
        step = self.decoder.steps[-1]
        label = self.decoder.model.vocabulary.label(step.token_id)
        remedy = "press Back or Rewind to go on from an earlier token, or Start for a new run."
        if step.stop_reason == stopping.EOS:
            return f"Stopped: the end-of-text token {label} was appended; {remedy}"
        if step.stop_reason == stopping.STOP_STRING:
            return f'Stopped: the text holds the stop string "{step.stop_string}"; {remedy}'
        if self.is_over:
            length = self.decoder.model.context_length
            return f"Stopped: context full, all {length:,} positions are used; {remedy}"
        if self.reached(max_new_tokens):
            made = tokens_text(len(self.decoder.steps))
            return (
                f"Stopped: max tokens is {max_new_tokens:,}, and there are {made}; "
                "raise Max tokens for Play and Run to end, or go on with Step."
            )
        return ""
