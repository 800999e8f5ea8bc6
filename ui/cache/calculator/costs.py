"""The memory and speed of each model, computed from a visitor's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.cache_formula import IDEAL, Layout, Paged, in_numbers, in_symbols, numbers
from engine.calculator import AS_DECLARED, CACHE_STORAGES, WEIGHT_STORAGES, Card, Estimate, Fit
from engine.values import Amount, Name, Positive, Row, Share, Text, Whole

FARTHEST = 2**20  # last position in the chart
POINTS = tuple(sorted({1, *(round(2 ** (n / 2)) for n in range(8, 41))}))


@dataclass(frozen=True)
class Term:
    """A group of equal layers of a model, with the formula of one layer.

    Attributes:
        layers: number of layers.
        kind: the kind of attention or state, in the literature's words.
        symbols: formula of the number of values per layer, in symbols.
        spelled: bytes per layer and text, with the numbers filled in.
        fields: configuration field from which each number was read.
        bytes: bytes of all these layers, for one text.
    """

    layers: Positive
    kind: Name
    symbols: Text
    spelled: Text
    fields: Text
    bytes: Whole


@dataclass(frozen=True)
class Cost:
    """Memory and speed of one model.

    Attributes:
        name, source: its name, and where its configuration fields were read.
        terms: the formula of its cache.
        per_token: cache bytes per additional position.
        cache: bytes of all texts' caches, in blocks.
        one: bytes of one text's cache, without rounding up to blocks.
        weights: bytes of the weights.
        weighed: dtype in which the weights are stored.
        parameters, active: number of weights, and number of those that one token's pass reads.
        context: maximum positions that it was trained for; 0 if it sets no limit.
        users: number of texts of the requested length that fit on the card.
        longest: positions per text that fit for the requested batch; None if memory sets no limit.
        speed: maximum tokens/s over all texts.
        curve: bytes of one text's cache at `POINTS`, without rounding up to blocks.
        notices: sentences about this model.
    """

    name: Name
    source: Name
    terms: Row[Term]
    per_token: Whole
    cache: Whole
    one: Whole
    weights: Whole
    weighed: Name
    parameters: Whole
    active: Whole
    context: Whole
    users: Whole
    longest: Whole | None
    speed: Amount
    curve: Row[Whole]
    notices: Row[Name]


@dataclass(frozen=True)
class Costs:
    """All models, computed with the same numbers.

    Attributes:
        positions, batch: requested tokens per text and number of texts.
        stored, weighed: storage of caches and of weights.
        block: positions per block.
        card, card_source: name of the card, and the source of its figures.
        gigabytes, bandwidth: memory and bandwidth of the card.
        reserve: share of its memory that is left free.
        models: in the order of the page.
        problem: why models are left out; empty if none are.
    """

    positions: Positive
    batch: Positive
    stored: Name
    weighed: Name
    block: Positive
    card: Name
    card_source: Name
    gigabytes: Amount
    bandwidth: Amount
    reserve: Share
    models: Row[Cost]
    problem: Text

    @property
    def beyond(self) -> list[Cost]:
        """Models whose context is shorter than the requested length."""
        return [one for one in self.models if 0 < one.context < self.positions]


@dataclass(frozen=True)
class Asked:
    """The numbers that a visitor asks for.

    Attributes:
        positions, batch: tokens per text, and number of texts.
        stored, weighed: keys of `CACHE_STORAGES` and `WEIGHT_STORAGES`, or `AS_DECLARED`.
        block: positions per block.
        card: the card, with its memory and bandwidth.
        reserve: share of the memory that is left free.
    """

    positions: int
    batch: int
    stored: str
    weighed: str
    block: int
    card: Card
    reserve: float


def costs(models: Sequence[Estimate], asked: Asked, problem: str = "") -> Costs:
    """Compute the costs of all models; raises `SettingError` for invalid numbers."""
    return Costs(
        asked.positions,
        asked.batch,
        asked.stored,
        asked.weighed,
        asked.block,
        asked.card.name,
        asked.card.cited,
        float(asked.card.gigabytes),
        float(asked.card.bandwidth),
        asked.reserve,
        tuple(_cost(model, asked, Paged(asked.block)) for model in models),
        problem,
    )


def _cost(model: Estimate, asked: Asked, layout: Layout) -> Cost:
    formula = model.stored(CACHE_STORAGES[asked.stored])
    weighed = model.declared if asked.weighed == AS_DECLARED else asked.weighed
    storage = WEIGHT_STORAGES[weighed]
    fit = Fit(formula, model.weights, storage, asked.card, asked.reserve, layout)
    terms = [
        Term(
            count,
            layer.kind,
            in_symbols(layer),
            in_numbers(formula, layer, asked.positions, IDEAL),
            "; ".join(f"{one.symbol} = {one.value:,} ({one.source})" for one in numbers([layer])),
            int(count * formula.of_layer(layer, asked.positions, IDEAL)),
        )
        for count, layer in formula.groups
    ]
    return Cost(
        name=model.name,
        source=model.source,
        terms=tuple(terms),
        per_token=formula.bytes_per_token,
        cache=fit.cache_bytes(asked.batch, asked.positions),
        one=formula.bytes_at(asked.positions, IDEAL),
        weights=fit.weight_bytes,
        weighed=weighed,
        parameters=model.weights.total,
        active=model.weights.active,
        context=model.context_length or 0,
        users=fit.largest_batch(asked.positions),
        longest=fit.largest_context(asked.batch),
        speed=fit.tokens_per_second(asked.batch, asked.positions),
        curve=tuple(formula.bytes_at(n, IDEAL) for n in POINTS),
        notices=model.notices,
    )
