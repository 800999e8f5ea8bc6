"""A visitor's timed runs: their inputs and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from engine.decoder import Decoder
from engine.decoding import (
    BeamSearch,
    BeamSettings,
    ContrastiveSearch,
    DiffusionDecoder,
    DiffusionSettings,
    SpeculativeDecoder,
)
from engine.errors import DecodingError
from engine.measure import Machine
from engine.model import BUNDLED_DRAFT, LanguageModel, continuation
from engine.sampling import Constraint, SamplingSettings, SpeculativeSettings
from engine.study import Entrant, OneClock, Timed
from ui.jobs import Job, Owner
from ui.labs.diffusion.lab import masked_model
from ui.labs.inputs import ConstrainableInputs, PlainInputs
from ui.labs.state import InputsState
from ui.models.choice import Choice
from ui.models.chooser import shared_model
from ui.texts.texts import check_prompt
from ui.words.errors import told
from ui.words.language import marked, say


@dataclass(frozen=True)
class Beginning:
    """The model and the inputs that all decoders share.

    Attributes:
        model: the model that generates the texts, and scores those of other models.
        prompt: the text to continue from.
        tokens: maximum number of new tokens.
        seed: the seed of decoders that draw at random.
        constraint: the constraint of constrained decoding; no other decoder follows it.
    """

    model: LanguageModel
    prompt: str
    tokens: int
    seed: int
    constraint: Constraint


@dataclass(frozen=True)
class TimedDecoder:
    """A decoder on the page.

    Attributes:
        name: its name, marked.
        about: its settings in a few words, marked.
        entrant: builds its `Entrant`; raises `DecodingError` if the decoder cannot run.
    """

    name: str
    about: str
    entrant: Callable[[str, Beginning], Entrant]


def _sampled(settings: SamplingSettings, name: str, one: Beginning) -> Entrant:
    settings = settings.replace(seed=one.seed)
    return Entrant(name, partial(Decoder, one.model, one.prompt, settings), one.tokens)


def _contrastive(name: str, one: Beginning) -> Entrant:
    return Entrant(name, partial(ContrastiveSearch, one.model, one.prompt, 4, 0.6), one.tokens)


def _beam(name: str, one: Beginning) -> Entrant:
    settings = BeamSettings(width=4, max_new_tokens=one.tokens)
    return Entrant(name, partial(BeamSearch, one.model, one.prompt, settings), None)


def _diffusion(name: str, one: Beginning) -> Entrant:
    model = masked_model("")  # the bundled one: a causal model cannot fill a canvas
    canvas = continuation(model, one.prompt, one.tokens)
    settings = DiffusionSettings(seed=one.seed)
    beginning = len(canvas) - one.tokens

    def written(text: DiffusionDecoder) -> list[int]:
        return one.model.vocabulary.encode(model.text(text.ids[beginning:]))

    return Entrant(name, partial(DiffusionDecoder, model, canvas, settings), None, written)


def _speculative(name: str, one: Beginning) -> Entrant:
    sampling = SamplingSettings(top_p=0.9, seed=one.seed)
    settings = SpeculativeSettings(sampling, draft_length=4, max_new_tokens=one.tokens)
    begin = partial(
        SpeculativeDecoder, one.model, one.prompt, shared_model(Choice(BUNDLED_DRAFT)), settings
    )
    begin()  # raises now if the draft does not fit the model
    return Entrant(name, begin, None)


def _constrained(name: str, one: Beginning) -> Entrant:
    settings = SamplingSettings(top_p=0.9, constraint=one.constraint, seed=one.seed)
    return Entrant(name, partial(Decoder, one.model, one.prompt, settings), one.tokens)


DECODERS = (
    TimedDecoder(
        marked("Greedy"), marked("T 0"), partial(_sampled, SamplingSettings(temperature=0))
    ),
    TimedDecoder(
        marked("Sampling"), marked("top-p 0.9"), partial(_sampled, SamplingSettings(top_p=0.9))
    ),
    TimedDecoder(marked("Contrastive search"), marked("4 candidates, penalty 0.6"), _contrastive),
    TimedDecoder(marked("Beam search"), marked("width 4"), _beam),
    TimedDecoder(
        marked("Speculative"), marked("bundled draft, 4 tokens a round, top-p 0.9"), _speculative
    ),
    TimedDecoder(marked("Constrained"), marked("its constraint, top-p 0.9"), _constrained),
    TimedDecoder(
        marked("Diffusion"), marked("one token a step, bundled diffusion model"), _diffusion
    ),
)


MOST_TOKENS = 64


@dataclass(frozen=True)
class ClockInputs(ConstrainableInputs):
    """Inputs of the page, shared by all decoders.

    Attributes in addition to the prompt and the constraint of constrained decoding:
        tokens: maximum number of new tokens per text.
        seed: the seed of decoders that draw at random.
    """

    prompt: str = "Once upon a time, there was a little"
    language: str = "regex"
    source: str = r" [a-z ,']{20,200}\."
    tokens: int = 24
    seed: int = 1


class ClockJob(Job):
    """Times all decoders on one prompt.

    Args:
        beginning: the model and the inputs that they share.

    Attributes:
        beginning: as given.
        running: name of the decoder at work; empty before and after.
        was_busy: whether other programs were using the cores when the runs began.

    Raises:
        DecodingError: the prompt does not fit the model.
    """

    doing = marked("the runs")
    noun = "run"
    breaks_off = True

    def __init__(self, beginning: Beginning) -> None:
        self.beginning = beginning
        self.running = ""
        self.was_busy = Machine.here().is_busy
        prompt_ids = beginning.model.vocabulary.encode(beginning.prompt)
        entrants, self._refused = [], {}
        for decoder in DECODERS:
            try:
                entrants.append(decoder.entrant(decoder.name, beginning))
            except DecodingError as error:
                self._refused[decoder.name] = told(error)
        self._clock = OneClock(beginning.model, prompt_ids, entrants)
        super().__init__(self._clock.runs)

    def _passes(self) -> Iterator[float | None]:
        try:
            for name in self._clock.run():
                if self.is_cancelled:
                    return
                self.running = name
                yield self._left_by_count()
        finally:
            self.running = ""

    def _in_words(self) -> str:
        words = super()._in_words()
        return f"{words}: {say(self.running)}" if self.running else words

    @property
    def texts_done(self) -> int:
        """Number of finished runs."""
        return self._clock.done

    @property
    def timed(self) -> dict[str, Timed]:
        """Results so far, by decoder, in the page's order."""
        timed = self._clock.timed
        return {one.name: timed[one.name] for one in DECODERS if one.name in timed}

    @property
    def failed(self) -> dict[str, str]:
        """Error messages of the decoders that could not run, by decoder."""
        return self._refused | self._clock.failed


class Clock(InputsState[ClockInputs]):
    """One visitor's inputs, and the runs begun from them.

    Attributes in addition to those of `InputsState`:
        work: the last runs.
    """

    name: ClassVar[str] = "one_clock"
    inputs_class: ClassVar[type[PlainInputs]] = ClockInputs
    work: ClockJob | None = None

    def take(self, inputs: ClockInputs) -> None:
        if inputs.constraint is not None:
            inputs.constraint.check_tokens(self.model.places)
        super().take(inputs)

    def begin(self, owner: Owner) -> None:
        """Start runs with the inputs; if they are refused, the last runs stay."""
        self.begin_work("work", self._runs, owner)

    def _runs(self) -> ClockJob:
        one = self.inputs
        check_prompt("prompt", one.prompt)
        return ClockJob(Beginning(self.model, one.prompt, one.tokens, one.seed, one.constraint))
