"""Answers to a page's questions; asking changes nothing.

An answer is a message of kind ``answer``: its number, `error`, and the values asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from engine.decoding import checked_alpha
from engine.errors import CancelledError, DecodingError, ServerError, SettingError
from engine.runner import this_job
from engine.sampling import STAGES, SamplingSettings
from engine.text import LONGEST_RUN, checked_max_new_tokens, checked_stop_strings
from ui.step import busy
from ui.step.events import Event
from ui.step.session import Session
from ui.texts.export import settings_as_code
from ui.texts.limits import LARGEST_SEED, checked_whole
from ui.texts.settings import is_one_number, parse_settings, plain_settings
from ui.texts.texts import checked_scale
from ui.texts.token_search import Found, found_tokens, tokens_of
from ui.words.errors import in_words
from ui.words.language import say
from ui.words.token_labels import labels_of

ADMIT_SECONDS = 2.0
MOST_SCORED = 128  # tokens that vLLM scores in one request


def answer(
    session: Session, event: Event, should_stop: Callable[[], bool] = lambda: False
) -> dict[str, Any]:
    """Answer a question: return the values it asks for, by name; `error` is empty on success.

    Args:
        session: the session; its lock is held.
        event: the question; ``row`` is answered by `ui.step.message`.
        should_stop: returns whether the person has moved on.
    """
    kept = session.error, session.cancelled
    session.error, session.cancelled = "", False
    try:
        if session.read_only and event.kind not in ("trace", "labels"):
            raise DecodingError(session.read_only)
        found = _ANSWERS[event.kind](session, event, should_stop)
        if session.cancelled:
            raise CancelledError(session.error)
        return found | {"error": session.error}
    except CancelledError:
        return {"error": say(busy.QUESTION), "cancelled": True}
    except DecodingError as error:
        return {"error": in_words(error)}
    finally:
        session.error, session.cancelled = kept
        session.forget_shaped()


def _find(session: Session, event: Event, _: object) -> dict[str, Any]:
    raw = session.raw()
    if raw is None:
        return {"found": None}
    return {"found": _listed(session, found_tokens(session.model.vocabulary, event.query, raw))}


def _tokenize(session: Session, event: Event, _: object) -> dict[str, Any]:
    found = tokens_of(session.model.vocabulary, event.query, session.raw())
    return {"tokenized": _listed(session, found)}


def _listed(session: Session, tokens: list[Found]) -> list[dict[str, Any]]:
    """Return found tokens with rank and logit; of unlisted ones, the probability if it is known."""
    labels, scores = labels_of(session.model.vocabulary), session.listed
    most = session.model.vocab_size if scores is None else scores.ids.size
    unlisted = dict.fromkeys(found.token_id for found in tokens if (found.raw_rank or 0) > most)
    known: dict[int, float] = {}
    if unlisted:
        try:
            asked = list(unlisted)[:MOST_SCORED]
            known = session.decoder.unlisted_logprobs(session.index, asked)
        except ServerError as error:  # the search needs no server
            session.error = in_words(error)

    def placed(found: Found) -> dict[str, Any]:
        if found.token_id in unlisted:
            logprob = known.get(found.token_id)
            probability = None if logprob is None else math.exp(logprob)
            return {"raw_rank": 0, "logit": None, "unlisted": True, "probability": probability}
        logit = None if found.logit in (None, -np.inf) else found.logit
        return {"raw_rank": found.raw_rank, "logit": logit}

    return [
        {"id": found.token_id, "label": labels[found.token_id], **placed(found)} for found in tokens
    ]


def _labels(session: Session, event: Event, _: object) -> dict[str, Any]:
    labels = labels_of(session.model.vocabulary)
    known = [token_id for token_id in event.ids if 0 <= token_id < session.model.vocab_size]
    return {"labels": [[token_id, labels[token_id]] for token_id in known]}


def _snippets(session: Session, event: Event, _: object) -> dict[str, Any]:
    """Return the page's settings as code; the session may not have these settings yet."""
    found = settings_as_code(
        session.model,
        event.settings,
        session.prompt,
        chat=session.chat,
        before=session.beginning.before,
        max_tokens=checked_max_new_tokens(event.max_tokens),
        stop_strings=checked_stop_strings(event.stop_strings),
        negative_prompt=session.beginning.negative_prompt,
        guidance_scale=checked_scale(event.guidance_scale) if session.is_guided else 1.0,
        strategy=session.strategy,
    )
    return {"snippets": [asdict(snippet) for snippet in found]}


