"""The text as it is read, each token shaded by its divergence; all texts are escaped here."""

from __future__ import annotations

import html
import math

from engine.measure import QuantisedResult
from ui.cache.quantised.words import bits_text
from ui.skeleton.tables import escaped
from ui.words.labels import token_label
from ui.words.language import say

SHADES = 6  # `--dv-shade-0` to `-5`
LEAST, MOST = 1e-4, 1.0  # bits: of the lightest shade and of the darkest, in equal ratios
SHOWN_BITS = 4


def strip(result: QuantisedResult) -> str:
    """The text with 4 bits: a shade for the divergence after each token, a line for a change."""
    one = next(along for along in result.along if along.bits == SHOWN_BITS)
    tokens = "".join(
        _token(read, kl, is_changed, exact, own)
        for read, kl, is_changed, exact, own in zip(
            result.read, one.kl_bits, one.is_changed, result.top, one.top, strict=True
        )
    )
    legend = "".join(
        f'<span class="dv-kl-{shade}">{html.escape(label)}</span>'
        for shade, label in ((0, say("up to 0.0001")), (2, "0.01"), (5, say("1 bit and more")))
    )
    about = say(
        "The text with {bits} bits: divergence of the next token, {legend}",
        bits=SHOWN_BITS,
        legend=legend,
    )
    changed, name = say("likeliest next token changed"), html.escape(say("Text by divergence"))
    return (
        f'<p class="dv-facts dv-kl-legend">{about} <span class="dv-kl-changed">{changed}</span></p>'
        f'<p class="dv-written dv-kl" tabindex="0" role="region" aria-label="{name}">{tokens}</p>'
    )


def shade_of(kl: float) -> int:
    """The shade of a divergence in bits, 0 to 5."""
    if kl <= LEAST:
        return 0
    share = math.log(kl / LEAST) / math.log(MOST / LEAST)
    return min(SHADES - 1, math.ceil(share * (SHADES - 1)))


def _token(read: str, kl: float, is_changed: bool, exact: str, own: str) -> str:
    title = f"{token_label(read)}: {bits_text(kl)}"
    changed = ""
    if is_changed:
        changed = " dv-kl-changed"
        title += say("; next {exact} became {own}", exact=token_label(exact), own=token_label(own))
    return (
        f'<span class="dv-kl-{shade_of(kl)}{changed}" title="{html.escape(title)}">'
        f"{escaped(read)}</span>"
    )
