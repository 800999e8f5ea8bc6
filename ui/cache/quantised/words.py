"""Quantised caches in words and tables."""

from __future__ import annotations

from engine.measure import Along, QuantisedPoint, QuantisedResult
from engine.model import Quantisation
from ui.measurements.section import Table
from ui.words.labels import counted, size, token_label
from ui.words.language import say
from ui.words.metrics import percent

LIKE_ROUNDING = 2.0  # a divergence up to this multiple of rounding's counts as rounding alone
MOST_CHANGES = 60  # rows of the table on the page; the CSV file has every token


def bits_text(value: float) -> str:
    """Format a divergence for reading: ``0.0031 bits``, ``2.1e-07 bits``."""
    if value == 0:
        return say("{value} bits", value=0)
    return say("{value} bits", value=_figure(value))


def _figure(value: float) -> str:
    return f"{value:.2g}" if value >= 0.0001 or not value else f"{value:.1e}"


def how_text(how: Quantisation) -> str:
    """Describe a setting: bits, group size, and the axes of keys and values."""
    return say(
        "{bits} bits, groups of {group}, keys {keys}, values {values}",
        bits=how.bits,
        group=how.group,
        keys=say(how.keys),
        values=say(how.values),
    )


def rounding(result: QuantisedResult) -> float:
    """Compute the mean divergence due to rounding, over positions with a quantised cache."""
    first = result.along[0].how.exact_positions
    some = result.rounding_kl_bits[first:]
    return sum(some) / len(some) if some else 0.0


def notice(result: QuantisedResult) -> str:
    """Say what to notice in the chosen setting."""
    points = [QuantisedPoint.of(one) for one in result.along]
    if not points[0].positions:
        return say(
            "Nothing is quantised before position {exact_positions}: the residual contains "
            "all positions so far.",
            exact_positions=f"{result.along[0].how.exact_positions + 1:,}",
        )
    four = next(point for point in points if point.bits == 4)
    share = four.bytes / max(result.exact_bytes, 1)
    sentences = [
        say(
            "4 bits take {bytes} instead of {exact_bytes} ({share}), residual and minima included.",
            bytes=size(four.bytes),
            exact_bytes=size(result.exact_bytes),
            share=percent(share),
        ),
        say(
            "They cost {mean_kl_bits} of divergence per token, and the likeliest token "
            "changes at {changed} of {positions}.",
            mean_kl_bits=bits_text(four.mean_kl_bits),
            changed=f"{four.changed:,}",
            positions=counted(four.positions, "position"),
        ),
        _eight(points, rounding(result)),
        _parting(result),
    ]
    return " ".join(filter(None, sentences))


def _eight(points: list[QuantisedPoint], floor: float) -> str:
    eight = next(point for point in points if point.bits == 8)
    if floor and eight.mean_kl_bits <= LIKE_ROUNDING * floor:
        return say(
            "8 bits ({mean_kl_bits}) change no more than rounding alone does ({floor}).",
            mean_kl_bits=bits_text(eight.mean_kl_bits),
            floor=bits_text(floor),
        )
    return say(
        "8 bits cost {mean_kl_bits}, rounding alone {floor}.",
        mean_kl_bits=bits_text(eight.mean_kl_bits),
        floor=bits_text(floor),
    )


def _parting(result: QuantisedResult) -> str:
    if not result.is_written:
        return ""
    parted = [one for one in result.along if one.parted_after is not None]
    if not parted:
        return say("The texts written with these caches are the same as far as they were read.")
    words = [
        say(
            "{bits} bits after {tokens} ({parted_tokens} became {parted_tokens_2})",
            bits=one.bits,
            tokens=counted(one.parted_after, "token"),
            parted_tokens=token_label(one.parted_tokens[0]),
            parted_tokens_2=token_label(one.parted_tokens[1]),
        )
        for one in parted
    ]
    return say("Written freely, texts diverge from the exact one: {words}.", words="; ".join(words))


