"""Changes that would admit a removed token: each answer admits it, the value before does not."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from engine.errors import LogitsError, NoCandidatesError, SettingError
from engine.sampling import STAGES, SamplingSettings, shape
from engine.sampling.admission import Admission, admitting_change
from engine.sampling.samplers import (
    NO_CONTEXT,
    Banned,
    Constraint,
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
from tests.engine.grammar.tokens import places_over, words_of_abc

FOUR = np.array([4, 3, 2, 1], np.float32)
FIRST = ("temperature", "top_k", "top_p", "min_p")
OFF_BEYOND = ("top_h", "top_k", "top_n_sigma", "no_repeat_ngram")  # off lies past the slider's end


def survivors(logits, settings: SamplingSettings, context: Context) -> np.ndarray:
    """(vocab,) bool, the remaining tokens."""
    try:
        return shape(logits, settings, context).final_scores > -np.inf
    except NoCandidatesError:
        return np.zeros(logits.size, bool)


def survives(logits, settings: SamplingSettings, context: Context, token_id: int) -> bool:
    return bool(survivors(logits, settings, context)[token_id])


# --- random chains, against every change of one setting -------------------------------------------

VOCAB = 120
CHAINS = 30  # per seed; nine tokens each
RANKS = (1, 2, 3, 4, 6, 9, 14, 31, 91)


class Scene(NamedTuple):
    """A row without ties, a chain, and the samplers that may change."""

    logits: np.ndarray
    settings: SamplingSettings
    context: Context
    order: list[str]
    tried: dict[tuple[str, Stage | None], np.ndarray]  # survivors of each change


def random_stage(name: str, rng: np.random.Generator) -> Stage:
    def one_of(*values):
        return values[rng.integers(len(values))]

    def some_id(below: int = 15) -> int:
        return int(rng.integers(below))

    uniform = rng.uniform
    make = {
        "logit_bias": lambda: LogitBias({some_id(20): round(uniform(-8, 8), 1)}),
        "repetition_penalty": lambda: RepetitionPenalty(uniform(0.8, 2)),
        "presence_penalty": lambda: PresencePenalty(uniform(-2, 2)),
        "frequency_penalty": lambda: FrequencyPenalty(uniform(-2, 2)),
        "dry": lambda: Dry(uniform(0.1, 5), 1.75, one_of(1, 2)),
        "no_repeat_ngram": lambda: NoRepeatNGram(one_of(1, 2, 3)),
        "banned": lambda: Banned([[some_id()], [some_id()], [one_of(3, 4), some_id()]]),
        "min_new_tokens": lambda: MinNewTokens(one_of(1, 4, 20)),
        "constraint": lambda: Constraint("regex", one_of("[abc]+", "a[ab]*", "b.{0,3}c*")),
        "temperature": lambda: Temperature(one_of(0, 0.3, 0.7, 1.3, 1.8)),
        "dynamic_temperature": lambda: DynamicTemperature(
            one_of(0, 0.5), one_of(1, 2), one_of(0.5, 1)
        ),
        "top_h": lambda: TopH(uniform(0.05, 0.9)),
        "top_k": lambda: TopK(one_of(1, 2, 5, 20, 60)),
        "top_p": lambda: TopP(uniform(0.1, 0.95)),
        "min_p": lambda: MinP(uniform(0.01, 0.6)),
        "typical_p": lambda: TypicalP(uniform(0.1, 0.95)),
        "epsilon_cutoff": lambda: EpsilonCutoff(one_of(0.0009, 0.004, 0.02, 0.05)),
        "eta_cutoff": lambda: EtaCutoff(one_of(0.0009, 0.004, 0.02, 0.3)),
        "p_less": PLess,
        "top_n_sigma": lambda: TopNSigma(uniform(0.3, 3)),
        "tail_free": lambda: TailFree(uniform(0.1, 0.95)),
        "xtc": lambda: Xtc(uniform(0.01, 0.3), one_of(0.3, 0.7, 1)),
        "mirostat": lambda: Mirostat(uniform(0.3, 5), 0.1),
    }
    return make[name]()


def random_scene(rng: np.random.Generator) -> tuple[Scene, np.ndarray]:
    """A scene of up to five samplers, half the time in a random order, and the ids by rank."""
    logits = (rng.standard_normal(VOCAB) * rng.uniform(0.5, 3.5)).astype(np.float32)
    ids = np.argsort(-logits)
    names = list(STAGES)
    order = [names[place] for place in rng.permutation(len(names))[: rng.integers(1, 6)]]
    if rng.random() < 0.5:
        order.sort(key=names.index)
    chain = [random_stage(name, rng) for name in order if rng.random() < 0.9]
    u = float(rng.random())
    tau = next((stage.tau for stage in chain if isinstance(stage, Mirostat)), 5.0)
    text = [int(ids[2]), int(ids[0]), 3, 4, 3, 4, 3, int(rng.choice([3, 4]))]
    context = Context(
        np.array(text),
        prompt_length=2,
        eos_ids=(int(ids[1]),),
        states={} if rng.random() < 0.5 else {"mirostat": MirostatState(tau, rng.uniform(-1, 8))},
        uniform=lambda stream: u,
        places=places_over(words_of_abc(VOCAB), (int(ids[1]),)),
    )
    return Scene(logits, SamplingSettings(chain=chain), context, order, {}), ids


class Change(NamedTuple):
    """One setting with a new value; `number` is the value of `field`, or of the only field."""

    name: str
    stage: Stage | None
    field: str | None = None
    number: float | None = None


def all_changes(scene: Scene, token_id: int) -> Iterator[Change]:
    """Yield every position of every slider, each sampler off, each ban of the token lifted."""
    on = {stage.setting: stage for stage in scene.settings.chain}
    for name in scene.order:
        kind = STAGES[name]
        numbers = kind.info.numbers
        if name in on or kind.is_one_number():
            yield Change(name, None, number=off_number(kind))
        if name == "logit_bias":
            others = dict(on[name].bias) if name in on else {}
            for value in numbers[0].positions():
                yield Change(name, LogitBias(others | {token_id: value}), number=value)
        elif name == "top_k":
            for k in range(1, VOCAB):  # k = VOCAB removes nothing, so it is off
                yield Change(name, TopK(k), number=k)
        elif kind.is_one_number():
            for value in numbers[0].positions():
                if not kind.is_off(value):
                    yield Change(name, kind(value), number=value)
        elif name == "banned" and name in on:
            rest = [ids for ids in on[name].sequences if ids[-1] != token_id]
            yield Change(name, Banned(rest) if rest else None)
        elif name in on:
            for number in numbers:
                for value in number.positions():
                    fields = on[name].to_dict() | {number.name: value}
                    if not fields.get("low", 0) > fields.get("high", 0):
                        yield Change(name, kind(**fields), number.name, value)


def off_number(kind: type[Stage]) -> float | None:
    """The value at which a sampler of one number is off."""
    if not kind.is_one_number():
        return None
    return math.inf if kind.setting in OFF_BEYOND else kind.off


def with_change(scene: Scene, change: Change) -> SamplingSettings:
    """The scene's settings with one change."""
    chain = list(scene.settings.chain)
    names = [stage.setting for stage in chain]
    new = [] if change.stage is None else [change.stage]
    if change.name in names:
        place = names.index(change.name)
        chain[place : place + 1] = new
    else:
        later = scene.order[scene.order.index(change.name) + 1 :]
        place = next((i for i, name in enumerate(names) if name in later), len(names))
        chain[place:place] = new
    return SamplingSettings(chain=chain)


