"""The draw: the right probabilities, the right random stream, the same token as its definition."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.decoder import Decoder
from engine.sampling import Distribution, SamplingSettings, draw, shape
from engine.sampling.random import TextRandomness
from tests.engine import tiny_models
from tests.engine.runs import finished, sampling

DRAWS = 100_000
SEED = 20_240  # seed of the stream; fixed, so a run can be repeated
FALSE_ALARM = 1e-6  # the chance that a correct draw fails a test with a random seed

CHAINS = {
    "pure": {},
    "nucleus 0.9": {"top_p": 0.9},
    "min-p after a high temperature": {"temperature": 2.0, "min_p": 0.1},
    "everything": {"temperature": 0.8, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.3},
}


def chi_square(counts: np.ndarray, probs: np.ndarray) -> float:
    """The p-value of counts against `probs`; rare tokens share one bin."""
    expected = probs * counts.sum()
    common = expected >= 10
    observed = [*counts[common], counts[~common].sum()]
    wanted = [*expected[common], expected[~common].sum()]
    if wanted[-1] < 10:  # too few even together: merged with the previous bin
        observed[-2:], wanted[-2:] = [sum(observed[-2:])], [sum(wanted[-2:])]
    return scipy.stats.chisquare(observed, wanted).pvalue


@pytest.fixture(scope="module")
def step_logits() -> np.ndarray:
    """One row of a tiny model's logits."""
    decoder = Decoder(tiny_models.shared("gpt2"), tiny_models.prompt(0))
    decoder.step()
    return decoder.logits(0)


@pytest.fixture(scope="module")
def stream() -> np.ndarray:
    return np.random.Generator(np.random.PCG64(SEED)).random(DRAWS)


def counts_of(distribution: Distribution, stream: np.ndarray) -> np.ndarray:
    drawn = [distribution.sample(u) for u in stream.tolist()]
    return np.bincount(drawn, minlength=distribution.logits.size)


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_draws_have_the_probabilities_shown(step_logits, stream, chain):
    distribution = shape(step_logits, SamplingSettings(**chain))
    counts = counts_of(distribution, stream)
    assert not counts[distribution.probs == 0].any(), "a removed token was drawn"
    chance = chi_square(counts, distribution.probs)
    assert chance > FALSE_ALARM, f"{DRAWS:,} draws are this far off once in {1 / chance:.3g} times"


def test_draw_count_suffices_to_show_small_errors(step_logits, stream):
    wrong = shape(step_logits, SamplingSettings(temperature=1.05))
    right = shape(step_logits, SamplingSettings())
    assert chi_square(counts_of(wrong, stream), right.probs) < FALSE_ALARM


def test_decoder_draws_one_seed_number_per_step():
    decoder = finished(Decoder(tiny_models.shared("gpt2"), [1], sampling(SEED)), 150)
    stream = np.random.Generator(np.random.PCG64(SEED)).random(150).tolist()
    assert [step.u for step in decoder.steps] == stream
    decoder.rewind(70)
    decoder.step(5)  # forced: uses up no number
    finished(decoder, 100)
    assert [step.u for step in decoder.steps[71:]] == stream[71:100]


# Multiples of 1/8 collide often, and differ enough for different probabilities.
SCORES = st.integers(-80, 80).map(lambda eighths: eighths / 8) | st.just(-np.inf)


@given(
    scores=st.lists(SCORES, min_size=1, max_size=200),
    u=st.floats(0, 1, exclude_max=True),
    temperature=st.sampled_from([0, 0.5, 1.0, 2.0]),
    top_k=st.integers(0, 12),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    min_p=st.sampled_from([0, 0.1, 1.0]),
)
def test_a_draw_follows_the_dense_definition(scores, u, temperature, top_k, top_p, min_p):
    assume(max(scores) > -np.inf)
    settings = SamplingSettings(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    distribution = shape(np.array(scores, np.float32), settings)
    probs = distribution.probs
    sums = np.cumsum(np.sort(probs)[::-1])
    assume(np.abs(sums - u).min() > 1e-12)  # exactly on the edge, rounding may decide either way

    assert distribution.sample(u) == draw(probs, u)


@pytest.mark.parametrize("chain", [{}, {"top_p": 0.99}, {"temperature": 3.0}, {"min_p": 0.01}])
def test_draws_from_tied_rows_follow_the_definition(chain):
    rng = np.random.Generator(np.random.PCG64(0))
    row = (rng.integers(-32, 32, 20_000) / 8).astype(np.float32)  # 300 tokens share each score
    distribution = shape(row, SamplingSettings(**chain))
    dense = distribution.probs
    for u in [0.0, *rng.random(40).tolist(), 1 - 2**-53]:
        fresh = shape(row, SamplingSettings(**chain))  # not yet sorted by an earlier draw
        assert fresh.sample(u) == distribution.sample(u) == draw(dense, u)


def test_concurrent_threads_get_the_same_seed_numbers():
    steps = 4_000
    expected = np.random.Generator(np.random.PCG64([5, 1])).random(steps).tolist()
    random = TextRandomness()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda step: random.of_stream(5, step, 1), range(steps)))
    assert found == expected
    assert [random.uniform(5, step) for step in range(3)] == (
        np.random.Generator(np.random.PCG64(5)).random(3).tolist()
    )
