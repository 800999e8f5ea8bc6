"""Sampling settings as the page sends them: samplers in their order, each with a value, on or off.

    {"order": ["temperature", "top_p", "xtc"], "temperature": 0.7, "top_p": 1, "xtc": None, ...}

`order` names the samplers that are shown, in the order in which they apply. A sampler with one
number is off at the engine's off value. Any other sampler is off at None; when on, its value is an
object of its fields. A sampler that is not in `order` is not shown. Data from a browser is not
trusted: see `parse_settings`.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from engine.errors import (
    DecodingError,
    PanicError,
    SettingError,
    TokenizerError,
    panics_as_errors,
)
from engine.grammar import MOST_BYTES
from engine.model import LanguageModel, Vocabulary
from engine.sampling import PRESETS, STAGES, Banned, Dry, LogitBias, SamplingSettings, Stage
from ui.texts.limits import LARGEST_SEED, checked_whole
from ui.words.catalogue import table, value_shape
from ui.words.language import say

FIRST = ("temperature", "top_k", "top_p", "min_p")  # samplers that a new page shows
MOST_ENTRIES = 2000  # names, lists and numbers in one sampler, as every event contains them
LONGEST_TEXT = 100  # characters of a sampler's text, except a constraint's source
DEEPEST = 3
MOST = 2**53  # beyond it, a browser's integers are not exact
BREAKERS = ("\n", ":", '"', "*")  # the default sequence breakers of DRY's authors


class EventError(DecodingError):
    """The browser sent data that this version does not understand."""


def is_one_number(name: str) -> bool:
    """Return whether a sampler has one number, which is its value on the page."""
    return STAGES[name].is_one_number()


def shown_samplers(settings: SamplingSettings) -> tuple[str, ...]:
    """Return the samplers to show for these settings: `FIRST`, and all that are on.

    The chain keeps its order; any other sampler precedes those that follow it by default.
    """
    place = {name: number for number, name in enumerate(STAGES)}
    order = [stage.setting for stage in settings.chain]
    for name in FIRST:
        if name not in order:
            later = (i for i, other in enumerate(order) if place[other] > place[name])
            order.insert(next(later, len(order)), name)
    return tuple(order)


def plain_settings(
    settings: SamplingSettings, order: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return settings as plain values for the page.

    Args:
        settings: the settings.
        order: the samplers to show, including all of the chain in its order; None for only those
            of the chain.
    """
    on = {stage.setting: stage for stage in settings.chain}
    order = list(on) if order is None else list(order)
    return {
        "order": order,
        **{name: _plain_value(name, on.get(name)) for name in order},
        "seed": settings.seed,
    }


def _plain_value(name: str, stage: Stage | None) -> Any:
    if is_one_number(name):
        return STAGES[name].off if stage is None else stage.value
    return None if stage is None else stage.to_dict()  # None, as an off value may be an empty list


def page_table() -> dict[str, Any]:
    """Return the table of samplers, with the samplers shown first and the presets.

    Keys:
        first: names of the samplers that a new page shows.
        presets: name and settings of each preset, without a seed.
    """
    return {
        **table(),
        "first": list(FIRST),
        "presets": [preset(name, settings) for name, settings in PRESETS.items()],
    }


def preset(name: str, settings: SamplingSettings) -> dict[str, Any]:
    """Return settings for the page as a preset; its name is marked."""
    values = plain_settings(settings, shown_samplers(settings))
    del values["seed"]  # a preset does not change the seed
    return {"name": name, "settings": values}


def parse_settings(data: Any) -> tuple[SamplingSettings, tuple[str, ...]]:
    """Parse settings and order that a page sent; the inverse of `plain_settings`.

    Values of names that the order lacks are ignored.

    Raises:
        EventError: the data has an unexpected shape, for example from a page before an update.
        SettingError: a value is out of range, or there are far too many values.
    """
    if not isinstance(data, dict):
        raise EventError("The page sent settings that are none; reload the page.")
    if "order" not in data:
        raise EventError("The app was updated since this page was loaded; reload the page.")
    order = _order(data["order"])
    for name in data:
        if name not in STAGES and name not in ("order", "seed"):
            raise EventError(f"The page sent an unknown setting, {name[:40]!r}; reload the page.")
    chain = [
        [name, _fields(name, data.get(name))] for name in order if not _is_off(name, data.get(name))
    ]
    settings = SamplingSettings.from_dict({"chain": chain, "seed": data.get("seed", 0)})
    checked_whole(say("Seed"), settings.seed, 0, LARGEST_SEED)
    return settings, order


def named_settings(values: Mapping[str, Any]) -> SamplingSettings:
    """Return settings in the engine's order: ``{"top_p": 0.9, "xtc": {"threshold": 0.1}}``.

    Args:
        values: by name, the seed, and each sampler's number or fields.

    Raises:
        SettingError: a setting is unknown, or a value is out of range.
    """
    return SamplingSettings(**{name: _whole(name, value) for name, value in values.items()})


def _whole(name: str, value: Any) -> Any:
    """Build a sampler from its fields; return any other value as it is."""
    if name not in STAGES or not isinstance(value, dict):
        return value
    return SamplingSettings.from_dict({"chain": [[name, value]]}).chain[0]


