"""Entries of every target's table, and the effect of swapping two stages.

A target is one program or service that can sample. Its table has an `Entry` for every setting of
the app that can be written there, or that cannot for a special reason. The target lacks all others.
So nothing is left out silently. Its `ORDER` is the order in which the target applies its settings.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.errors import msg
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Stage

# The mark of a banned token among biases: each target writes a ban in its own way.
BANNED = None
# A look-back over all tokens: more than any model's context. -1 is documented for it, but llama.cpp
# of 2026 reads that as 0 on its command line and refuses it in its server. It reserves four bytes
# for each token.
WHOLE_TEXT = 2**20
Biases = dict[int, float | None]
Remark = tuple[str, str]  # setting, explanation


@dataclass(frozen=True)
class Snippet:
    """The current settings as code for another engine.

    Attributes:
        target: the engine that the code is for, e.g. ``vLLM``.
        language: its language, ``python`` or ``bash``.
        code: the code, ready to copy.
        lacking: settings that the target lacks, in whole or in part, each with an explanation.
        differs: settings that mean something different there, or apply at a different place in the
            chain, each with an explanation.
    """

    target: str
    language: str
    code: str
    lacking: tuple[Remark, ...] = ()
    differs: tuple[Remark, ...] = ()


@dataclass(frozen=True)
class ChatPrompt:
    """A message in a chat template, in each form that a target may accept.

    Attributes:
        token_ids: ids that the model reads. A target that is given the text puts a start-of-text
            token in front of it, which the template may already have written. It also reads control
            tokens that a user typed.
        text: the same as text, for a target that does not accept ids.
        messages: role and content of each, for a target with its own template.
    """

    token_ids: tuple[int, ...]
    text: str
    messages: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class Request:
    """One generation to request from every target.

    Attributes:
        settings: how tokens are chosen.
        prompt: text to continue, or a message in a chat template.
        model: its name, folder or hub id.
        is_folder: whether it is a folder on this computer.
        max_tokens: maximum number of tokens to generate.
        eos_ids: tokens that end the text; None for those that `generate` finds by itself.
        stop_strings: strings that end generation.
        dtype: dtype of the weights; ``auto`` leaves it to the checkpoint.
        negative_prompt: prompt that classifier-free guidance steers away from, or None.
        guidance_scale: its strength.
        contrastive: top_k and penalty_alpha of contrastive search, on which only edits act; None
            for sampling.
    """

    settings: SamplingSettings
    prompt: str | ChatPrompt
    model: str
    max_tokens: int
    is_folder: bool = False
    eos_ids: tuple[int, ...] | None = None
    stop_strings: tuple[str, ...] = ()
    dtype: str = "auto"
    negative_prompt: str | ChatPrompt | None = None
    guidance_scale: float = 1.0
    contrastive: tuple[int, float] | None = None

    @property
    def served_model(self) -> str:
        """The model's name for a service; a placeholder for a folder of this computer."""
        return "MODEL" if self.is_folder else self.model

    @property
    def text_or_ids(self) -> str | list[int]:
        """The prompt as text, or the token ids of a message in a chat template."""
        is_chat = isinstance(self.prompt, ChatPrompt)
        return list(self.prompt.token_ids) if is_chat else self.prompt

    @property
    def messages(self) -> list[Mapping[str, str]]:
        """The prompt as messages of a chat."""
        is_chat = isinstance(self.prompt, ChatPrompt)
        return list(self.prompt.messages if is_chat else [{"role": "user", "content": self.prompt}])

    def model_remarks(self) -> list[Remark]:
        """Return the remark on a model in a local folder, which has a different name there."""
        why = msg("is a folder of this computer; put the name that it has there in place of MODEL")
        return [("model", why)] if self.is_folder else []


def _nothing(stage: Stage) -> None:
    return None


@dataclass(frozen=True)
class Entry:
    """Form of one of the app's settings in a target.

    Attributes:
        names: the target's own parameters for it; empty if it has none.
        values: maps the app's stage to those parameters.
        lacking: why it cannot be written; empty if it can.
        partly: names the part of a stage that cannot be written, None if all of it can.
        differs: names the difference there, None if it is the same.
    """

    names: tuple[str, ...] = ()
    values: Callable[[Stage], Mapping[str, object]] = lambda stage: {}
    lacking: str = ""
    partly: Callable[[Stage], str | None] = _nothing
    differs: Callable[[Stage], str | None] = _nothing


