"""Every stage against a slow twin of its definition, over random rows.

Kept sets are equal. If they differ, the twin must give the engine's set once the setting moves by
1e-9 of its value in one direction. Then the token lies exactly on the edge, and float64 may round
either way. Such rows are counted and rare. Edited scores are equal except for float32 rounding.
"""

from dataclasses import replace

import numpy as np
import pytest

from engine.errors import NoCandidatesError
from engine.sampling import DEFAULT_ORDER
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import (
    Constraint,
    Context,
    Dry,
    DynamicTemperature,
    FrequencyPenalty,
    Mirostat,
    MirostatState,
    PLess,
    PresencePenalty,
    Stage,
    TailFree,
    TopNSigma,
    Xtc,
)
from engine.sampling.survivors import Survivors
from tests.engine.grammar.tokens import places_over, words_of_abc
from tests.engine.sampling.samplers.comparison import (
    IN_TRANSFORMERS,
    KINDS,
    PROMPT,
    eos_ids,
    random_stage,
)
from tests.engine.sampling.samplers.evidence import AGAINST_TWIN
from tests.engine.sampling.samplers.twins import CUTS, EDITS, LANGUAGES

SEED = 20_260_101
EDGE = 1e-9
TAUS = (2.0, 5.0)  # few, so that a state often has the stage's own tau
# The field that decides the cut, in order to move it a little.
DECIDES = {"xtc": "threshold"}


def any_stage(kind: type[Stage], rng: np.random.Generator, vocab: int, ids: np.ndarray) -> Stage:
    """A stage with a usual or an extreme setting."""
    if kind in IN_TRANSFORMERS:
        return random_stage(kind, rng, vocab, ids[None])
    extreme = rng.random() < 0.2

    def one_of(extremes: list, usual: float) -> float:
        return float(rng.choice(extremes) if extreme else usual)

    if kind in (PresencePenalty, FrequencyPenalty):
        return kind(one_of([-100, 100, 1e-6], rng.uniform(-2, 2)))
    if kind is Dry:
        return Dry(
            multiplier=one_of([0, 1e-6, 1e3], rng.uniform(0.1, 2)),
            base=one_of([1, 1.0000001, 1e3], rng.uniform(1.1, 3)),
            allowed_length=int(rng.integers(1, 4)),
            last_n=int(rng.choice([-1, 1, 2, 20, 64, 1000])),
            breakers=rng.integers(0, vocab, rng.integers(0, 3)).tolist(),
        )
    if kind is DynamicTemperature:
        low = one_of([0, 1e-6, 5], rng.uniform(0, 1))
        return kind(low, low + one_of([1e-6, 100], rng.uniform(0.1, 2)), rng.uniform(0.2, 3))
    if kind is PLess:
        return kind()
    if kind is TopNSigma:
        return kind(one_of([1e-6, 30, 100], rng.uniform(0.1, 3)))
    if kind is TailFree:
        return kind(one_of([1e-9, 0.999, 1], rng.uniform(0.1, 0.99)))
    if kind is Xtc:
        threshold = one_of([1e-9, 0.5, 0.7], 10 ** rng.uniform(-3, -0.4))
        return kind(threshold, min(1, rng.uniform(0.5, 4)))
    if kind is Constraint:
        return list(LANGUAGES)[rng.integers(len(LANGUAGES))]
    assert kind is Mirostat, f"{kind.__name__} has no random settings here"
    return kind(one_of([1e-3, 100], rng.choice(TAUS)), 0.1)


def any_context(rng: np.random.Generator, vocab: int) -> Context:
    few = rng.integers(1, min(vocab, 6))  # so that texts repeat themselves
    ids = rng.integers(0, few + 1, int(rng.integers(0, 64)))
    u = float(rng.random())
    states = {}
    if rng.random() < 0.8:
        tau, mu = float(rng.choice(TAUS)), float(rng.uniform(-2, 20))
        states["mirostat"] = MirostatState(tau, mu)
    if rng.random() < 0.8:
        held = list(LANGUAGES)[rng.integers(len(LANGUAGES))].initial_state()
        states["constraint"] = replace(held, tokens=int(rng.integers(min(3, ids.size + 1))))
    return Context(
        ids,
        min(PROMPT, ids.size),
        eos_ids(vocab),
        (0,) if ids.size % 16 == 0 else (),
        states=states,
        uniform=lambda stream: u,
        places=places_over(words_of_abc(vocab), eos_ids(vocab)),
    )


def moved(stage: Stage, context: Context, by: float) -> tuple[Stage, Context]:
    """The same with the deciding number increased by the share `by` (Mirostat's bound: by `by`)."""
    if isinstance(stage, Mirostat):
        state = stage.state(context)
        return stage, replace(context, states={"mirostat": replace(state, mu=state.mu + by)})
    name = DECIDES.get(stage.setting) or next(iter(stage.to_dict()))
    twin = object.__new__(type(stage))  # bypasses the checks: it may leave the range slightly
    for field, value in stage.__dict__.items():
        object.__setattr__(twin, field, value * (1 + by) if field == name else value)
    return twin, context


@pytest.mark.parametrize("vocab", AGAINST_TWIN, ids="V{}".format)
@pytest.mark.parametrize("kind", DEFAULT_ORDER, ids=lambda kind: kind.setting)
def test_a_stage_equals_its_slow_twin(kind, vocab):
    rng = np.random.default_rng([SEED, vocab, DEFAULT_ORDER.index(kind)])
    rows = edges = changed = 0
    names = list(KINDS)
    while rows < AGAINST_TWIN[vocab]:
        for logits in KINDS[names[rows // 8 % len(names)]](rng, vocab):
            context = any_context(rng, vocab)
            stage = any_stage(kind, rng, vocab, context.token_ids)
            row = Survivors(RankedRow(logits))
            scores = logits.astype(np.float64).tolist()
            rows += 1
            try:
                after = stage.apply(row, context)
            except NoCandidatesError:
                edited = EDITS[kind.setting](stage, scores, context)
                assert max(edited) == -np.inf, f"{stage} refused a row with tokens left"
                continue
            changed += not np.array_equal(after.scores, logits)
            if kind.setting in EDITS:
                edited = np.array(EDITS[kind.setting](stage, scores, context))
                assert_rounded(after.scores, edited, logits)
                continue
            kept = set(after.ids.tolist())
            if kept == CUTS[kind.setting](stage, scores, context):
                continue
            near = [
                CUTS[kind.setting](*swapped(moved(stage, context, by), scores))
                for by in (-EDGE, EDGE)
            ]
            assert kept in near, f"{stage} keeps {len(kept)}, its definition {map(len, near)}"
            edges += 1
    print(
        f"\n{kind.setting}, V = {vocab:,}: {rows:,} rows, {changed:,} changed, {edges} on an edge"
    )
    assert edges <= 0.01 * rows
    assert changed > 0.05 * rows, "hardly a row was changed, so little was compared"


def assert_rounded(ours: np.ndarray, exact: np.ndarray, before: np.ndarray) -> None:
    """Check for equality except for float32's rounding of sums and quotients."""
    assert np.array_equal(ours == -np.inf, exact == -np.inf)
    left = exact > -np.inf
    size = np.abs(before[left]) + np.abs(exact[left])
    assert np.all(np.abs(ours[left] - exact[left]) <= 3e-7 * size)


def swapped(pair: tuple[Stage, Context], scores: list[float]) -> tuple:
    return pair[0], scores, pair[1]


def test_every_stage_has_a_twin():
    assert list(EDITS) + list(CUTS) == [kind.setting for kind in DEFAULT_ORDER]
