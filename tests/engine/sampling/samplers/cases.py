"""Hand-computed cases of the stages on four tokens: stage, context, probabilities before and after.

Most start from the probabilities .1, .2, .3, .4 of the tokens 0, 1, 2, 3.
"""

import math
from typing import NamedTuple

import numpy as np

from engine.sampling.samplers import (
    Banned,
    Constraint,
    ConstraintState,
    Context,
    Dry,
    DynamicTemperature,
    EpsilonCutoff,
    EtaCutoff,
    FrequencyPenalty,
    LogitBias,
    MinNewTokens,
    MinP,
    Mirostat,
    MirostatState,
    NoRepeatNGram,
    PLess,
    PresencePenalty,
    RepetitionPenalty,
    Stage,
    TailFree,
    Temperature,
    TopH,
    TopK,
    TopNSigma,
    TopP,
    TypicalP,
    Xtc,
)
from tests.engine.grammar.tokens import places_over

RISING = (0.1, 0.2, 0.3, 0.4)
HALVING = (1 / 2, 1 / 4, 1 / 8, 1 / 8)  # 1, 2, 3 and 3 bits of surprise; 1.75 bits of entropy
EQUAL = (0.25,) * 4
BENT = (0.5, 0.25, 0.15, 0.1)
LN2 = math.log(2)
# The bytes of the four tokens, for constraints.
LETTERS = places_over((b"a", b"b", b"ab", b""), ends=(3,))
ENDLESS = places_over((b"a", b"b", b"ab", b"c"))
AB_OR_B = Constraint("choices", ["ab", "b"])
AS_MANY = Constraint("lark", 'start: "a" start? "b"')


class Case(NamedTuple):
    """A stage applied to four tokens."""

    stage: Stage
    before: tuple[float, ...]
    after: tuple[float, ...]
    context: Context = Context(np.empty(0, np.int64))


def said(
    *token_ids: int,
    prompt: int = 0,
    u: float = 0.0,
    mirostat: tuple[float, float] | None = None,
    held: Constraint | None = None,
    **more: object,
) -> Context:
    """A context with these tokens so far, of which the first `prompt` are given.

    `u` is the step's number in every stage's random stream. `mirostat` is the tau and mu that the
    previous step left. `held` is a constraint that has held for all tokens after the prompt.
    """
    states = {} if mirostat is None else {"mirostat": MirostatState(*mirostat)}
    if held is not None:
        before = held.initial_state()
        states["constraint"] = ConstraintState(before.digest, len(token_ids) - prompt)
    ids = np.array(token_ids, np.int64)
    return Context(ids, prompt, states=states, uniform=lambda stream: u, **more)


def parts(*shares: float) -> tuple[float, ...]:
    """Shares scaled to probabilities."""
    return tuple(share / sum(shares) for share in shares)


def dry(allowed_length: int, **more: object) -> Dry:
    """A DRY stage that halves the odds at the allowed length, and squares that per extra token."""
    return Dry(LN2, 2, allowed_length, **more)


