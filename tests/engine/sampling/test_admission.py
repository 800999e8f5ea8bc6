"""Changes that would admit a removed token: each answer admits it, the value before does not."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from engine.errors import LogitsError, NoCandidatesError, SettingError
from engine.sampling import STAGES, SamplingSettings, shape
from engine.sampling.admission import Admission, admitting_change
from engine.sampling.samplers import (
    NO_CONTEXT,
    Banned,
    Context,
    Dry,
    DynamicTemperature,
    EpsilonCutoff,
    FrequencyPenalty,
    LogitBias,
    MinNewTokens,
    MinP,
    Mirostat,
    PresencePenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopH,
    TopK,
    TopP,
)
from tests.engine.sampling.samplers.test_twins import any_context, any_stage

FOUR = np.array([4, 3, 2, 1], np.float32)
OFF_BEYOND = ("top_h", "top_k", "top_n_sigma", "no_repeat_ngram")  # off lies past the slider's end


def survives(logits, settings: SamplingSettings, context: Context, token_id: int) -> bool:
    try:
        return shape(logits, settings, context).final_scores[token_id] > -np.inf
    except NoCandidatesError:
        return False


# --- random chains, against every change of one setting -------------------------------------------

VOCAB = 120
RANKS = (1, 2, 3, 4, 6, 9, 14, 31, 91)


class Scene(NamedTuple):
    """A row, a chain, and the samplers that may change, in the order in which they apply."""

    logits: np.ndarray
    settings: SamplingSettings
    context: Context
    order: list[str]


def random_scene(rng: np.random.Generator) -> tuple[Scene, np.ndarray]:
    """A scene of up to five samplers, half the time in a random order, and the ids by rank."""
    logits = (rng.standard_normal(VOCAB) * rng.uniform(0.5, 3.5)).astype(np.float32)
    if rng.random() < 0.3:
        logits = np.round(logits, 1)  # ties, as from a model in half precision
    context = any_context(rng, VOCAB)
    names = list(STAGES)
    order = [names[place] for place in rng.permutation(len(names))[: rng.integers(1, 6)]]
    if rng.random() < 0.5:
        order.sort(key=names.index)
    ids = context.token_ids
    chain = [any_stage(STAGES[name], rng, VOCAB, ids) for name in order if rng.random() < 0.9]
    scene = Scene(logits, SamplingSettings(chain=chain), context, order)
    return scene, np.argsort(-logits, kind="stable")


def slider(scene: Scene, found: Admission, token_id: int) -> Iterator[tuple[float, Stage | None]]:
    """Yield every position of the slider that an answer moves, and the sampler there."""
    kind, stage = STAGES[found.setting], scene.settings.stage(found.setting)
    numbers = kind.info.numbers
    if found.bias is not None:
        others = dict(stage.bias if stage else ())
        for value in numbers[0].positions():
            yield value, LogitBias(others | {token_id: value})
    elif kind.is_one_number():
        # k = VOCAB removes nothing, so it is off
        for value in range(1, VOCAB) if kind is TopK else numbers[0].positions():
            if not kind.is_off(value):
                yield value, kind(value)
        yield off_number(kind), None
    else:
        (number,) = (number for number in numbers if number.name == found.field)
        for value in number.positions():
            values = stage.to_dict() | {number.name: value}
            if not values.get("low", 0) > values.get("high", 0):
                yield value, kind(**values)


def off_number(kind: type[Stage]) -> float:
    """The value at which a sampler of one number is off."""
    return math.inf if kind.setting in OFF_BEYOND else kind.off


def with_stage(scene: Scene, name: str, stage: Stage | None) -> SamplingSettings:
    """The scene's settings with one sampler changed, switched on or off."""
    chain = list(scene.settings.chain)
    names = [each.setting for each in chain]
    if name in names:
        place = names.index(name)
        del chain[place]
    else:
        later = scene.order[scene.order.index(name) + 1 :]
        place = next((i for i, each in enumerate(names) if each in later), len(names))
    chain[place:place] = [] if stage is None else [stage]
    return SamplingSettings(chain=chain)


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
    before, after = (each.stage(found.setting) for each in (scene.settings, found.settings))
    settings = with_stage(scene, found.setting, after)
    assert settings.chain == found.settings.chain, "more than this changed"
    assert survives(scene.logits, settings, scene.context, token_id), "it does not admit the token"
    if found.lifted or (after is None and not STAGES[found.setting].is_one_number()):
        return
    start, end = (number_of(each, found, token_id) for each in (before, after))
    passed = [
        (abs(end - value), stage)
        for value, stage in slider(scene, found, token_id)
        if min(start, end) + 1e-9 < value < max(start, end) - 1e-9
    ]
    if passed:
        _, last = min(passed, key=lambda each: each[0])
        settings = with_stage(scene, found.setting, last)
        assert not survives(scene.logits, settings, scene.context, token_id), f"{last} is nearer"


