"""Slow twins of the stages: their definitions in plain Python, over sorted lists of all tokens.

They follow the papers and the sources named in each stage, without the engine's ranking. An edit's
twin returns new scores, a cut's twin the set of kept ids.
"""

import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from engine.sampling import samplers as st
from engine.sampling.samplers import Context
from tests.engine.grammar.audited import as_many
from tests.engine.grammar.language import Trie, alt, chars, read, rule, seq, star, text, times
from tests.engine.grammar.language import ends as may_stop
from tests.engine.grammar.tokens import words_of_abc

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


def logit_bias(stage: st.LogitBias, scores: Scores, context: Context) -> Scores:
    added = dict(stage.bias)
    return [z + added.get(i, 0.0) for i, z in enumerate(scores)]


def repetition_penalty(stage: st.RepetitionPenalty, scores: Scores, context: Context) -> Scores:
    seen, penalty = set(context.token_ids.tolist()), stage.penalty
    return [
        z if i not in seen else z * penalty if z < 0 else z / penalty for i, z in enumerate(scores)
    ]


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


def no_repeat_ngram(stage: st.NoRepeatNGram, scores: Scores, context: Context) -> Scores:
    """Follow transformers before 5: a dictionary of every n-gram so far, by its beginning."""
    ids, n = context.token_ids.tolist(), stage.n
    followers: dict[tuple[int, ...], set[int]] = {}
    for place in range(len(ids) - n + 1):
        gram = tuple(ids[place : place + n])
        followers.setdefault(gram[:-1], set()).add(gram[-1])
    last = tuple(ids[len(ids) - n + 1 :]) if len(ids) >= n else None
    banned = followers.get(last, set())
    return [OUT if i in banned else z for i, z in enumerate(scores)]


def banned(stage: st.Banned, scores: Scores, context: Context) -> Scores:
    ids = context.token_ids.tolist()
    gone = set()
    for *beginning, last in stage.sequences:
        if beginning:
            if len(beginning) <= len(ids) and ids[len(ids) - len(beginning) :] == beginning:
                gone.add(last)
        elif last not in context.eos_ids:
            gone.add(last)
    return [OUT if i in gone else z for i, z in enumerate(scores)]


def min_new_tokens(stage: st.MinNewTokens, scores: Scores, context: Context) -> Scores:
    is_early = len(context.token_ids) - context.prompt_length < stage.n
    return [OUT if is_early and i in context.eos_ids else z for i, z in enumerate(scores)]


# The languages of the constraints in random settings.
_LETTER = chars("abc")
LANGUAGES = {
    st.Constraint("regex", "[abc]*"): star(_LETTER),
    st.Constraint("regex", "a[bc]{0,5}"): seq(text("a"), times(chars("bc"), 0, 5)),
    st.Constraint("choices", ["abc", "acab", "b"]): alt(text("abc"), text("acab"), text("b")),
    st.Constraint("lark", 'start: "a" start? "b"'): rule(as_many),
}


@lru_cache(maxsize=16)
def _trie(size: int, ends: tuple[int, ...]) -> Trie:
    return Trie.of(words_of_abc(size), frozenset(ends))


def constraint(stage: st.Constraint, scores: Scores, context: Context) -> Scores:
    left = context.states.get("constraint")
    ids = context.token_ids.tolist()
    own = left is not None and left.digest == stage.initial_state().digest
    ids = ids[len(ids) - left.tokens :] if own else []
    words = words_of_abc(len(scores))
    ends = [i for i in ids if i in context.eos_ids]
    state = read(LANGUAGES[stage], b"".join(words[i] for i in ids if i not in context.eos_ids))
    may_end = may_stop(state)
    if ends:  # only the end may follow the end
        state = frozenset()
        may_end = may_end and len(set(ids[ids.index(ends[0]) :]) - set(context.eos_ids)) == 0
    allowed = _trie(len(scores), tuple(context.eos_ids)).allowed(state, len(scores))
    if not state:
        allowed[:] = False
    allowed[[i for i in context.eos_ids if i < len(scores)]] = may_end
    return [z if stays else OUT for z, stays in zip(scores, allowed, strict=True)]


