"""Sampling settings as a value: an ordered chain of stages, a seed, and the kind of draw."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import SettingError, msg
from engine.sampling.samplers import DEFAULT_ORDER, STAGES, Stage, Temperature

if TYPE_CHECKING:
    from engine.grammar import Places

MAX_SEED = 2**63 - 1
_GIVE_SEED = msg("use a whole number from 0 to {max_seed:,}, or None for a fresh one", MAX_SEED)


@dataclass(frozen=True, init=False)
class SamplingSettings:
    """Settings for choosing the next token: an ordered chain of stages, a seed, the kind of draw.

    They are given by keyword, and then apply in the order of transformers. A value that switches a
    stage off leaves it out:

        SamplingSettings(temperature=0.7, top_k=0, top_p=0.9, min_p=0.0, repetition_penalty=1.0)

    or as a chain in the caller's order, which is never re-sorted:

        SamplingSettings(chain=[TopP(0.9), Temperature(0.7)])

    A stage with several fields is given as a stage, `SamplingSettings(dry=Dry(multiplier=0.8))`;
    any other may be. Every stage's setting can be read as an attribute: a number
    (`settings.top_p`), or for several fields the stage or None. If the stage is not in the chain,
    it is the off value.

    Attributes:
        chain: the stages that are on, in the order in which they apply.
        seed: seed of the random stream; if None, the decoder chooses and records one.
        parity: run transformers' own processors and `torch.multinomial`, to repeat `generate`.

    Raises:
        SettingError: a value outside its range, or an unknown setting.
    """

    chain: tuple[Stage, ...]
    seed: int | None
    parity: bool

    def __init__(
        self,
        *,
        chain: Iterable[Stage] | None = None,
        seed: int | None = 0,
        parity: bool = False,
        **settings: object,
    ) -> None:
        for name in settings:
            _kind(name, settings[name])
        if chain is None:
            chain = [
                _stage(kind, settings[kind.setting])
                for kind in DEFAULT_ORDER
                if not kind.is_off(settings.get(kind.setting))
            ]
        elif settings:
            name = next(iter(settings))
            remedy = msg("put the stage into the chain instead")
            raise SettingError(name, settings[name], "cannot be combined with a chain", remedy)
        if isinstance(chain, Stage):
            remedy = msg("put it into a list: chain=[TopP(0.9)]")
            raise SettingError("chain", chain, "must be a list of stages", remedy)
        chain = tuple(chain)
        _check_chain(chain, parity)
        object.__setattr__(self, "chain", chain)
        object.__setattr__(self, "seed", _checked_seed(seed))
        object.__setattr__(self, "parity", bool(parity))

    def __getattr__(self, name: str) -> object:
        # Only called for names that are not fields: the settings of the stages.
        if name in STAGES:
            stage = self.stage(name)
            return STAGES[name].off if stage is None else stage.value
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def stage(self, name: str) -> Stage | None:
        """Return the chain's stage with this setting; None if it is off."""
        return next((stage for stage in self.chain if stage.setting == name), None)

    @property
    def is_greedy(self) -> bool:
        """Return whether the chain contains temperature 0, so that nothing is drawn."""
        return any(isinstance(stage, Temperature) and stage.is_greedy for stage in self.chain)

    @property
    def edits(self) -> tuple[Stage, ...]:
        """The stages that edit single tokens, such as penalties, bans and a constraint, in order.

        They have an effect even if nothing is drawn.
        """
        return tuple(stage for stage in self.chain if stage.kind == "edit")

    def replace(self, **changes: object) -> SamplingSettings:
        """Return a copy with some settings changed; stages keep their place in the chain.

        A stage that was off goes where the default order has it.
        """
        seed = changes.pop("seed", self.seed)
        parity = changes.pop("parity", self.parity)
        if "chain" in changes:
            return SamplingSettings(seed=seed, parity=parity, **changes)
        chain = list(self.chain)
        for name, value in changes.items():
            kind = _kind(name, value)
            place = next((i for i, stage in enumerate(chain) if stage.setting == name), None)
            if place is not None:
                del chain[place]
            else:
                later = DEFAULT_ORDER[DEFAULT_ORDER.index(kind) + 1 :]
                found = (i for i, stage in enumerate(chain) if isinstance(stage, later))
                place = next(found, len(chain))
            if not kind.is_off(value):
                chain.insert(place, _stage(kind, value))
        return SamplingSettings(chain=chain, seed=seed, parity=parity)

    def check_vocabulary(self, vocab_size: int) -> None:
        """Raise `SettingError` if a stage makes no sense for a vocabulary of this size."""
        for stage in self.chain:
            stage.check_vocabulary(vocab_size)

    def check_tokens(self, places: Places) -> None:
        """Raise `SettingError` if a stage makes no sense for a model's tokens."""
        for stage in self.chain:
            stage.check_tokens(places)

    def to_dict(self) -> dict:
        """Return plain values, for a trace or a share link."""
        chain = [[stage.setting, stage.to_dict()] for stage in self.chain]
        return {"chain": chain, "seed": self.seed, "parity": self.parity}

    @classmethod
    def from_dict(cls, data: dict) -> SamplingSettings:
        """Rebuild settings from `to_dict`; raises `SettingError` on anything out of range."""
        remedy = msg("give them in the form that `to_dict` returns")
        if not isinstance(data, dict) or not isinstance(data.get("chain"), (list, tuple)):
            raise SettingError("settings", data, "must contain a chain", remedy)
        parity = data.get("parity", False)
        if not isinstance(parity, bool):
            raise SettingError("parity", parity, "must be true or false", remedy)
        chain = []
        for entry in data["chain"]:
            if not isinstance(entry, (list, tuple)) or len(entry) != 2:
                raise SettingError("chain", entry, "must contain pairs of name and value", remedy)
            name, values = entry
            kind = _kind(name, values)
            if not isinstance(values, dict):
                raise SettingError(name, values, "must be given by its fields", remedy)
            try:
                chain.append(kind(**values))
            except TypeError as error:
                raise SettingError(name, values, "has the wrong fields", remedy) from error
        return cls(chain=chain, seed=data.get("seed"), parity=parity)


