"""Random rows and settings, and the rule for comparing our samplers with transformers'.

- Scores after a penalty, a bias or a temperature are equal bit for bit.
- Cuts keep the same tokens as transformers' processors do from the same scores in float64. If equal
  scores lie across the edge of a cut, the same number is kept: transformers' sort is not stable.
  A token exactly on the edge may go either way: what they keep then lies between what we keep with
  the setting 1e-9 of its value lower and higher.
- Probabilities equal a float64 softmax of their scores to an absolute 1e-6.
"""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import EtaLogitsWarper

from engine.errors import NoCandidatesError
from engine.sampling import DEFAULT_ORDER, SamplingSettings, StageResult, shape
from engine.sampling.samplers import (
    Banned,
    Context,
    EditStage,
    EpsilonCutoff,
    EtaCutoff,
    LogitBias,
    MinNewTokens,
    MinP,
    Mirostat,
    NoRepeatNGram,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopH,
    TopK,
    TopP,
    TypicalP,
)

BATCH = 8  # rows that share one setting and one call of transformers' processor
POSITIONS, PROMPT = 64, 40  # tokens so far, including the prompt's
EDGE = 1e-9  # share of a setting by which rounding may move the edge of its cut
SEED = 20_240_611
IN_TRANSFORMERS = tuple(kind for kind in DEFAULT_ORDER if kind.processor is not Stage.processor)

# --- Rows ----------------------------------------------------------------------------------------


def normal_rows(rng: np.random.Generator, vocab: int) -> np.ndarray:
    """Gaussian logits; a larger scale makes them more peaked."""
    scale = rng.uniform(1, 8)
    return rng.standard_normal((BATCH, vocab), np.float32) * np.float32(scale)


def zipf_rows(rng: np.random.Generator, vocab: int) -> np.ndarray:
    """Rows like a trained model's: a power law over ranks, in shuffled order, with noise."""
    exponent = rng.uniform(1.0, 3.0)
    law = (-exponent * np.log(np.arange(1, vocab + 1))).astype(np.float32)
    rng.shuffle(law)
    return law + rng.standard_normal((BATCH, vocab), np.float32) * np.float32(0.5)


def tied_rows(rng: np.random.Generator, vocab: int) -> np.ndarray:
    """Logits like a bf16 model's: many tokens share a score."""
    rows = torch.from_numpy(normal_rows(rng, vocab))
    return rows.to(torch.bfloat16).to(torch.float32).numpy()


def masked_rows(rng: np.random.Generator, vocab: int) -> np.ndarray:
    """Rows in which a ban or a constraint has already put some tokens at -inf."""
    rows = zipf_rows(rng, vocab)
    # From almost no tokens to almost all.
    rows[rng.random(rows.shape, np.float32) < rng.choice([0.001, 0.3, 0.9, 0.999])] = -np.inf
    rows[:, rng.integers(vocab)] = 0.0
    return rows


KINDS = {"normal": normal_rows, "zipf": zipf_rows, "tied": tied_rows, "masked": masked_rows}


# --- Settings ------------------------------------------------------------------------------------


