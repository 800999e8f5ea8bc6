"""The decoder against transformers itself, for every kind of model and cache, over 40 tokens.

With two seeds, `generate` is the reference for greedy tokens and logits. One seed is enough for the
rest: a draw does not depend on the prompt, and nothing else is rounded.

`generate` is the reference for draws. An undisturbed decoder is the reference for one that was
rewound, forked or lost its cache. Equal means equal bits.

The first prompt is shorter than a sliding window, the second longer. The second text also outgrows
the first room of a growing cache, and passes two snapshots of recurrent states.
"""

from functools import cache

import numpy as np
import pytest
import torch

from engine.decoder import Decoder
from engine.model import LanguageModel
from tests.engine import tiny_models
from tests.engine.runs import GREEDY, assert_same_run, finished, generate, live_tensors, rows
from tests.engine.runs import sampling as settings_of
from tests.engine.tiny_models import ARCHITECTURES, RECURRENT, SLIDING, WINDOW

TOKENS = 40
PROMPT_LENGTHS = (7, 27)  # by seed
CLOSE = 1e-4  # largest difference of a logit between two computations
# Full attention, positions as a bias, windows on alternate layers, states, and both in one layer.
SHORT = ("llama", "bloom", "gemma2", "mamba", "falcon_h1")

pytestmark = pytest.mark.parametrize(
    "architecture",
    [pytest.param(name, marks=() if name in SHORT else pytest.mark.long) for name in ARCHITECTURES],
)
short_prompt = pytest.mark.parametrize("seed", [0])
long_prompt = pytest.mark.parametrize("seed", [1])


@pytest.fixture
def model(architecture: str, seed: int) -> LanguageModel:
    return tiny_models.shared(architecture, seed)


@pytest.fixture
def prompt(seed: int) -> list[int]:
    return prompt_of(seed)


def prompt_of(seed: int) -> list[int]:
    return tiny_models.prompt(seed, PROMPT_LENGTHS[seed])


@cache
def left_alone(architecture: str, seed: int) -> tuple[list[int], np.ndarray]:
    """Tokens and (steps, vocab) logits of an undisturbed decoder."""
    model = tiny_models.shared(architecture, seed)
    decoder = finished(Decoder(model, prompt_of(seed), settings_of(seed)), TOKENS)
    return decoder.token_ids, rows(decoder)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_greedy_equals_generate(model, prompt):
    decoder = finished(Decoder(model, prompt, GREEDY), TOKENS)
    ids, logits = generate(model, prompt, TOKENS)
    assert len(set(ids)) > 2, "the text is nearly constant and would prove little"
    assert decoder.token_ids == ids, "greedy decoding chose another token than generate"
    np.testing.assert_allclose(rows(decoder), logits, atol=CLOSE, rtol=0)


@long_prompt
def test_parity_mode_equals_generate_under_the_same_seed(model, prompt, seed):
    settings = {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "repetition_penalty": 1.1}
    decoder = Decoder(model, prompt, settings_of(seed, parity=True, min_p=0.01))
    finished(decoder, TOKENS)
    ids, logits = generate(model, prompt, TOKENS, seed, min_p=0.01, **settings)
    assert decoder.token_ids == ids, "parity mode drew another token than generate"
    np.testing.assert_allclose(rows(decoder), logits, atol=CLOSE, rtol=0)


@long_prompt
def test_rewinding_repeats_tokens_and_logits(model, prompt, seed, architecture):
    ids, logits = left_alone(architecture, seed)
    decoder = finished(Decoder(model, prompt, settings_of(seed)), TOKENS)

    for keep in (TOKENS - 1, 25, WINDOW + 1, 0, 2):
        if keep > len(decoder.steps):
            finished(decoder, keep)
        decoder.rewind(keep)
        assert decoder.token_ids == ids[:keep], f"rewind({keep}) kept other tokens"
        step = decoder.step()
        assert step.reused and step.forward_ms == 0, "the row should come from the record"
        assert not step.is_prefill
        through = min(TOKENS, keep + 12)
        finished(decoder, through)
        assert_same_run(decoder, ids[:through], logits[:through], f"After rewind({keep})")

    for keep in (13, 10, 10):
        decoder.rewind(keep)
    finished(decoder, TOKENS)
    assert_same_run(decoder, ids, logits, "After several rewinds in a row")