def absent(why: str) -> Entry:
    """Return the entry of a setting that the target lacks."""
    return Entry(lacking=why)


def same(name: str, remark: str | None = None) -> Entry:
    """Return the entry of a one-number setting: the target's name, the number unchanged."""
    return Entry((name,), lambda stage: {name: stage.value}, differs=lambda stage: remark)


def penalty(name: str, remark: str | None = None) -> Entry:
    """Return the entry of a penalty under llama.cpp's name, over the whole text."""
    values = lambda stage: {name: stage.value, "repeat_last_n": WHOLE_TEXT}  # noqa: E731
    return Entry((name, "repeat_last_n"), values, differs=lambda stage: remark)


def look_back(parameters: Mapping[str, object]) -> list[Remark]:
    """Return the remark on how far penalties look back, if any is on."""
    why = msg("defaults to 64 tokens there; {whole_text:,} covers any text", WHOLE_TEXT)
    return [("repeat_last_n", why)] if "repeat_last_n" in parameters else []


TEMPLATE_THERE = msg(
    "goes into the template that the model has there, which may be a different one"
)
COUNTS_PROMPT = msg("counts the tokens of the prompt too; ours counts generated ones only")


def within(name: str, low: float, high: float) -> Entry:
    """Return the entry of a number that the target limits to the range `low` to `high`."""

    def remark(stage: Stage) -> str | None:
        if low <= stage.value <= high:
            return None
        return msg(
            "is {value:g} here; there it can only be {low:g} to {high:g}", (stage.value, low, high)
        )

    values = lambda stage: {name: min(high, max(low, stage.value))}  # noqa: E731
    return Entry((name,), values, differs=remark)


SAME_IDS = msg("token ids are the same there only for the same model with the same tokenizer")


def biases(name: str, most: float | None = None) -> Entry:
    """Return the entry of a bias added to each token id's logit; `most` is the largest allowed."""

    def remark(stage: Stage) -> str:
        if most is None or all(abs(bias) <= most for bias in bias_of(stage).values()):
            return SAME_IDS
        return msg(
            "{same_ids}; biases are limited to -{most:g} to {most2:g}", (SAME_IDS, most, most)
        )

    def values(stage: Stage) -> dict[str, object]:
        limited = bias_of(stage)
        if most is not None:
            limited = {token: min(most, max(-most, bias)) for token, bias in limited.items()}
        return {name: limited}

    return Entry((name,), values, differs=remark)


def bans(name: str, how: str) -> Entry:
    """Return the entry of banned single tokens as biases; `how` explains how a ban is written."""

    def partly(stage: Stage) -> str | None:
        longer = sum(len(sequence) > 1 for sequence in sequences_of(stage))
        if not longer:
            return None
        what = msg("one word") if longer == 1 else msg("{longer:,} words", longer)
        return msg("{what} of several tokens cannot be banned by ids there", what)

    def values(stage: Stage) -> dict[str, object]:
        singles = [sequence[0] for sequence in sequences_of(stage) if len(sequence) == 1]
        return {name: dict.fromkeys(singles, BANNED)} if singles else {}

    remark = msg("{how}, including any end-of-text token among them; {same_ids}", (how, SAME_IDS))
    return Entry((name,), values, partly=partly, differs=lambda stage: remark)


def bias_of(stage: Stage) -> dict[int, float]:
    """Return the biases of a logit bias stage by token id."""
    return {int(token_id): float(bias) for token_id, bias in dict(stage.value).items()}


def sequences_of(stage: Stage) -> list[tuple[int, ...]]:
    """Return the banned token sequences; a bare id is a sequence of one."""
    return [(s,) if isinstance(s, int) else tuple(int(i) for i in s) for s in stage.value]


def constraints(
    name: str,
    values: Mapping[str, Callable[[str], object]],
    lacking: str,
    differs: Callable[[Stage], str | None] = _nothing,
) -> Entry:
    """Return the entry of a constraint, in the languages that the target supports.

    Args:
        name: the target's parameter.
        values: by language, maps the constraint's source to the parameter's value.
        lacking: the explanation if the target does not support the language.
        differs: as in `Entry`, for the languages that it supports.
    """

    def written(stage: Stage) -> dict[str, object]:
        made = values.get(stage.language)
        return {} if made is None else {name: made(stage.source)}

    return Entry(
        (name,),
        written,
        partly=lambda stage: None if stage.language in values else lacking,
        differs=lambda stage: differs(stage) if stage.language in values else None,
    )