def eos_ids(vocab: int) -> tuple[int, ...]:
    """Two tokens that end a text."""
    return (1, vocab // 2)


def random_stage(
    kind: type[Stage], rng: np.random.Generator, vocab: int, token_ids: np.ndarray
) -> Stage:
    """A stage with a common setting, or an extreme one in one case of five.

    Args:
        token_ids: (batch, positions) contexts, so that bans have an effect.
    """
    extreme = rng.random() < 0.2

    def one_of(extremes: list, low: float, high: float) -> float:
        return float(rng.choice(extremes) if extreme else rng.uniform(low, high))

    if kind is LogitBias:
        chosen = set(rng.integers(0, vocab, rng.integers(1, 20)).tolist())
        return kind({i: one_of([-1e3, 1e3], -20, 20) for i in chosen})
    if kind is Banned:
        # Words that a context has begun, words that no context has, the end of the text.
        begun = [[*ids[-rng.integers(1, 4) :], rng.integers(vocab)] for ids in token_ids[::2]]
        other = rng.integers(0, vocab, (3, rng.integers(1, 4))).tolist()
        return kind([*begun, *other, [eos_ids(vocab)[0]]])
    if kind is TopK:
        return kind(int(rng.choice([1, 2, vocab - 1, vocab]) if extreme else rng.integers(1, 300)))
    if kind in (EpsilonCutoff, EtaCutoff):
        return kind(one_of([1e-12, 0.5, 0.999], 0, 1) if extreme else 10 ** rng.uniform(-5, -1))
    ranges = {
        RepetitionPenalty: ([0.01, 100.0], 0.5, 2.0),
        NoRepeatNGram: ([1, 63, 64, 65], 1, 5),
        MinNewTokens: ([1, 10**6], 1, 2 * (POSITIONS - PROMPT)),
        Temperature: ([1e-6, 0.01, 100.0], 0.3, 2.0),
        TopH: ([1e-6, 0.99, 0.999], 0.05, 0.95),
        TopP: ([1e-9, 1e-3, 0.999999], 0.1, 0.99),
        MinP: ([1e-9, 0.99, 1.0], 0.005, 0.5),
        TypicalP: ([1e-9, 0.999, 1.0], 0.1, 0.98),
    }
    value = one_of(*ranges[kind])
    return kind(int(value) if kind in (NoRepeatNGram, MinNewTokens) else value)


# --- The rule of comparison ----------------------------------------------------------------------


def moved(stage: Stage, context: Context, by: float) -> tuple[Stage, Context]:
    """The same with the deciding number increased by the share `by` (Mirostat's bound: by `by`)."""
    if isinstance(stage, Mirostat):
        state = stage.state(context)
        return stage, replace(context, states={"mirostat": replace(state, mu=state.mu + by)})
    name = next(iter(stage.to_dict()))
    twin = object.__new__(type(stage))  # bypasses the checks: it may leave the range slightly
    for field, value in stage.__dict__.items():
        object.__setattr__(twin, field, value * (1 + by) if field == name else value)
    return twin, context


def excuse(result: StageResult, theirs: np.ndarray) -> str | None:
    """Return None if both keep the same tokens, or the reason if they may differ.

    Args:
        result: our cut's result.
        theirs: (vocab,) bool, the tokens that transformers kept from the same input.

    Raises:
        AssertionError: the tokens differ without an excuse.
    """
    if np.array_equal(result.kept, theirs):
        return None
    before = result.before.scores
    own, other = np.sort(before[result.kept]), np.sort(before[theirs])
    if own.size == other.size and np.allclose(own, other, rtol=0, atol=EDGE):
        return "tie"
    if isinstance(result.stage, TopH) and result.before.entropy_bits < 1e-6:
        return "edge"  # so small an entropy is mostly the rounding of 1 - p
    nearby = (moved(result.stage, result.context, by) for by in (-EDGE, EDGE))
    few, many = sorted(
        (stage.apply(result.before, at) for stage, at in nearby), key=lambda left: left.count
    )
    outermost = before[many.scores > -np.inf]
    if few.count <= other.size <= many.count and (
        outermost.min() <= other.min() and other.max() <= outermost.max()
    ):
        return "edge"
    raise AssertionError(
        f"{result.stage} keeps {result.survivors:,} of {before.size:,}, transformers "
        f"{np.count_nonzero(theirs):,}, and no rounding explains that"
    )


def their_scores(
    stages: tuple[Stage, ...], scores: torch.Tensor, ids: torch.Tensor, context: Context
) -> list[torch.Tensor]:
    """Scores after each stage, from transformers' processors."""
    after = []
    for stage in stages:
        processor = stage.processor(context)
        if isinstance(processor, EtaLogitsWarper):  # it rounds its setting to float32
            processor.epsilon = torch.tensor(stage.epsilon, dtype=scores.dtype)
        scores = processor(ids, scores)
        after.append(scores)
    return after


def compare(chain: list[type[Stage]], vocab: int, rows: int) -> dict[str, Counter]:
    """Compare a chain of random settings over `rows` random rows; tallies by kind of row."""
    rng = np.random.default_rng([SEED, vocab, *(IN_TRANSFORMERS.index(kind) for kind in chain)])
    kinds = list(KINDS)
    tallies = {kind: Counter() for kind in kinds}
    for batch in range(math.ceil(rows / BATCH)):
        kind = kinds[batch % len(kinds)]
        logits = KINDS[kind](rng, vocab)
        token_ids = rng.integers(0, vocab, (BATCH, POSITIONS))
        token_ids %= rng.integers(min(32, vocab // 2), vocab)  # some repeat, as in real text
        stages = tuple(random_stage(stage, rng, vocab, token_ids) for stage in chain)
        tallies[kind] += compare_batch(stages, logits, token_ids)
    return tallies


def compare_batch(stages: tuple[Stage, ...], logits: np.ndarray, token_ids: np.ndarray) -> Counter:
    """Run both sides over (batch, vocab) logits and (batch, positions) tokens.

    Returns:
        The number of rows by excuse: None for equal tokens, ``refused`` if a ban empties the row.
    """
    ids = torch.from_numpy(token_ids)
    ends = eos_ids(logits.shape[1])
    common = Context(token_ids[0], PROMPT, ends)  # the processors take each row's ids
    edits = tuple(stage for stage in stages if isinstance(stage, EditStage))
    edited = their_scores(edits, torch.from_numpy(logits.copy()), ids, common)
    tempered = edited[-1] if edited else torch.from_numpy(logits)
    emptied = (tempered == -np.inf).all(dim=1)
    exact = torch.where(emptied[:, None], 0.0, tempered).double()  # their cuts fail on an empty row
    exact -= exact.max(dim=1, keepdim=True).values  # large scores would cost them digits
    kept = [
        (after > -np.inf).numpy()
        for after in their_scores(stages[len(edits) :], exact, ids, common)
    ]
    as_given = logits.copy()
    tally = Counter()
    for place, row in enumerate(logits):
        context = Context(token_ids[place], PROMPT, ends)
        if emptied[place]:
            with pytest.raises(NoCandidatesError, match="removed the last of them"):
                shape(row, SamplingSettings(chain=stages), context)
            tally["refused"] += 1
            continue
        result = shape(row, SamplingSettings(chain=stages), context)
        for ours, theirs in zip(result.stages, edited, strict=False):
            assert np.array_equal(ours.after.scores, theirs[place].numpy()), (
                f"{ours.stage} gives other scores than transformers, bit for bit"
            )
        # After the first excuse the two sides see different rows.
        cuts = zip(result.stages[len(edits) :], kept, strict=True)
        reasons = (excuse(ours, theirs[place]) for ours, theirs in cuts)
        reason = next((reason for reason in reasons if reason is not None), None)
        tally[reason] += 1
        if reason is None:
            tokens = np.flatnonzero(result.final_scores > -np.inf)
            expected = torch.softmax(exact[place][tokens], -1).numpy()
            difference = np.abs(result.probs[tokens] - expected).max()
            assert difference < 1e-6, f"{stages}: a probability differs by {difference:.2g}"
            assert np.count_nonzero(result.probs) <= result.survivors, (
                f"{stages}: a removed token has a probability"
            )
    assert np.array_equal(logits, as_given), "shape modified the logits it was given"
    return tally
