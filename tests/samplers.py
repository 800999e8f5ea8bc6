"""An example of each sampler, and random ones, from what the samplers say about their numbers.

A sampler that takes more than numbers has a row in `OWN` and, in the test, its own random values.
"""

import numpy as np

from engine.sampling import DEFAULT_ORDER, STAGES
from engine.sampling.samplers import Number, Stage

# Arguments of samplers that take more than numbers, or whose usual numbers hardly change a
# vocabulary of twelve tokens.
OWN: dict[str, tuple] = {
    "logit_bias": ({5: 1.5, 7: -2.0},),
    "dry": (0.8, 1.75, 2, 64, (3,)),
    "no_repeat_ngram": (2,),
    "banned": (((4,), (5, 6)),),
    "min_new_tokens": (6,),
    "constraint": ("json_schema", '{"type": "integer"}'),
    "dynamic_temperature": (0.5, 1.5, 1.2),
    "top_k": (4,),
    "top_p": (0.8,),
    "min_p": (0.2,),
    "typical_p": (0.6,),
    "epsilon_cutoff": (0.05,),
    "eta_cutoff": (0.2,),
    "tail_free": (0.9,),
}
EXAMPLES: dict[str, tuple] = {
    kind.setting: OWN.get(kind.setting, tuple(number.usual for number in kind.info.numbers))
    for kind in DEFAULT_ORDER
}


def example(setting: str, *values: object) -> Stage:
    """Return a sampler with these arguments, by default those of its example."""
    return STAGES[setting](*(values or EXAMPLES[setting]))


def random_numbers(kind: type[Stage], rng: np.random.Generator) -> dict[str, float]:
    """Return values that switch a sampler on, by name: on the slider, usual, or extreme."""
    values = {number.name: random_number(number, rng) for number in kind.info.numbers}
    while kind.off in values.values():
        values = {number.name: random_number(number, rng) for number in kind.info.numbers}
    if kind.info.pair:
        low, high = kind.info.pair
        values[low], values[high] = sorted((values[low], values[high]))
    return values


def random_number(number: Number, rng: np.random.Generator) -> float:
    """Return a value that the number accepts: two in three anywhere on its slider."""
    least = number.low if number.least is None else number.least
    most = number.high if number.most is None else number.most
    ends = (least + 1e-6 * number.open_below, most - 1e-6 * number.open_above)
    choice = rng.random()
    if choice < 0.2:
        value = ends[rng.integers(2)]
    elif choice < 0.35:
        value = number.usual
    else:
        value = rng.uniform(max(number.low, ends[0]), number.high)
    return int(value) if number.whole else float(value)
