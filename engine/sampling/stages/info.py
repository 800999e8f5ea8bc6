"""Facts about a sampler besides its rule: names, words, ranges of its numbers.

Each stage class carries one `Info` as `info`. The checks of settings, the search for what would
admit a token, sliders and sentences all read it, so that no fact of a sampler stands twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.errors import SettingError, msg

UP, DOWN = 1, -1  # in which direction a number removes less
EITHER = 0

# How samplers are sorted where a person chooses one.
GROUPS: Mapping[str, str] = {
    "penalties": "Penalties and bans",
    "temperature": "Temperature",
    "truncation": "Truncation",
    "adaptive": "Adaptive",
}

# Sentences that several samplers end with.
REMOVES = "It removes {removed:tokens} with {mass_removed:percent} of the probability."
MOVES = (
    "This takes {moved:tokens} from {share_before:percent} to {share_after:percent} of the "
    "probability."
)


@dataclass(frozen=True)
class Paper:
    """Source of a sampler, such as its paper.

    Attributes:
        text: authors and year, or whatever it is known by.
        url: where to read it.
    """

    text: str
    url: str


def arxiv(text: str, number: str) -> Paper:
    """A paper by its number on arXiv."""
    return Paper(text, f"https://arxiv.org/abs/{number}")


@dataclass(frozen=True)
class Number:
    """One number of a sampler: which values it takes, and how a slider runs through them.

    Attributes:
        name: the stage's field.
        label: the same for reading.
        slider: where its slider begins and ends, and how far apart its positions are.
        usual: what a slider starts with.
        remedy: what to do instead of a value that is refused, as half a sentence.
        least, most: bounds of what is taken; None where there is none.
        open_below, open_above: whether the bound itself is refused.
        whole: whether it is a whole number.
        words: values that mean something of their own, with the word for it. They are taken even
            outside the bounds, such as -1 for "all".
        takes: how a refusal names the values that are taken, where the bounds do not say it.
        looser: direction in which it removes less, `UP` or `DOWN`. `EITHER` where that depends on
            the token: down for one that the sampler acts on, up for its rivals. None where another
            value changes nothing in this step.
    """

    name: str
    label: str
    slider: tuple[float, float, float]
    usual: float
    remedy: str
    least: float | None = None
    most: float | None = None
    open_below: bool = False
    open_above: bool = False
    whole: bool = False
    words: Mapping[float, str] = field(default_factory=dict)
    takes: str = ""
    looser: int | None = None

    @property
    def low(self) -> float:
        """Lowest position of its slider."""
        return self.slider[0]

    @property
    def high(self) -> float:
        """Highest position of its slider."""
        return self.slider[1]

    @property
    def step(self) -> float:
        """Distance between adjacent positions of its slider."""
        return self.slider[2]

    def positions(self) -> list[float]:
        """Every position of its slider, ascending."""
        return self.between(self.low, self.high)

    def between(self, low: float, high: float) -> list[float]:
        """Values from `low` to `high`, as far apart as the positions of the slider."""
        count = math.floor((high - low) / self.step + 1e-6) + 1
        values = [round(low + place * self.step, 6) for place in range(count)]
        return [int(value) for value in values] if self.whole else values

    def checked(self, setting: str, value: object) -> float:
        """The value as a plain number, whatever came.

        Args:
            setting: what a refusal calls it.

        Raises:
            SettingError: no number, or one that is not taken.
        """
        plain = finite(setting, value, self.remedy)
        if plain not in self.words:
            if self.whole and not plain.is_integer():
                problem = msg("must be {value}", self.takes or msg("a whole number"))
                raise SettingError(setting, value, problem, self.remedy)
            if not self._is_within(plain):
                problem = msg("must be {value}", self.takes or self._range)
                raise SettingError(setting, value, problem, self.remedy)
        return int(plain) if self.whole else plain

    def _is_within(self, value: float) -> bool:
        least = -math.inf if self.least is None else self.least
        most = math.inf if self.most is None else self.most
        is_end = (self.open_below and value == least) or (self.open_above and value == most)
        return least <= value <= most and not is_end

    @property
    def _range(self) -> str:
        special = ", ".join(f"{value:g}" for value in self.words)
        if self.most is None:
            least = msg("at least {least:g}", self.least)
            return (
                msg("{special} or at least {least:g}", (special, self.least)) if special else least
            )
        if self.open_below and self.open_above:
            return msg("above {least:g} and below {most:g}", (self.least, self.most))
        if self.open_below:
            return msg("above {least:g} and at most {most:g}", (self.least, self.most))
        return msg("between {least:g} and {most:g}", (self.least, self.most))


@dataclass(frozen=True)
class Info:
    """A sampler for people.

    Templates hold figures with formats, ``{removed:tokens}``. The figures are those of
    `distribution.StageResult`, and ``names``, the labels of the leading tokens that an edit
    changed. The formats are

        percent   a probability: ``12.34 %``
        share     a probability as it was set: ``90 %``
        bits      an entropy or a surprisal: ``2.31 bits``
        score     a score, two digits: ``−1.25``
        u         a uniform number, four digits: ``0.7311``
        number    a setting, as short as it can be: ``0.7``
        count     ``16,384``
        tokens    ``1 token``, ``16,384 tokens``
        names     labels: ``“a”``, ``“a” and “b”``, ``“a”, “b” and others``

    A case without a template of its own takes that of the case ``""``.

    Attributes:
        label: what it is called, as a heading: ``Top-k``.
        group: one of `GROUPS`.
        about: one sentence on what it does.
        formula: its rule.
        idle: what holds while it is off, as half a sentence.
        picture: which kind of small picture shows its rule: ``rank``, ``mass``, ``threshold``,
            ``window``, ``edit`` or ``scale``.
        says: by case, one or two sentences on what it did to a row.
        note: by case, a few words for its own line; may lack any case.
        paper: where it comes from; None where there is no such place.
        numbers: what a person can set.
        pair: two of the numbers, of which the first is never above the second.
        in_text: what it is called within a sentence; the label in lower case where not given.
    """

    label: str
    group: str
    about: str
    formula: str
    idle: str
    picture: str
    says: Mapping[str, str]
    note: Mapping[str, str] = field(default_factory=dict)
    paper: Paper | None = None
    numbers: tuple[Number, ...] = ()
    pair: tuple[str, str] | None = None
    in_text: str = ""

    def __post_init__(self) -> None:
        if not self.in_text:
            object.__setattr__(self, "in_text", self.label[0].lower() + self.label[1:])


def finite(setting: str, value: object, remedy: str) -> float:
    """`value` as a finite float, or a `SettingError` that names the setting."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise SettingError(setting, value, "must be a number", remedy)
    try:
        as_float = float(value)
    except (OverflowError, TypeError):  # a whole number beyond every float, a complex number
        as_float = math.inf
    if not math.isfinite(as_float):
        raise SettingError(setting, value, "must be a finite number", remedy)
    return as_float
