"""Helpers for most decoder tests: run, read all logits, compare two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.engine.tiny_models import seeded

GREEDY = SamplingSettings(temperature=0)


def sampling(seed: int, **changes: object) -> SamplingSettings:
    """Settings with every stage on, and loose enough that tokens vary."""
    settings = {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.1}
    return SamplingSettings(**settings | changes, seed=seed)


def finished(decoder: Decoder, tokens: int) -> Decoder:
    """Run a decoder to `tokens` generated tokens and return it."""
    for _ in decoder.run(tokens):
        pass
    assert len(decoder.steps) == tokens, f"the run ended early: {decoder.stop_reason}"
    return decoder


def rows(decoder: Decoder) -> np.ndarray:
    """(steps, vocab) raw logits of every step."""
    return np.stack([decoder.logits(i) for i in range(len(decoder.steps))]).copy()


def arguments_of_generate(settings: SamplingSettings) -> dict[str, object]:
    """The stages of a chain as arguments of transformers' `generate`."""
    names = {
        "no_repeat_ngram": "no_repeat_ngram_size",
        "banned": "bad_words_ids",
        "logit_bias": "sequence_bias",
    }
    forms = {
        "banned": lambda sequences: [list(ids) for ids in sequences],
        "logit_bias": lambda pairs: [[[token_id], added] for token_id, added in pairs],
    }
    return {
        names.get(stage.setting, stage.setting): forms.get(stage.setting, lambda value: value)(
            stage.value
        )
        for stage in settings.chain
    }


def generate(
    model: LanguageModel, prompt: Sequence[int], tokens: int, seed: int | None = None, **settings
) -> tuple[list[int], np.ndarray]:
    """Generated ids and (steps, vocab) raw logits of transformers' own `generate`."""
    with seeded(seed or 0):
        out = model.hf.generate(
            torch.tensor([list(prompt)]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            max_new_tokens=tokens,
            do_sample=seed is not None,
            output_logits=True,
            return_dict_in_generate=True,
            **settings,
        )
    logits = np.stack([row[0].float().numpy() for row in out.logits])
    return out.sequences[0, len(prompt) :].tolist(), logits


def assert_same_run(decoder: Decoder, ids: list[int], logits: np.ndarray, after: str) -> None:
    """Check that the decoder's tokens and logits are these, bit for bit."""
    assert decoder.token_ids == ids, f"{after}, other tokens came than without it"
    actual = rows(decoder)
    wrong = [i for i in range(len(ids)) if not np.array_equal(actual[i], logits[i])]
    assert not wrong, f"{after}, the logits of steps {wrong} are no longer the same bits"


def assert_comes_back(decoder: Decoder, live: np.ndarray) -> None:
    """Check that a finished text repeats bit for bit after any rewind; `live` holds its rows."""
    ids, tokens = list(decoder.token_ids), len(decoder.steps)
    assert np.array_equal(rows(decoder), live), "rows replayed from hidden states differ"
    for keep in (tokens - 1, 17, 0):
        decoder.rewind(keep)
        assert_same_run(finished(decoder, tokens), ids, live, f"After rewind({keep})")
    decoder.release_cache()
    decoder.rewind(5)
    assert_same_run(finished(decoder, tokens), ids, live, "With its cache rebuilt")


def live_tensors(decoder: Decoder) -> Iterator[torch.Tensor]:
    """Yield every tensor reachable from the decoder's cache, found without the engine's help.

    Scalars are left out: they are a layer's settings (its window), not cached values.
    """
    waiting = [vars(layer) for layer in decoder._runner.cache.layers]
    while waiting:
        value = waiting.pop()
        if isinstance(value, torch.Tensor):
            if value.dim() > 0:
                yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple)):
            waiting.extend(value)


def assert_the_same_after_going_back(model: LanguageModel, prompt: Sequence[int], tokens: int):
    """Check that rewinds, forks that continue, and a rebuilt cache give the same bits."""
    decoder = finished(Decoder(model, prompt, sampling(3)), tokens)
    ids, logits = decoder.token_ids, rows(decoder)
    for keep in (tokens - 1, tokens // 3, 0):
        twin = decoder.fork()
        twin.rewind(keep)
        twin.step(1)
        decoder.rewind(keep)
        assert_same_run(finished(decoder, tokens), ids, logits, f"After rewind({keep})")
    decoder.release_cache()
    decoder.rewind(5)
    assert_same_run(finished(decoder, tokens), ids, logits, "With its cache rebuilt")