@dataclass
class Translation:
    """A chain translated into a target's parameters.

    Attributes:
        parameters: the target's parameters, in the order of the chain.
        written: the stages written with them, in the order of the chain.
        lacking, differs: see `Snippet`.
    """

    parameters: dict[str, object] = field(default_factory=dict)
    written: list[Stage] = field(default_factory=list)
    lacking: list[Remark] = field(default_factory=list)
    differs: list[Remark] = field(default_factory=list)

    def add(self, parameters: Mapping[str, object]) -> None:
        """Add parameters; biases of several stages merge, and a ban outweighs a bias."""
        for name, value in parameters.items():
            before = self.parameters.get(name)
            if isinstance(value, dict) and isinstance(before, dict):
                value = {
                    token: BANNED if BANNED in (before.get(token, 0), value.get(token, 0)) else bias
                    for token, bias in (before | value).items()
                }
            self.parameters[name] = value


def translate(chain: Iterable[Stage], table: Mapping[str, Entry], none: str) -> Translation:
    """Translate a chain into a target's parameters, ignoring the order.

    Args:
        chain: the stages.
        table: the target's table.
        none: why a setting without an entry cannot be written there.
    """
    result = Translation()
    for stage in chain:
        entry = table.get(stage.setting) or absent(none)
        if entry.lacking:
            result.lacking.append((stage.setting, entry.lacking))
            continue
        values = entry.values(stage)
        result.add(values)
        if values:
            result.written.append(stage)
        if partly := entry.partly(stage):
            result.lacking.append((stage.setting, partly))
        if differs := entry.differs(stage):
            result.differs.append((stage.setting, differs))
    return result


class Effect(enum.Enum):
    """Effect on the distribution of swapping two stages."""

    NONE = msg("the result is the same")
    ODDS = msg("the odds change; the kept tokens change only if a later cut depends on the odds")
    KEPT = msg("this can change which tokens are kept")


_ADDS = {"logit_bias", "presence_penalty", "frequency_penalty", "dry"}
_BANS = {"no_repeat_ngram", "banned", "min_new_tokens", "constraint"}
_EDITS = _ADDS | _BANS | {"repetition_penalty"}
_MAY_DROP_THE_FIRST = {"typical_p", "xtc"}


def swap_effect(first: Stage, second: Stage) -> Effect:
    """Return the effect of swapping two neighbouring stages.

    This assumes exact arithmetic: a sum may round differently in a different order.
    """
    names = {first.setting, second.setting}
    greedy = any(stage.setting == "temperature" and stage.value == 0 for stage in (first, second))
    if greedy:
        # The highest score stays the highest through every cut that always keeps it.
        return Effect.KEPT if names & (_EDITS | _MAY_DROP_THE_FIRST) else Effect.NONE
    if names <= _EDITS:
        mixed = "repetition_penalty" in names and names & _ADDS  # (z + b) / r is not z / r + b
        return Effect.ODDS if mixed else Effect.NONE
    if "temperature" in names:
        # Dividing all scores keeps ranks, and a distance in standard deviations.
        if names & (_BANS | {"repetition_penalty", "top_k", "top_n_sigma"}):
            return Effect.NONE
        return Effect.ODDS if names & (_ADDS | {"dynamic_temperature"}) else Effect.KEPT
    if "dynamic_temperature" in names:  # its T comes from the entropy of the tokens present
        return Effect.ODDS if names & (_EDITS | {"top_k", "top_n_sigma"}) else Effect.KEPT
    if names == {"top_k", "min_p"}:  # each keeps leading ranks that the other cannot move
        return Effect.NONE
    return Effect.KEPT


def order_remarks(
    chain: Sequence[Stage], theirs: Sequence[str], target: str, *, published: bool = True
) -> list[Remark]:
    """Return one remark for each pair of stages that the target applies in the opposite order.

    Args:
        chain: the stages that the target has, in the app's order.
        theirs: settings in the order in which the target applies them.
        target: its name, for the remark.
        published: whether the target documents that order.
    """
    place = {setting: i for i, setting in enumerate(theirs)}
    remarks = []
    for i, first in enumerate(chain):
        for second in chain[i + 1 :]:
            if place[first.setting] > place[second.setting]:
                how = msg("applies it after") if published else msg("presumably applies it after")
                text = msg(
                    "comes before {setting} here; {target} {how}", (second.setting, target, how)
                )
                remarks.append(
                    (
                        first.setting,
                        msg("{text}: {value}", (text, swap_effect(first, second).value)),
                    )
                )
    return remarks
