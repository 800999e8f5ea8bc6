"""Our samplers against transformers' own processors, row by row (rule in `samplers.comparison`)."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, LogitsProcessorList

from engine.sampling import DEFAULT_ORDER, SamplingSettings, shape
from engine.sampling.samplers import (
    Context,
    EpsilonCutoff,
    EtaCutoff,
    MinNewTokens,
    MinP,
    NoRepeatNGram,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopH,
    TopK,
    TopP,
    TypicalP,
)
from tests.engine.runs import arguments_of_generate
from tests.engine.sampling.samplers.comparison import (
    IN_TRANSFORMERS,
    KINDS,
    PROMPT,
    SEED,
    compare,
    compare_batch,
    eos_ids,
    random_stage,
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Use one thread: rows are small, and several threads would mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


CHAINS = {kind.setting: [kind] for kind in IN_TRANSFORMERS} | {
    "five": [RepetitionPenalty, Temperature, TopK, TopP, MinP],
    "all of transformers": list(IN_TRANSFORMERS),
}
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("vocab", "rows"),
    [
        (50, 200),
        (16_384, 32),
        pytest.param(4, 400, marks=LONG),
        pytest.param(16_384, 400, marks=LONG),
        pytest.param(151_936, 64, marks=LONG),
    ],
)
@pytest.mark.parametrize("chain", CHAINS)
def test_kept_tokens_and_probabilities_match_transformers(chain, vocab, rows):
    tallies = compare(CHAINS[chain], vocab, rows)
    print(f"\n{chain}, V = {vocab:,}: {tallies}")
    tied = tallies.pop("tied")
    untied = sum(tallies.values(), start=type(tied)())
    assert tied.total() + untied.total() >= rows
    # By chance, two of 151,936 scores may be equal and lie on the edge of a cut.
    assert untied["edge"] == 0 and untied["tie"] <= 0.01 * untied.total(), tallies


# --- Parity mode runs the processors themselves --------------------------------------------------


def processors_of_generate(
    sampling: SamplingSettings, ends: tuple[int, ...]
) -> LogitsProcessorList:
    """The processors that `generate` builds for the same settings, in its order."""
    config = LlamaConfig(
        vocab_size=8,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
    )
    wanted = GenerationConfig(do_sample=True, **({"top_k": None} | arguments_of_generate(sampling)))
    wanted._eos_token_tensor = torch.tensor(ends)
    return LlamaForCausalLM(config)._get_logits_processor(wanted, input_ids_seq_length=PROMPT)


@pytest.mark.parametrize("chain", CHAINS)
def test_parity_scores_match_generate_bit_for_bit(chain):
    vocab = 1_000
    rng = np.random.default_rng([SEED, vocab, list(CHAINS).index(chain)])
    for kind in KINDS:
        logits = KINDS[kind](rng, vocab)
        as_given = logits.copy()
        token_ids = rng.integers(0, vocab, PROMPT + 10)
        stages = [random_stage(stage, rng, vocab, token_ids[None]) for stage in CHAINS[chain]]
        sampling = SamplingSettings(chain=stages, parity=True)
        ends = eos_ids(vocab)
        processors = processors_of_generate(sampling, ends)
        assert len(processors) >= len(stages) - 1, "a stage at its off value is left out there"
        for row in logits:
            ids, scores = torch.from_numpy(token_ids)[None], torch.from_numpy(row.copy())[None]
            theirs = processors(ids, scores)[0].numpy()
            ours = shape(row, sampling, Context(token_ids, PROMPT, ends)).final_scores
            assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
        assert np.array_equal(logits, as_given), "parity mode modified the logits"


# --- Small vocabularies, where ties and edges are the rule ---------------------------------------

SETTINGS = {
    RepetitionPenalty: st.floats(0.01, 100) | st.sampled_from([0.5, 1.0, 2.0]),
    Temperature: st.floats(1e-6, 100) | st.sampled_from([0.5, 1.0, 2.0]),
    TopK: st.integers(1, 80),
    TopP: st.floats(1e-9, 0.999999) | st.sampled_from([0.25, 0.5, 0.75, 0.9, 1.0]),
    MinP: st.floats(2**-100, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    NoRepeatNGram: st.integers(2, 4),
    MinNewTokens: st.integers(1, 5),
    TopH: st.floats(1e-6, 1) | st.sampled_from([0.25, 0.5, 1.0]),
    TypicalP: st.floats(1e-9, 1) | st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    EpsilonCutoff: st.floats(1e-9, 0.999) | st.sampled_from([0.25, 0.5, 0.125]),
    EtaCutoff: st.floats(1e-9, 0.999) | st.sampled_from([0.25, 0.5, 0.0625]),
}


@st.composite
def small_rows(draw) -> np.ndarray:
    """(1, vocab) float16 logits of 2 to 64 tokens, or of few values; some are removed."""
    score = draw(st.sampled_from([st.integers(-3, 3), st.floats(-40, 40, width=16)]))
    scores = draw(st.lists(score | st.just(-math.inf), min_size=2, max_size=64))
    scores[draw(st.integers(0, len(scores) - 1))] = 0.0
    return np.array([scores], np.float32)


@st.composite
def chains(draw) -> tuple[Stage, ...]:
    """Any of the stages in transformers' order."""
    kinds = [kind for kind in DEFAULT_ORDER if kind in SETTINGS and draw(st.booleans())]
    return tuple(kind(draw(SETTINGS[kind])) for kind in kinds)


@given(small_rows(), chains(), st.lists(st.integers(0, 70), min_size=1, max_size=10))
@settings(max_examples=100)
def test_small_vocabularies_also_match_transformers(logits, stages, token_ids):
    token_ids = np.array([token_ids]) % logits.shape[1]
    compare_batch(stages, logits, token_ids)
