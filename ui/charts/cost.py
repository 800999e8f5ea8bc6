"""Charts of what the steps cost: bytes of the cache, milliseconds of each part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from engine.trace import Step
from ui.charts.style import BLUE, GREEN, GREY, ORANGE, VERMILION, figure


def kv_cache(steps: Sequence[Step], bytes_at: Callable[[int], int] | None = None) -> go.Figure:
    """Bytes of the key/value cache after each step.

    Args:
        steps: the run.
        bytes_at: the formula, from positions to bytes; None where the model has none.
    """
    fig = figure("KV cache")
    numbers = [step.index + 1 for step in steps]
    positions = [step.cache_positions for step in steps]
    drawn = "lines+markers" if len(steps) <= 40 else "lines"  # more markers would merge
    fig.add_bar(
        x=numbers,
        y=[step.cache_bytes for step in steps],
        customdata=positions,
        hovertemplate="step %{x}: %{y:,} bytes at %{customdata:,} positions",
        name="logical",
        marker={"color": BLUE},
    )
    fig.add_scatter(
        x=numbers,
        y=[step.cache_bytes_held for step in steps],
        mode=drawn,
        hovertemplate="step %{x}: %{y:,} bytes held",
        name="held",
        line={"color": VERMILION, "width": 2},
        marker={"symbol": "triangle-up", "size": 7},
    )
    if bytes_at is not None:
        fig.add_scatter(
            x=numbers,
            y=[bytes_at(count) for count in positions],
            mode=drawn,
            hovertemplate="step %{x}: formula gives %{y:,} bytes",
            name="formula",
            line={"color": GREEN, "dash": "dot", "width": 2},
            marker={"symbol": "circle-open", "size": 6},
        )
    most = max((max(step.cache_bytes, step.cache_bytes_held) for step in steps), default=1)
    values, texts = byte_ticks(most)
    fig.update_yaxes(
        title="bytes", tickvals=values, ticktext=texts, range=[0, max(most, values[-1]) * 1.05]
    )
    fig.update_xaxes(title="step", **_step_ticks(steps))
    return fig


def latency(steps: Sequence[Step]) -> go.Figure:
    """Milliseconds per step, stacked; prefills on an axis of their own, which would dwarf the rest.

    Steps whose logits came from the record (after a rewind) ran no forward pass and are marked.
    """
    fig = figure("Latency per step", barmode="stack")
    # The first step belongs to the prompt even where its logits are reused after a rewind.
    groups = (
        [step for step in steps if step.is_prefill or step.index == 0],
        [step for step in steps if not (step.is_prefill or step.index == 0)],
    )
    for axis, group in zip(("", "2"), groups, strict=True):
        _latency_bars(fig, group, axis)
    for axis, group in zip(("", "2"), groups, strict=True):
        reused = [step for step in group if step.reused]
        if not reused:
            continue
        fig.add_scatter(
            x=[step.index + 1 for step in reused],
            y=[step.total_ms for step in reused],
            mode="markers",
            marker={"symbol": "x-thin", "size": 8, "line": {"width": 2, "color": VERMILION}},
            name="reused logits",
            legendgroup="reused",
            showlegend=not any(trace.name == "reused logits" for trace in fig.data),
            hovertemplate="step %{x}: logits from the record, no forward pass",
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
        )
    # Two pairs of axes by hand: plotly's own subplots take half a second to set up.
    shared = {"automargin": True}
    fig.update_layout(
        xaxis={
            "domain": [0, 0.2],
            "title": {"text": "prefill", "standoff": 6},
            **_step_ticks(groups[0]),
        },
        xaxis2={
            "domain": [0.36, 1],
            "anchor": "y2",
            "visible": bool(groups[1]),
            "title": {"text": "decode step", "standoff": 6},
            **shared,
            **_step_ticks(groups[1]),
        },
        yaxis={"title": "ms", "rangemode": "tozero"},
        yaxis2={
            "anchor": "x2",
            "rangemode": "tozero",
            "visible": bool(groups[1]),
            **shared,
        },
    )
    return fig


def _latency_bars(fig: go.Figure, steps: Sequence[Step], axis: str) -> None:
    parts = (
        ("forward", BLUE, "", [step.forward_ms for step in steps]),
        ("shape", ORANGE, "x", [step.shape_ms for step in steps]),
        ("draw", GREEN, ".", [step.draw_ms for step in steps]),
        ("other", GREY, "/", [_other_ms(step) for step in steps]),
    )
    for name, colour, pattern, times in parts:
        fig.add_bar(
            x=[step.index + 1 for step in steps],
            y=times,
            name=name,
            legendgroup=name,
            showlegend=not axis,
            hovertemplate=f"step %{{x}}: {name} %{{y:.3f}} ms",
            marker={
                "color": colour,
                "pattern": {"shape": pattern, "fillmode": "overlay", "size": 5, "solidity": 0.25},
            },
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
        )


def _other_ms(step: Step) -> float:
    """Bookkeeping: what the whole step took beyond its three parts."""
    return max(0.0, step.total_ms - step.forward_ms - step.shape_ms - step.draw_ms)


def byte_ticks(most: int) -> tuple[list[float], list[str]]:
    """About five axis ticks up to at least `most` bytes, in one binary unit."""
    unit, name = 1, "B"
    for larger in ("KiB", "MiB", "GiB"):
        if most < 1024 * unit:
            break
        unit, name = unit * 1024, larger
    rough = most / unit / 4
    power = 10.0 ** len(str(int(rough))) / 10
    step = next(
        power * factor for factor in (0.25, 0.5, 1, 2, 2.5, 5, 10) if power * factor >= rough
    )
    counts = [step * place for place in range(6) if step * (place - 1) < most / unit]
    return [count * unit for count in counts], [f"{count:g} {name}" for count in counts]


def _step_ticks(steps: Sequence[Step]) -> dict:
    """Whole step numbers only, also where there is a single one."""
    if not steps:
        return {"showticklabels": False}
    first, last = steps[0].index + 1, steps[-1].index + 1
    spread = {"dtick": 1, "tick0": 1} if last - first < 8 else {"nticks": 8}
    return {"tickformat": ",d", "range": [first - 0.7, last + 0.7], **spread}
