"""Determinism: the verdict that differences give, and a model whose weights cannot be copied."""

from engine.claims.experiments.determinism import Compared, Determinism
from engine.claims.verdict import DEPENDS, FAILS, HOLDS, judge
from tests.engine.claims.experiments import PROMPTS, experiment


def made_up(batch: float, dtype: float, again: float = 0.0) -> Determinism:
    """Two texts run in two ways, which differ by these amounts at their second step."""
    ways = {"batch": batch, "dtype": dtype}
    return Determinism(
        tuple(
            Compared(prompt, way, again, (0.0, far), 1 if far > 1 else None, "a", "b")
            for prompt in ("one", "two")
            for way, far in ways.items()
        ),
        left_out="",
    )


def test_determinism_verdict_follows_from_measured_differences():
    assert judge(made_up(1e-6, 2.0).checks).outcome == HOLDS
    assert judge(made_up(0.0, 2.0).checks).outcome == DEPENDS
    assert judge(made_up(0.0, 0.0).checks).outcome == FAILS
    assert judge(made_up(1e-6, 2.0, again=1e-6).checks).outcome == FAILS, "no setting repeats it"
    values = {(check.name, check.part): check.figure.value for check in made_up(0.5, 2.0).checks}
    assert values["tokens", "batch"] == 0 and values["tokens", "dtype"] == 1
    assert values["any", ""] == 1 and values["most", ""] == 2.0


def test_dtype_runs_are_reported_skipped_without_memory(chain, monkeypatch):
    monkeypatch.setattr("engine.claims.experiments.determinism.free_bytes", lambda device: 1)
    run = experiment("determinism", chain, prompts=PROMPTS[0], tokens=3, batch=2)
    for _ in run.run():
        pass
    assert run.result.ways == ["in a batch of 2", "without the cache"]
    assert "other dtypes were not tried" in run.result.left_out
