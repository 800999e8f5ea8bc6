"""One text under a constraint, the figures of its steps, and the experiments on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from engine.decoder import Decoder
from engine.errors import DecodingError, TraceError
from engine.model import ChatIds, LanguageModel
from engine.sampling import Constraint, SamplingSettings
from engine.study import (
    Broken,
    ConstraintFigures,
    Ribbon,
    Verdict,
    Walk,
    WalkProgress,
    WholeTexts,
    figures_at,
    judge,
    ribbon,
    without_constraint,
)
from engine.trace import Trace
from ui.jobs import Job, Owner
from ui.labs.inputs import ConstrainableInputs, Inputs
from ui.labs.lab import Lab
from ui.texts.constraints import EXAMPLES, FIRST, NOTHING, Example, typed_of
from ui.texts.limits import checked_whole
from ui.texts.texts import Messages, readable
from ui.texts.traces import REMEDY
from ui.visits.in_hand import Prompt
from ui.words.language import marked, say


@dataclass(frozen=True)
class ConstrainedInputs(ConstrainableInputs):
    """Inputs of a constrained text.

    Attributes in addition to prompt and constraint:
        temperature, seed: sampling settings.
        chat, before: whether the prompt goes through the chat template, and the messages before it.
    """

    prompt: str = EXAMPLES[0].prompt
    language: str = EXAMPLES[0].language
    source: str = EXAMPLES[0].source
    temperature: float = 1.0
    seed: int = 5  # the first example reads well with this seed
    chat: bool = False
    before: Messages = ()

    def read(self, model: LanguageModel) -> str | ChatIds:
        """Return the prompt as the model reads it; raises as `readable` does."""
        has_template = model.vocabulary.has_chat_template
        return readable(model, self.prompt, chat=self.chat and has_template, before=self.before)


MOST_PASSES = 300


class WalkJob(Job):
    """Enumerates the texts that a constraint allows.

    Raises:
        DecodingError: the constraint or the prompt does not fit the model.
    """

    doing = marked("the walk over all texts")
    noun = "beginning"
    breaks_off = True

    def __init__(self, model: LanguageModel, prompt: str | ChatIds, constraint: Constraint) -> None:
        super().__init__(MOST_PASSES)
        self._walk = Walk(model, prompt, constraint, most_passes=MOST_PASSES)
        self._ended_by_itself = False
        self._last: WalkProgress | None = None
        self._result: tuple[WalkProgress | None, WholeTexts] | None = None
        self._reading = threading.Lock()

    def _passes(self) -> Iterator[float | None]:
        began, done = time.monotonic(), self.texts_done
        for progress in self._walk.run(self._cancel):
            self._last = progress
            each = (time.monotonic() - began) / (progress.passes - done)
            yield each * (progress.passes_at_most - progress.passes)
        self._ended_by_itself = not self.is_cancelled

    @property
    def is_done(self) -> bool:
        """True if the walk has found all texts or used all its passes."""
        return self._ended_by_itself

    @property
    def texts_done(self) -> int:
        """Number of prefixes visited."""
        return self._last.passes if self._last else 0

    @property
    def result(self) -> WholeTexts | None:
        """The texts found; None while the walk is running."""
        if self.is_running:
            return None
        with self._reading:
            if self._result is None or self._result[0] is not self._last:
                self._result = (self._last, self._walk.result)
        return self._result[1]


class ConstrainedLab(Lab[ConstrainedInputs, Decoder]):
    """One visitor's text under a constraint.

    Attributes in addition to those of `Lab`:
        looked_at: the step whose figures are shown; None for the one with the highest price.
        broken: the text after the last forced wrong token; None before the first.
        walk: the walk over all texts; None before the first.
    """

    name: ClassVar[str] = "constrained"
    inputs_class: ClassVar[type[Inputs]] = ConstrainedInputs
    first_steps: ClassVar[int] = 64
    opens: ClassVar[tuple[str, ...]] = ("sampling",)
    works: ClassVar[tuple[str, ...]] = ("walk",)

    walk: WalkJob | None = None
    looked_at: int | None = None
    broken: Broken | None = None
    _figures: Sequence[ConstraintFigures] = ()
    _ribbon: tuple[tuple[Constraint, bytes], Ribbon] | None = None

    def begun(self, model: LanguageModel, inputs: ConstrainedInputs) -> Decoder:
        settings = SamplingSettings(
            constraint=inputs.constraint,
            temperature=inputs.temperature,
            seed=inputs.seed,
        )
        return Decoder(model, inputs.read(model), settings)

    def inputs_of(self, trace: Trace) -> ConstrainedInputs:
        settings = SamplingSettings.from_dict(trace.settings_at(0))
        if settings.stage(Constraint.setting) is None:
            raise TraceError(
                say(
                    "The trace has no constraint, and this page needs one; {remedy}.",
                    remedy=say(REMEDY),
                )
            )
        if any(step.forced for step in trace.steps):
            raise TraceError(
                say(
                    "The trace has tokens that a person forced, which this page does not keep; "
                    "{remedy}.",
                    remedy=say(REMEDY),
                )
            )
        language, source = typed_of(settings)
        *before, last = trace.messages or ({"role": "", "content": trace.prompt},)
        return replace(
            self.inputs,
            prompt=last["content"],
            chat=bool(trace.messages),
            before=tuple(before),
            language=language,
            source=source,
            temperature=settings.temperature,
            seed=settings.seed,
        )

    @property
    def _is_example(self) -> bool:
        """True if prompt and constraint are those of an example."""
        inputs = self.inputs
        own = inputs.language, inputs.source, inputs.prompt
        return own in [(each.language, each.source, each.prompt) for each in EXAMPLES]

    @property
    def prompt_held(self) -> Prompt | None:
        return None if self._is_example else super().prompt_held

    def take_prompt(self, prompt: Prompt, settings: SamplingSettings | None = None) -> None:
        """Set a new prompt; an example's prompt stays unless the new one has a constraint."""
        has_constraint = settings is not None and typed_of(settings) != NOTHING
        if has_constraint or not self._is_example:
            super().take_prompt(prompt, settings)

    def begun_anew(self) -> None:
        self.forget_works()
        self._figures, self.looked_at = (), None
        self.broken = self._ribbon = None

    @property
    def steps_again(self) -> int:
        """Number of steps on a new page, as a new constraint may need more; 0 after Rewind."""
        return self.first_steps if self.text is None or self.player.aim else 0

    def choose(self, example: Example) -> None:
        """Begin with an example's prompt and constraint."""
        self.change(language=example.language, source=example.source, prompt=example.prompt)

    def take_source(self, language: str, source: str) -> bool:
        """Set a new source, or a new language's first example; return True if it is accepted."""
        if language != self.inputs.language:
            self.choose(FIRST[language])
        else:
            self.change(source=source)
        return not self.error

    @property
    def constraint(self) -> Constraint:
        """The constraint in force."""
        return self.text.settings.stage(Constraint.setting)

    @property
    def figures(self) -> Sequence[ConstraintFigures]:
        """The constraint's figures for each step so far."""
        steps, known = len(self.text.steps), self._figures
        new = [figures_at(self.text, index) for index in range(len(known), steps)]
        self._figures = [*known[:steps], *new]
        return self._figures

    @property
    def dearest(self) -> int | None:
        """Index of the step with the highest price; None before the first step."""
        figures = self.figures
        return max(range(len(figures)), key=lambda i: figures[i].price_bits) if figures else None

    @property
    def shown(self) -> int | None:
        """Index of the step whose figures are shown; None before the first step."""
        if self.looked_at is not None and self.looked_at < len(self.text.steps):
            return self.looked_at
        return self.dearest

    def look_at(self, typed: float | None) -> None:
        """Show the figures of a step, counted from 1."""
        try:
            steps = max(1, len(self.text.steps))
            self.looked_at = checked_whole(say("Step to look at"), typed, 1, steps) - 1
            self.error = ""
        except DecodingError as error:
            self.refuse(error)

    @property
    def ribbon(self) -> Ribbon:
        """The bytes that the constraint forced; a new text costs requests to another process."""
        of = self.constraint, written(self.text)
        if self._ribbon is None or self._ribbon[0] != of:
            self._ribbon = of, ribbon(*of)
        return self._ribbon[1]

    @property
    def verdict(self) -> Verdict:
        """An independent parser's verdict on the text so far."""
        return judge(self.constraint, self.text.text)

    def break_at(self, index: int, token_id: int) -> None:
        """Copy the text up to a step, force a token there, and continue without the constraint."""

        def work() -> None:
            self.broken = without_constraint(self.text, index, token_id)

        self.player.stop()
        self.player.do("Continuing without the constraint", work)

    def begin(self, owner: Owner) -> None:
        """Start the walk over all texts of the constraint."""
        self.begin_work(
            "walk",
            lambda: WalkJob(self.model, self.inputs.read(self.model), self.constraint),
            owner,
        )


def written(text: Decoder) -> bytes:
    """Return the bytes of a text's tokens, without control tokens."""
    return b"".join(step.token_bytes for step in text.steps if not step.is_special)
