"""Metrics of texts: diversity, repetition, likelihood; pure functions over recorded tokens.

Tokens are ids, so nothing depends on a language's idea of a word. A metric that needs more tokens
than the text has is NaN, never 0: "no pair of tokens" is not "no diversity". High diversity is not
a merit by itself, since random tokens are the most diverse. Read it together with the likelihood.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields

import numpy as np

BLEU_ORDER = 4
_NO_MATCH = 0.1  # the count used in place of 0 matching n-grams
_LOOP_ROUNDS = 3
_LOOP_TOKENS = 12


def ngrams(token_ids: Sequence[Hashable], n: int) -> list[tuple[Hashable, ...]]:
    """Return all runs of `n` neighbouring tokens, in order, with repeats.

    Raises:
        ValueError: `n` is below 1.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}; use 1 for single tokens.")
    return list(zip(*(token_ids[place:] for place in range(n)), strict=False))


def distinct_n(texts: Sequence[Sequence[Hashable]], n: int) -> float:
    """Return distinct n-grams / all n-grams of the texts together: above 0, up to 1 (no repeats).

    Li et al. 2016 (arXiv:1510.03055). The share falls as the number of tokens grows, so
    compare only sets of about equal size.

    Args:
        texts: token ids of each text; ``[token_ids]`` for a single one. No n-gram spans two texts.
        n: length of the n-grams, usually 1, 2 or 3.
    """
    found = [ngram for token_ids in texts for ngram in ngrams(token_ids, n)]
    return len(set(found)) / len(found) if found else math.nan


def seq_rep_n(token_ids: Sequence[Hashable], n: int = 4) -> float:
    """Return the share of n-grams that repeat an earlier one: 0 (none) to almost 1 (a loop).

    1 - distinct / all, usually with n = 4: Welleck et al. 2019 (arXiv:1908.04319), seq-rep-n.
    """
    return 1.0 - distinct_n([token_ids], n)


def sequence_logprob(logprobs: Sequence[float]) -> float:
    """Return the log-probability of a whole text, the sum over its tokens, in nats.

    Args:
        logprobs: log-probability of each token given those before it, under the model itself
            (temperature 1, no samplers). Longer texts are less likely, so compare only texts of
            equal length.
    """
    return float(np.sum(np.asarray(logprobs, np.float64)))


def mean_logprob(logprobs: Sequence[float]) -> float:
    """Return the mean log-probability of a token in nats: minus the text's cross-entropy."""
    return _mean(logprobs)


def perplexity(logprobs: Sequence[float]) -> float:
    """Return exp(-mean log-probability): the number of equally likely choices per token.

    Jelinek et al. 1977. At least 1; `math.inf` for a text that the model rules out.
    """
    mean = _mean(logprobs)
    return math.inf if mean < -700 else math.exp(-mean)


def mean_entropy(entropies_bits: Sequence[float]) -> float:
    """Return the mean entropy, in bits, of the distributions that a text's tokens came from."""
    return _mean(entropies_bits)


def _mean(values: Sequence[float]) -> float:
    values = np.asarray(values, np.float64)
    return float(values.mean()) if values.size else math.nan


@dataclass(frozen=True)
class Loop:
    """The end of a text that repeats one stretch over and over.

    Attributes:
        period: number of tokens in the stretch.
        start: index of the first token of its first round.
        rounds: how often it occurs. The last round may be partial: 3.5 is three and a half rounds.
    """

    period: int
    start: int
    rounds: float