def temperature(stage: st.Temperature, scores: Scores, context: Context) -> Scores:
    if stage.temperature == 0:
        best = ranked(scores)[0]
        return [z if i == best else OUT for i, z in enumerate(scores)]
    return [z / stage.temperature for z in scores]


def dynamic_temperature(stage: st.DynamicTemperature, scores: Scores, context: Context) -> Scores:
    ids = ranked(scores)
    if len(ids) == 1:
        return list(scores)
    share = entropy(probabilities(scores, ids)) / math.log(len(ids))
    by = stage.low + (stage.high - stage.low) * max(0.0, share) ** stage.exponent
    return [z / max(by, 1e-6) for z in scores]


# --- Cuts -----------------------------------------------------------------------------------------


def top_h(stage: st.TopH, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)[:100]
    terms = [-p * math.log(p) if p > 0 else 0.0 for p in probabilities(scores, ids)]
    bound = stage.h * math.fsum(terms)
    kept = {ids[0]}
    for place, i in enumerate(ids):
        if math.fsum(terms[: place + 1]) > bound:
            break
        kept.add(i)
    return kept


def top_k(stage: st.TopK, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    last = scores[ids[min(stage.k, len(ids)) - 1]]
    return {i for i in ids if scores[i] >= last}


def top_p(stage: st.TopP, scores: Scores, context: Context) -> set[int]:
    ids, kept, held = ranked(scores), set(), 0.0
    for i, p in zip(ids, probabilities(scores, ids), strict=True):
        if held >= stage.p:
            break
        kept.add(i)
        held += p
    return kept if stage.p < 1 else set(ids)


def min_p(stage: st.MinP, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    probs = probabilities(scores, ids)
    return {i for i, p in zip(ids, probs, strict=True) if p >= stage.ratio * probs[0]}


def typical_p(stage: st.TypicalP, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    probs = probabilities(scores, ids)
    mean = entropy(probs)
    total = math.log(math.fsum(math.exp(scores[i] - scores[ids[0]]) for i in ids))
    distance = {i: abs(total - (scores[i] - scores[ids[0]]) - mean) for i in ids}
    share = dict(zip(ids, probs, strict=True))
    held, farthest = 0.0, 0.0
    for i in sorted(ids, key=distance.get):
        if held >= stage.p:
            break
        held += share[i]
        farthest = distance[i]
    return {i for i in ids if distance[i] <= farthest} if stage.p < 1 else set(ids)


def _from_prob(ids: list[int], probs: list[float], least: float) -> set[int]:
    kept = {i for i, p in zip(ids, probs, strict=True) if p >= least}
    return kept or {i for i, p in zip(ids, probs, strict=True) if p == probs[0]}


def epsilon_cutoff(stage: st.EpsilonCutoff, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    return _from_prob(ids, probabilities(scores, ids), stage.epsilon)


def eta_cutoff(stage: st.EtaCutoff, scores: Scores, context: Context) -> set[int]:
    ids = ranked(scores)
    probs = probabilities(scores, ids)
    eta = min(stage.epsilon, math.sqrt(stage.epsilon) * math.exp(-entropy(probs)))
    return _from_prob(ids, probs, eta)


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
    twin.__name__: twin
    for twin in (
        *(logit_bias, repetition_penalty, presence_penalty, frequency_penalty, dry),
        *(no_repeat_ngram, banned, min_new_tokens, constraint, temperature, dynamic_temperature),
    )
}
CUTS: dict[str, Callable[..., set[int]]] = {
    twin.__name__: twin
    for twin in (
        *(top_h, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff, p_less),
        top_n_sigma,
        *(tail_free, xtc, mirostat),
    )
}