def admits(scene: Scene, change: Change, token_id: int) -> bool:
    key = change.name, change.stage
    if key not in scene.tried:
        scene.tried[key] = survivors(scene.logits, with_change(scene, change), scene.context)
    return bool(scene.tried[key][token_id])


def number_of(stage: Stage | None, found: Admission, token_id: int) -> float:
    """The number that an answer changes, as the sampler has it before or after the change."""
    if found.bias is not None:
        return dict(stage.bias if stage else ()).get(token_id, 0.0)
    if found.field is not None:
        return getattr(stage, found.field)
    return off_number(STAGES[found.setting]) if stage is None else stage.value


def check_blocked(scene: Scene, token_id: int, found: Admission) -> None:
    def survives_without(names: list[str]) -> bool:
        chain = [stage for stage in scene.settings.chain if stage.setting not in names]
        return survives(scene.logits, SamplingSettings(chain=chain), scene.context, token_id)

    assert len(found.blocked_by) > 1 and survives_without(list(found.blocked_by))
    for name in found.blocked_by:
        others = [each for each in found.blocked_by if each != name]
        assert not survives_without(others), f"{name} is not needed in {found.blocked_by}"


def check_admitted(scene: Scene, token_id: int, found: Admission) -> None:
    stage = found.settings.stage(found.setting)
    settings = with_change(scene, Change(found.setting, stage))
    assert settings.chain == found.settings.chain, "more than this changed"
    assert survives(scene.logits, settings, scene.context, token_id), "it does not admit the token"
    if found.lifted or (stage is None and not STAGES[found.setting].is_one_number()):
        return
    before = scene.settings.stage(found.setting)
    start, end = (number_of(each, found, token_id) for each in (before, stage))
    passed = [
        change
        for change in all_changes(scene, token_id)
        if (change.name, change.field) == (found.setting, found.field)
        and change.number is not None
        and min(start, end) + 1e-9 < change.number < max(start, end) - 1e-9
    ]
    if passed:
        last = min(passed, key=lambda change: abs(end - change.number))
        assert not admits(scene, last, token_id), f"{last} is nearer than {found}"


