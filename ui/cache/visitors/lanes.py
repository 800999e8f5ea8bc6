"""The line as a picture: a lane for each visitor over the last seconds, and who waits just now.

It is HTML that is replaced in place: a chart would be built anew at each look.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from engine.measure.visitors import ShownPass, VisitorsResult
from ui.words.labels import counted

NAMES = {"step": "step", "batch": "batch", "prefill": "prompt"}
MOST_NAMED = 10  # of those who wait


def lanes(result: VisitorsResult) -> str:
    """A lane for each simulated visitor; passes of all others share lanes by their kind."""
    rows = "".join(
        f'<div class="line-name">{html.escape(name)}</div><div class="line-lane">'
        + "".join(_bars(one, result.span) for one in passes)
        + "</div>"
        for name, passes in _sorted(result.shown)
    )
    if not rows:
        rows = '<div class="line-name"></div><div class="line-none">No pass in this time.</div>'
    legend = "".join(
        f'<span><i class="line-{kind}"></i>{html.escape(name)}</span>'
        for kind, name in NAMES.items()
    )
    about = f"Passes of the last {result.span:.0f} seconds, a lane for each visitor"
    return (
        f'<p class="dv-facts line-legend">{legend}<span><i class="line-waits"></i>waits</span></p>'
        f'<div class="line-lanes" role="img" aria-label="{about}" tabindex="0">'
        f'<div></div><div class="line-axis"><span>{result.span:.0f} s ago</span><span>now</span>'
        f"</div>{rows}</div>"
    )


def queue(result: VisitorsResult) -> str:
    """What runs and who waits, the next one first."""
    running = [one for one in result.shown if one.began is not None and one.ended is None]
    waiting = [one for one in result.shown if one.began is None]
    if running:
        now = f"Runs: {_who(running[0])}, for {_ms(running[0].began)}."
    else:
        now = "The device is free."
    if not waiting:
        return f'<p class="dv-facts line-queue">{now} Nobody waits.</p>'
    named = "; ".join(f"{_who(one)}, {_ms(one.came)}" for one in waiting[:MOST_NAMED])
    more = len(waiting) - MOST_NAMED
    named += f"; and {more:,} more" if more > 0 else ""
    waits = f"{counted(len(waiting), 'pass')}" if len(waiting) == 1 else f"{len(waiting):,} passes"
    return f'<p class="dv-facts line-queue">{now} {waits} wait, the next first: {named}.</p>'


def _who(one: ShownPass) -> str:
    who = "a visitor" if one.visitor is None else f"simulated {one.visitor}"
    return f"{NAMES[one.kind]} of {who}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.0f} ms"


def _sorted(passes: Iterable[ShownPass]) -> list[tuple[str, list[ShownPass]]]:
    """Lanes by name: simulated visitors by number, then everybody else by kind."""
    simulated: dict[int, list[ShownPass]] = {}
    others: dict[str, list[list[ShownPass]]] = {}
    for one in sorted(passes, key=lambda one: -one.came):
        if one.visitor is not None:
            simulated.setdefault(one.visitor, []).append(one)
        else:
            _put(others.setdefault(one.kind, []), one)
    found = [(f"simulated {number}", simulated[number]) for number in sorted(simulated)]
    for kind in NAMES:
        found += [(f"{NAMES[kind]}, real", lane) for lane in others.get(kind, ())]
    return found


def _put(lanes_: list[list[ShownPass]], one: ShownPass) -> None:
    """Into the first lane whose last pass was over when this one came."""
    for lane in lanes_:
        ended = lane[-1].ended
        if ended is not None and ended >= one.came:
            lane.append(one)
            return
    lanes_.append([one])


def _bars(one: ShownPass, span: float) -> str:
    began = 0.0 if one.began is None else one.began
    bars = ""
    if one.came > began:
        words = f"waited {_ms(one.came - began)}"
        bars += _bar("waits", one.came, began, span, words)
    if one.began is not None:
        ended = 0.0 if one.ended is None else one.ended
        words = f"{NAMES[one.kind]}, {_ms(began - ended)}"
        bars += _bar(one.kind, began, ended, span, words)
    return bars


def _bar(kind: str, start: float, end: float, span: float, title: str) -> str:
    """A stretch from `start` to `end`, both in seconds ago."""
    left = 100 * (1 - min(start, span) / span)
    width = 100 * (min(start, span) - min(end, span)) / span
    return (
        f'<i class="line-{kind}" style="left:{left:.2f}%;width:{width:.2f}%" '
        f'title="{html.escape(title)}"></i>'
    )
