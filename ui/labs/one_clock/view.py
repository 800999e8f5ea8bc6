"""The runs in words: texts, figures, and what there is to notice; all texts are escaped here."""

from __future__ import annotations

import html
from collections.abc import Mapping

from engine.study.one_clock import Timed
from ui.labs.one_clock.decoders import DECODERS
from ui.skeleton.tables import escaped, table
from ui.words.labels import stop_name
from ui.words.metrics import number

ABOUT = {one.name: one.about for one in DECODERS}


def cards(prompt: str, timed: Mapping[str, Timed], failed: Mapping[str, str]) -> str:
    """Every decoder's text."""
    parts = []
    for name in ABOUT:
        if name in timed:
            one = timed[name]
            end = stop_name(one.stop_reason) if one.stop_reason else "all tokens written"
            body = f"<span>{escaped(prompt)}</span>{escaped(one.text)}"
            facts = f"{one.tokens} tokens · {end}"
        elif name in failed:
            body, facts = escaped(failed[name]), "not run"
        else:
            body, facts = "", "not run yet"
        focus = ' tabindex="0"' if body else ""  # a long text can be scrolled
        parts.append(
            f'<section class="dv-card lab-card" aria-label="Text of {html.escape(name)}">'
            f"<h3>{html.escape(name)}</h3>"
            f'<p class="dv-facts">{html.escape(ABOUT[name])} · {html.escape(facts)}</p>'
            f'<p class="dv-written"{focus}>{body}</p></section>'
        )
    return f'<div class="lab-grid">{"".join(parts)}</div>'


def figures(timed: Mapping[str, Timed]) -> str:
    """What every decoder took, and how likely its text is."""
    head = (
        "decoder",
        "tokens",
        "model passes",
        "of other models",
        "positions computed",
        "weights read",
        "time",
        "per token",
        "log-probability",
        "per token",
    )
    rows = [
        (
            name,
            f"{one.tokens:,}",
            f"{one.passes:,}",
            f"{one.passes - one.judge_passes:,}",
            f"{one.positions:,}",
            f"{one.weight_bytes / 2**30:.2f} GiB",  # of one unit, to be compared
            f"{one.median_ms:,.0f} ms",
            "–" if one.ms_per_token is None else f"{one.ms_per_token:.1f} ms",
            f"{number(one.logprob, 1)} nats",
            "–" if one.nats_per_token is None else f"{number(one.nats_per_token, 2)} nats",
        )
        for name, one in timed.items()
    ]
    return table("What each took", head, rows, "figures")


def notice(timed: Mapping[str, Timed]) -> str:
    """The largest differences, in a sentence or two; empty while there are no two to compare."""
    told = {name: one for name, one in timed.items() if one.ms_per_token is not None}
    if len(told) < 2:
        return ""
    fastest = min(told, key=lambda name: told[name].ms_per_token)
    slowest = max(told, key=lambda name: told[name].ms_per_token)
    likeliest = max(told, key=lambda name: told[name].nats_per_token)
    ratio = told[slowest].ms_per_token / told[fastest].ms_per_token
    return (
        f"{slowest} takes {ratio:.1f} times as long per token as {fastest}. "
        f"The model finds the text of {likeliest} likeliest per token."
    )
