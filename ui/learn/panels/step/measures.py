"""Measures of a step panel, for checks: of the text, and of the step on screen."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from engine.errors import SettingError
from engine.export import Snippet
from engine.sampling import STAGES, Distribution, RankedRow
from engine.study import find_loop
from ui.learn.checks import bits, percent, shown_as
from ui.learn.functions import Functions
from ui.learn.panels.step.hands import LessonSession, token_id
from ui.texts.export import settings_as_code
from ui.texts.settings import is_one_number
from ui.words.labels import stop_name
from ui.words.language import say

MEASURES = Functions()


def settings_named(names: str) -> str:
    """Return the labels of settings, given names separated by spaces: ``Top-k, Min-p``."""
    return ", ".join(
        say(STAGES[name].info.label) if name in STAGES else name.replace("_", " ")
        for name in names.split()
    )


def _listed(remarks: Iterable[tuple[str, str]]) -> str:
    """Return the settings that remarks name, each once: ``top_k min_p``."""
    return " ".join(dict.fromkeys(name.replace(" ", "_") for name, _ in remarks))


# --- the text -------------------------------------------------------------------------------------


@MEASURES.add
def generated(session: LessonSession) -> int:
    """Number of tokens generated after the prompt."""
    return session.length


@MEASURES.add
def prompt(session: LessonSession) -> str:
    """The prompt of the text on screen, not one that is only typed."""
    return session.prompt


@MEASURES.add
def prompt_tokens(session: LessonSession) -> int:
    """Number of tokens in the prompt."""
    return len(session.decoder.prompt_ids)


@MEASURES.add
def prompt_characters(session: LessonSession) -> int:
    """Number of characters in the prompt."""
    return len(session.prompt)


@MEASURES.add
def characters_beyond_latin(session: LessonSession) -> int:
    """Number of characters in the prompt that are neither ASCII nor Latin letters."""
    return sum(
        not (each.isascii() or unicodedata.name(each, "").lower().startswith("latin "))
        for each in session.prompt
    )


@MEASURES.add
def text(session: LessonSession) -> str:
    """The generated text without the prompt."""
    return session.decoder.text


@MEASURES.add
def last_token(session: LessonSession) -> str | None:
    """The token that was appended last, as text."""
    return session.decoder.steps[-1].text if session.length else None


@MEASURES.add
def loop(session: LessonSession) -> bool:
    """True if the text ends in a loop: the same stretch three times, 12 tokens at least."""
    return find_loop(session.decoder.token_ids) is not None


@MEASURES.add
def forced(session: LessonSession) -> int:
    """Number of tokens in the text that a person chose."""
    return 0 if session.search else sum(step.forced for step in session.decoder.steps)


@MEASURES.add
def not_likeliest(session: LessonSession) -> int:
    """Number of tokens in the text that did not have the highest logit of their step.

    In a contrastive search, the number of tokens that were not its likeliest candidate.
    """
    if session.search:
        return sum(step.chosen > 0 for step in session.search.steps)
    return sum(step.rank > 1 for step in session.decoder.steps)


@MEASURES.add
def branches(session: LessonSession) -> int:
    """Number of branches of the text; 1 before the first one departs."""
    return len(session.branches)


@MEASURES.add
@shown_as(stop_name)
def stopped_by(session: LessonSession) -> str:
    """Reason the text ended: max_tokens, eos, stop_string, context; empty while it continues."""
    return (session.decoder.stop_reason or "max_tokens") if session.has_reached_limit else ""


@MEASURES.add
def max_tokens(session: LessonSession) -> int:
    """The stop rule of Play and Run to end."""
    return session.max_tokens


@MEASURES.add
def done(session: LessonSession, action: str) -> int:
    """Number of times an action was done since the panel began.

    Actions: step, play, run, back, rewind, reroll, force, inspect, start, branch, settings. A press
    of Step counts each token, Run to end as often as the page asked.
    """
    return session.done[action]


@MEASURES.add
def done_last(session: LessonSession, action: str) -> bool:
    """True if this was the last action, of those that `done` names; settings do not count."""
    return session.last_action == action


# --- settings -------------------------------------------------------------------------------------


@MEASURES.add
def setting(session: LessonSession, name: str, field: str = "") -> float | None:
    """A setting of one number: temperature, top_k, top_p, min_p, repetition_penalty, ..., seed.

    For a sampler of several numbers, the one that `field` names, while the sampler is on: xtc has
    threshold and probability, mirostat tau and eta, dry multiplier, base and allowed_length.
    """
    if name == "seed":
        return session.settings.seed
    if name not in STAGES or not (field or is_one_number(name)):
        raise SettingError(
            "setting", name, "is not a setting with one number", "use one such as top_k"
        )
    stage = next((each for each in session.settings.chain if each.setting == name), None)
    if not field:
        return STAGES[name].off if stage is None else stage.value
    known = [number.name for number in STAGES[name].info.numbers]
    if field not in known:
        raise SettingError("field", field, f"is not a number of {name}", f"use {', '.join(known)}")
    return None if stage is None else stage.numbers[field]


@MEASURES.add
@shown_as(settings_named)
def samplers(session: LessonSession) -> str:
    """The samplers that are on, in their order: ``temperature top_p``; empty for none."""
    return " ".join(stage.setting for stage in session.settings.chain)


@MEASURES.add
def strategy(session: LessonSession) -> str:
    """Method that finds the next token: sampling or contrastive search."""
    return "contrastive search" if session.search else "sampling"


@MEASURES.add
def candidates(session: LessonSession) -> int | None:
    """The candidates k of the contrastive search."""
    return session.search.top_k if session.search else None


@MEASURES.add
def penalty_alpha(session: LessonSession) -> float | None:
    """The penalty alpha of the contrastive search."""
    return session.search.penalty_alpha if session.search else None


@MEASURES.add
def guidance_scale(session: LessonSession) -> float:
    """The scale of the guidance; 1 without guidance."""
    return session.guidance_scale


@MEASURES.add
def negative_prompt(session: LessonSession) -> str:
    """The negative prompt of the guidance; empty without guidance."""
    return (session.beginning.negative_prompt or "") if session.is_guided else ""


# --- the settings as code -------------------------------------------------------------------------


def _snippet(session: LessonSession, program: str) -> Snippet:
    """Return the snippet that Export code shows for a program."""
    found = settings_as_code(
        session.model,
        session.settings,
        session.prompt,
        chat=session.chat,
        max_tokens=session.max_tokens,
        stop_strings=session.decoder.stop_strings,
        negative_prompt=session.beginning.negative_prompt,
        guidance_scale=session.guidance_scale,
        strategy=session.strategy,
    )
    snippets = {snippet.target: snippet for snippet in found}
    if program not in snippets:
        remedy = f"use {', '.join(snippets)}"
        raise SettingError("program", program, "is none of Export code", remedy)
    return snippets[program]


@MEASURES.add
def exported(session: LessonSession, program: str) -> str:
    """The code of Export code for a program, such as Ollama or transformers."""
    return _snippet(session, program).code


@MEASURES.add
@shown_as(settings_named)
def lacking(session: LessonSession, program: str) -> str:
    """The settings in force that a program lacks: ``top_k min_p``; empty for none."""
    return _listed(_snippet(session, program).lacking)


@MEASURES.add
@shown_as(settings_named)
def differing(session: LessonSession, program: str) -> str:
    """The settings in force that have a different meaning or place in a program."""
    return _listed(_snippet(session, program).differs)


# --- the step on screen ---------------------------------------------------------------------------


@MEASURES.add
def step_shown(session: LessonSession) -> int:
    """The number of the token whose step is on screen; 1 is the first generated one."""
    return session.index + 1


@MEASURES.add
def token_to_come(session: LessonSession) -> bool:
    """True if the step on screen is that of the next token, which is not drawn yet."""
    return session.is_pending


@contextmanager
def _shown(session: LessonSession) -> Iterator[Distribution | None]:
    """Yield the distribution of the step on screen under the settings on screen."""
    kept = session.error, session.cancelled
    yield session.distribution()
    session.error, session.cancelled = kept


def _raw(session: LessonSession) -> RankedRow | None:
    with _shown(session) as found:
        return None if found is None else found.raw


def _label(session: LessonSession, token: int) -> str:
    return session.model.vocabulary.token_bytes(token).decode("utf-8", "replace")


@MEASURES.add
def top_token(session: LessonSession) -> str | None:
    """The likeliest token after all settings, as text: " London"."""
    with _shown(session) as found:
        return None if found is None else _label(session, int(np.argmax(found.probs)))


@MEASURES.add
@shown_as(percent)
def top_probability(session: LessonSession) -> float | None:
    """The probability of the likeliest token after all settings, 0 to 1."""
    with _shown(session) as found:
        return None if found is None else float(found.probs.max())


@MEASURES.add
@shown_as(percent)
def probability(session: LessonSession, token: str) -> float | None:
    """The probability of a token after all settings, 0 to 1; 0 if it was removed."""
    with _shown(session) as found:
        return None if found is None else found.probability(token_id(session.model, token))


@MEASURES.add
@shown_as(percent)
def model_probability(session: LessonSession, token: str) -> float | None:
    """The model's own probability of a token, 0 to 1."""
    raw = _raw(session)
    if raw is None:
        return None
    scores = raw.scores.astype(np.float64)
    weights = np.exp(scores - scores.max())
    return float(weights[token_id(session.model, token)] / weights.sum())