@pytest.mark.parametrize("seed", range(2))
def test_admissions_and_blocks_hold_on_random_chains(seed):
    rng = np.random.default_rng([20_261_122, seed])
    removed, named, blocked = 0, Counter(), 0
    for _ in range(CHAINS):
        scene, ids = random_scene(rng)
        for rank in RANKS:
            token_id = int(ids[rank - 1])
            found = admitting_change(
                scene.logits, scene.settings, scene.context, token_id, order=scene.order
            )
            if survives(scene.logits, scene.settings, scene.context, token_id):
                assert found is None, f"admitted though it survives: {found}"
                continue
            removed += 1
            if found.blocked_by:
                blocked += 1
                check_blocked(scene, token_id, found)
            else:
                named[found.setting] += 1
                check_admitted(scene, token_id, found)
    assert removed > 80 and named.total() > 60 and blocked > 10 and len(named) > 8


# --- each sampler, on larger rows -----------------------------------------------------------------

NOTCH = {
    **{"temperature": 0.01, "repetition_penalty": 0.01, "presence_penalty": 0.05},
    **{"frequency_penalty": 0.05, "top_n_sigma": 0.05, "top_k": 1, "no_repeat_ngram": 1},
    **{"min_p": 0.005, "min_new_tokens": 1},
    **dict.fromkeys(("top_p", "typical_p", "tail_free", "top_h"), 0.01),
}
CHAINS_BY_HAND = [
    {"top_k": 10},
    {"top_p": 0.5, "temperature": 0.8},
    {"min_p": 0.5},
    {"temperature": 0.0},
    {"repetition_penalty": 1.9, "min_p": 0.3},
    {"top_k": 50, "top_p": 0.8, "min_p": 0.02},
    {"typical_p": 0.3},
    {"tail_free": 0.6},
    {"top_h": 0.2},
    {"top_n_sigma": 1.5, "top_k": 400},
    {"epsilon_cutoff": 0.0021, "temperature": 0.9},
    {"eta_cutoff": 0.3, "typical_p": 0.9},
    {"no_repeat_ngram": 1, "top_p": 0.9},
    {"min_new_tokens": 20, "top_k": 20},
    {"xtc": Xtc(threshold=0.01, probability=1.0)},
]


