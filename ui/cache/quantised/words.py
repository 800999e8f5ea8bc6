"""Quantised caches in words and tables."""

from __future__ import annotations

from engine.measure.quantised.result import Along, Point, QuantisedResult
from ui.measurements.section import Table
from ui.words.labels import counted, size, token_label
from ui.words.metrics import percent

LIKE_ROUNDING = 2.0  # times the divergence of rounding, up to which a cache does no more than that
MOST_CHANGES = 60  # rows of the table on the page; the CSV file has every token


def bits_text(value: float) -> str:
    """A divergence for reading: ``0.0031 bits``, ``2.1e-07 bits``."""
    if value == 0:
        return "0 bits"
    return f"{value:.2g} bits" if value >= 0.0001 else f"{value:.1e} bits"


def rounding(result: QuantisedResult) -> float:
    """Mean divergence by rounding alone, over the positions at which something was quantised."""
    first = result.along[0].how.exact_positions
    some = result.rounding_kl_bits[first:]
    return sum(some) / len(some) if some else 0.0


def notice(result: QuantisedResult) -> str:
    """What there is to see in the chosen setting."""
    points = [Point.of(one) for one in result.along]
    if not points[0].positions:
        return (
            f"Nothing is quantised before position {result.along[0].how.exact_positions + 1:,}: "
            "the residual holds all positions so far."
        )
    four = next(point for point in points if point.bits == 4)
    share = four.bytes / max(result.exact_bytes, 1)
    sentences = [
        f"4 bits take {size(four.bytes)} instead of {size(result.exact_bytes)} "
        f"({percent(share)}), residual and minima included.",
        f"They cost {bits_text(four.mean_kl_bits)} of divergence per token, and the likeliest "
        f"token changes at {four.changed:,} of {counted(four.positions, 'position')}.",
        _eight(points, rounding(result)),
        _parting(result),
    ]
    return " ".join(filter(None, sentences))


def _eight(points: list[Point], floor: float) -> str:
    eight = next(point for point in points if point.bits == 8)
    if floor and eight.mean_kl_bits <= LIKE_ROUNDING * floor:
        return (
            f"8 bits ({bits_text(eight.mean_kl_bits)}) change no more than rounding alone does "
            f"({bits_text(floor)})."
        )
    return f"8 bits cost {bits_text(eight.mean_kl_bits)}, rounding alone {bits_text(floor)}."


def _parting(result: QuantisedResult) -> str:
    if not result.is_written:
        return ""
    parted = [one for one in result.along if one.parted_after is not None]
    if not parted:
        return "The texts written with these caches are the same as far as they were read."
    words = [
        f"{one.bits} bits after {counted(one.parted_after, 'token')} "
        f"({token_label(one.parted_tokens[0])} became {token_label(one.parted_tokens[1])})"
        for one in parted
    ]
    return f"Written freely, texts part from the exact one: {'; '.join(words)}."


def summary(result: QuantisedResult) -> Table:
    """The chosen setting with each number of bits."""
    rows: list[tuple] = [("exact", size(result.exact_bytes), "100 %", None, None, None, None, "–")]
    rows += [_summary_row(one, result) for one in result.along]
    floor = rounding(result)
    largest = max(result.rounding_kl_bits[result.along[0].how.exact_positions :], default=0.0)
    rows.append(("rounding alone", "–", "–", _rounded(floor), _rounded(largest), None, None, "–"))
    head = (
        "cache",
        "size",
        "of exact",
        "mean KL, bits",
        "largest KL",
        "changed tokens",
        "logits, up to",
        "texts part after",
    )
    return Table("Chosen setting", head, rows)


def _summary_row(one: Along, result: QuantisedResult) -> tuple:
    point = Point.of(one)
    if not result.is_written:
        parts = "–"
    elif one.parted_after is None:
        parts = "not yet"
    else:
        parts = counted(one.parted_after, "token")
    return (
        f"{one.bits} bits",
        size(one.bytes),
        percent(one.bytes / max(result.exact_bytes, 1)),
        _rounded(point.mean_kl_bits),
        _rounded(point.largest_kl_bits),
        f"{point.changed:,} of {point.positions:,}",
        round(max(one.logit_difference, default=0.0), 4),
        parts,
    )


def _rounded(value: float) -> str:
    return bits_text(value).removesuffix(" bits")


def settings_table(result: QuantisedResult) -> Table:
    """Every setting that was measured, the least divergence first."""
    rows = [
        (
            f"{one.bits} bits, group {one.group}",
            one.keys,
            one.values,
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
        "setting",
        "keys",
        "values",
        "bytes",
        "% of exact",
        "bits per number (computed)",
        "mean KL, bits",
        "largest KL, bits",
        "changed tokens",
        "positions",
    )
    return Table("All settings", head, rows)


def changes(result: QuantisedResult) -> Table:
    """Positions at which a cache has another likeliest token, the most bits first."""
    rows = []
    for one in result.along:
        for place, is_changed in enumerate(one.is_changed):
            if is_changed:
                rows.append(
                    (
                        f"{one.bits} bits, position {place + 1:,}",
                        token_label(result.read[place]),
                        token_label(result.top[place]),
                        token_label(one.top[place]),
                        _rounded(one.kl_bits[place]),
                    )
                )
    head = ("where", "token read", "exact, likeliest next", "quantised", "KL, bits")
    return Table("Changed tokens", head, rows[:MOST_CHANGES])


def per_token(result: QuantisedResult) -> Table:
    """Every position with the figures of each number of bits."""
    head = ["position", "token", "likeliest next", "rounding alone, KL bits"]
    for one in result.along:
        head += [f"{one.bits} bits: KL bits", f"{one.bits} bits: likeliest next"]
        head += [f"{one.bits} bits: largest logit difference"]
    rows = []
    for place, read in enumerate(result.read):
        row = [place + 1, read, result.top[place], result.rounding_kl_bits[place]]
        for one in result.along:
            row += [one.kl_bits[place], one.top[place], one.logit_difference[place]]
        rows.append(tuple(row))
    return Table("Per token", head, rows)
