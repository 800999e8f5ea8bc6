"""Texts of the step page: their beginning, the strategy by which they grow, and why they stop.

A text is sampled, possibly under guidance (a `Decoder`), or found by contrastive search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from msgspec import Meta

from engine.decoder import Decoder
from engine.decoding import MAX_SCALE, UNGUIDED, ContrastiveSearch
from engine.errors import PromptError, SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.text import EOS, STOP_STRING
from engine.values import Real
from ui.texts.limits import LONGEST_PROMPT
from ui.words.labels import tokens_text
from ui.words.language import marked, say
from ui.words.token_labels import labels_of

Text = Decoder | ContrastiveSearch
Prompt = Annotated[str, Meta(max_length=LONGEST_PROMPT)]  # in a record


@dataclass(frozen=True)
class Contrastive:
    """Contrastive search as the strategy of a text; the engine refuses values out of range.

    Attributes:
        top_k: candidates of a step; fixed for a whole text.
        penalty_alpha: weight of the penalty; may change from step to step.
    """

    top_k: int = 4
    penalty_alpha: float = 0.6


@dataclass(frozen=True)
class Beginning:
    """The beginning of a text, as a person gave it.

    Attributes:
        prompt: text to continue from.
        chat: whether prompts go through the chat template.
        negative_prompt: the prompt that guidance leads away from; None for no guidance.
        scale: scale of the guidance; at 1 there is none, and the negative prompt is not read.
        strategy: the strategy; None for sampling.
    """

    prompt: Prompt
    chat: bool = False
    negative_prompt: Prompt | None = None
    scale: Real = UNGUIDED
    strategy: Contrastive | None = None


def before_text(prompt: str, chat: bool) -> str:
    """A prompt as shown before its text: an answer begins a new paragraph."""
    return f"{prompt}\n\n" if chat else prompt


def checked_scale(scale: float) -> float:
    """The scale of guidance, if it leads towards the prompt.

    Raises:
        SettingError: below 1, which would lead towards the negative prompt, or out of range.
    """
    if not UNGUIDED <= scale <= MAX_SCALE:  # NaN fails this too
        remedy = say("1 means no guidance, 1.5 is a good start")
        problem = say("must be from 1 to {most}", most=f"{MAX_SCALE:g}")
        raise SettingError(say("Guidance scale"), scale, problem, remedy)
    return scale


def check_prompt(name: str, prompt: str) -> None:
    """Refuse a prompt that is too long, before any code splits it into tokens; its name is marked.

    Raises:
        PromptError: more than `LONGEST_PROMPT` characters.
    """
    if len(prompt) > LONGEST_PROMPT:
        raise PromptError(
            say(
                "The {name} has {length} characters; use at most {most}.",
                name=say(name),
                length=f"{len(prompt):,}",
                most=f"{LONGEST_PROMPT:,}",
            )
        )


def new_text(
    model: LanguageModel,
    beginning: Beginning,
    settings: SamplingSettings,
    stop_strings: tuple[str, ...] = (),
) -> Text:
    """A text that holds only its prompt.

    Raises:
        DecodingError: errors of `Decoder` and `ContrastiveSearch`, a prompt of more than
            `LONGEST_PROMPT` characters, an empty negative prompt, a scale out of range, or guidance
            of a contrastive search.
    """
    check_prompt("prompt", beginning.prompt)
    check_prompt(marked("negative prompt"), beginning.negative_prompt or "")

    def read(text: str) -> str | list[int]:
        return model.vocabulary.chat_ids(text) if beginning.chat else text

    negative, scale, strategy = beginning.negative_prompt, beginning.scale, beginning.strategy
    guidance = {}
    if negative is not None and checked_scale(scale) != UNGUIDED:
        if strategy is not None:
            raise PromptError(
                say(
                    "Contrastive search takes no negative prompt; close Guidance, or choose "
                    "Sampling."
                )
            )
        if not negative:
            raise PromptError(
                say("The negative prompt is empty; type at least one character, or close Guidance.")
            )
        guidance = {"negative_prompt": read(negative), "guidance_scale": scale}
    if strategy is not None:
        ids = read(beginning.prompt)
        k, alpha = strategy.top_k, strategy.penalty_alpha
        return ContrastiveSearch(
            model, ids, k, alpha, stop_strings=stop_strings, chain=settings.edits
        )
    return Decoder(model, read(beginning.prompt), settings, stop_strings=stop_strings, **guidance)


def begun_anew(beginning: Beginning, text: Text) -> Beginning:
    """A beginning with the changes made since, to begin the same text with another model."""
    if isinstance(text, ContrastiveSearch):
        return replace(beginning, strategy=Contrastive(text.top_k, text.penalty_alpha))
    return replace(beginning, scale=text.guidance_scale)


def is_over(text: Text) -> bool:
    """Return whether a text is complete, so that only going back or restarting makes sense."""
    if text.tokens_left is not None and text.tokens_left <= 0:
        return True
    return text.stop_reason in (EOS, STOP_STRING)


def stop_sentence(text: Text, max_tokens: int) -> str:
    """Say which stop rule has fired, with a remedy; empty while none has."""
    if not text.steps:
        return ""
    step = text.steps[-1]
    remedy = say("press Back or Rewind to continue from an earlier token.")
    if step.stop_reason == EOS:
        label = labels_of(text.model.vocabulary)[step.token_id]
        return say(
            "Stopped: the end-of-text token {token} was appended; {remedy}",
            token=label,
            remedy=remedy,
        )
    if step.stop_reason == STOP_STRING:
        return say(
            'Stopped: the text contains the stop string "{text}"; {remedy}',
            text=step.stop_string,
            remedy=remedy,
        )
    if is_over(text):
        length = text.model.context_length
        return say(
            "Stopped: context full, all {positions} positions are used; {remedy}",
            positions=f"{length:,}",
            remedy=remedy,
        )
    if len(text.steps) >= max_tokens:
        made = tokens_text(len(text.steps))
        return say(
            "Stopped: max tokens is {limit}, and there are {tokens}. Step still adds tokens.",
            limit=f"{max_tokens:,}",
            tokens=made,
        )
    return ""