def _order(data: Any) -> tuple[str, ...]:
    is_list = isinstance(data, list) and len(data) <= len(STAGES)
    if not is_list or not all(isinstance(name, str) for name in data):
        raise EventError("The page sent an order of samplers that is none; reload the page.")
    for place, name in enumerate(data):
        if name not in STAGES:
            raise EventError(f"The page sent an unknown sampler, {name[:40]!r}; reload the page.")
        if name in data[:place]:
            raise EventError(f"The page sent the sampler {name} twice; reload the page.")
    return tuple(data)


def _is_off(name: str, value: Any) -> bool:
    kind = STAGES[name]
    if is_one_number(name):
        if value is None and kind.off is None:
            return True
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            shown = reprlib.repr(value)
            raise EventError(f"The page sent {name} = {shown}, not a number; reload the page.")
        return kind.is_off(value)
    names = [item.name for item in fields(kind)]
    if len(names) == 1 and isinstance(value, dict) and list(value) == names:
        value = value[names[0]]  # an empty list, such as that of a new editor, is off, too
    return kind.is_off(value)


def _fields(name: str, value: Any) -> dict[str, Any]:
    """Return a sampler's fields by name; raises an error if the value is malformed."""
    if is_one_number(name):
        return {fields(STAGES[name])[0].name: value}
    if not isinstance(value, dict):
        shown = reprlib.repr(value)
        raise EventError(f"The page sent {name} = {shown}, not its fields; reload the page.")
    _check_size(name, value)
    return value


def _check_size(name: str, value: dict[str, Any]) -> None:
    """Raise an error if a value is too large or too deeply nested to be processed."""
    level, entries = [value], 0
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for container in level:
            entries += len(container)
            inner += container.values() if isinstance(container, dict) else container
        if entries > MOST_ENTRIES:
            remedy = say("use at most {most}", most=f"{MOST_ENTRIES:,}")
            raise SettingError(name, entries, say("contains too many entries"), remedy)
        longest = MOST_BYTES if value_shape(name) == "source" else LONGEST_TEXT
        if any(_is_oversized(item, longest) for item in inner):
            raise EventError(f"The page sent {name} with a value that is too large; reload it.")
        level = [item for item in inner if isinstance(item, (dict, list))]
    if level:
        raise EventError(f"The page sent {name} as lists in lists in lists; reload the page.")


def _is_oversized(value: Any, longest: int) -> bool:
    if isinstance(value, str):
        return len(value) > longest
    return isinstance(value, int) and abs(value) >= MOST


# --- dependent on a model's tokens ----------------------------------------------------------------


def stage_defaults(vocabulary: Vocabulary) -> dict[str, dict[str, Any]]:
    """Return the initial fields of every sampler that is not just one number, by name."""
    defaults = {}
    for name, kind in STAGES.items():
        if kind is Dry:
            defaults[name] = Dry(breakers=breaker_ids(vocabulary)).to_dict()
        elif not is_one_number(name):
            names = fields(kind)
            defaults[name] = {names[0].name: []} if len(names) == 1 else kind().to_dict()
    return defaults


def breaker_ids(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Return the token ids of `BREAKERS`, alone, after a word and after a space."""
    if vocabulary.tokenizer is None:
        return ()
    found = set()
    try:
        with panics_as_errors():
            for text in BREAKERS:
                for before in ("", "a", "a "):
                    ids = vocabulary.tokenizer(before + text, add_special_tokens=False)["input_ids"]
                    if ids and vocabulary.token_bytes(ids[-1]).strip(b" ") == text.encode():
                        found.add(ids[-1])
    except (PanicError, TokenizerError):  # a tokenizer that fails on these has none
        return ()
    return tuple(sorted(i for i in found if i < vocabulary.size))


def edited_ids(settings: SamplingSettings) -> list[int]:
    """Return the token ids that a bias or a ban may act on, each once."""
    ids: dict[int, None] = {}
    for stage in settings.chain:
        if isinstance(stage, LogitBias):
            ids.update(dict.fromkeys(token_id for token_id, _ in stage.bias))
        elif isinstance(stage, Banned):
            ids.update(dict.fromkeys(token_id for part in stage.sequences for token_id in part))
    return list(ids)


def fitted(
    settings: SamplingSettings, before: LanguageModel, after: LanguageModel
) -> tuple[SamplingSettings, str]:
    """Return settings adapted to another model, and a sentence on the parts that were lost.

    Token ids are valid only with the tokenizer that they come from.
    """
    one, two = before.vocabulary, after.vocabulary
    same = (one.known, one.size) == (two.known, two.size) and one.has_tokens_of(two)
    chain, lost = [], []
    for stage in settings.chain:
        if isinstance(stage, Dry) and not same:
            stage = replace(stage, breakers=breaker_ids(after.vocabulary))
        if _fits(stage, after.vocab_size) and (same or not isinstance(stage, (LogitBias, Banned))):
            chain.append(stage)
        else:
            lost.append(say(stage.info.label))
    if not lost:
        return settings.replace(chain=chain), ""
    sentence = say(
        "Switched off, since this model has other tokens: {named}. Set them again.",
        named=", ".join(lost),
    )
    return settings.replace(chain=chain), sentence


def _fits(stage: Stage, vocab_size: int) -> bool:
    try:
        stage.check_vocabulary(vocab_size)
    except SettingError:
        return False
    return True
