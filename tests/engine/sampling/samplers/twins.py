"""Slow twins of the stages that transformers lacks: plain Python over sorted lists of all tokens.

The constraint has none: `tests/engine/grammar/test_masks.py` checks every token of its masks.

They follow the papers and the sources named in each stage, without the engine's ranking. An edit's
twin returns new scores, a cut's twin the set of kept ids.
"""

import math
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from engine.sampling import samplers as st
from engine.sampling.samplers import Context

Scores = list[float]
OUT = -math.inf


def ranked(scores: Scores) -> list[int]:
    """Ids of the remaining tokens, best first, lower ids first among equals."""
    return sorted((i for i, z in enumerate(scores) if z > OUT), key=lambda i: (-scores[i], i))


def probabilities(scores: Scores, ids: list[int]) -> list[float]:
    """Softmax over these tokens."""
    highest = max(scores[i] for i in ids)
    weights = [math.exp(scores[i] - highest) for i in ids]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def entropy(probs: list[float]) -> float:
    """Entropy in nats."""
    return -math.fsum(p * math.log(p) for p in probs if p > 0)


# --- Edits ----------------------------------------------------------------------------------------


def presence_penalty(stage: st.PresencePenalty, scores: Scores, context: Context) -> Scores:
    said = set(context.token_ids.tolist()[context.prompt_length :])
    return [z - stage.penalty if i in said else z for i, z in enumerate(scores)]


def frequency_penalty(stage: st.FrequencyPenalty, scores: Scores, context: Context) -> Scores:
    said = Counter(context.token_ids.tolist()[context.prompt_length :])
    return [z - stage.penalty * said[i] for i, z in enumerate(scores)]


def dry(stage: st.Dry, scores: Scores, context: Context) -> Scores:
    """Follow p-e-w: from each earlier place of the last token, walk back while both sides agree."""
    ids = context.token_ids.tolist()
    if stage.last_n != -1:
        ids = ids[-stage.last_n :]
    if not ids or ids[-1] in stage.breakers:
        return list(scores)
    lengths: dict[int, int] = {}
    for place, token in enumerate(ids[:-1]):
        follower = ids[place + 1]
        if token != ids[-1] or follower in stage.breakers:
            continue
        length = 1
        while length <= place:
            token = ids[-1 - length]
            if ids[place - length] != token or token in stage.breakers:
                break
            length += 1
        lengths[follower] = max(length, lengths.get(follower, 0))
    edited = list(scores)
    for token, length in lengths.items():
        if length >= stage.allowed_length and token < len(scores) and stage.multiplier:
            bits = math.log2(stage.multiplier)
            bits += math.log2(stage.base) * (length - stage.allowed_length)
            edited[token] -= min(1e30, 2.0 ** min(bits, 1000.0))
    return edited


def dynamic_temperature(stage: st.DynamicTemperature, scores: Scores, context: Context) -> Scores:
    ids = ranked(scores)
    if len(ids) == 1:
        return list(scores)
    share = entropy(probabilities(scores, ids)) / math.log(len(ids))
    by = stage.low + (stage.high - stage.low) * max(0.0, share) ** stage.exponent
    return [z / max(by, 1e-6) for z in scores]


# --- Cuts -----------------------------------------------------------------------------------------


def p_less(stage: st.PLess, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    probs = probabilities(scores, ids)
    collision = math.fsum(p * p for p in probs)
    return {i for i, p in zip(ids, probs, strict=True) if p >= collision}


def top_n_sigma(stage: st.TopNSigma, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    mean = math.fsum(scores[i] for i in ids) / len(ids)
    sigma = math.sqrt(math.fsum((scores[i] - mean) ** 2 for i in ids) / len(ids))
    return {i for i in ids if scores[i] >= scores[ids[0]] - stage.n * sigma}


def tail_free(stage: st.TailFree, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    probs = probabilities(scores, ids) + [0.0] * (len(scores) - len(ids))
    falls = [a - b for a, b in pairwise(probs)]
    bends = [abs(a - b) for a, b in pairwise(falls)]
    total = math.fsum(bends)
    if stage.z == 1 or len(probs) <= 2 or total <= 1e-6 * probs[0]:
        return set(ids)
    running = 0.0
    for place, bend in enumerate(bends):
        running += bend
        if running / total > stage.z:
            return set(ids[: place + 1])
    return set(ids)


def xtc(stage: st.Xtc, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    if context.uniform(1) >= stage.probability or stage.threshold > 0.5:
        return set(ids)
    probs = probabilities(scores, ids)
    top = [i for i, p in zip(ids, probs, strict=True) if p >= stage.threshold]
    removed = set(top[:-1])
    is_spared = removed & {*context.eos_ids, *context.line_break_ids}
    return set(ids) if is_spared else set(ids) - removed


def mirostat(stage: st.Mirostat, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    left = context.states.get("mirostat")
    mu = left.mu if left is not None and left.tau == stage.tau else 2 * stage.tau
    probs = probabilities(scores, ids)
    kept = {i for i, p in zip(ids, probs, strict=True) if p > 0 and -math.log2(p) <= mu}
    return kept or {ids[0]}


EDITS: dict[str, Callable[..., Scores]] = {
    twin.__name__: twin for twin in (presence_penalty, frequency_penalty, dry, dynamic_temperature)
}
CUTS: dict[str, Callable[..., set[int]]] = {
    twin.__name__: twin for twin in (p_less, top_n_sigma, tail_free, xtc, mirostat)
}
