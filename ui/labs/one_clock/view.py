"""The runs in words: texts, figures and a notice; all texts from outside are escaped here."""

from __future__ import annotations

import html
from collections.abc import Mapping

from engine.study import Timed
from ui.labs.one_clock.clock import DECODERS
from ui.shell.stage import staged_text
from ui.shell.tables import escaped, table
from ui.words.labels import counted, stop_name
from ui.words.language import say
from ui.words.metrics import number

ABOUT = {one.name: one.about for one in DECODERS}


def cards(prompt: str, timed: Mapping[str, Timed], failed: Mapping[str, str]) -> str:
    """Format every decoder's text as a card, or why it could not run."""
    parts = []
    for name in ABOUT:
        if name in timed:
            one = timed[name]
            end = stop_name(one.stop_reason) if one.stop_reason else say("all tokens written")
            body = f"<span>{escaped(prompt)}</span>{escaped(one.text)}"
            facts = f"{counted(one.tokens, 'token')} · {end}"
        elif name in failed:
            body, facts = escaped(failed[name]), say("not run")
        else:
            body, facts = "", say("not run yet")
        focus = ' tabindex="0"' if body else ""  # so that a long text can be scrolled by keyboard
        label = say("Text of {name}", name=say(name))
        parts.append(
            f'<section class="dv-card lab-card" aria-label="{html.escape(label)}">'
            f"<h3>{html.escape(say(name))}</h3>"
            f'<p class="dv-facts">{html.escape(say(ABOUT[name]))} · {html.escape(facts)}</p>'
            f'<p class="dv-written"{focus}>{body}</p></section>'
        )
    return f'<div class="lab-grid">{"".join(parts)}</div>'


def staged_runs(prompt: str, timed: Mapping[str, Timed]) -> str:
    """Format every decoder's time and text for stage view."""
    rows = "".join(
        f"<li><b>{'–' if one.ms_per_token is None else f'{one.ms_per_token:.1f} ms'}</b>"
        f'<p class="dv-written"><b>{html.escape(say(name))}</b> {escaped(one.text)}</p></li>'
        for name, one in timed.items()
    )
    name = say("Time per token, and the text")
    return (
        f"{staged_text(prompt, '')}<h2>{name}</h2>"
        f'<ol class="dv-staged-list" aria-label="{name}">{rows}</ol>'
    )


def figures(timed: Mapping[str, Timed]) -> str:
    """Return a table of each decoder's cost and its text's likelihood."""
    head = (
        say("decoder"),
        say("tokens"),
        say("model passes"),
        say("of other models"),
        say("positions computed"),
        say("weights read"),
        say("time"),
        say("per token"),
        say("log-probability"),
        say("per token"),
    )
    rows = [
        (
            say(name),
            f"{one.tokens:,}",
            f"{one.passes:,}",
            f"{one.passes - one.judge_passes:,}",
            f"{one.positions:,}",
            f"{one.weight_bytes / 2**30:.2f} GiB",  # always in GiB, for comparison
            f"{one.median_ms:,.0f} ms",
            "–" if one.ms_per_token is None else f"{one.ms_per_token:.1f} ms",
            say("{nats} nats", nats=number(one.logprob, 1)),
            "–"
            if one.nats_per_token is None
            else say("{nats} nats", nats=number(one.nats_per_token, 2)),
        )
        for name, one in timed.items()
    ]
    return table(say("What each took"), head, rows, "figures")


def notice(timed: Mapping[str, Timed], is_done: bool, was_busy: bool) -> str:
    """Describe the largest differences in a sentence or two, once every round is over.

    Times of the slowest and the fastest decoder are compared only if their rounds do not overlap
    and the machine was idle.
    """
    if not is_done:
        return say("Times are compared once every decoder has had all its rounds.")
    told = {name: one for name, one in timed.items() if one.ms_per_token is not None}
    if len(told) < 2:
        return ""
    likeliest = max(told, key=lambda name: told[name].nats_per_token)
    likely = say(
        "The model finds the text of {likeliest} likeliest per token.", likeliest=say(likeliest)
    )
    return f"{_speeds(told, was_busy)} {likely}"


def _speeds(told: Mapping[str, Timed], was_busy: bool) -> str:
    if was_busy:
        return say("This computer was busy when the runs began, so their times are not compared.")
    fastest = min(told, key=lambda name: told[name].ms_per_token)
    slowest = max(told, key=lambda name: told[name].ms_per_token)
    quick, slow = told[fastest], told[slowest]
    if min(slow.milliseconds) / slow.tokens <= max(quick.milliseconds) / quick.tokens:
        return say("The rounds of the slowest and the fastest overlap: none is clearly slower.")
    return say(
        "{slowest} takes {ratio} times as long per token as {fastest}, and longer in every round.",
        slowest=say(slowest),
        ratio=f"{slow.ms_per_token / quick.ms_per_token:.1f}",
        fastest=say(fastest),
    )
