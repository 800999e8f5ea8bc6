"""The roofline as tables: ceilings, passes, the decode law, layers."""

from __future__ import annotations

from engine.measure import DECODE, PRODUCT, Ceiling, Pass, Roofline, outliers, p95
from ui.measurements.section import Table
from ui.words.labels import size
from ui.words.language import say


def ceilings_table(result: Roofline) -> Table:
    """Return a table of this machine's memory bandwidth and arithmetic throughput."""
    rows = [
        (
            say(one.way),
            one.dtype,
            one.threads or None,
            f"{one.size:,} x {one.size:,}" if one.kind == PRODUCT else size(one.size),
            rate_text(one),
            one.spread,
        )
        for one in result.ceilings
    ]
    head = (
        say("way"),
        say("dtype"),
        say("CPU threads"),
        say("size"),
        say("fastest"),
        say("fastest / slowest"),
    )
    return Table(say("Ceilings"), head, rows)


def rate_text(ceiling: Ceiling) -> str:
    """Format a ceiling with its unit."""
    if ceiling.kind == PRODUCT:
        return f"{ceiling.best / 1e9:,.0f} GFLOP/s"
    return bandwidth_text(ceiling)


def bandwidth_text(ceiling: Ceiling) -> str:
    """Format a bandwidth with its unit."""
    return f"{ceiling.best / 1e9:,.1f} GB/s"


def passes_table(result: Roofline) -> Table:
    """Return a table of every pass: its work, its duration, and its share of the roof."""
    rows = [
        (
            pass_name(one),
            one.operations / 1e6,
            size(one.bytes),
            one.intensity,
            one.seconds * 1e3,
            p95(one.ms),
            len(outliers(one.ms)),
            one.rate / 1e9,
            one.per_second,
            _share(result, one),
        )
        for one in result.passes
    ]
    head = (
        say("pass"),
        say("million operations, counted"),
        say("bytes, computed"),
        say("operations per byte"),
        say("median, ms"),
        "p95, ms",
        say("outliers"),
        say("GFLOP/s"),
        say("tokens/s"),
        say("share of the roof"),
    )
    return Table(say("Passes"), head, rows)


def pass_name(one: Pass) -> str:
    """Describe a pass in words."""
    if one.kind == DECODE:
        return say("decode after {positions} tokens", positions=f"{one.positions:,}")
    if one.rows > 1 or one.kind != "prefill":
        return say(
            "batch of {rows} after {positions} tokens",
            rows=f"{one.rows:,}",
            positions=f"{one.positions:,}",
        )
    return say("prefill of {tokens} tokens", tokens=f"{one.tokens:,}")


def _share(result: Roofline, one: Pass) -> str | None:
    roof = result.roof(one.intensity)
    return None if roof is None else _percent(one.rate / roof)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def law_table(result: Roofline) -> Table:
    """Return a table of decode speeds: predicted by the decode law, and measured."""
    small = result.small_bandwidth
    rows = []
    for one in result.of_kind(DECODE):
        predicted = result.predicted_per_second(one)
        if predicted is not None:
            rows.append(
                (
                    say("after {positions} tokens", positions=f"{one.positions:,}"),
                    size(one.weight_bytes),
                    size(one.cache_bytes),
                    predicted,
                    small.best / one.bytes if small else None,
                    one.per_second,
                    _percent(one.per_second / predicted),
                )
            )
    head = (
        say("a decode step"),
        say("weights"),
        say("cache"),
        say("predicted, tokens/s"),
        say("if that little is read repeatedly"),
        say("measured, tokens/s"),
        say("measured / predicted"),
    )
    return Table(say("Decode law"), head, rows)


def layers_table(result: Roofline) -> Table:
    """Return a table of the time that a decode step spends in the layers and elsewhere."""
    layers, bandwidth = result.layers, result.bandwidth
    rows = []
    if layers is not None and bandwidth is not None:
        rows.append(
            (
                say("{count} layers", count=f"{layers.count:,}"),
                layers.layer_ms,
                layers.reading_ms(bandwidth.best),
                layers.overhead_ms(bandwidth.best),
                layers.head_ms,
                layers.head_bytes / bandwidth.best * 1e3,
                layers.around_ms,
                layers.step_ms,
                layers.calls,
            )
        )
    head = (
        say("a decode step"),
        say("one layer, ms"),
        say("of which reading weights, computed"),
        say("overhead per layer, ms"),
        say("output layer, ms"),
        say("of which reading its weights, computed"),
        say("all else, ms"),
        say("whole step, ms"),
        say("operator calls"),
    )
    return Table(say("Layers"), head, rows)


TABLES = (ceilings_table, passes_table, law_table, layers_table)
