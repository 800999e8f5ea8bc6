"""Every claim's experiment, as short as it can be, on any model with the tests' tokenizer."""

from __future__ import annotations

from collections.abc import Callable

from engine.claims.experiment import Experiment
from engine.claims.experiments.beam import BeamExperiment
from engine.claims.experiments.broken_json import BrokenJsonExperiment
from engine.claims.experiments.determinism import DeterminismExperiment
from engine.claims.experiments.greedy_loops import GreedyLoopsExperiment
from engine.claims.experiments.letters import LettersExperiment
from engine.claims.experiments.long_context import long_context_experiment
from engine.claims.experiments.one_token import OneTokenExperiment
from engine.claims.experiments.penalties import PenaltiesExperiment
from engine.claims.experiments.same_seed import SameSeedExperiment
from engine.claims.experiments.speculative import SpeculativeExperiment
from engine.claims.experiments.survivors import FixedK, NucleusAdapts, SurvivorsExperiment
from engine.claims.experiments.tail import TailExperiment
from engine.claims.experiments.temperature import TemperatureExperiment
from engine.claims.experiments.truth import TruthExperiment
from engine.claims.facts import Fact
from engine.model import LanguageModel

PROMPTS = ("the dog", "one step", "and then", "the mat", "on the dog", "here the mat")
FACTS = [
    Fact("pets", f"{word} the cat", ("sat",)) for word in ("and", "on", "then", "in", "at", "re")
]
WORDS = ("the", "cat", "and", "sat", "on", "mat", "then", "dog", "there", "one")
TRUTHS = [Fact("pets", f"{a} {b} the cat", ("sat",)) for a in ("and", "on") for b in WORDS]
CATS = [fact.question for fact in FACTS]
SCHEMA = {"enum": [["the", "cat"], ["on", "mat"]]}
RARE = ("zugzwang", "fjord", "quay", "sphinx", "wyvern", "vellum", "yurt", "umlaut", "kumquat")

EXPERIMENTS: dict[str, Callable[[LanguageModel], Experiment]] = {
    "one_token": lambda model: OneTokenExperiment(model, PROMPTS, 10, (2,)),
    "same_seed": lambda model: SameSeedExperiment(model, PROMPTS[:2], (1.0,), 4, 4),
    "determinism": lambda model: DeterminismExperiment(model, PROMPTS[:2], 4, 3),
    "nucleus_adapts": lambda model: SurvivorsExperiment(NucleusAdapts, model, PROMPTS, 16, 1),
    "fixed_k": lambda model: SurvivorsExperiment(FixedK, model, PROMPTS, 16, 1, top_k=20),
    "tail": lambda model: TailExperiment(model, PROMPTS[:2], ("mat",), (0.05, 1.0)),
    "truth": lambda model: TruthExperiment(model, TRUTHS, 3),
    "temperature": lambda model: TemperatureExperiment(model, FACTS, (1.0, 8.0)),
    "greedy_loops": lambda model: GreedyLoopsExperiment(model, PROMPTS, 16),
    "penalties": lambda model: PenaltiesExperiment(model, PROMPTS, "and the", 16),
    "letters": lambda model: LettersExperiment(model, WORDS, RARE),
    "beam": lambda model: BeamExperiment(model, CATS[:5], 12, 2),
    "broken_json": lambda model: BrokenJsonExperiment(model, "the cat", SCHEMA, 6),
    "speculative": lambda model: SpeculativeExperiment(model, PROMPTS[:1], lambda: model, (2,), 8),
    "long_context": lambda model: long_context_experiment(model, 40),
}
