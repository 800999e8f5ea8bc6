"""Number of weights in a configuration's model, counted on one that is built without data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import torch
from transformers import AutoModelForCausalLM, PretrainedConfig

from engine.cache_formula import CacheFormula, Storage
from engine.calculator.sources import Described
from engine.calculator.storages import CACHE_STORAGES, WeightStorage, declared_storage
from engine.errors import NotAModelError
from engine.model.cache_layers import formula_of
from engine.model.cache_layers.fields import Fields
from engine.model.loaded import context_length_of
from engine.model.loading.files import first_line

HALF = next(iter(CACHE_STORAGES.values()))


@dataclass(frozen=True)
class Estimate:
    """The figures computed for a model.

    Attributes:
        name: display name.
        source: where its fields were read.
        formula: formula of its cache, at 16 bits per value; see `stored`.
        weights: its parameters.
        declared: storage of the weights, by its configuration.
        context_length: maximum number of positions; None if it sets no limit.
        notices: remarks to show to the visitor.
    """

    name: str
    source: str
    formula: CacheFormula
    weights: Weights
    declared: str
    context_length: int | None
    notices: tuple[str, ...] = ()

    def stored(self, storage: Storage) -> CacheFormula:
        """Return the formula with keys and values in a different storage."""
        return replace(self.formula, storage=storage, model=HALF if storage.bits < 16 else storage)


def estimate(described: Described) -> Estimate:
    """Compute a model's figures: half a second for the models in use, seconds for the deepest.

    Raises:
        NotAModelError: the configuration is not that of a causal language model, or is of an
            unknown kind.
    """
    formula = formula_of(described.config, HALF)
    weights = count_weights(described.name, described.config)
    context = context_length_of(described.config.get_text_config(decoder=True))
    declared, notices = declared_storage(described.config)
    notices = described.notices + notices
    name, source = described.name, described.source
    return Estimate(name, source, formula, weights, declared, context, notices)


_PARTS = ("matrices", "experts", "expert_vectors", "tables", "vectors")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_CHOSEN = (
    *("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k"),
    *("top_k_experts", "num_selected_experts"),
)


@dataclass(frozen=True)
class Weights:
    """Parameter counts of a model; tied parameters count once.

    Attributes:
        matrices: parameters of linear layers, without routed experts.
        experts: parameters of the matrices of all routed experts.
        expert_vectors: parameters of their biases.
        experts_in_all, experts_chosen: number of experts in a layer, and of those that a token is
            routed to; both 1 without experts.
        tables: parameters of the embedding and of the output layer.
        unread: the part of `tables` of which a pass reads only some rows: a separate embedding.
        vectors: norms, biases and the like.
    """

    matrices: int
    experts: int
    expert_vectors: int
    experts_in_all: int
    experts_chosen: int
    tables: int
    unread: int
    vectors: int

    @property
    def total(self) -> int:
        """All parameters."""
        return self.matrices + self.routed + self.tables + self.vectors

    @property
    def routed(self) -> int:
        """Parameters of routed experts."""
        return self.experts + self.expert_vectors

    @property
    def active(self) -> int:
        """Parameters that one token's pass reads."""
        chosen = self.routed * self.experts_chosen // self.experts_in_all
        return self.total - self.routed - self.unread + chosen

    def bytes(self, storage: WeightStorage) -> int:
        """Return the bytes of all parameters."""
        return math.ceil(
            storage.matrices.bytes(self.matrices)
            + self._expert_bytes(storage)
            + storage.rest.bytes(self.tables + self.vectors)
        )

    def _expert_bytes(self, storage: WeightStorage) -> Fraction:
        return storage.experts.bytes(self.experts) + storage.rest.bytes(self.expert_vectors)

    def bytes_read(self, storage: WeightStorage, batch: int = 1) -> int:
        """Return the bytes of weights that a decode step for a batch reads.

        Every weight counts once, however large the batch. Of the routed experts, only those count
        that some token is routed to. Their expected number assumes that every token chooses its
        experts uniformly and independently.
        """
        missed = (1 - self.experts_chosen / self.experts_in_all) ** batch
        return math.ceil(
            storage.matrices.bytes(self.matrices)
            + float(self._expert_bytes(storage)) * (1 - missed)
            + storage.rest.bytes(self.tables - self.unread + self.vectors)
        )


def count_weights(name: str, config: PretrainedConfig) -> Weights:
    """Count the parameters that transformers gives a configuration; takes next to no memory.

    Args:
        name: the model's name, for the error.
        config: a configuration that `sources` has bounded.

    Raises:
        NotAModelError: transformers cannot build a causal language model from it.
    """
    try:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, trust_remote_code=False)
        table, output = model.get_input_embeddings().weight, model.get_output_embeddings()
    except Exception as error:  # an architecture may raise anything
        raise NotAModelError(
            "transformers cannot build a causal language model from the configuration of "
            "{name} ({error}); check config.json.",
            (name, first_line(error)),
        ) from error
    fields = Fields(config.get_text_config(decoder=True))
    in_all, chosen = _one(fields, _EXPERTS), _one(fields, _CHOSEN)
    is_apart = output is not None and output.weight is not table
    tables = {id(table)} | ({id(output.weight)} if output is not None else set())
    counts = dict.fromkeys(_PARTS, 0)
    for kind, size in _kinds(model, tables, in_all if chosen else None):
        counts[kind] += size
    has_experts = counts["experts"] > 0
    return Weights(
        experts_in_all=in_all if has_experts else 1,
        experts_chosen=min(chosen, in_all) if has_experts else 1,
        unread=table.numel() if is_apart else 0,
        **counts,
    )


def _kinds(
    model: torch.nn.Module, tables: set[int], experts: int | None
) -> Iterator[tuple[str, int]]:
    for name, weight in model.named_parameters():  # tied parameters come once
        if id(weight) in tables:
            yield "tables", weight.numel()
        elif experts and weight.dim() > 1 and weight.shape[0] == experts and ".experts." in name:
            yield "experts" if weight.dim() > 2 else "expert_vectors", weight.numel()
        elif experts and weight.dim() > 2 and weight.shape[0] == experts:
            yield "experts", weight.numel()
        else:
            yield "matrices" if weight.dim() > 1 else "vectors", weight.numel()


def _one(fields: Fields, names: tuple[str, ...]) -> int | None:
    return next((fields.plain(name) for name in names if fields.has(name)), None)
