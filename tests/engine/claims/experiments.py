"""Every claim's experiment, as short as possible, on any model with the tests' tokenizer."""

from __future__ import annotations

from itertools import product
from typing import Any

from engine.claims.claim import claim_of
from engine.claims.experiment import Experiment
from engine.decoding.speculative import ITSELF
from engine.model import LanguageModel

PROMPTS = ("the dog", "one step", "and then", "the mat", "on the dog", "here the mat")
WORDS = ("the", "cat", "and", "sat", "on", "mat", "then", "dog", "there", "one")
CATS = [f"{word} the cat" for word in ("and", "on", "then", "in", "at", "re")]
RARE = ("zugzwang", "fjord", "quay", "sphinx", "wyvern", "vellum", "yurt", "umlaut", "kumquat")
SCHEMA = '{"enum": [["the", "cat"], ["on", "mat"]]}'


def lines(texts) -> str:
    return "\n".join(texts)


def facts(questions) -> str:
    return lines(["[pets]", *(f'"{question}" = ["sat"]' for question in questions)])


TRUTHS = [f"{a} {b} the cat" for a, b in product(("and", "on"), WORDS)]
MANY, TWO = lines(PROMPTS), lines(PROMPTS[:2])
SHORT: dict[str, dict[str, Any]] = {  # inputs as typed by the user
    "one_token": {"prompts": MANY, "tokens": 10, "places": "2"},
    "same_seed": {"prompts": TWO, "temperatures": "1", "tokens": 4},
    "determinism": {"prompts": TWO, "tokens": 4, "batch": 3},
    "nucleus_adapts": {"prompts": MANY, "tokens": 16, "texts": 1},
    "fixed_k": {"prompts": MANY, "tokens": 16, "texts": 1, "top_k": 20},
    "tail": {"prompts": TWO, "words": "mat", "temperatures": "0.05, 1"},
    "truth": {"facts": facts(TRUTHS), "samples": 3},
    "calibration": {"facts": facts(TRUTHS)},
    "temperature": {"facts": facts(CATS), "temperatures": "1, 8"},
    "greedy_loops": {"prompts": MANY, "tokens": 16},
    "penalties": {"prompts": MANY, "words": "and the", "tokens": 16},
    "letters": {"common": lines(WORDS), "rare": lines(RARE)},
    "beam": {"prompts": lines(CATS[:5]), "tokens": 12, "width": 2},
    "broken_json": {"prompt": "the cat", "source": SCHEMA, "runs": 6},
    "speculative": {"prompts": PROMPTS[0], "proposer": ITSELF, "lengths": "2", "tokens": 8},
    "long_context": {"positions": 40},
}


def experiment(name: str, model: LanguageModel, **changes: Any) -> Experiment:
    """A claim's short experiment, with some inputs changed."""
    return claim_of(name).experiment(model, **SHORT.get(name, {}) | changes)