def without_draw(chain: Iterable[Stage], strategy: str) -> SamplingSettings:
    """Return settings with this chain for a strategy that draws nothing; no stage may be random.

    Args:
        chain: the stages.
        strategy: its name in a sentence.

    Raises:
        SettingError: not a chain, or a random stage.
    """
    settings = SamplingSettings(chain=chain)
    drawing = next((stage for stage in settings.chain if stage.stream is not None), None)
    if drawing is not None:
        problem = msg("leaves something to chance, but {strategy} draws nothing", strategy)
        raise SettingError(drawing.setting, drawing.value, problem, "switch it off")
    return settings


def _kind(name: object, value: object) -> type[Stage]:
    """Return a stage's class by its setting."""
    if isinstance(name, str) and name in STAGES:
        return STAGES[name]
    near = difflib.get_close_matches(str(name)[:40], STAGES, n=4, cutoff=0.0)
    known = msg(
        "known settings are {near} and {stages} more", (", ".join(near), len(STAGES) - len(near))
    )
    raise SettingError(str(name), value, "is not a setting", known)


def _stage(kind: type[Stage], value: object) -> Stage:
    """Return a setting's value as a stage; only a stage with one field may be given by value."""
    if isinstance(value, kind):
        return value
    if len(fields(kind)) != 1:
        problem, remedy = (
            msg("must be given as a stage"),
            msg("use for example {value}", repr(kind())),
        )
        raise SettingError(kind.setting, value, problem, remedy)
    return kind(value)


def _check_chain(chain: tuple[Stage, ...], parity: bool) -> None:
    names = []
    for stage in chain:
        if not isinstance(stage, Stage):
            raise SettingError("chain", stage, "must contain stages", "use for example TopP(0.9)")
        if stage.setting in names:
            remedy = msg("keep one of them")
            raise SettingError("chain", stage.setting, "contains a stage twice", remedy)
        names.append(stage.setting)
    missing = [stage for stage in chain if not stage.in_transformers]
    if parity and missing:
        remedy = msg("switch it off, or switch parity off")
        problem = msg("has no counterpart in transformers, which parity requires")
        raise SettingError(missing[0].setting, missing[0].value, problem, remedy)
    order = [kind.setting for kind in DEFAULT_ORDER if kind.setting in names]
    if parity and names != order:
        remedy = msg("order it as {order}, or switch parity off", ", ".join(order))
        raise SettingError(
            "chain", names, "is not in transformers' order, which parity requires", remedy
        )


def _checked_seed(seed: object) -> int | None:
    if seed is None:
        return None
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise SettingError("seed", seed, "must be a whole number", _GIVE_SEED)
    if not 0 <= seed <= MAX_SEED:
        raise SettingError("seed", seed, "is out of range", _GIVE_SEED)
    return int(seed)
