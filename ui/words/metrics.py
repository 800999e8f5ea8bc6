"""The metrics of texts (`engine.study.metrics`, `engine.study.sweep`), as pages show them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ui.words.labels import with_minus
from ui.words.language import marked, say


@dataclass(frozen=True)
class Metric:
    """A metric, as pages show it.

    Attributes:
        name: its name on a page; marked, as is `about`.
        about: its meaning, in one or two sentences.
        digits: digits after the decimal point, in a table.
        better: ``low`` if less is always better; empty if it can be too low as well as too high.
        log: whether its values span several powers of ten.
    """

    name: str
    about: str
    digits: int = 2
    better: str = ""
    log: bool = False


# Metrics of one text: the fields of `TextMetrics`.
OF_TEXT = {
    "length": Metric(
        marked("tokens"), marked("Generated tokens, an end-of-text token included."), 0
    ),
    "mean_logprob": Metric(
        marked("mean log-probability"),
        marked(
            "Per token, under the model itself, in nats. Higher: the model expected the text more."
        ),
    ),
    "perplexity": Metric(
        marked("perplexity"),
        marked(
            "exp of the negative mean log-probability: the number of equally likely "
            "choices per token."
        ),
        1,
        log=True,
    ),
    "model_entropy_bits": Metric(
        marked("entropy, model’s own"),
        marked("Mean uncertainty of the model's own distributions, in bits."),
    ),
    "final_entropy_bits": Metric(
        marked("entropy, after settings"),
        marked("Mean uncertainty of the distributions that tokens were drawn from, in bits."),
    ),
    "distinct_1": Metric(
        marked("distinct-1"), marked("Distinct tokens over all tokens, within a text.")
    ),
    "distinct_2": Metric(
        marked("distinct-2"), marked("Distinct pairs of neighbours over all pairs, within a text.")
    ),
    "distinct_3": Metric(
        marked("distinct-3"), marked("Distinct runs of three over all such runs, within a text.")
    ),
    "seq_rep_4": Metric(
        marked("repeated 4-grams"),
        marked("Share of the runs of four tokens that came before in the same text."),
        better="low",
    ),
    "loop_tokens": Metric(
        marked("tokens in a loop"),
        marked("Tokens in the loop in which a text ended, 0 if there is none."),
        0,
        "low",
    ),
    "logprob": Metric(
        marked("log-probability of the text"),
        marked("Sum over its tokens, in nats. Longer texts score lower."),
    ),
}
# Metrics of several texts from one prompt.
OF_SEVERAL = {
    "sample_distinct_1": Metric(
        marked("distinct-1, all texts"), marked("Distinct-1 of all texts of a prompt together.")
    ),
    "sample_distinct_2": Metric(
        marked("distinct-2, all texts"), marked("Distinct-2 of all texts of a prompt together.")
    ),
    "sample_distinct_3": Metric(
        marked("distinct-3, all texts"), marked("Distinct-3 of all texts of a prompt together.")
    ),
    "self_bleu": Metric(
        marked("self-BLEU"),
        marked("How alike the texts of a prompt are, 0 to 1. It needs two texts or more."),
    ),
    "looped": Metric(
        marked("texts in a loop"), marked("Share of the texts that ended in a loop."), better="low"
    ),
}
METRICS = OF_TEXT | OF_SEVERAL


def number(value: float, digits: int) -> str:
    """Format a figure; a dash for NaN, the value of a text that is too short."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return with_minus(f"{value:,.{digits}f}")


def short_number(value: float) -> str:
    """Format a figure for narrow places, with about three digits."""
    size = abs(value)
    if 1_000_000 <= size < math.inf:
        return with_minus(f"{value:.0e}")
    return number(value, 0 if size >= 100 else 1 if size >= 10 else 2)


def percent(probability: float) -> str:
    """Format a probability in per cent: ``12.3 %``."""
    value = 100 * probability
    if 0 < value < 0.01:
        return say("below {share}", share="0.01 %")
    return f"{value:.2f} %" if value < 1 else f"{value:.1f} %"
