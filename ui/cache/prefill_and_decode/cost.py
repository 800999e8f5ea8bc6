"""The cost lens: typed prices next to measured times."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import streamlit as st

from engine.calculator import citation
from engine.measure import PrefillAndDecode
from ui.cache.prefill_and_decode.prices import (
    OWN,
    Cost,
    checked_price,
    published,
    source_of,
)
from ui.labs import fields
from ui.labs.state import InputsState
from ui.measurements.drawing import sheet
from ui.measurements.section import Table
from ui.shell.fields import bound
from ui.words.labels import markdown_text, size
from ui.words.language import say


class Prices(Protocol):
    """Inputs that include prices, in dollars per million tokens."""

    input_price: float
    output_price: float


def cost_fields(held: InputsState) -> None:
    """Draw the price fields, and the source of the prices if they are published."""
    inputs: Prices = held.inputs
    names = [OWN, *published()]
    whose = source_of(inputs.input_price, inputs.output_price)

    def choose(name: str) -> None:
        if name != OWN:
            price = published()[name]
            held.change(input_price=price["input"], output_price=price["output"])

    with fields.row():
        st.selectbox(
            say("Prices of"),
            names,
            names.index(whose),
            format_func=say,
            width=200,
            help=say("Published prices are typed in, with date and source; they are not measured."),
            **bound(f"{held.name}_prices", whose, choose),
        )
        for side, label in (
            ("input", say("Input, $ per million")),
            ("output", say("Output, $ per million")),
        ):
            fields.real(
                held,
                f"{side}_price",
                label,
                step=0.5,
                width=190,
                checked=partial(checked_price, label),
                help=say("Dollars per million tokens."),
            )
    if whose != OWN:
        price = published()[whose]
        where = citation(price["source"], price["address"], price["checked"])
        st.caption(markdown_text(say("Typed in, not measured: {where}.", where=where)))


def cost_lens(result: PrefillAndDecode, inputs: Prices) -> None:
    """Draw the time and the price of the largest request."""
    cost = Cost(result.largest, inputs.input_price, inputs.output_price)
    sheet(cost_table(cost, result.weight_bytes))
    st.markdown(markdown_text(cost_words(cost, result.weight_bytes)))


def cost_table(cost: Cost, weight_bytes: int) -> Table:
    """Return a table of the time and price of an input token and of an output token."""
    cell = cost.cell
    rows = [
        (
            say("an input token"),
            cost.input_ms,
            cost.input_price,
            size(weight_bytes // cell.prompt),
            f"{cell.prompt:,}",
            cell.first,
            f"$ {cost.input_dollars:.3g}",
        ),
        (
            say("an output token"),
            cost.output_ms,
            cost.output_price,
            size(weight_bytes),
            f"{cell.output:,}",
            cell.total - cell.first,
            f"$ {cost.output_dollars:.3g}",
        ),
        (
            say("output / input"),
            cost.time_ratio,
            cost.price_ratio,
            f"{cell.prompt:,} x",
            None,
            None,
            None,
        ),
    ]
    head = (
        say("the largest cell"),
        say("measured, ms"),
        say("price, $ per million"),
        say("weights read for it, computed"),
        say("tokens"),
        say("time, ms"),
        say("money"),
    )
    return Table(say("Time and price"), head, rows)


def cost_words(cost: Cost, weight_bytes: int) -> str:
    """Say why output costs more, with the measured figures."""
    prompt = cost.cell.prompt
    words = say(
        "Prefill reads the weights ({weight_bytes}) once for all {prompt} input "
        "tokens. Decode reads them again for every output token.",
        weight_bytes=size(weight_bytes),
        prompt=f"{prompt:,}",
    )
    if cost.time_ratio is not None and cost.price_ratio is not None:
        words += " " + say(
            "Here an output token takes {time_ratio} times as long; it costs "
            "{price_ratio} times as much.",
            time_ratio=f"{cost.time_ratio:.1f}",
            price_ratio=f"{cost.price_ratio:.1f}",
        )
    return f"{words} " + say(
        "A provider decodes many texts in one pass, so its ratio differs: see batch 1 to 64 "
        "under Roofline."
    )
