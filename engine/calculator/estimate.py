"""A model by its configuration: the formula of its cache and its weights, in one step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.cache_formula import CacheFormula, Storage
from engine.calculator.sources import Described
from engine.calculator.storages import CACHE_STORAGES, declared_storage
from engine.calculator.weights import Weights, count_weights
from engine.model.cache_layers import formula_of
from engine.model.loaded import context_length_of

HALF = next(iter(CACHE_STORAGES.values()))


@dataclass(frozen=True)
class Estimate:
    """What is computed of a model.

    Attributes:
        name: for the screen.
        source: where its fields were read.
        formula: of its cache, in 16 bits a value; see `stored`.
        weights: its parameters.
        declared: what its configuration says that the weights are stored in.
        context_length: most positions it was made for, None where it sets no limit.
        notices: sentences that a person should see.
    """

    name: str
    source: str
    formula: CacheFormula
    weights: Weights
    declared: str
    context_length: int | None
    notices: tuple[str, ...] = ()

    def stored(self, storage: Storage) -> CacheFormula:
        """The formula where keys and values are stored otherwise."""
        return replace(self.formula, storage=storage, model=HALF if storage.bits < 16 else storage)


def estimate(described: Described) -> Estimate:
    """Compute it; takes half a second for the models in use, some seconds for the deepest.

    Raises:
        NotAModelError: the configuration is none of a causal language model, or of an unknown kind.
    """
    formula = formula_of(described.config, HALF)
    weights = count_weights(described.name, described.config)
    context = context_length_of(described.config.get_text_config(decoder=True))
    declared, notices = declared_storage(described.config)
    notices = described.notices + notices
    name, source = described.name, described.source
    return Estimate(name, source, formula, weights, declared, context, notices)