@pytest.mark.parametrize("seed", [3, 5])
def test_admissions_and_blocks_hold_on_random_chains(seed):
    rng = np.random.default_rng([20_261_122, seed])
    named = Counter()
    for _ in range(40):
        scene, ids = random_scene(rng)
        for token_id in ids[np.array(RANKS) - 1].tolist():
            found = admitting_change(
                scene.logits, scene.settings, scene.context, token_id, order=scene.order
            )
            if survives(scene.logits, scene.settings, scene.context, token_id):
                assert found is None, f"admitted though it survives: {found}"
                continue
            named[found.setting] += 1
            if found.blocked_by:
                check_blocked(scene, token_id, found)
            else:
                check_admitted(scene, token_id, found)
    assert named[None] > 10 and named.total() > 100 and len(named) > 12, named


def test_top_k_answer_is_exact_beyond_the_slider():
    rng = np.random.default_rng(5)
    logits = rng.standard_normal(20_000).astype(np.float32)
    by_rank = np.argsort(-logits, kind="stable").tolist()
    for place in (60, 9876, 19_999):
        for later in ([], [EpsilonCutoff(1e-9)]):  # it removes tokens that a larger k admits
            settings = SamplingSettings(chain=[TopK(50), *later])
            found = admitting_change(logits, settings, NO_CONTEXT, by_rank[place])
            assert found.value == (place + 1 if place < 19_999 else 0)
            assert found.settings == settings.replace(top_k=found.value)


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
    "a phrase": ([Banned([[0, 1], [1, 1]])], 1, {"lifted": True, "value": {"sequences": [[1, 1]]}}),
    "all bans": ([Banned([0, 1, 2, 3])], 1, {"value": {"sequences": [[0], [2], [3]]}}),
    "the only ban": ([Banned([[1]])], 1, {"lifted": True, "value": None}),
    "its bias": ([LogitBias({1: -4.0}), TopK(2)], 1, {"bias": -1, "value": {"bias": [[1, -1.0]]}}),
    "the bias of others": ([LogitBias({3: 9.0, 2: 9.0}), MinP(1.0)], 0, {"bias": 7}),
    "DRY": ([Dry(3.0, 1.75, 1, -1), MinP(1.0)], 0, {"field": "allowed_length"}),
    "dynamic temperature": (
        [DynamicTemperature(0.0, 0.1, 1.0), EpsilonCutoff(0.05)],
        *(1, {"field": "high", "value": {"low": 0.0, "high": 0.5, "exponent": 1.0}}),
    ),
    "mirostat": ([Mirostat(0.2, 0.1)], 1, {"field": "tau", "value": {"tau": 1.1, "eta": 0.1}}),
    "temperature": ([Temperature(0)], 1, {"value": 0.01}),
    "repetition": ([RepetitionPenalty(2.1), TopP(1e-9)], 0, {"value": 2.0}),
    "presence": ([PresencePenalty(2.1), MinP(1.0)], 0, {"value": 2.0}),
    "frequency": ([FrequencyPenalty(2.1), MinP(1.0)], 0, {"value": 2.0}),
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


def test_disabled_sampler_may_be_switched_on_in_order():
    settings = SamplingSettings(chain=[MinP(0.9)])
    alone = admitting_change(FOUR, settings, NO_CONTEXT, 1)
    assert (alone.setting, alone.value) == ("min_p", 0.365)
    order = ["logit_bias", "min_p"]
    biased = admitting_change(FOUR, settings, NO_CONTEXT, 1, order=order)
    assert (biased.bias, biased.settings.chain) == (0.9, (LogitBias({1: 0.9}), MinP(0.9)))
    behind = admitting_change(FOUR, settings, NO_CONTEXT, 1, order=order[::-1])
    assert behind == alone, "what comes later cannot bring a token back"


def test_disabled_temperature_admits_what_two_cuts_remove():
    settings = SamplingSettings(chain=[MinP(0.3), EpsilonCutoff(0.1)])
    order = ["temperature", "min_p", "epsilon_cutoff"]
    found = admitting_change(FOUR, settings, NO_CONTEXT, 2, order=order)
    assert (found.setting, found.settings.chain[1:]) == ("temperature", settings.chain)
    assert survives(FOUR, found.settings, NO_CONTEXT, 2)
    for value in (found.value - 0.01, 1.0):
        cooler = settings.replace(chain=[Temperature(value), *settings.chain])
        assert not survives(FOUR, cooler, NO_CONTEXT, 2)
    assert admitting_change(FOUR, settings, NO_CONTEXT, 2).setting is None


def test_order_must_fit_the_chain():
    settings = SamplingSettings(chain=[TopK(1), MinP(0.9)])
    for order in (["min_p", "top_k"], ["top_k"], ["top_k", "min_p", "heat"], ["top_k"] * 2):
        with pytest.raises(SettingError, match="order must list samplers, each once"):
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
    settings = SamplingSettings(chain=[Temperature(0), Banned([[1]])])
    for most in range(5):
        asked = [False] * most + [True]
        stop = iter(asked).__next__
        assert admitting_change(FOUR, settings, NO_CONTEXT, 1, should_stop=stop) is None
    found = admitting_change(FOUR, settings, NO_CONTEXT, 1, should_stop=lambda: False)
    assert found.blocked_by == ("temperature", "banned")


def test_admitting_change_keeps_parity():
    settings = SamplingSettings(temperature=0.5, top_k=1, parity=True)
    found = admitting_change(
        FOUR, settings, NO_CONTEXT, 2, order=["dry", "top_k", "presence_penalty"]
    )
    assert found.settings == SamplingSettings(temperature=0.5, top_k=3, parity=True)
