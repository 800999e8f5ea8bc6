"""Every claim on a model of which it holds, and on a broken one: the verdicts flip that should."""

import pytest

from engine.claims.experiments.broken_json import BrokenJsonExperiment
from engine.claims.experiments.letters import TASKS, Letters, Spelt
from engine.claims.experiments.speculative import Sped, Speedups
from engine.claims.verdict import DEPENDS, FAILS, HOLDS, OPEN, verdict
from engine.errors import SettingError
from engine.measure.machine import Setting
from engine.measure.pace import Pace
from engine.measure.report import Report
from tests.engine.claims.experiments import EXPERIMENTS

# By claim: the verdict on the chain, and on the broken model, whose logits are all 0.
WANTED = {
    "no_plan": (HOLDS, DEPENDS),  # greedily it says the same token for ever, whatever was forced
    "same_seed": (HOLDS, HOLDS),  # a seed is a seed
    "determinism": (DEPENDS, FAILS),  # its sums have one term: only the dtype changes them
    "nucleus_adapts": (HOLDS, FAILS),  # it is nine tenths of the vocabulary at every step
    "fixed_k": (HOLDS, DEPENDS),  # never too loose, always too tight
    "tail": (DEPENDS, HOLDS),  # no temperature makes a tail of it
    "truth": (HOLDS, FAILS),  # it knows nothing
    "temperature": (HOLDS, FAILS),  # nothing is more random than it is
    "greedy_loops": (HOLDS, HOLDS),  # on one token
    "penalties": (HOLDS, DEPENDS),  # a logit of 0 stays 0, whatever divides it
    "letters": (HOLDS, HOLDS),  # tokens are the tokenizer's, and neither of them reads
    "beam": (HOLDS, DEPENDS),  # all texts are equally likely
    "broken_json": (DEPENDS, DEPENDS),  # neither of them can write JSON by itself
    "speculative": (OPEN, OPEN),  # one prompt has no interval, however long it took
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


@pytest.mark.parametrize(
    ("at_two", "at_eight", "outcome"),
    [(2.5, 2.2, HOLDS), (2.5, 0.8, DEPENDS), (1.4, 0.8, FAILS)],
)
def test_a_speed_up_is_held_against_what_is_promised(at_two, at_eight, outcome):
    trials = [
        Sped(f"prompt {n}", length, 3, 4, 12, 4, speedup + n / 100)
        for length, speedup in ((2, at_two), (8, at_eight))
        for n in range(6)
    ]
    found = Speedups(tuple(trials), 2.0, True)
    assert verdict(found.checks).outcome == outcome
    figures = {check.name: check.figure.value for check in found.checks}
    assert (figures["accepted"], figures["per_pass"]) == (0.75, 3.0)


def test_a_model_that_spells_makes_the_claim_depend_on_its_half():
    def outcome(sees: bool, rare: int) -> str:
        right = (sees,) * len(TASKS)
        words = [
            Spelt(group, f"word{letter}", ("t",) * tokens, ("a",) * len(TASKS), right)
            for group, tokens in (("common", 1), ("rare", rare))
            for letter in "abcdefgh"
        ]
        return verdict(Letters(tuple(words), 0.5).checks).outcome

    assert (outcome(False, 3), outcome(True, 3), outcome(True, 1)) == (HOLDS, DEPENDS, FAILS)


def test_json_that_no_parser_can_judge_is_no_broken_json(uniform):
    schema = {"enum": [["the"], ["on"]], "items": {"format": "hostname"}}
    experiment = BrokenJsonExperiment(uniform, "the cat", schema, 2)
    with pytest.raises(SettingError, match="cannot be judged: no second parser of the format"):
        next(experiment.run())