@MEASURES.add
@shown_as(bits)
def surprisal(session: LessonSession, token: str) -> float | None:
    """The surprisal of a token: -log2 of the model's own probability, in bits."""
    share = model_probability(session, token)
    return -math.log2(share) if share else None


@MEASURES.add
def model_top_token(session: LessonSession) -> str | None:
    """The token with the highest logit, as text."""
    raw = _raw(session)
    return None if raw is None else _label(session, int(np.argmax(raw.scores)))


@MEASURES.add
def logit(session: LessonSession, token: str) -> float | None:
    """The logit of a token."""
    raw = _raw(session)
    return None if raw is None else float(raw.scores[token_id(session.model, token)])


@MEASURES.add
def rank(session: LessonSession, token: str) -> int | None:
    """The rank of a token by its logit; 1 is the highest."""
    raw = _raw(session)
    if raw is None:
        return None
    return 1 + int(np.count_nonzero(raw.scores > raw.scores[token_id(session.model, token)]))


@MEASURES.add
def unguided_rank(session: LessonSession, token: str) -> int | None:
    """The rank that a token has without guidance, by the prompt alone; 1 is the highest."""
    rows = session.guided_rows() if session.is_guided else None
    if rows is None:
        return rank(session, token)
    return 1 + int(np.count_nonzero(rows.prompt > rows.prompt[token_id(session.model, token)]))


