"""Tables of the calculator, from its results."""

from __future__ import annotations

from engine.calculator import published_sizes
from ui.cache.calculator.costs import Cost, Costs
from ui.cache.calculator.models import formula_of_shape
from ui.measurements.drawing import digits
from ui.measurements.section import Table
from ui.words.labels import counted, size
from ui.words.language import say
from ui.words.metrics import number


def on_card_table(result: Costs) -> Table:
    """Return a table of how many texts fit on the card, and the highest possible speed."""
    rows = [
        (
            one.name,
            _gigabytes(one.weights),
            say(one.weighed),
            _left(result, one),
            _gigabytes(one.cache / result.batch),
            one.users if _left_bytes(result, one) > 0 else say("weights do not fit"),
            _longest(one),
            f"{one.speed:,.0f}" if _fits(result, one) else None,
        )
        for one in result.models
    ]
    head = (
        say("model"),
        say("weights"),
        say("stored in"),
        say("left for caches"),
        say("cache of one user"),
        say("users with {positions} positions", positions=f"{result.positions:,}"),
        say("largest context for {users}", users=counted(result.batch, "user")),
        say("tokens/s at most, batch {batch}", batch=f"{result.batch:,}"),
    )
    return Table(say("On one card, computed"), head, rows)


def _fits(result: Costs, one: Cost) -> bool:
    return one.longest is None or one.longest >= result.positions


def _left_bytes(result: Costs, one: Cost) -> float:
    return result.gigabytes * 1e9 * (1 - result.reserve) - one.weights


def _left(result: Costs, one: Cost) -> str:
    left = _left_bytes(result, one)
    return _gigabytes(left) if left > 0 else say("none")


def _gigabytes(count: float) -> str:
    return f"{number(count / 1e9, digits(count / 1e9))} GB"


def _longest(one: Cost) -> str:
    if one.longest is None:
        return say("not limited by memory")
    if one.context and one.longest > one.context:
        return say(
            "{longest} (trained for {context})",
            longest=f"{one.longest:,}",
            context=f"{one.context:,}",
        )
    return f"{one.longest:,}"


def sizes_table(result: Costs) -> Table:
    """Return a table of each model's cache size and number of weights."""
    rows = [
        (
            one.name,
            size(one.per_token),
            size(one.one),
            size(one.cache),
            f"{one.parameters / 1e9:,.3f}",
            f"{one.active / 1e9:,.3f}",
            " + ".join(f"{term.layers} {say(term.kind)}" for term in one.terms),
        )
        for one in result.models
    ]
    head = (
        say("model"),
        say("per further position"),
        say("one text of {positions}", positions=f"{result.positions:,}"),
        say(
            "{texts} in blocks of {block}",
            texts=counted(result.batch, "text"),
            block=f"{result.block:,}",
        ),
        say("parameters, 10⁹"),
        say("active, 10⁹"),
        say("layers"),
    )
    return Table(say("Sizes, computed"), head, rows)


def formulas_table(result: Costs) -> Table:
    """Return a table of every formula with its numbers, and the fields that they come from."""
    rows = [
        (
            one.name if place == 0 else "",
            f"{term.layers} x {say(term.kind)}",
            term.symbols,
            term.spelled,
            size(term.bytes),
            term.fields,
            say(one.source) if place == 0 else "",
        )
        for one in result.models
        for place, term in enumerate(one.terms)
    ]
    head = (
        say("model"),
        say("layers"),
        say("values of a layer"),
        say("bytes of a layer"),
        say("all of them"),
    )
    return Table(say("Formulas"), (*head, say("numbers"), say("source")), rows)


def published_table() -> Table:
    """Return a table of published figures next to the computed ones."""
    rows = []
    for figure in published_sizes():
        formula = formula_of_shape(figure.shape)
        rows.append(
            (
                figure.shape,
                counted(figure.positions, "position")
                if figure.positions
                else say("a further position"),
                f"{figure.value:,.{figure.decimals}f} {figure.unit}",
                f"{figure.ours(formula):,.{figure.decimals or 1}f} {figure.unit}",
                say("yes") if figure.agrees(formula) else say("NO"),
                figure.cited,
            )
        )
    head = (
        say("model, 16 bits"),
        say("of"),
        say("published"),
        say("ours"),
        say("agree"),
        say("source"),
    )
    return Table(say("Published figures"), head, rows)