CASES = [
    # logit_bias: ln 4 multiplies a token's odds by four
    Case(LogitBias({0: math.log(4)}), RISING, parts(4, 2, 3, 4)),
    Case(LogitBias({2: 0}), RISING, RISING),
    Case(LogitBias({1: 50}), (0.5, 0, 0.5, 0), (0.5, 0, 0.5, 0)),  # a removed token stays out
    # repetition_penalty: ln p is below 0, so twice it, p squared; half of it, the square root
    Case(RepetitionPenalty(2), RISING, parts(1, 2, 3, 1.6), said(3, 3, 900)),
    Case(RepetitionPenalty(0.5), (0.04, 0.16, 0.16, 0.64), parts(5, 4, 4, 16), said(0)),
    Case(RepetitionPenalty(2), RISING, RISING, said()),
    # presence_penalty: ln 2 halves generated tokens once, however often they occurred
    Case(PresencePenalty(LN2), RISING, parts(1, 2, 3, 2), said(3, 3)),
    Case(PresencePenalty(LN2), RISING, parts(0.5, 2, 3, 4), said(3, 0, prompt=1)),
    Case(PresencePenalty(-LN2), RISING, parts(2, 2, 3, 4), said(0)),
    Case(PresencePenalty(LN2), RISING, RISING, said(0, 1, 2, 3, prompt=4)),
    Case(PresencePenalty(LN2), RISING, RISING, said(4, 900)),  # ids without an output
    # frequency_penalty: ln 2 halves them once per occurrence
    Case(FrequencyPenalty(LN2), RISING, parts(0.5, 2, 3, 1), said(3, 0, 3)),
    Case(FrequencyPenalty(LN2), RISING, parts(1, 1, 3, 4), said(3, 3, 1, prompt=2)),
    Case(FrequencyPenalty(-LN2), RISING, parts(4, 2, 3, 4), said(0, 0)),
    # dry: 0 was followed by 1 before, so 1 would make it a repetition of one token, halved
    Case(dry(1), RISING, parts(1, 1, 3, 4), said(0, 1, 0)),
    Case(dry(1), RISING, parts(0.5, 2, 3, 4), said(0, 0)),
    # "0 1" was followed by 2: one token longer than allowed, ln 2 * 2 ** 1 makes it a quarter
    Case(dry(1), RISING, parts(1, 2, 0.75, 4), said(0, 1, 2, 0, 1)),
    Case(dry(2), RISING, parts(1, 2, 1.5, 4), said(0, 1, 2, 0, 1)),
    Case(dry(3), RISING, RISING, said(0, 1, 2, 0, 1)),
    Case(dry(2, breakers=(0,)), RISING, RISING, said(0, 1, 2, 0, 1)),  # leaves "1", too short
    Case(dry(2, breakers=(2,)), RISING, RISING, said(0, 1, 2, 0, 1)),  # breakers are not lowered
    Case(dry(2, breakers=(1,)), RISING, RISING, said(0, 1, 2, 0, 1)),  # the context ends in one
    Case(dry(2, last_n=3), RISING, RISING, said(0, 1, 2, 0, 1)),  # looks only at 2 0 1
    Case(dry(2), RISING, parts(1, 1, 3, 4), said(1, 1, 1)),  # "1 1" before the last, overlapping
    Case(dry(1), RISING, parts(1, 1, 0.75, 4), said(0, 1, 3, 0, 2, 3, 0)),  # "0" and "3 0"
    Case(Dry(0.0, 2, 1), RISING, RISING, said(0, 1, 0)),
    # no_repeat_ngram
    Case(NoRepeatNGram(1), RISING, parts(0, 2, 3, 0), said(3, 0)),
    Case(NoRepeatNGram(2), RISING, parts(1, 2, 0, 4), said(3, 2, 3)),  # "3 2" occurred before
    Case(NoRepeatNGram(3), RISING, parts(1, 2, 0, 4), said(0, 1, 2, 0, 1)),
    Case(NoRepeatNGram(3), RISING, RISING, said(0, 1)),
    Case(NoRepeatNGram(2), RISING, RISING, said(0, 9, 0)),  # 9 has no output
    # banned: single tokens always, the end of a longer sequence if the rest comes just before
    Case(Banned([[3]]), RISING, parts(1, 2, 3, 0)),
    Case(Banned([0, [1, 2]]), RISING, parts(0, 2, 0, 4), said(3, 1)),
    Case(Banned([[1, 2]]), RISING, RISING, said(1, 3)),
    Case(Banned([[0, 1, 2]]), RISING, parts(1, 2, 0, 4), said(3, 0, 1)),
    Case(Banned([[0, 1, 2]]), RISING, RISING, said(1)),
    Case(Banned([3, [0, 3]]), RISING, RISING, said(1, eos_ids=(3,))),  # the end alone: allowed
    Case(Banned([3, [0, 3]]), RISING, parts(1, 2, 3, 0), said(0, eos_ids=(3,))),
    # min_new_tokens
    Case(MinNewTokens(2), RISING, parts(1, 2, 3, 0), said(0, 1, prompt=1, eos_ids=(3,))),
    Case(MinNewTokens(2), RISING, RISING, said(0, 1, 2, prompt=1, eos_ids=(3,))),
    Case(MinNewTokens(2), RISING, parts(1, 2, 0, 0), said(0, prompt=1, eos_ids=(3, 2, 7))),
    Case(MinNewTokens(2), RISING, RISING, said(0, prompt=1)),
    # constraint: the tokens a, b, ab and the end
    Case(AB_OR_B, RISING, parts(1, 2, 3, 0), said(places=LETTERS)),
    Case(AB_OR_B, RISING, (0, 1, 0, 0), said(0, held=AB_OR_B, places=LETTERS)),
    Case(AB_OR_B, RISING, (0, 0, 0, 1), said(1, held=AB_OR_B, places=LETTERS)),
    Case(AB_OR_B, RISING, parts(1, 2, 3, 0), said(1, 1, places=LETTERS)),  # off until now
    Case(AB_OR_B, RISING, (0, 1, 0, 0), said(1, 0, prompt=1, held=AB_OR_B, places=LETTERS)),
    Case(AB_OR_B, RISING, parts(1, 2, 3, 0), said(0, held=AS_MANY, places=LETTERS)),  # a new one
    Case(AS_MANY, RISING, parts(1, 0, 3, 0), said(places=LETTERS)),
    Case(AS_MANY, RISING, parts(1, 2, 3, 0), said(0, held=AS_MANY, places=LETTERS)),
    Case(AS_MANY, RISING, (0, 1, 0, 0), said(0, 2, held=AS_MANY, places=LETTERS)),
    Case(Constraint("regex", "b*"), RISING, parts(0, 2, 0, 4), said(places=LETTERS)),
    Case(Constraint("regex", "[abc]+"), RISING, RISING, said(places=ENDLESS)),
    # temperature: p ** (1 / T), renormalised; 0 keeps the best token, the lower id of equals
    Case(Temperature(1), RISING, RISING),
    Case(Temperature(0.5), RISING, parts(1, 4, 9, 16)),
    Case(Temperature(2), (0.04, 0.16, 0.16, 0.64), parts(1, 2, 2, 4)),
    Case(Temperature(0.5), (0, 0.2, 0.4, 0.4), parts(0, 1, 4, 4)),
    Case(Temperature(100), (0, 0, 0, 1), (0, 0, 0, 1)),
    Case(Temperature(0), RISING, (0, 0, 0, 1)),
    Case(Temperature(0), (0.1, 0.4, 0.4, 0.1), (0, 1, 0, 0)),
    # dynamic_temperature: entropy 1.75 of at most 2 bits is 7/8 of the way
    Case(DynamicTemperature(0.5, 0.5), RISING, parts(1, 4, 9, 16)),
    Case(DynamicTemperature(0, 8 / 7), HALVING, HALVING),  # 0 + 8/7 * 7/8 = 1
    Case(DynamicTemperature(0, 4 / 7), HALVING, parts(16, 4, 1, 1)),  # T = 1/2 squares
    Case(DynamicTemperature(0, 32 / 49, 2), HALVING, parts(16, 4, 1, 1)),  # (7/8) ** 2 = 49/64
    Case(DynamicTemperature(0.125, 0.125 + 3 / 7), HALVING, parts(16, 4, 1, 1)),
    Case(DynamicTemperature(0, 2), (0, 0.5, 0.5, 0), (0, 0.5, 0.5, 0)),
    Case(DynamicTemperature(0, 2), (0, 0, 0, 1), (0, 0, 0, 1)),
    # top_k: the k best, with every token equal to the k-th
    Case(TopK(1), RISING, (0, 0, 0, 1)),
    Case(TopK(2), (0.4, 0.1, 0.2, 0.3), parts(4, 0, 0, 3)),
    Case(TopK(4), RISING, RISING),
    Case(TopK(1), (0.3, 0.3, 0.3, 0.1), parts(1, 1, 1, 0)),
    Case(TopK(2), (0.4, 0.2, 0.2, 0.2), (0.4, 0.2, 0.2, 0.2)),
    Case(TopK(1), (0, 0.5, 0.5, 0), (0, 0.5, 0.5, 0)),
    Case(TopK(3), (0, 0.5, 0.5, 0), (0, 0.5, 0.5, 0)),
    # top_p: the token that crosses p stays
    Case(TopP(1e-9), RISING, (0, 0, 0, 1)),
    Case(TopP(0.39), RISING, (0, 0, 0, 1)),
    Case(TopP(0.41), RISING, parts(0, 0, 3, 4)),
    Case(TopP(0.71), RISING, parts(0, 2, 3, 4)),
    Case(TopP(0.91), RISING, RISING),
    Case(TopP(1), RISING, RISING),
    Case(TopP(0.75), (0.4, 0.1, 0.2, 0.3), parts(4, 0, 2, 3)),
    Case(TopP(0.5), EQUAL, (0.5, 0.5, 0, 0)),  # reached exactly; the lower ids of equals
    Case(TopP(0.51), EQUAL, parts(1, 1, 1, 0)),
    Case(TopP(0.7), (0, 0, 0.2, 0.8), (0, 0, 0, 1)),
    # min_p: at least this share of the best one's probability
    Case(MinP(0), RISING, RISING),
    Case(MinP(0.2), RISING, RISING),
    Case(MinP(0.3), RISING, parts(0, 2, 3, 4)),
    Case(MinP(0.8), RISING, (0, 0, 0, 1)),
    Case(MinP(1), (0.1, 0.3, 0.3, 0.3), parts(0, 1, 1, 1)),
    Case(MinP(0.4), (0, 0.2, 0.4, 0.4), (0, 0.2, 0.4, 0.4)),
    # top_h: -p ln p is .367 .361 .322 .230 from the first rank, running shares .286 .569 .820 1
    Case(TopH(0.5), RISING, (0, 0, 0, 1)),
    Case(TopH(0.6), RISING, parts(0, 0, 3, 4)),
    Case(TopH(0.85), RISING, parts(0, 2, 3, 4)),
    Case(TopH(1), RISING, RISING),
    Case(TopH(0.6), EQUAL, (0.5, 0.5, 0, 0)),  # a quarter of the entropy each, lower ids stay
    Case(TopH(0.5), (0, 0, 0, 1), (0, 0, 0, 1)),
    # typical_p: H = 1.280; |-ln p - H| is 1.023 .330 .076 .364, so the order is 2, 1, 3, 0
    Case(TypicalP(0.45), RISING, parts(0, 2, 3, 0)),
    Case(TypicalP(0.85), RISING, parts(0, 2, 3, 4)),
    Case(TypicalP(0.95), RISING, RISING),
    Case(TypicalP(1), RISING, RISING),
    Case(TypicalP(0.1), EQUAL, EQUAL),  # equally typical, so none is removed without the others
    # epsilon_cutoff
    Case(EpsilonCutoff(0.05), RISING, RISING),
    Case(EpsilonCutoff(0.25), RISING, parts(0, 0, 3, 4)),
    Case(EpsilonCutoff(0.5), RISING, (0, 0, 0, 1)),
    Case(EpsilonCutoff(0.5), (0.1, 0.3, 0.3, 0.3), parts(0, 1, 1, 1)),
    # eta_cutoff: exp(-H) = .278
    Case(EtaCutoff(0.25), RISING, parts(0, 2, 3, 4)),  # .5 * .278 = .139 below .25
    Case(EtaCutoff(0.81), RISING, parts(0, 0, 3, 4)),  # .9 * .278 = .250 below .81
    Case(EtaCutoff(0.04), RISING, RISING),  # .04 below .2 * .278 = .056
    Case(EtaCutoff(0.0225), (0.97, 0.01, 0.01, 0.01), (1, 0, 0, 0)),  # sure: H = .168, so .0225
    Case(EtaCutoff(0.9), (0.4, 0.4, 0.1, 0.1), (0.5, 0.5, 0, 0)),  # H = 1.19: .949 * .303 = .288
    # p_less: two draws agree with .01 + .04 + .09 + .16 = .3
    Case(PLess(), RISING, parts(0, 0, 3, 4)),
    Case(PLess(), EQUAL, EQUAL),
    Case(PLess(), (0.1, 0.15, 0.2, 0.55), (0, 0, 0, 1)),  # with .375
    # top_n_sigma: ln p is -2.303 -1.609 -1.204 -.916, sigma .521
    Case(TopNSigma(0.5), RISING, (0, 0, 0, 1)),  # from -1.177
    Case(TopNSigma(1), RISING, parts(0, 0, 3, 4)),  # from -1.437
    Case(TopNSigma(2), RISING, parts(0, 2, 3, 4)),  # from -1.958
    Case(TopNSigma(3), RISING, RISING),  # from -2.478
    Case(TopNSigma(0.1), EQUAL, EQUAL),
    Case(TopNSigma(1), (0, 0, 0.5, 0.5), (0, 0, 0.5, 0.5)),  # removed tokens have no score
    # tail_free: .5 .25 .15 .1 falls by .25 .1 .05, bends by .15 and .05: running .75 and 1
    Case(TailFree(0.7), BENT, (1, 0, 0, 0)),
    Case(TailFree(0.8), BENT, parts(2, 1, 0, 0)),
    Case(TailFree(1), BENT, BENT),
    Case(TailFree(0.4), (0.4, 0.4, 0.1, 0.1), (1, 0, 0, 0)),  # bends .3 and .3; lower id of equals
    Case(TailFree(0.6), (0.4, 0.4, 0.1, 0.1), (0.5, 0.5, 0, 0)),
    Case(TailFree(0.5), RISING, RISING),  # a straight line
    Case(TailFree(0.5), (0, 0, 0.3, 0.7), (0, 0, 0.3, 0.7)),
    # xtc: of the tokens above the threshold, only the least likely stays
    Case(Xtc(0.25, 1), RISING, parts(1, 2, 3, 0)),
    Case(Xtc(0.15, 1), RISING, parts(1, 2, 0, 0)),
    Case(Xtc(0.35, 1), RISING, RISING),  # a single token is not a choice
    Case(Xtc(0.6, 1), RISING, RISING),
    Case(Xtc(0.25, 0.5), RISING, parts(1, 2, 3, 0), said(u=0.499)),
    Case(Xtc(0.25, 0.5), RISING, RISING, said(u=0.5)),
    Case(Xtc(0.25, 0), RISING, RISING, said(u=0.0)),
    Case(Xtc(0.15, 1), RISING, RISING, said(eos_ids=(3,))),
    Case(Xtc(0.15, 1), RISING, RISING, said(line_break_ids=(2,))),
    Case(Xtc(0.15, 1), RISING, parts(1, 2, 0, 0), said(eos_ids=(0,), line_break_ids=(1,))),
    Case(Xtc(0.2, 1), EQUAL, (0, 0, 0, 1)),  # among equals, the highest id is last
    Case(Xtc(1e-9, 1), (0, 0.2, 0.3, 0.5), (0, 1, 0, 0)),
    # mirostat
    Case(Mirostat(5, 0.1), HALVING, (1, 0, 0, 0), said(mirostat=(5, 0.5))),
    Case(Mirostat(5, 0.1), HALVING, (1, 0, 0, 0), said(mirostat=(5, -3.0))),
    Case(Mirostat(5, 0.1), HALVING, parts(2, 1, 0, 0), said(mirostat=(5, 2.1))),
    Case(Mirostat(5, 0.1), HALVING, HALVING, said(mirostat=(5, 3.1))),
    Case(Mirostat(1.05, 0.1), HALVING, parts(2, 1, 0, 0)),  # begins at 2 tau
]