@MEASURES.add
def kept(session: LessonSession) -> int | None:
    """Number of tokens that the samplers keep."""
    with _shown(session) as found:
        return None if found is None else found.survivors


@MEASURES.add
def removed_by(session: LessonSession, token: str) -> str | None:
    """The sampler that removed a token, such as top_p; empty if it is kept."""
    with _shown(session) as found:
        if found is None:
            return None
        return found.removed_by(token_id(session.model, token)) or ""


@MEASURES.add
def figure(session: LessonSession, sampler: str, name: str) -> float | None:
    """A figure of a sampler in the step on screen, if that sampler is on.

    Mirostat has mu, xtc u, eta_cutoff threshold, top_n_sigma sigma and least_score, typical_p
    entropy; each has removed and mass_removed.
    """
    with _shown(session) as found:
        stages = [] if found is None else found.stages
        result = next((each for each in stages if each.name == sampler), None)
        if result is None:
            return None
        if name not in result.figures:
            remedy = f"use {', '.join(result.figures)}"
            raise SettingError("figure", name, f"is none of {sampler}", remedy)
        return float(result.figures[name])


@MEASURES.add
@shown_as(bits)
def uncertainty(session: LessonSession) -> float | None:
    """The entropy after all settings, in bits."""
    with _shown(session) as found:
        return None if found is None else found.final_entropy_bits


@MEASURES.add
@shown_as(bits)
def model_uncertainty(session: LessonSession) -> float | None:
    """The entropy of the model's own distribution, in bits."""
    raw = _raw(session)
    return None if raw is None else raw.entropy_bits


# --- the drawn token ------------------------------------------------------------------------------


@MEASURES.add
def drawn_rank(session: LessonSession) -> int | None:
    """The rank by its logit of the token drawn in the step on screen; 1 is the likeliest."""
    return None if session.search or session.is_pending else _step(session).rank


@MEASURES.add
@shown_as(percent)
def drawn_probability(session: LessonSession) -> float | None:
    """The probability that the token drawn in the step on screen had after all settings."""
    return None if session.search or session.is_pending else _step(session).probability


def _step(session: LessonSession):
    return session.decoder.steps[session.index]