def bfloat16(logits: np.ndarray) -> np.ndarray:
    """Logits with ties, as from models in half precision."""
    return (logits.view(np.uint32) & 0xFFFF_0000).view(np.float32)


@pytest.mark.parametrize("rounded", [False, True], ids=["exact", "bfloat16"])
@pytest.mark.parametrize("chain", CHAINS_BY_HAND, ids="-".join)
def test_no_nearer_value_admits_the_token(chain, rounded):
    rng = np.random.default_rng(8)
    logits = rng.standard_normal(2000).astype(np.float32) * np.float32(1.5)
    logits = bfloat16(logits) if rounded else logits
    by_rank = np.argsort(-logits, kind="stable").tolist()
    text = np.array([by_rank[place] for place in (2, 7, 3, 7, 8, 7)])
    end = by_rank[-1 if "xtc" in chain else 1]  # XTC never removes an end of text
    context = Context(text, 2, (end,), uniform=lambda stream: 0.3)
    settings = SamplingSettings(**chain)
    named = set()
    for place in (0, 1, 2, 4, 7, 8, 15, 30, 60, 700):
        token_id = by_rank[place]
        found = admitting_change(
            logits, settings, context, token_id, order=[n for n in STAGES if n in {*chain, *FIRST}]
        )
        assert (found is None) == survives(logits, settings, context, token_id)
        if found is None or found.blocked_by:
            continue
        named.add(found.setting)
        assert survives(logits, found.settings, context, token_id)
        for nearer in nearer_values(settings, found, logits.size):
            changed = settings.replace(**{found.setting: nearer})
            assert not survives(logits, changed, context, token_id), (found, nearer)
    assert named & chain.keys()


def nearer_values(settings: SamplingSettings, found: Admission, vocab: int) -> list:
    """Values that a slider passes on the way to the answer, without both ends."""
    name = found.setting
    before, value = getattr(settings, name), getattr(found.settings, name)
    if name == "xtc":
        if value is None or value.probability != before.probability:
            return []
        passed = np.round(np.arange(before.threshold + 0.01, value.threshold - 0.005, 0.01), 2)
        return [Xtc(float(each), before.probability) for each in passed]
    if name in ("epsilon_cutoff", "eta_cutoff"):
        digits = [float(f"{digit}e{power}") for power in range(-8, 0) for digit in range(1, 10)]
        return [each for each in digits if value < each < before]
    if STAGES[name].off == value and name in OFF_BEYOND:
        return [vocab - 1] if name == "top_k" else []
    step = NOTCH[name]
    before = vocab if name == "top_k" and not before else before
    count = round(abs(value - before) / step - 1e-6)
    passed = [before + math.copysign(step * place, value - before) for place in range(1, count)]
    return [int(each) if step == 1 else round(each, 3) for each in passed]


@pytest.mark.parametrize(
    ("chain", "place", "setting"),
    [
        ({"top_k": 10}, 15, "top_k"),
        ({"top_p": 0.5}, 300, "top_p"),
        ({"min_p": 0.5}, 300, "min_p"),
        ({"temperature": 0.0}, 1, "temperature"),
        ({"repetition_penalty": 2.0, "top_k": 1}, 0, "repetition_penalty"),
        ({"presence_penalty": 0.05, "top_k": 1}, 0, "presence_penalty"),
        ({"frequency_penalty": 0.05, "top_k": 1}, 0, "frequency_penalty"),
    ],
)
def test_each_setting_can_be_named(chain, place, setting):
    logits = np.linspace(4, -4, 2000, dtype=np.float32)
    found = admitting_change(logits, SamplingSettings(**chain), Context(np.array([0])), place)
    assert found.setting == setting and not found.blocked_by


