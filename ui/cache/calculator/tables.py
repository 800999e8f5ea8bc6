"""Tables of the calculator, from its results."""

from __future__ import annotations

from engine.calculator.published import published
from ui.cache.calculator.costs import Cost, Costs
from ui.cache.calculator.models import formula_of_shape
from ui.measurements.measured import digits
from ui.measurements.section import Table
from ui.words.labels import counted, size
from ui.words.metrics import number


def on_card_table(result: Costs) -> Table:
    """What fits on the card, and how fast it can be at most."""
    rows = [
        (
            one.name,
            _gigabytes(one.weights),
            one.weighed,
            _left(result, one),
            _gigabytes(one.cache / result.batch),
            one.users if _left_bytes(result, one) > 0 else "weights do not fit",
            _longest(one),
            f"{one.speed:,.0f}" if _fits(result, one) else None,
        )
        for one in result.models
    ]
    head = (
        "model",
        "weights",
        "stored in",
        "left for caches",
        "cache of one user",
        f"users of {result.positions:,} positions",
        f"largest context for {counted(result.batch, 'user')}",
        f"tokens/s at most, batch {result.batch:,}",
    )
    return Table("On one card, computed", head, rows)


def _fits(result: Costs, one: Cost) -> bool:
    return one.longest is None or one.longest >= result.positions


def _left_bytes(result: Costs, one: Cost) -> float:
    return result.gigabytes * 1e9 * (1 - result.reserve) - one.weights


def _left(result: Costs, one: Cost) -> str:
    left = _left_bytes(result, one)
    return _gigabytes(left) if left > 0 else "none"


def _gigabytes(count: float) -> str:
    return f"{number(count / 1e9, digits(count / 1e9))} GB"


def _longest(one: Cost) -> str:
    if one.longest is None:
        return "no limit by memory"
    if one.context and one.longest > one.context:
        return f"{one.longest:,} (made for {one.context:,})"
    return f"{one.longest:,}"


def sizes_table(result: Costs) -> Table:
    """Caches and weights."""
    rows = [
        (
            one.name,
            size(one.per_token),
            size(one.one),
            size(one.cache),
            f"{one.parameters / 1e9:,.3f}",
            f"{one.active / 1e9:,.3f}",
            " + ".join(f"{term.layers} {term.kind}" for term in one.terms),
        )
        for one in result.models
    ]
    head = (
        "model",
        "per further position",
        f"one text of {result.positions:,}",
        f"{counted(result.batch, 'text')} in blocks of {result.block:,}",
        "parameters, 10⁹",
        "active, 10⁹",
        "layers",
    )
    return Table("Sizes, computed", head, rows)


def formulas_table(result: Costs) -> Table:
    """Every formula with its numbers, and the fields that they come from."""
    rows = [
        (
            one.name if place == 0 else "",
            f"{term.layers} x {term.kind}",
            term.symbols,
            term.spelled,
            size(term.bytes),
            term.fields,
            one.source if place == 0 else "",
        )
        for one in result.models
        for place, term in enumerate(one.terms)
    ]
    head = ("model", "layers", "values of a layer", "bytes of a layer", "all of them")
    return Table("Formulas", (*head, "numbers", "source"), rows)


def published_table() -> Table:
    """Figures that others have published, beside ours."""
    rows = []
    for figure in published():
        formula = formula_of_shape(figure.shape)
        rows.append(
            (
                figure.shape,
                f"{figure.positions:,} positions" if figure.positions else "a further position",
                f"{figure.value:,.{figure.decimals}f} {figure.unit}",
                f"{figure.ours(formula):,.{figure.decimals or 1}f} {figure.unit}",
                "yes" if figure.agrees(formula) else "NO",
                figure.cited,
            )
        )
    head = ("model, 16 bits", "of", "published", "ours", "agree", "source")
    return Table("Published figures", head, rows)
