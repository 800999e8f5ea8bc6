"""The line as a picture: a lane for each visitor over the last seconds, and who waits just now.

It is HTML that is replaced in place: a chart would be built anew at each look.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from engine.measure.visitors import ShownPass, VisitorsResult
from ui.words.labels import counted
from ui.words.language import marked, say, with_figures

NAMES = {"step": marked("step"), "batch": marked("batch"), "prefill": marked("prompt")}
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
        none = html.escape(say("No pass in this time."))
        rows = f'<div class="line-name"></div><div class="line-none">{none}</div>'
    legend = "".join(
        f'<span><i class="line-{kind}"></i>{html.escape(say(name))}</span>'
        for kind, name in NAMES.items()
    )
    about = say(
        "Passes of the last {span} seconds, a lane for each visitor", span=f"{result.span:.0f}"
    )
    waits, now = html.escape(say("waits")), html.escape(say("now"))
    ago = html.escape(say("{seconds} s ago", seconds=f"{result.span:.0f}"))
    return (
        f'<p class="dv-facts line-legend">{legend}<span><i class="line-waits"></i>{waits}</span>'
        f'</p><div class="line-lanes" role="img" aria-label="{html.escape(about)}" tabindex="0">'
        f'<div></div><div class="line-axis"><span>{ago}</span><span>{now}</span>'
        f"</div>{rows}</div>"
    )


def queue(result: VisitorsResult) -> str:
    """What runs and who waits, the next one first."""
    running = [one for one in result.shown if one.began is not None and one.ended is None]
    waiting = [one for one in result.shown if one.began is None]
    if running:
        who, time = _who(running[0]), _ms(running[0].began)
        words = say("Runs: {who}, for {time}.", who=who, time=time)
    else:
        words = say("The device is free.")
    words += " " + (_waiting(waiting) if waiting else say("Nobody waits."))
    return f'<p class="dv-facts line-queue">{html.escape(words)}</p>'


def _waiting(passes: Sequence[ShownPass]) -> str:
    named = "; ".join(f"{_who(one)}, {_ms(one.came)}" for one in passes[:MOST_NAMED])
    more = len(passes) - MOST_NAMED
    if more > 0:
        named += say("; and {count} more", count=f"{more:,}")
    waits = counted(len(passes), "pass")
    return say("{passes} wait, the next first: {named}.", passes=waits, named=named)


def _who(one: ShownPass) -> str:
    kind = say(NAMES[one.kind])
    if one.visitor is None:
        return say("{kind} of a visitor", kind=kind)
    return say("{kind} of simulated {number}", kind=kind, number=one.visitor)


def _ms(seconds: float) -> str:
    return with_figures(f"{seconds * 1e3:,.0f} ms")


def _sorted(passes: Iterable[ShownPass]) -> list[tuple[str, list[ShownPass]]]:
    """Lanes by name: simulated visitors by number, then everybody else by kind."""
    simulated: dict[int, list[ShownPass]] = {}
    others: dict[str, list[list[ShownPass]]] = {}
    for one in sorted(passes, key=lambda one: -one.came):
        if one.visitor is not None:
            simulated.setdefault(one.visitor, []).append(one)
        else:
            _put(others.setdefault(one.kind, []), one)
    found = [
        (say("simulated {number}", number=number), simulated[number])
        for number in sorted(simulated)
    ]
    for kind in NAMES:
        name = say("{kind}, real", kind=say(NAMES[kind]))
        found += [(name, lane) for lane in others.get(kind, ())]
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
        words = say("waited {time}", time=_ms(one.came - began))
        bars += _bar("waits", one.came, began, span, words)
    if one.began is not None:
        ended = 0.0 if one.ended is None else one.ended
        words = f"{say(NAMES[one.kind])}, {_ms(began - ended)}"
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
