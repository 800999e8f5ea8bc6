"""What the inputs of claims share: a prediction, prompts line by line, numbers in a row."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.claims.experiment import MOST_PROMPTS
from engine.errors import SettingError
from ui.labs.inputs import PlainInputs
from ui.words.language import say, typed_list

MOST_NUMBERS = 16
STORY_PROMPTS = """Once upon a time, there was a little
The old house stood
In the middle of the forest
One day, the king
The girl opened the box and found
My favourite thing in the world is"""


@dataclass(frozen=True)
class ClaimInputs(PlainInputs):
    """Inputs of a claim; each adds the parameters of its experiment.

    Attributes:
        predicted: the verdict that the person expects, empty for none.
    """

    predicted: str = ""


@dataclass(frozen=True)
class PromptsInputs(ClaimInputs):
    """Inputs of a claim whose experiment goes on from prompts.

    Attributes, besides the prediction:
        prompts: one a line.
    """

    prompts: str = ""


def lines(text: str) -> list[str]:
    """The lines of a text that are not empty.

    Raises:
        SettingError: more lines than an experiment takes.
    """
    found = [line for line in text.splitlines() if line.strip()]
    if len(found) > MOST_PROMPTS:
        problem = say("are more than {most}", most=MOST_PROMPTS)
        raise SettingError(say("Lines"), len(found), problem, say("remove some"))
    return found


def numbers(name: str, text: str) -> list[float]:
    """Numbers with commas between them, ascending, each once.

    Raises:
        SettingError: something that is no number, none at all, or too many.
    """
    try:
        found = sorted({float(part) for part in typed_list(text).split(",") if part.strip()})
    except ValueError:
        raise _no_numbers(name, text) from None
    if not 1 <= len(found) <= MOST_NUMBERS or not all(map(math.isfinite, found)):
        raise _no_numbers(name, text)
    return found


def wholes(name: str, text: str) -> list[int]:
    """Whole numbers, read as `numbers` does; raises as well for one that is not whole."""
    found = numbers(name, text)
    for number in found:
        if not number.is_integer():
            raise SettingError(
                name, number, say("is not whole"), say("use whole numbers as in 4, 12")
            )
    return [int(number) for number in found]


def _no_numbers(name: str, text: str) -> SettingError:
    problem = say("must be 1 to {most} numbers with commas between them", most=MOST_NUMBERS)
    return SettingError(name, text, problem, say("write them as in 0.5, 1, 2"))
