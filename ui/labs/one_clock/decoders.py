"""The decoders that are timed, each with the settings that show what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from engine.decoder import Decoder
from engine.decoding import ContrastiveSearch
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings, continuation
from engine.decoding.speculative import SpeculativeDecoder
from engine.model import BUNDLED_DRAFT, LanguageModel
from engine.sampling import SamplingSettings, SpeculativeSettings
from engine.sampling.stages import Constraint
from engine.study import Entrant
from ui.labs.diffusion.masked_model import masked_model
from ui.models.chooser import Choice, shared_model
from ui.words.language import marked


@dataclass(frozen=True)
class Beginning:
    """What every decoder begins with.

    Attributes:
        model: the model that writes, and judges what others wrote.
        prompt: the text to go on from.
        tokens: most new tokens.
        seed: of those that leave something to chance.
        constraint: of constrained decoding; no other decoder keeps to it.
    """

    model: LanguageModel
    prompt: str
    tokens: int
    seed: int
    constraint: Constraint


@dataclass(frozen=True)
class TimedDecoder:
    """A decoder as the page has it.

    Attributes:
        name: what it is called, marked.
        about: its settings in a few words, marked.
        entrant: how it takes part; raises `DecodingError` where it cannot.
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
    begin()  # so that a draft that does not fit is refused here
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