@long_prompt
def test_forks_are_independent(model, prompt, seed, architecture):
    ids, logits = left_alone(architecture, seed)
    decoder = finished(Decoder(model, prompt, settings_of(seed)), 16)

    same, other = decoder.fork(), decoder.fork()
    kept = [tensor.clone() for tensor in live_tensors(decoder)]
    size = decoder.fork().step().cache_bytes
    other.step(token_id=(ids[16] + 1) % model.vocab_size)
    other.settings = settings_of(seed + 100)
    finished(other, 34)
    other.rewind(3)
    finished(other, 12)

    assert_same_run(decoder, ids[:16], logits[:16], "With forks that went on")
    now = list(live_tensors(decoder))
    assert len(now) == len(kept) and all(map(torch.equal, now, kept)), (
        "stepping a fork wrote into its parent's cache"
    )
    assert decoder.step().cache_bytes == size
    assert_same_run(finished(decoder, TOKENS), ids, logits, "Having been forked")
    assert_same_run(finished(same, TOKENS), ids, logits, "As a fork")
    assert other.token_ids[:3] == ids[:3]


@short_prompt
def test_reported_cache_bytes_match_the_tensors(model, prompt, seed, architecture):
    decoder = Decoder(model, prompt, settings_of(seed))
    for i, step in enumerate(decoder.run(TOKENS)):
        assert step.cache_positions == len(prompt) + i
        counted = sum(tensor.nbytes for tensor in live_tensors(decoder))
        assert step.cache_bytes == counted, f"step {i} reports other bytes than its tensors have"
        assert step.cache_bytes_held >= step.cache_bytes
        if architecture not in RECURRENT:
            assert step.cache_bytes == decoder.cache_formula.bytes_at(step.cache_positions)
            assert step.cache_bytes == textbook_bytes(model, step.cache_positions)
    assert (decoder.cache_formula is None) == (architecture in RECURRENT)

    decoder.rewind(20)
    step = decoder.step()
    assert step.cache_bytes_held >= step.cache_bytes
    if architecture not in RECURRENT + SLIDING:
        assert step.cache_bytes == textbook_bytes(model, len(prompt) + 20)
        assert step.cache_bytes_held > step.cache_bytes, "cropped views still hold what they show"


def textbook_bytes(model: LanguageModel, positions: int) -> int:
    """2 (K and V) x KV heads x head size x 4 bytes x positions, layer by layer."""
    config = model.config
    heads = config.num_attention_heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    if getattr(config, "multi_query", False):
        kv_heads = 1
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    full = 2 * kv_heads * head_dim * 4 * positions
    capped = 2 * kv_heads * head_dim * 4 * min(positions, WINDOW - 1)
    types = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    if model.name == "mistral":
        types = ["sliding_attention"] * config.num_hidden_layers
    return sum(capped if kind == "sliding_attention" else full for kind in types)


@long_prompt
def test_lost_cache_is_rebuilt_bit_for_bit(model, prompt, seed, architecture):
    ids, logits = left_alone(architecture, seed)
    decoder = Decoder(model, prompt, settings_of(seed))

    for tokens in (1, WINDOW + 5, TOKENS):
        finished(decoder, tokens)
        assert decoder.release_cache()
    assert_same_run(decoder, ids, logits, "With its cache taken away")

    for keep, through in ((10, 20), (15, 30)):
        decoder.release_cache()
        decoder.rewind(keep)
        finished(decoder, through)
    assert_same_run(decoder, ids[:30], logits[:30], "Rewound without a cache")
