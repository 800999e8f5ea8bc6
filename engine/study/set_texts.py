"""Texts from several decoders on one prompt: how likely each is, and how varied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.decoder import Decoder
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Temperature, TopP
from engine.study.likelihood import token_logprobs
from engine.study.metrics import distinct_n, mean_logprob, sequence_logprob

BEAM, GREEDY, SAMPLE = "beam", "greedy", "nucleus sample"
KINDS = (BEAM, GREEDY, SAMPLE)
SAMPLES = 6
TOP_P = 0.9


@dataclass(frozen=True)
class SetText:
    """One text, with its likelihood and its diversity.

    Attributes:
        kind: kind of its decoder, one of `KINDS`.
        name: name of the text within its kind.
        token_ids, text: the text as tokens and as characters.
        logprob: sum of the log-probabilities of its tokens under the model itself, in nats.
        per_token: their mean; NaN without a token.
        distinct_1, distinct_2: see `engine.study.metrics.distinct_n`.
        score: for a beam, the score that its search ranks by; None for others.
    """

    kind: str
    name: str
    token_ids: tuple[int, ...]
    text: str
    logprob: float
    per_token: float
    distinct_1: float
    distinct_2: float
    score: float | None


def write_set_texts(
    model: LanguageModel,
    prompt: str,
    settings: BeamSettings,
    stop_strings: tuple[str, ...] = (),
    samples: int = SAMPLES,
) -> Iterator[SetText | None]:
    """Yield the texts of a beam search, of greedy decoding and of nucleus sampling, one by one.

    All use the token limit, chain and stop strings of the search. Yields None after a step that
    does not end a text.

    Raises:
        DecodingError: as in the decoders.
    """
    search = BeamSearch(model, prompt, settings, stop_strings=stop_strings)
    for _ in search.run():
        yield None
    for place, one in enumerate(search.hypotheses, 1):
        yield _measured(
            model, search.prompt_ids, BEAM, f"beam {place}", one.token_ids, one.text, one.score
        )
    search.release_cache()
    chain = settings.chain
    others = [(GREEDY, "greedy", SamplingSettings(chain=[*chain, Temperature(0)]))]
    others += [
        (SAMPLE, f"sample {seed}", SamplingSettings(chain=[*chain, TopP(TOP_P)], seed=seed))
        for seed in range(1, samples + 1)
    ]
    for kind, name, chosen in others:
        decoder = Decoder(model, search.prompt_ids, chosen, stop_strings=stop_strings)
        for _ in decoder.run(settings.max_new_tokens):
            yield None
        yield _measured(model, search.prompt_ids, kind, name, decoder.token_ids, decoder.text)
        decoder.release_cache()


def _measured(
    model: LanguageModel,
    prompt_ids: Sequence[int],
    kind: str,
    name: str,
    token_ids: Sequence[int],
    text: str,
    score: float | None = None,
) -> SetText:
    logprobs = token_logprobs(model, prompt_ids, token_ids)
    return SetText(
        kind,
        name,
        tuple(token_ids),
        text,
        sequence_logprob(logprobs),
        mean_logprob(logprobs),
        distinct_n([token_ids], 1),
        distinct_n([token_ids], 2),
        score,
    )
