"""Random rows and settings, and the rule for comparing our stages with transformers'.

The rule is described in `tests/engine/sampling/test_sampling_against_transformers.py`.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

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
    NoRepeatNGram,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopH,
    TopK,
    TopP,
    TypicalP,
)
from tests.engine.sampling.samplers.evidence import has_processor

BATCH = 8  # rows that share one setting and one call of transformers' processor
POSITIONS, PROMPT = 64, 40  # tokens so far, including the prompt's
# An error of 2.3e-6 was seen in a float32 running sum over 150,000 terms.
MARGIN = {torch.float32: 4e-6, torch.float64: 1e-11}
SEED = 20_240_611
IN_TRANSFORMERS = tuple(kind for kind in DEFAULT_ORDER if has_processor(kind))

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


@dataclass
class Tally:
    """Counts of compared rows, and of rows that needed each excuse."""

    rows: Counter = field(default_factory=Counter)  # (dtype, kind of row)
    excused: Counter = field(default_factory=Counter)  # (reason, dtype, kind of row)
    refused: int = 0  # rows that a ban empties on both sides

    def count(self, dtype: str = "float32") -> int:
        return sum(n for (of, _), n in self.rows.items() if of == dtype)

    def share(self, reason: str, dtype: str, *kinds: str) -> float:
        excused = sum(self.excused[reason, dtype, kind] for kind in kinds)
        return excused / sum(self.rows[dtype, kind] for kind in kinds)

    def __str__(self) -> str:
        excused = ", ".join(f"{' '.join(key)}: {n}" for key, n in sorted(self.excused.items()))
        rows = f"{self.count():,} rows, {self.count('float64'):,} of them in float64 too"
        refused = f", {self.refused:,} refused" if self.refused else ""
        return f"{rows}{refused}; excused {excused or 'none'}"


def excuse(result: StageResult, theirs: np.ndarray, dtype: torch.dtype) -> str | None:
    """Return None if both keep the same tokens, or the reason if they may differ.

    Args:
        result: our cut's result.
        theirs: (vocab,) bool, the tokens that transformers kept from the same input.

    Raises:
        AssertionError: the tokens differ without an excuse.
    """
    own, other = result.survivors, np.count_nonzero(theirs)
    if own == other and theirs[result.after.ids].all():
        return None
    before = result.before.scores.astype(np.float64)
    ours = result.kept
    assert not np.any(theirs & ~(before > -np.inf)), "transformers kept a token already removed"
    if own == other and np.array_equal(np.sort(before[ours]), np.sort(before[theirs])):
        return "tie"  # the sides only choose differently among equal scores
    # Two groups of tokens may lie equally far from the entropy, on opposite sides.
    assert own != other or isinstance(result.stage, TypicalP), (
        f"{result.stage}: as many tokens kept, but not the same scores"
    )
    at_edge = distance_from_edge(result.stage, before, ours, theirs)
    margin = MARGIN[dtype]
    if isinstance(result.stage, TypicalP):
        margin += rounding_of_typical_sum(before, dtype)
    assert at_edge.max() < margin, (
        f"{result.stage} keeps {own:,} of {before.size:,}, transformers {other:,} in {dtype}: "
        f"{at_edge.max():.3g} from the setting, which no rounding explains"
    )
    return "edge"


def distance_from_edge(
    stage: Stage, before: np.ndarray, ours: np.ndarray, theirs: np.ndarray
) -> np.ndarray:
    """Exact distance from the edge of the cut, for each token that only one side keeps.

    Args:
        before: (vocab,) float64 scores.
        ours, theirs: (vocab,) bool, the kept tokens.
    """
    ranked = np.sort(before[before > -np.inf])[::-1]
    low, high = sorted((np.count_nonzero(ours), np.count_nonzero(theirs)))
    weights = np.exp(ranked - ranked[0])
    probs = weights / weights.sum()
    entropy = terms_of_entropy(probs).sum()
    value = stage.value
    if isinstance(stage, TopP):
        return np.abs(np.cumsum(probs)[low - 1 : high - 1] - value)
    if isinstance(stage, MinP):
        return np.abs(weights[low:high] / value - 1)
    if isinstance(stage, EpsilonCutoff):
        return np.abs(probs[low:high] / value - 1)
    if isinstance(stage, EtaCutoff):
        # In exp(-H) the rounding of H counts, which is a sum over the vocabulary.
        edge = min(value, math.sqrt(value) * math.exp(-entropy))
        return np.abs(probs[low:high] / edge - 1) / (1 + entropy)
    if isinstance(stage, TopH):
        leading = weights[: stage.considered] / weights[: stage.considered].sum()
        running = np.cumsum(terms_of_entropy(leading))
        # transformers subtracts the logarithm of the sum from unshifted scores, even large ones.
        size = max(1, running[-1], abs(ranked[0]))
        return np.abs(running[low:high] - value * running[-1]) / size
    if isinstance(stage, TypicalP):
        surprise = math.log(weights.sum()) - (ranked - ranked[0])
        disputed = math.log(weights.sum()) - (before[ours ^ theirs] - ranked[0])
        return typical_distance(value, surprise - entropy, probs, disputed - entropy, entropy)
    return np.array([np.inf])


def terms_of_entropy(probs: np.ndarray) -> np.ndarray:
    """-p ln p, 0 for p = 0."""
    return -probs * np.log(np.where(probs > 0, probs, 1.0))


def typical_distance(
    mass: float, every: np.ndarray, probs: np.ndarray, disputed: np.ndarray, entropy: float
) -> np.ndarray:
    """The same distance for typical sampling, whose order itself comes from rounded numbers.

    A token stays while the tokens nearer to the entropy hold less than `mass`. The result is the
    smallest rounding, of distances relative to their size and of sums, that leaves this open.

    Args:
        every: (tokens,) surprise minus entropy, of all tokens.
        probs: (tokens,) their probabilities.
        disputed: (n,) surprise minus entropy of the tokens that only one side keeps.
    """
    order = np.argsort(np.abs(every))
    distance, held = np.abs(every)[order], np.concatenate(([0], np.cumsum(probs[order])))
    needed = []
    for value in np.abs(disputed):
        for rounding in 10 ** np.arange(-15.0, 0.25, 0.25):
            slack = rounding * (1 + value + entropy)
            least = held[np.searchsorted(distance, value - slack, side="left")]
            most = held[np.searchsorted(distance, value + slack, side="right")]
            if least - rounding <= mass <= most + rounding:
                break
        needed.append(rounding)
    return np.array(needed)


def rounding_of_typical_sum(before: np.ndarray, dtype: torch.dtype) -> float:
    """Error of typical sampling's running sum on this machine, against the exact sum.

    A processor sums a softmax in as many parts as it has lanes. With few lanes, the sum of a flat
    float32 row is off by about 1e-6 of its value, and so is every probability.

    Args:
        before: (vocab,) float64 scores.
        dtype: dtype of the scores that transformers sees.
    """
    scores = torch.from_numpy(before)
    log_probs = scores.log_softmax(dim=-1)
    probs = log_probs.exp()
    entropy = -(probs * log_probs).nan_to_num().sum()
    nearest = (-log_probs - entropy).abs().argsort()
    rounded = scores.to(dtype).softmax(dim=-1).double()
    return float((rounded - probs)[nearest].cumsum(dim=-1).abs().max())


def their_stages(
    stages: tuple[Stage, ...], scores: torch.Tensor, ids: torch.Tensor, context: Context
) -> list:
    """Scores after each stage, from transformers' processors."""
    after = []
    for stage in stages:
        scores = stage.processor(context)(ids, scores)
        after.append(scores)
    return after


