"""What checks may ask of any decoder page in a lesson."""

from __future__ import annotations

from engine.study.metrics import find_loop
from ui.labs.lab import Lab
from ui.learn.checks import shown_as
from ui.learn.functions import Functions
from ui.learn.panels.inputs import input_measures
from ui.words.labels import stop_name

MEASURES = Functions(input_measures(lambda lab: lab.inputs))


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
    if lab.text is None or lab.player.can_go_on:
        return ""
    return lab.text.stop_reason or "max_tokens"


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