def _trace(session: Session, event: Event, _: object) -> dict[str, Any]:
    return {"trace": session.decoder.trace().to_json()}


# --- a typed value --------------------------------------------------------------------------------


def _check(session: Session, event: Event, _: object) -> dict[str, Any]:
    """Return a typed value as the engine reads it.

    `value` is that of the field, `setting_value` that of the whole setting.
    """
    name, typed = event.setting, _number(event.setting, event.value)
    plain = _PLAIN_CHECKS.get(name)
    if plain is not None:
        value = plain(session, typed)
        return {"value": value, "setting_value": value}
    if name not in STAGES:
        raise SettingError("setting", name[:40], say("is not known"), say("reload the page"))
    shown = plain_settings(event.settings, event.order)
    value = typed
    if event.setting_field and not is_one_number(name):
        value = {**(shown.get(name) or {}), event.setting_field: typed}
    order = event.order if name in event.order else (*event.order, name)
    settings, _order = parse_settings({**shown, "order": list(order), name: value})
    settings.check_vocabulary(session.model.vocab_size)
    taken = plain_settings(settings, order)[name]
    of_field = taken.get(event.setting_field) if isinstance(taken, dict) else taken
    return {"value": of_field, "setting_value": taken}


def _number(setting: str, typed: Any) -> Any:
    """Parse a typed number, ``0,7`` and ``1 000`` too; raise `SettingError` if it is malformed."""
    if not isinstance(typed, str):
        is_whole = isinstance(typed, float) and typed.is_integer() and abs(typed) < 2**53
        return int(typed) if is_whole else typed
    text = typed.strip().replace("−", "-").replace("\u00a0", " ").replace(" ", "")
    if text.count(",") == 1 and "." not in text:
        text = text.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        remedy = say("type digits, such as 0.7")
        raise SettingError(setting or "value", typed[:40], say("is not a number"), remedy)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


_PLAIN_CHECKS: dict[str, Callable[[Session, Any], Any]] = {
    "seed": lambda session, value: checked_whole(say("Seed"), value, 0, LARGEST_SEED),
    "thinking_budget": lambda session, value: checked_whole(
        say("Thinking budget"), value, 0, LONGEST_RUN
    ),
    "max_tokens": lambda session, value: checked_whole(say("Max tokens"), value, 1, LONGEST_RUN),
    "guidance_scale": lambda session, value: checked_scale(value),
    "penalty_alpha": lambda session, value: checked_alpha(value),
    "candidates": lambda session, value: checked_whole(
        say("Candidates"), value, 1, session.model.vocab_size
    ),
}


# --- changes that let a token survive -------------------------------------------------------------


def _admit(session: Session, event: Event, should_stop: Callable[[], bool]) -> dict[str, Any]:
    """Find a small change of the page's settings by which a token could be drawn."""
    from engine.sampling import admitting_change

    raw = session.raw()
    if raw is None or event.token_id is None or not 0 <= event.token_id < raw.scores.size:
        return {"admission": None, "is_complete": True}
    context = session.decoder.context(session.index)
    logits = raw.scores
    end = time.monotonic() + ADMIT_SECONDS

    def is_time_up() -> bool:
        return should_stop() or time.monotonic() > end

    found = admitting_change(
        logits,
        event.settings,
        context,
        event.token_id,
        order=event.order,
        should_stop=is_time_up,
    )
    this_job().check()
    is_complete = found is not None or not is_time_up()
    return {
        "admission": None if found is None else _admission(found, event),
        "is_complete": is_complete,
    }


def _admission(found: Any, event: Event) -> dict[str, Any]:
    settings: SamplingSettings | None = found.settings
    order = event.order
    if settings is not None:
        order = (*order, *(s.setting for s in settings.chain if s.setting not in order))
    return {
        "setting": found.setting,
        "field": found.field,
        "value": found.value,
        "settings": None if settings is None else plain_settings(settings, order),
        "lifted": found.lifted,
        "bias": found.bias,
        "blocked_by": list(found.blocked_by),
    }


_ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "find": _find,
    "tokenize": _tokenize,
    "labels": _labels,
    "snippets": _snippets,
    "trace": _trace,
    "check": _check,
    "admit": _admit,
}