def compare(chain: list[type[Stage]], vocab: int, rows: int) -> Tally:
    """Run a chain of random settings over `rows` random rows on both sides."""
    rng = np.random.default_rng([SEED, vocab, *(IN_TRANSFORMERS.index(kind) for kind in chain)])
    tally = Tally()
    kinds = list(KINDS)
    for batch in range(math.ceil(rows / BATCH)):
        kind = kinds[batch % len(kinds)]
        logits = KINDS[kind](rng, vocab)
        token_ids = rng.integers(0, vocab, (BATCH, POSITIONS))
        token_ids %= rng.integers(min(32, vocab // 2), vocab)  # some repeat, as in real text
        stages = tuple(random_stage(stage, rng, vocab, token_ids) for stage in chain)
        # Sorting in float64 takes most of the time. So at the two largest sizes, only the first
        # of every four rounds through all kinds does it.
        in_double = vocab < 10_000 or batch // len(kinds) % 4 == 0
        compare_batch(stages, logits, token_ids, kind, tally, in_double=in_double)
    return tally


def compare_batch(
    stages: tuple[Stage, ...],
    logits: np.ndarray,
    token_ids: np.ndarray,
    kind: str,
    tally: Tally,
    *,
    in_double: bool = True,
) -> None:
    """Run both sides over (batch, vocab) logits and (batch, positions) tokens; count excuses."""
    ids = torch.from_numpy(token_ids)
    ends = eos_ids(logits.shape[1])
    common = Context(token_ids[0], PROMPT, ends)  # the processors take each row's ids
    edits = tuple(stage for stage in stages if isinstance(stage, EditStage))
    cuts = stages[len(edits) :]
    edited = their_stages(edits, torch.from_numpy(logits.copy()), ids, common)
    tempered = edited[-1] if edited else torch.from_numpy(logits)
    emptied = (tempered == -np.inf).all(dim=1)
    filled = torch.where(emptied[:, None], 0.0, tempered)  # their cuts fail on an empty row
    dtypes = list(MARGIN)[: 2 if in_double else 1]
    kept = {
        dtype: [
            (after > -np.inf).numpy() for after in their_stages(cuts, filled.to(dtype), ids, common)
        ]
        for dtype in dtypes
    }
    as_given = logits.copy()
    sampling = SamplingSettings(chain=stages)
    for place, row in enumerate(logits):
        context = Context(token_ids[place], PROMPT, ends)
        if emptied[place]:
            with pytest.raises(NoCandidatesError, match="took the last of them"):
                shape(row, sampling, context)
            tally.rows["float32", kind] += 1
            tally.refused += 1
            continue
        result = shape(row, sampling, context)
        for ours, theirs in zip(result.stages, edited, strict=False):
            assert np.array_equal(ours.after.scores, theirs[place].numpy()), (
                f"{ours.stage} gives other scores than transformers, bit for bit"
            )
        reasons = {
            dtype: first_excuse(result.stages[len(edits) :], [mask[place] for mask in masks], dtype)
            for dtype, masks in kept.items()
        }
        for dtype, reason in reasons.items():
            name = str(dtype).removeprefix("torch.")
            tally.rows[name, kind] += 1
            if reason is not None:
                tally.excused[reason, name, kind] += 1
        if None in reasons.values():
            # The same tokens are kept, so only a softmax over them remains to compare.
            tokens = np.flatnonzero(result.final_scores > -np.inf)
            expected = torch.softmax(tempered[place][tokens].double(), -1).numpy()
            difference = np.abs(result.probs[tokens] - expected).max()
            assert difference < 1e-6, f"{stages}: a probability differs by {difference:.2g}"
            assert np.count_nonzero(result.probs) <= result.survivors, (
                f"{stages}: a removed token has a probability"
            )
    assert np.array_equal(logits, as_given), "shape modified the logits it was given"


def first_excuse(
    results: tuple[StageResult, ...], kept: list[np.ndarray], dtype: torch.dtype
) -> str | None:
    """The first excuse along a chain: after it the two sides see different rows."""
    for ours, theirs in zip(results, kept, strict=True):
        reason = excuse(ours, theirs, dtype)
        if reason is not None:
            return reason
    return None