def find_loop(
    token_ids: Sequence[Hashable], *, rounds: int = _LOOP_ROUNDS, tokens: int = _LOOP_TOKENS
) -> Loop | None:
    """Return the loop in which a text ends, or None.

    Greedy and beam texts fall into such loops, and each round makes the next more likely (Holtzman
    et al. 2019, arXiv:1904.09751, figure 4). If there are several, the shortest stretch counts.

    Args:
        token_ids: the text.
        rounds: how often the stretch must occur in full, at least 2.
        tokens: minimum number of tokens in the loop, so that "ha ha ha" does not count as one.

    Raises:
        ValueError: `rounds` is below 2.
    """
    if rounds < 2:
        raise ValueError(f"rounds must be at least 2, got {rounds}; one round repeats nothing.")
    length = len(token_ids)
    for period in range(1, length // rounds + 1):
        start = length - period
        while start > 0 and token_ids[start - 1] == token_ids[start - 1 + period]:
            start -= 1
        held = length - start
        if held >= max(rounds * period, tokens):
            return Loop(period, start, held / period)
    return None


def self_bleu(texts: Sequence[Sequence[Hashable]], order: int = BLEU_ORDER) -> float:
    """Return how alike texts are: the mean BLEU of each against the others, 0 to 1 (identical).

    Zhu et al. 2018 (Texygen, arXiv:1802.01886). BLEU is the geometric mean of the clipped n-gram
    precisions for n = 1 to `order`, times a brevity penalty (Papineni et al. 2002). A text pays it
    for being shorter than the other text closest in length. An n without a match counts as 0.1
    matches (Chen and Cherry 2014, smoothing 1, as in Texygen). An n that a text is too short for is
    left out. NaN for fewer than two texts. A text without tokens scores 0, as unlike the others as
    possible.
    """
    if len(texts) < 2:
        return math.nan
    lengths = [len(text) for text in texts]
    log_precisions: list[list[float]] = [[] for _ in texts]
    for n in range(1, order + 1):
        counts = [Counter(ngrams(text, n)) for text in texts]
        for place, precision in enumerate(_precisions(counts)):
            if precision is not None:
                log_precisions[place].append(math.log(precision))
    scores = []
    for place, length in enumerate(lengths):
        if not length:
            scores.append(0.0)
            continue
        others = lengths[:place] + lengths[place + 1 :]
        nearest = min(others, key=lambda other: (abs(other - length), other))
        brevity = min(0.0, 1.0 - nearest / length)
        scores.append(math.exp(brevity + float(np.mean(log_precisions[place]))))
    return float(np.mean(scores))


def _precisions(counts: list[Counter]) -> list[float | None]:
    """Return the clipped n-gram precision of each text against all others; None without n-grams."""
    # The highest count of an n-gram in any text, and the highest in any other text.
    most: dict[Hashable, tuple[int, int]] = {}
    for count in counts:
        for ngram, number in count.items():
            first, second = most.get(ngram, (0, 0))
            most[ngram] = (number, first) if number > first else (first, max(second, number))
    precisions: list[float | None] = []
    for count in counts:
        if not count:
            precisions.append(None)
            continue
        matches = 0
        for ngram, number in count.items():
            first, second = most[ngram]
            matches += min(number, second if number == first else first)
        precisions.append((matches or _NO_MATCH) / count.total())
    return precisions


@dataclass(frozen=True)
class TextMetrics:
    """Metrics of one text; an end-of-text token counts as a token.

    Attributes:
        length: number of generated tokens.
        distinct_1, distinct_2, distinct_3: see `distinct_n`, for this text alone.
        seq_rep_4: see `seq_rep_n`.
        loop_tokens: tokens of the loop it ended in (`find_loop`), 0 without one.
        logprob: see `sequence_logprob`, in nats.
        mean_logprob: per token, in nats.
        perplexity: see `perplexity`.
        model_entropy_bits: mean entropy of the model's own distributions, in bits.
        final_entropy_bits: mean entropy of the distributions drawn from, in bits.
    """

    length: int
    distinct_1: float
    distinct_2: float
    distinct_3: float
    seq_rep_4: float
    loop_tokens: int
    logprob: float
    mean_logprob: float
    perplexity: float
    model_entropy_bits: float
    final_entropy_bits: float


def text_metrics(records: np.ndarray) -> TextMetrics:
    """Compute a text's metrics from its records (`engine.decoding.batch.STEP_RECORD`)."""
    token_ids = records["token_id"].tolist()
    logprobs = records["logprob"]
    loop = find_loop(token_ids)
    return TextMetrics(
        length=len(token_ids),
        distinct_1=distinct_n([token_ids], 1),
        distinct_2=distinct_n([token_ids], 2),
        distinct_3=distinct_n([token_ids], 3),
        seq_rep_4=seq_rep_n(token_ids, 4),
        loop_tokens=len(token_ids) - loop.start if loop else 0,
        logprob=sequence_logprob(logprobs),
        mean_logprob=mean_logprob(logprobs),
        perplexity=perplexity(logprobs),
        model_entropy_bits=mean_entropy(records["model_entropy_bits"]),
        final_entropy_bits=mean_entropy(records["final_entropy_bits"]),
    )


@dataclass(frozen=True)
class Spread:
    """A metric over several texts, leaving out those for which it is NaN.

    Attributes:
        mean: NaN without texts.
        sd: standard deviation of the sample (divided by count - 1); NaN for fewer than two texts.
        lowest, highest: NaN without texts.
        count: number of texts that count.
    """

    mean: float
    sd: float
    lowest: float
    highest: float
    count: int


def spread(values: Sequence[float]) -> Spread:
    """Return the mean and the spread of values, leaving out NaN."""
    values = np.asarray(values, np.float64)
    values = values[~np.isnan(values)]
    if not values.size:
        return Spread(math.nan, math.nan, math.nan, math.nan, 0)
    if not np.isfinite(values).all():  # an infinite perplexity has a mean, but no deviation
        sd = math.nan
    else:
        sd = float(values.std(ddof=1)) if values.size > 1 else math.nan
    return Spread(
        float(values.mean()), sd, float(values.min()), float(values.max()), int(values.size)
    )


@dataclass(frozen=True)
class Summary:
    """Metrics of several texts from one prompt and one setting.

    Attributes:
        count: number of texts.
        metrics: the spread of every field of `TextMetrics`, by its name.
        distinct_1, distinct_2, distinct_3: of all texts together; similar texts lower them.
        self_bleu: how alike the texts are; NaN for fewer than two.
        looped: share of the texts that ended in a loop, NaN without texts.
    """

    count: int
    metrics: dict[str, Spread]
    distinct_1: float
    distinct_2: float
    distinct_3: float
    self_bleu: float
    looped: float


FIELDS = fields(TextMetrics)
METRICS = tuple(item.name for item in FIELDS)


def summary(texts: Sequence[Sequence[int]], metrics: Sequence[TextMetrics]) -> Summary:
    """Summarise several texts from one prompt and one setting.

    Args:
        texts: token ids of each.
        metrics: of each text, in the same order.

    Raises:
        ValueError: `metrics` does not have one entry per text.
    """
    if len(metrics) != len(texts):
        raise ValueError(f"There are {len(texts)} texts and metrics of {len(metrics)}; give both.")
    return Summary(
        count=len(texts),
        metrics={name: spread([getattr(item, name) for item in metrics]) for name in METRICS},
        distinct_1=distinct_n(texts, 1),
        distinct_2=distinct_n(texts, 2),
        distinct_3=distinct_n(texts, 3),
        self_bleu=self_bleu(texts),
        looped=_mean([item.loop_tokens > 0 for item in metrics]),
    )


def pareto_front(values: np.ndarray) -> np.ndarray:
    """Mark the points on the Pareto front, those that no other point dominates.

    A point dominates another if it is as good in every column and better in one. Take diversity
    against likelihood: a point off the front gives up one and gains nothing in the other. Equal
    points are on it together. A point with a NaN is never on it, and dominates none.

    Args:
        values: (points, columns) figures, larger is better; negate those that should be small.

    Returns:
        (points,) bool.
    """
    values = np.asarray(values, np.float64)
    known = ~np.isnan(values).any(axis=1)
    front = known.copy()
    for place in np.flatnonzero(known):
        as_good = (values[known] >= values[place]).all(axis=1)
        front[place] = not (values[known][as_good] > values[place]).any()
    return front
