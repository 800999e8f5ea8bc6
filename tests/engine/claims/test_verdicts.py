"""Every claim on a model of which it holds, and on a broken one: the verdicts flip that should."""

import pytest

from engine.claims.verdict import DEPENDS, FAILS, HOLDS, verdict
from engine.measure.machine import Setting
from engine.measure.pace import Pace
from engine.measure.report import Report
from tests.engine.claims.experiments import EXPERIMENTS

# By claim: the verdict on the chain, and on the broken model, whose logits are all 0.
WANTED = {
    "no_plan": (HOLDS, DEPENDS),  # greedily it says the same token for ever, whatever was forced
    "same_seed": (HOLDS, HOLDS),  # a seed is a seed
    "nucleus_adapts": (HOLDS, FAILS),  # it is nine tenths of the vocabulary at every step
    "fixed_k": (HOLDS, DEPENDS),  # never too loose, always too tight
    "tail": (DEPENDS, HOLDS),  # no temperature makes a tail of it
    "truth": (HOLDS, FAILS),  # it knows nothing
    "temperature": (HOLDS, FAILS),  # nothing is more random than it is
    "greedy_loops": (HOLDS, HOLDS),  # on one token
    "penalties": (HOLDS, DEPENDS),  # a logit of 0 stays 0, whatever divides it
    "long_context": (HOLDS, HOLDS),  # bytes do not ask what they hold
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_verdicts_flip_that_should(name, chain, uniform):
    found = []
    for model in (chain, uniform):
        experiment = EXPERIMENTS[name](model)
        assert experiment.result is None and experiment.seconds(Pace((1, 8), (1.0, 2.0), 1.0)) > 0
        for _ in experiment.run():
            pass
        result = experiment.result
        kept = Report.from_json(
            Report(Setting.here(model), {name: result}).to_json(), {name: type(result)}
        )
        assert kept.parts[name] == result, "a file keeps all that a verdict needs"
        found.append(verdict(result.checks).outcome)
    assert tuple(found) == WANTED[name]
