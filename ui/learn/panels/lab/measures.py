"""What checks may ask of any decoder page in a lesson."""

from __future__ import annotations

from engine.errors import DecodingError
from engine.study.metrics import find_loop
from ui.labs.lab import Lab
from ui.learn.checks import shown_as
from ui.learn.functions import Functions
from ui.words.labels import stop_name

MEASURES = Functions()


@MEASURES.add
def steps(lab: Lab) -> int:
    """How many steps the text has; a step is what its page calls so."""
    return len(lab.text.steps) if lab.text else 0


@MEASURES.add
def prompt(lab: Lab) -> str:
    """The prompt that is in force."""
    return lab.inputs.prompt


@MEASURES.add
def text(lab: Lab) -> str:
    """The text so far, as the strategy has it."""
    return lab.text.text if lab.text else ""


@MEASURES.add
@shown_as(stop_name)
def stopped_by(lab: Lab) -> str:
    """Why the text has ended: max_tokens, eos, full_pool, ...; empty while it goes on."""
    if lab.text is None or lab.can_go_on:
        return ""
    return lab.text.stop_reason or "max_tokens"


@MEASURES.add
def number(lab: Lab, name: str) -> float:
    """An input of the page that is a number, by its name in `inputs`."""
    return _input(lab, name, (int, float))


@MEASURES.add
def chosen(lab: Lab, name: str) -> str:
    """An input of the page that is a text or a choice, by its name in `inputs`."""
    return _input(lab, name, str)


@MEASURES.add
def switched_on(lab: Lab, name: str) -> bool:
    """An input of the page that is on or off, by its name in `inputs`."""
    return _input(lab, name, bool)


# --- of those that append tokens ------------------------------------------------------------------

OF_TOKENS = Functions(MEASURES)


@OF_TOKENS.add
def generated(lab: Lab) -> int:
    """How many tokens were generated; in beam search those of the best text."""
    return len(lab.text.token_ids) if lab.text else 0


@OF_TOKENS.add
def loop(lab: Lab) -> bool:
    """Whether the text ends in a loop: the same stretch three times, 12 tokens at least."""
    return lab.text is not None and find_loop(list(lab.text.token_ids)) is not None


def _input(lab: Lab, name: str, kind: type | tuple[type, ...]):
    value = getattr(lab.inputs, name, None)
    if not isinstance(value, kind):
        raise DecodingError(f'The page has no input "{name}" of that kind; see the fields of it.')
    return value
