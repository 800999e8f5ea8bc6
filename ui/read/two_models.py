"""One text under two models, in words and HTML; all texts from outside are escaped here."""

from __future__ import annotations

import math

from engine.study import Stretch, TwoReadings
from ui.shell.tables import facts, table
from ui.words.labels import token_label
from ui.words.language import say
from ui.words.metrics import number, percent

MOST = 12  # rows of the table


def verdict(both: TwoReadings) -> str:
    """Say which model finds the text likelier, by how much, and where they differ most."""
    stretches = both.stretches()
    if not stretches:
        return say(
            "The tokenizers of the two models spell this text differently, so only their own "
            "figures are shown."
        )
    one, other = (
        math.fsum(bits)
        for bits in zip(*((each.one_bits, each.other_bits) for each in stretches), strict=True)
    )
    likelier, less = both.one.model_name, both.other.model_name
    if other < one:
        likelier, less = less, likelier
    most = max(stretches, key=lambda each: abs(each.one_bits - each.other_bits))
    return say(
        "{likelier} finds the text likelier than {less}, by {bits} bits. They differ most at "
        "“{text}”: {one} bits under {first}, {other} under {second}.",
        likelier=likelier,
        less=less,
        bits=number(abs(one - other), 2),
        text=token_label(most.text),
        one=number(most.one_bits, 2),
        other=number(most.other_bits, 2),
        first=both.one.model_name,
        second=both.other.model_name,
    )


def figures(both: TwoReadings) -> str:
    """Return the figures of both models for the whole text as HTML."""
    words = [
        say(
            "{model}: {count} tokens, {bits} bits per byte",
            model=reading.model_name,
            count=f"{len(reading.tokens):,}",
            bits=number(reading.bits_per_byte, 3),
        )
        for reading in (both.one, both.other)
    ]
    if both.kl_bits:
        mean = math.fsum(both.kl_bits) / len(both.kl_bits)
        words += [
            say("mean KL divergence {bits} bits per token", bits=number(mean, 4)),
            say("total variation up to {share}", share=percent(max(both.total_variation))),
        ]
    else:
        words.append(say("other tokens, so the models are compared where tokens of both end"))
    return f'<p class="dv-facts">{facts(words)}</p>'


def differences(both: TwoReadings) -> str:
    """Return the parts of the text at which the models differ most, as a table in HTML."""
    stretches = both.stretches()
    order = sorted(stretches, key=lambda each: -abs(each.one_bits - each.other_bits))[:MOST]
    names = both.one.model_name, both.other.model_name
    head = [
        say("place"),
        say("part of the text"),
        say("bits, {model}", model=names[0]),
        say("bits, {model}", model=names[1]),
        say("difference, bits"),
    ]
    if both.kl_bits:
        head += [say("KL divergence, bits"), say("total variation")]
    rows = [_row(both, each) for each in order]
    return table(say("Where the models differ most"), head, rows, "figures") if rows else ""


def _row(both: TwoReadings, part: Stretch) -> tuple[str, ...]:
    place = part.one_tokens.start
    row = (
        f"{place + 1:,}",
        token_label(part.text),
        number(part.one_bits, 2),
        number(part.other_bits, 2),
        number(part.other_bits - part.one_bits, 2),
    )
    if not both.kl_bits:
        return row
    variation = percent(both.total_variation[place])
    return (*row, number(both.kl_bits[place], 4), variation)
