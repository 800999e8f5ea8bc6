"""Opening of a link on the step page: what the page shows, for Start to begin with."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from engine.errors import DecodingError
from engine.text import checked_max_new_tokens
from engine.values import Positive, Whole
from ui.texts.limits import MOST_TOKENS, checked_stops
from ui.texts.settings import parse_settings, plain_settings
from ui.texts.texts import Beginning, check_prompt, checked_scale
from ui.visits import link
from ui.visits.handover import STEP
from ui.words.errors import in_words
from ui.words.language import marked, say

MOST_RUNS = 20  # changes of the settings


class _Values(Struct):
    beginning: Beginning
    settings: Annotated[
        list[tuple[Whole, dict[str, Any]]], Meta(min_length=1, max_length=MOST_RUNS)
    ]
    max_tokens: Whole = 64
    thinking_budget: Positive | None = None
    stop_strings: tuple[str, ...] = ()
    steps: Whole = 0
    forced: Annotated[list[tuple[Whole, Whole]], Meta(max_length=MOST_TOKENS)] = []


def opened(text: str, model_name: str, *, has_template: bool) -> tuple[dict[str, Any], str]:
    """Return what a link sets on the page, and a sentence about it.

    A link that cannot be used sets nothing, and the sentence says why.

    Args:
        text: the value of the link's parameter.
        model_name, has_template: the model in use, and whether it has a chat template.
    """
    try:
        found = link.opened(text)
        if found.page != STEP:
            raise DecodingError(say("The link is for another page; copy all of it."))
        values = link.read_values(found, _Values)
        begun = values.beginning
        check_prompt("prompt", "".join(each["content"] for each in begun.before) + begun.prompt)
        check_prompt(marked("negative prompt"), begun.negative_prompt or "")
        runs = [(first, plain_settings(*parse_settings(run))) for first, run in values.settings]
        shown = {
            "prompt": begun.prompt,
            "chat": begun.chat and has_template,
            "before": list(begun.before),
            "negative_prompt": begun.negative_prompt,
            "guidance_scale": checked_scale(begun.scale),
            "strategy": begun.strategy and vars(begun.strategy),
            "settings": runs,
            "limits": {
                "max_tokens": checked_max_new_tokens(values.max_tokens),
                "thinking_budget": values.thinking_budget,
                "stop_strings": list(checked_stops(values.stop_strings)),
            },
            "steps": min(values.steps, MOST_TOKENS),
            "forced": values.forced,
        }
    except DecodingError as error:
        return {}, in_words(error)
    said = link.said(found, model_name)
    return {"linked": shown}, f"{said} {say('Press Start.')}"
