"""Every stage that transformers lacks against a slow twin of its definition, over random rows.

Kept sets are equal, or become equal once the setting moves by 1e-9 of its value: a token exactly on
the edge may go either way. Edited scores are equal except for float32 rounding.
"""

from dataclasses import replace

import numpy as np
import pytest

from engine.errors import NoCandidatesError
from engine.sampling import DEFAULT_ORDER, STAGES
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import (
    Constraint,
    Context,
    Dry,
    Mirostat,
    MirostatState,
    Stage,
    Xtc,
)
from engine.sampling.survivors import Survivors
from tests.engine.grammar.tokens import places_over, words_of_abc
from tests.engine.sampling.samplers.comparison import (
    EDGE,
    IN_TRANSFORMERS,
    KINDS,
    PROMPT,
    eos_ids,
    moved,
    random_stage,
)
from tests.engine.sampling.samplers.twins import CUTS, EDITS
from tests.samplers import random_numbers

SEED = 20_260_101
TAUS = (2.0, 5.0)  # few, so that a state often has the stage's own tau
CONSTRAINTS = (
    Constraint("regex", "[abc]*"),
    Constraint("regex", "a[bc]{0,5}"),
    Constraint("choices", ["abc", "acab", "b"]),
    Constraint("lark", 'start: "a" start? "b"'),
)


def any_stage(kind: type[Stage], rng: np.random.Generator, vocab: int, ids: np.ndarray) -> Stage:
    """A stage with a usual or an extreme setting."""
    if kind in IN_TRANSFORMERS:
        return random_stage(kind, rng, vocab, ids[None])
    if kind is Constraint:
        return CONSTRAINTS[rng.integers(len(CONSTRAINTS))]
    numbers = random_numbers(kind, rng)
    if kind is Dry:
        few = {"allowed_length": int(rng.integers(1, 4))}
        breakers = rng.integers(0, vocab, rng.integers(0, 3)).tolist()
        return Dry(**numbers | few, breakers=breakers)
    if kind is Xtc:  # most of them act
        return Xtc(numbers["threshold"], min(1, rng.uniform(0.5, 4)))
    if kind is Mirostat:
        return Mirostat(float(rng.choice(TAUS)), numbers["eta"])
    return kind(**numbers)


def any_context(rng: np.random.Generator, vocab: int) -> Context:
    few = rng.integers(1, min(vocab, 6))  # so that texts repeat themselves
    ids = rng.integers(0, few + 1, int(rng.integers(0, 64)))
    u = float(rng.random())
    states = {}
    if rng.random() < 0.8:
        tau, mu = float(rng.choice(TAUS)), float(rng.uniform(-2, 20))
        states["mirostat"] = MirostatState(tau, mu)
    if rng.random() < 0.8:
        held = CONSTRAINTS[rng.integers(len(CONSTRAINTS))].initial_state()
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


@pytest.mark.parametrize(
    ("vocab", "least"),
    [
        (4, 400),
        (50, 96),
        (2_000, 32),
        pytest.param(50, 400, marks=pytest.mark.long),
        pytest.param(16_384, 32, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("setting", [*EDITS, *CUTS])
def test_a_stage_equals_its_slow_twin(setting, vocab, least):
    kind = STAGES[setting]
    rng = np.random.default_rng([SEED, vocab, DEFAULT_ORDER.index(kind)])
    rows = edges = changed = 0
    names = list(KINDS)
    while rows < least:
        for logits in KINDS[names[rows // 8 % len(names)]](rng, vocab):
            context = any_context(rng, vocab)
            stage = any_stage(kind, rng, vocab, context.token_ids)
            row = Survivors(RankedRow(logits))
            scores = logits.astype(np.float64).tolist()
            rows += 1
            try:
                after = stage.apply(row, context)
            except NoCandidatesError:
                assert max(EDITS[setting](stage, scores, context)) == -np.inf, f"{stage} refused"
                continue
            changed += not np.array_equal(after.scores, logits)
            if setting in EDITS:
                edited = np.array(EDITS[setting](stage, scores, context))
                assert_rounded(after.scores, edited, logits)
                continue
            kept = set(after.ids.tolist())
            if kept == CUTS[setting](stage, scores, context):
                continue
            near = []
            for by in (-EDGE, EDGE):
                other, at = moved(stage, context, by)
                near.append(CUTS[setting](other, scores, at))
            assert kept in near, f"{stage} keeps {len(kept)}, its definition {map(len, near)}"
            edges += 1
    assert edges <= 0.01 * rows
    assert changed > 0.05 * rows, "hardly a row was changed, so little was compared"


def assert_rounded(ours: np.ndarray, exact: np.ndarray, before: np.ndarray) -> None:
    """Check for equality except for float32's rounding of sums and quotients."""
    assert np.array_equal(ours == -np.inf, exact == -np.inf)
    left = exact > -np.inf
    size = np.abs(before[left]) + np.abs(exact[left])
    assert np.all(np.abs(ours[left] - exact[left]) <= 3e-7 * size)


def test_every_stage_has_a_twin_or_a_processor():
    lacking = STAGES.keys() - {kind.setting for kind in IN_TRANSFORMERS}
    assert {*EDITS, *CUTS} >= lacking - {"constraint"}