def test_top_k_answer_is_exact_beyond_the_slider():
    rng = np.random.default_rng(5)
    logits = rng.standard_normal(20_000).astype(np.float32)
    by_rank = np.argsort(-logits, kind="stable").tolist()
    for place in (60, 1234, 9876, 19_999):
        settings = SamplingSettings(top_k=50)
        found = admitting_change(logits, settings, NO_CONTEXT, by_rank[place])
        assert found.value == (place + 1 if place < 19_999 else 0)
        # A later threshold may remove tokens that it admitted, so more is not always better.
        settings = SamplingSettings(chain=[TopK(50), EpsilonCutoff(1e-9)])
        assert admitting_change(logits, settings, NO_CONTEXT, by_rank[place]) == replace(
            found, settings=settings.replace(top_k=found.value)
        )


def test_smallest_change_is_found_for_non_monotonic_settings():
    """Try a temperature that moves typical-p's window, and a top-k that lowers a token's share."""
    logits = np.array([3.0, 2.2, 1.9, 1.4, 0.3, -0.5, -1.0, -2.0], np.float32)
    values = {"temperature": 0.3, "typical_p": 0.3, "top_k": 2, "epsilon_cutoff": 0.09}
    named = set()
    for first, second in (("temperature", "typical_p"), ("top_k", "epsilon_cutoff")):
        settings = SamplingSettings(chain=[STAGES[name](values[name]) for name in (first, second)])
        for token_id in range(8):
            found = admitting_change(logits, settings, NO_CONTEXT, token_id)
            if found is None or found.setting != first:
                continue
            named.add(first)
            for nearer in nearer_values(settings, found, 8):
                changed = settings.replace(**{first: nearer})
                assert not survives(logits, changed, NO_CONTEXT, token_id)
    assert named == {"temperature", "top_k"}


# --- the message ----------------------------------------------------------------------------------


def test_jointly_blocking_samplers_are_all_named():
    chain = [Temperature(0), Banned([[1]]), TopK(2), TopP(0.95)]
    settings = SamplingSettings(chain=chain)
    blocked, out, survivor = (admitting_change(FOUR, settings, NO_CONTEXT, i) for i in (1, 3, 0))
    assert blocked == Admission(blocked_by=("temperature", "banned"))
    assert out == Admission(blocked_by=("temperature", "top_k", "top_p"))
    assert survivor is None


# By reason for removal: the chain, the token, and the expected answer.
SINGLE_CHANGES = {
    "a ban": ([Banned([[1], [2], [0, 1]])], 1, {"lifted": True, "value": {"sequences": [[2]]}}),
    "the end of a phrase": (
        [Banned([[0, 1], [1, 1]])],
        1,
        {"lifted": True, "value": {"sequences": [[1, 1]]}},
    ),
    "the only ban": ([Banned([[1]])], 1, {"lifted": True, "value": None}),
    "its bias": ([LogitBias({1: -4.0}), TopK(2)], 1, {"bias": -1, "value": {"bias": [[1, -1.0]]}}),
    "the bias of others": ([LogitBias({3: 9.0, 2: 9.0}), MinP(1.0)], 0, {"bias": 7}),
    "DRY": ([Dry(3.0, 1.75, 1, -1), MinP(1.0)], 0, {"field": "allowed_length"}),
    "dynamic temperature": (
        [DynamicTemperature(0.0, 0.1, 1.0), EpsilonCutoff(0.05)],
        1,
        {"field": "high", "value": {"low": 0.0, "high": 0.5, "exponent": 1.0}},
    ),
    "mirostat": (
        [Mirostat(0.2, 0.1)],
        1,
        {"field": "tau", "value": {"tau": 1.1, "eta": 0.1}},
    ),
    "the number of tokens": ([TopK(2)], 2, {"value": 3}),
    "any number": ([TopK(2)], 3, {"value": 0}),
    "the end of the text": ([MinNewTokens(9)], 3, {"value": 2}),
    "the share of the entropy": ([TopH(0.01)], 3, {"value": 1.0}),
}


