"""Facts about a sampler other than its rule: names, texts, ranges of its numbers.

Each stage class has one `Info` as `info`. Checks of settings, the search for a change that admits a
token, sliders and sentences all read it. So no fact about a sampler is written twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engine.errors import SettingError, msg

UP, DOWN = 1, -1  # direction in which a number removes less
EITHER = 0

# Groups of samplers on the pages where the user chooses one.
GROUPS: Mapping[str, str] = {
    "penalties": "Penalties and bans",
    "temperature": "Temperature",
    "truncation": "Truncation",
    "adaptive": "Adaptive",
}

# Sentences that several samplers end with.
REMOVES = "It removes {removed:tokens} with {mass_removed:percent} of the probability."
BANS = "It removes {banned:tokens} with {mass_removed:percent} of the probability."
BANNED = "{banned:tokens} banned"
MOVES = (
    "This takes {moved:tokens} from {share_before:percent} to {share_after:percent} of the "
    "probability."
)


@dataclass(frozen=True)
class Paper:
    """Source of a sampler, such as its paper.

    Attributes:
        text: authors and year, or the name by which it is known.
        url: its address.
    """

    text: str
    url: str


def arxiv(text: str, number: str) -> Paper:
    """Return a paper by its number on arXiv."""
    return Paper(text, f"https://arxiv.org/abs/{number}")


OPENAI = Paper("OpenAI API", "https://platform.openai.com/docs/api-reference/chat/create")


@dataclass(frozen=True)
class Number:
    """One number of a sampler: its accepted values, and the range of its slider.

    Attributes:
        name: the stage's field.
        label: its name for the user.
        slider: start, end and step of its slider.
        usual: initial value of its slider.
        sweep: values that a first sweep compares: a few, far apart, including the one that switches
            it off, so that a heatmap shows where to look closer.
        remedy: what to do instead of giving a refused value, as half a sentence.
        least, most: bounds of the accepted values; None if there is no bound.
        open_below, open_above: whether the bound itself is refused.
        whole: whether it is a whole number.
        words: values with a special meaning, and the word for each. They are accepted even outside
            the bounds, such as -1 for "all".
        takes: the accepted values in the words of an error message, if the bounds do not suffice.
        looser: direction in which it removes less, `UP` or `DOWN`. `EITHER` if that depends on the
            token: down for one that the sampler acts on, up for its rivals. None if a different
            value changes nothing in the same step.
    """

    name: str
    label: str
    slider: tuple[float, float, float]
    usual: float
    remedy: str
    sweep: tuple[float, ...] = ()
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
        """Return every position of its slider, ascending."""
        return self.between(self.low, self.high)

    def between(self, low: float, high: float) -> list[float]:
        """Return values from `low` to `high`, spaced like the positions of the slider."""
        count = math.floor((high - low) / self.step + 1e-6) + 1
        values = [round(low + place * self.step, 6) for place in range(count)]
        return [int(value) for value in values] if self.whole else values

    def checked(self, setting: str, value: object) -> float:
        """Return the value as a plain number, whatever its type.

        Args:
            setting: its name in an error message.

        Raises:
            SettingError: not a number, or one that is not accepted.
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
    """Description of a sampler for the user.

    Templates contain figures with formats, ``{removed:tokens}``. The figures are those of
    `distribution.StageResult`, and ``names``, the labels of the leading tokens that an edit
    changed. The formats are

        percent   a probability: ``12.34 %``
        share     a probability as it was set: ``90 %``
        bits      an entropy or a surprisal: ``2.31 bits``
        score     a score, two digits: ``−1.25``
        u         a uniform number, four digits: ``0.7311``
        number    a setting, as short as possible: ``0.7``
        count     ``16,384``
        tokens    ``1 token``, ``16,384 tokens``
        names     labels: ``“a”``, ``“a” and “b”``, ``“a”, “b” and others``

    A case without its own template uses that of the case ``""``.

    Attributes:
        label: its name as a heading: ``Top-k``.
        group: one of `GROUPS`.
        about: one sentence on its effect.
        formula: its rule.
        idle: the effect of having it off, as half a sentence.
        picture: kind of small picture that shows its rule: ``rank``, ``mass``, ``threshold``,
            ``window``, ``edit`` or ``scale``.
        says: one or two sentences on its effect on a row, by case.
        note: a few words for its own line, by case; any case may be missing.
        paper: its source; None if there is none.
        numbers: the numbers that the user can set.
        pair: two of the numbers, of which the first is never above the second.
        in_text: its name within a sentence; by default the label in lower case.
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
    """Return `value` as a finite float, or raise a `SettingError` that names the setting."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise SettingError(setting, value, "must be a number", remedy)
    try:
        as_float = float(value)
    except (OverflowError, TypeError):  # a whole number too large for a float, a complex number
        as_float = math.inf
    if not math.isfinite(as_float):
        raise SettingError(setting, value, "must be a finite number", remedy)
    return as_float
