"""Templates of the table of samplers with their figures, as the browser renders them.

A twin of ui/components/js/words/sentences.js and format.js, which are authoritative: identical
letter by letter, with all digits.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

from engine.sampling.distribution import StageResult

PLACE = re.compile(r"\{(\w+):(\w+)\}")
LONGEST = 24  # characters of a token's label


def template_of(templates: Mapping[str, str], case: str) -> str:
    """Return the template of a case, or that of the case ``""``, or an empty string."""
    return templates.get(case, templates.get("", ""))


def sentence(result: StageResult, label_of: Callable[[int], str]) -> str:
    """Return the sentence about a sampler's effect on a row."""
    template = template_of(result.stage.info.says, result.case)
    return render(template, result.figures, names_of(result, label_of))


def note(result: StageResult, label_of: Callable[[int], str]) -> str:
    """Return the same in a few words; may be empty."""
    template = template_of(result.stage.info.note, result.case)
    return render(template, result.figures, names_of(result, label_of))


def names_of(result: StageResult, label_of: Callable[[int], str]) -> list[str]:
    """Return the labels of the leading tokens that an edit changed."""
    return [label_of(token_id) for token_id in result.moved_ids]


def render(template: str, figures: Mapping[str, float], names: Sequence[str] = ()) -> str:
    """Fill a template with its figures."""

    def text(found: re.Match) -> str:
        figure, kind = found.groups()
        return names_text(names) if kind == "names" else FORMATS[kind](figures[figure])

    return PLACE.sub(text, template)


# --- formats --------------------------------------------------------------------------------------


def fixed(value: float, digits: int) -> str:
    """Format like JavaScript's `toFixed`: the exact binary value, rounded half away from zero."""
    text = str(abs(Decimal(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    return f"-{text}" if value < 0 else text


def exponential(value: float) -> str:
    """Format like JavaScript's `toExponential(2)`: a large number, without the exponent's sign."""
    exact = Decimal(value)
    power = exact.adjusted()
    leading = exact.scaleb(-power).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return f"{leading}e{power}" if leading < 10 else f"{leading / 10:.2f}e{power + 1}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def tokens(value: float) -> str:
    return f"{count(value)} token" if value == 1 else f"{count(value)} tokens"


def percent(value: float) -> str:
    if value == 0:
        return "0 %"
    if value < 1e-6:
        return "< 0.0001 %"
    if value < 1e-3:
        return f"{fixed(value * 100, 4)} %"
    if 0.99995 <= value < 1 - 1e-12:
        return "> 99.99 %"
    return f"{fixed(value * 100, 2)} %"


def share(value: float) -> str:
    return f"{number(float(fixed(value * 100, 4)))} %"


def bits(value: float) -> str:
    return f"{fixed(max(value, 0.0), 2)} bits"  # rounding may put an entropy slightly below 0


def score(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    far = abs(value)
    text = fixed(far, 2) if far < 1e7 else exponential(far)
    return f"−{text}" if value < 0 and float(text) > 0 else text


def uniform(value: float) -> str:
    return fixed(value, 4 if value < 0.99995 else 10)


def number(value: float) -> str:
    """Format with at most nine decimal places, commas, and a true minus sign."""
    size = abs(Decimal(repr(float(value)))).quantize(Decimal("1e-9"), ROUND_HALF_UP)
    text = f"{size:,f}".rstrip("0").rstrip(".")
    return f"−{text}" if math.copysign(1, value) < 0 else text


FORMATS: dict[str, Callable[[float], str]] = {
    "percent": percent,
    "share": share,
    "bits": bits,
    "score": score,
    "u": uniform,
    "number": number,
    "count": count,
    "tokens": tokens,
}


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def names_text(labels: Sequence[str]) -> str:
    # Isolates keep right-to-left letters from reordering the sentence.
    quoted = [f"“\u2068{shortened(label)}\u2069”" for label in labels]
    if len(quoted) > 2:
        return f"{quoted[0]}, {quoted[1]} and others"
    return " and ".join(quoted)