@pytest.mark.parametrize("name", SINGLE_CHANGES)
def test_every_sampler_has_an_admitting_change(name):
    chain, token_id, expected = SINGLE_CHANGES[name]
    settings = SamplingSettings(chain=chain)
    text = np.array([1, 0, 1] if name == "DRY" else [0, 1, 0])
    context = Context(text, 1, eos_ids=(3,))
    found = admitting_change(FOUR, settings, context, token_id)
    assert found.setting == chain[0].setting
    assert {key: getattr(found, key) for key in expected} == expected
    assert not survives(FOUR, settings, context, token_id)
    assert survives(FOUR, found.settings, context, token_id)
    assert found.settings.seed == settings.seed


def test_ban_that_empties_the_row_is_lifted():
    settings = SamplingSettings(chain=[Banned([[i] for i in range(4)]), TopK(1)])
    found = admitting_change(FOUR, settings, NO_CONTEXT, 2)
    assert found.lifted and found.settings.banned == ((0,), (1,), (3,))


def test_disabled_sampler_may_be_switched_on_in_order():
    settings = SamplingSettings(chain=[MinP(0.9)])
    alone = admitting_change(FOUR, settings, NO_CONTEXT, 1)
    assert (alone.setting, alone.value) == ("min_p", 0.365)
    order = ["logit_bias", "min_p"]
    biased = admitting_change(FOUR, settings, NO_CONTEXT, 1, order=order)
    assert (biased.bias, biased.settings.chain) == (0.9, (LogitBias({1: 0.9}), MinP(0.9)))
    behind = admitting_change(FOUR, settings, NO_CONTEXT, 1, order=order[::-1])
    assert behind == alone, "what comes later cannot bring a token back"


@pytest.mark.parametrize(
    "order", [["min_p", "top_k"], ["top_k"], ["top_k", "min_p", "heat"], ["top_k"] * 2], ids=str
)
def test_order_must_fit_the_chain(order):
    settings = SamplingSettings(chain=[TopK(1), MinP(0.9)])
    with pytest.raises(SettingError, match="does not hold the chain in its order"):
        admitting_change(FOUR, settings, NO_CONTEXT, 1, order=order)


def test_impossible_token_gives_none_and_nan_raises():
    logits = np.array([1, -np.inf, 0, 0], np.float32)
    assert admitting_change(logits, SamplingSettings(top_k=1), NO_CONTEXT, 1) is None
    with pytest.raises(LogitsError):
        admitting_change(np.array([1, np.nan], np.float32), SamplingSettings(), NO_CONTEXT, 1)
    given = FOUR.copy()
    admitting_change(given, SamplingSettings(top_k=1, temperature=0.5), NO_CONTEXT, 2)
    assert np.array_equal(given, FOUR), "the logits were modified"


def test_search_stops_when_told_to():
    chain = [Temperature(0), Banned([[1]])]
    for most in range(5):
        asked = iter(range(most))
        found = admitting_change(
            FOUR,
            SamplingSettings(chain=chain),
            NO_CONTEXT,
            1,
            should_stop=lambda asked=asked: next(asked, None) is None,
        )
        assert found is None
    assert admitting_change(
        FOUR, SamplingSettings(chain=chain), NO_CONTEXT, 1, should_stop=lambda: False
    ).blocked_by == ("temperature", "banned")


def test_admitting_change_keeps_parity():
    settings = SamplingSettings(temperature=0.5, top_k=1, parity=True)
    found = admitting_change(
        FOUR, settings, NO_CONTEXT, 2, order=["dry", "top_k", "presence_penalty"]
    )
    assert found.settings == SamplingSettings(temperature=0.5, top_k=3, parity=True)
