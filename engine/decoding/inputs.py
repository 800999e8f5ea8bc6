"""Checks of input from outside: settings and tokens against the model, indices of steps."""

from __future__ import annotations

import secrets

import numpy as np

from engine.backend import Backend, fitted
from engine.checks import is_whole
from engine.errors import SettingError, msg
from engine.model.forward import Scores
from engine.sampling import SamplingSettings


def checked_settings(
    settings: SamplingSettings, model: Backend, keep_seed_of: SamplingSettings | None = None
) -> SamplingSettings:
    """Return the settings, checked against the model, with a seed chosen if none was given."""
    if not isinstance(settings, SamplingSettings):
        remedy = msg("use for example SamplingSettings(temperature=0.7)")
        raise SettingError("settings", settings, "must be SamplingSettings", remedy)
    settings.check_vocabulary(model.vocab_size)
    settings.check_tokens(model.places)
    settings = fitted(settings, model)
    if settings.seed is None:
        seed = keep_seed_of.seed if keep_seed_of else secrets.randbelow(2**32)
        settings = settings.replace(seed=seed)
    return settings


def checked_length(length: object, steps: int) -> int:
    """Return the number of steps to keep; raises `SettingError` if it is not 0 to `steps`."""
    if not is_whole(length) or not 0 <= length <= steps:
        remedy = msg("use 0 to {steps}, the number of tokens generated so far", steps)
        raise SettingError("length", length, "must be a number of generated tokens", remedy)
    return int(length)


def checked_place(index: object, steps: int) -> int:
    """Return the index of a past or the next step; raises `SettingError` for any other."""
    if not is_whole(index) or not 0 <= index <= steps:
        remedy = msg("use 0 to {steps}", steps)
        raise SettingError(
            msg("step index"), index, "is neither a step taken nor the next one", remedy
        )
    return int(index)


def checked_index(index: object, steps: int) -> int:
    """Return a recorded step's index, negative ones from the end; `SettingError` for any other."""
    if not is_whole(index) or not -steps <= index < steps:
        remedy = msg("use 0 to {steps}", steps - 1) if steps else msg("take a step first")
        raise SettingError(msg("step index"), index, "is not a recorded step", remedy)
    return int(index) % steps


def check_possible(
    token_id: int, logits: np.ndarray, listed: Scores | None, model: Backend
) -> None:
    """Raise `SettingError` for a token that the model rules out or does not list in a step.

    Args:
        token_id: the token.
        logits: (vocab,) the step's row.
        listed: the scores that the model listed; None if it gave all.
        model: the model.
    """
    remedy = msg("choose a token that the model can produce")
    if logits[token_id] == -np.inf:
        raise SettingError("token_id", token_id, "has a logit of -inf here", remedy)
    if listed is not None and token_id not in listed.ids:
        named = (listed.ids.size, model.name)
        problem = msg("is not among the {listed:,} tokens that {name} lists here", named)
        raise SettingError("token_id", token_id, problem, msg("choose one of those"))


def checked_token(token_id: object, model: Backend) -> int:
    """Return the id of a token in the vocabulary; raises `SettingError` for any other."""
    remedy = msg("use a whole number from 0 to {vocab_size:,}", model.vocab_size - 1)
    if not is_whole(token_id):
        raise SettingError("token_id", token_id, "must be a whole number", remedy)
    if not 0 <= token_id < model.vocab_size:
        raise SettingError("token_id", token_id, "is outside the vocabulary", remedy)
    return int(token_id)