def summary(result: QuantisedResult) -> Table:
    """Return a table of the chosen setting's figures for each number of bits."""
    rows: list[tuple] = [
        (say("exact"), size(result.exact_bytes), "100 %", None, None, None, None, "–")
    ]
    rows += [_summary_row(one, result) for one in result.along]
    floor = rounding(result)
    largest = max(result.rounding_kl_bits[result.along[0].how.exact_positions :], default=0.0)
    rows.append(
        (say("rounding alone"), "–", "–", _rounded(floor), _rounded(largest), None, None, "–")
    )
    head = (
        say("cache"),
        say("size"),
        say("of exact"),
        say("mean KL, bits"),
        say("largest KL"),
        say("changed tokens"),
        say("logits, up to"),
        say("texts diverge after"),
    )
    return Table(say("Chosen setting"), head, rows)


def _summary_row(one: Along, result: QuantisedResult) -> tuple:
    point = QuantisedPoint.of(one)
    if not result.is_written:
        parts = "–"
    elif one.parted_after is None:
        parts = say("not yet")
    else:
        parts = counted(one.parted_after, "token")
    return (
        say("{bits} bits", bits=one.bits),
        size(one.bytes),
        percent(one.bytes / max(result.exact_bytes, 1)),
        _rounded(point.mean_kl_bits),
        _rounded(point.largest_kl_bits),
        say("{some} of {all}", some=f"{point.changed:,}", all=f"{point.positions:,}"),
        round(max(one.logit_difference, default=0.0), 4),
        parts,
    )


def _rounded(value: float) -> str:
    return _figure(value)


def settings_table(result: QuantisedResult) -> Table:
    """Return a table of every measured setting, lowest divergence first."""
    rows = [
        (
            say("{bits} bits, group {group}", bits=one.bits, group=one.group),
            say(one.keys),
            say(one.values),
            one.bytes,
            round(100 * one.bytes / max(result.exact_bytes, 1), 1),
            one.how.bits_per_number,
            one.mean_kl_bits,
            one.largest_kl_bits,
            one.changed,
            one.positions,
        )
        for one in sorted(result.points, key=lambda point: point.mean_kl_bits)
    ]
    head = (
        say("setting"),
        say("keys"),
        say("values"),
        say("bytes"),
        say("% of exact"),
        say("bits per number (computed)"),
        say("mean KL, bits"),
        say("largest KL, bits"),
        say("changed tokens"),
        say("positions"),
    )
    return Table(say("All settings"), head, rows)


def changes(result: QuantisedResult) -> Table:
    """Return a table of positions whose likeliest token has changed, most bits first."""
    rows = []
    for one in result.along:
        for place, is_changed in enumerate(one.is_changed):
            if is_changed:
                rows.append(
                    (
                        say("{bits} bits, position {place}", bits=one.bits, place=f"{place + 1:,}"),
                        token_label(result.read[place]),
                        token_label(result.top[place]),
                        token_label(one.top[place]),
                        _rounded(one.kl_bits[place]),
                    )
                )
    head = (
        say("where"),
        say("token read"),
        say("exact, likeliest next"),
        say("quantised"),
        say("KL, bits"),
    )
    return Table(say("Changed tokens"), head, rows[:MOST_CHANGES])


def per_token(result: QuantisedResult) -> Table:
    """Return a table of every position's figures for each number of bits."""
    head = [say("position"), say("token"), say("likeliest next"), say("rounding alone, KL bits")]
    for one in result.along:
        head += [
            say("{bits} bits: KL bits", bits=one.bits),
            say("{bits} bits: likeliest next", bits=one.bits),
        ]
        head += [say("{bits} bits: largest logit difference", bits=one.bits)]
    rows = []
    for place, read in enumerate(result.read):
        row = [place + 1, read, result.top[place], result.rounding_kl_bits[place]]
        for one in result.along:
            row += [one.kl_bits[place], one.top[place], one.logit_difference[place]]
        rows.append(tuple(row))
    return Table(say("Per token"), head, rows)
