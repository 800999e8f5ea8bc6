"""What the browser is sent: a header as JSON, then the arrays of one row of logits.

Layout: header length (u32, little-endian), header (UTF-8, padded with spaces to a multiple of 4),
the row as `rows.pack_row` lays it out. Only what the browser lacks is sent: the steps since the
last ones it has, and the row unless it holds it.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from engine.contrastive_step import ContrastiveStep
from engine.decoder import Decoder
from engine.sampling import SamplingSettings, Xtc
from engine.trace import Guidance, Step
from ui.components.rows import SMALL_VOCABULARY, pack_guided, pack_row
from ui.shared.answers import Found
from ui.shared.examples import EXAMPLES
from ui.shared.settings import edited_ids, plain_settings, stage_defaults
from ui.shared.token_labels import TokenLabels, labels_of
from ui.step.session import Session

WITH_XTC = SamplingSettings(chain=[Xtc()])
LABELLED = 256  # ranks whose labels come with a row; others show their id

STEP_FIELDS = (
    "id",
    "label",
    "special",
    "partial",
    "forced",
    "probability",
    "model_probability",
    "rank",
    "u",
    "mirostat_mu",
    "entropy",
    "model_entropy",
    "survivors",
    "forward_ms",
    "shape_ms",
    "draw_ms",
    "total_ms",
    "is_prefill",
    "reused",
    "positions",
    "cache_bytes",
    "cache_bytes_held",
    "formula_bytes",
    "negative_forward_ms",
    "negative_cache_bytes",
    "guidance_scale",
)


def message(session: Session) -> bytes:
    """Everything that changed since what the browser has."""
    row_bytes = b""
    labels = labels_of(session.model.vocabulary)
    has_all = session.have.run == session.run
    first, steps = session.steps_from(session.have)
    header = {
        "session": session.token,
        "run": session.run,
        "client": session.acknowledged[0],
        "acknowledged": session.acknowledged[1],
        "text": None if has_all else _text(session, labels),
        "branch": session.current,
        "first": first,
        "length": len(session.decoder.steps),
        "step_fields": STEP_FIELDS if steps else (),
        "steps": _steps(session, steps, labels),
        "branches": _branches(session),
        "index": session.index,
        "row_key": "",
        "row": None,
        "stop": {
            "reason": session.decoder.stop_reason,
            "sentence": session.stop_sentence,
            "is_over": session.is_over,
            "at_limit": session.has_reached_limit,
        },
        "in_force": _in_force(session),
        "cache_formula": _formula(session),
        "pending_bytes": session.decoder.pending_bytes.hex(" "),
        "found": _found(session.found, labels),
        "tokenized": _found(session.tokenized, labels),
        "snippets": _snippets(session),
        "labels": [[token_id, labels[token_id]] for token_id in session.asked_labels],
        "trace": _trace(session) if session.wants_trace else None,
        "search": _searched(session, labels),
    }
    logits = session.logits()  # None where no token can follow
    if logits is not None:
        header["row_key"], header["row"], row_bytes = _row(session, logits, labels)
        header["step"] = _shown_step(session)
    header["error"] = session.error  # last: the row's forward pass may have failed
    data = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    data += b" " * (-len(data) % 4)
    return struct.pack("<I", len(data)) + data + row_bytes


def _text(session: Session, labels: TokenLabels) -> dict:
    """What stays the same for a whole run."""
    model, vocabulary = session.model, session.model.vocabulary
    guidance = _guidance(session)
    return {
        "model": {
            "name": model.name,
            "source": model.source,
            "device": str(model.device),
            "dtype": str(model.dtype).removeprefix("torch."),
            "parameters": model.parameters,
            "vocab_size": model.vocab_size,
            "context_length": model.context_length,
            "eos_ids": list(model.eos_ids),
            "has_chat_template": vocabulary.has_chat_template,
            "notices": list(model.notices),
        },
        "prompt": _plain_text(session.prompt),
        "chat": session.chat,
        "prompt_tokens": _tokens(session.decoder.prompt_ids, session, labels),
        "negative_prompt": _plain_text(session.beginning.negative_prompt),
        "negative_tokens": _tokens(guidance.negative_prompt_ids, session, labels)
        if guidance
        else None,
        "guidance_scale": session.guidance_scale,
        "strategy": _strategy(session),
        "examples": [example.to_dict() for example in EXAMPLES],
        "settings": plain_settings(session.settings, session.order),
        "stage_defaults": stage_defaults(vocabulary),
        "limits": _limits(session),
    }


def _limits(session: Session) -> dict:
    return {
        "max_tokens": session.max_tokens,
        "stop_strings": list(session.decoder.stop_strings),
    }


def _in_force(session: Session) -> dict | None:
    """What the next step will be taken with, where the page has drawn what was refused."""
    if not session.refused:
        return None
    return {
        "settings": plain_settings(session.settings, session.order),
        "limits": _limits(session),
        "guidance_scale": session.guidance_scale if _guidance(session) else None,
        "strategy": _strategy(session),
    }


def _guidance(session: Session) -> Guidance | None:
    return None if session.search else session.decoder.guidance


def _strategy(session: Session) -> dict | None:
    """Contrastive search with its settings; None for sampling."""
    return None if session.strategy is None else asdict(session.strategy)


def _trace(session: Session) -> str:
    if session.search:
        return json.dumps(session.search.to_dict(), allow_nan=False, separators=(",", ":"))
    return session.decoder.trace().to_json()


def _searched(session: Session, labels: TokenLabels) -> dict | None:
    """The step on screen of a contrastive search; None before there is one, and for sampling."""
    if not session.search or session.is_pending:
        return None
    step = session.search.steps[session.index]
    text = [*session.search.prompt_ids, *session.search.token_ids]
    return {
        "index": step.index,
        "candidates": [
            asdict(candidate)
            | {
                "label": labels[candidate.token_id],
                "nearest_label": labels[text[candidate.nearest]],
            }
            for candidate in step.candidates
        ],
        "chosen": step.chosen,
        "penalty_alpha": step.penalty_alpha,
        "passes": step.passes,
        "prefill_ms": step.prefill_ms,
        "forward_ms": step.forward_ms,
        "score_ms": step.score_ms,
    }


def _plain_text(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _tokens(token_ids: Sequence[int], session: Session, labels: TokenLabels) -> list[list]:
    is_special = session.model.vocabulary.is_special
    return [[token_id, labels[token_id], is_special(token_id)] for token_id in token_ids]


def _found(tokens: list[Found] | None, labels: TokenLabels) -> list[dict] | None:
    if tokens is None:
        return None
    return [
        {
            "id": found.token_id,
            "label": labels[found.token_id],
            "raw_rank": found.raw_rank,
            "logit": None if found.logit in (None, -np.inf) else found.logit,
        }
        for found in tokens
    ]


def _snippets(session: Session) -> list[dict] | None:
    if session.snippets is None:
        return None
    return [asdict(snippet) for snippet in session.snippets]


def _steps(session: Session, steps: list, labels: TokenLabels) -> list[list]:
    """One list a step, in the order of `STEP_FIELDS`."""
    formula = session.decoder.cache_formula
    figures_of = _search_figures if session.search else _figures
    sent = []
    for step in steps:
        figures = figures_of(step) | {
            "id": step.token_id,
            "label": labels[step.token_id],
            "special": step.is_special,
            "partial": _is_partial(step.token_bytes),
            "is_prefill": step.is_prefill,
            "positions": step.cache_positions,
            "cache_bytes": step.cache_bytes,
            "cache_bytes_held": step.cache_bytes_held,
            "formula_bytes": formula.bytes_at(step.cache_positions) if formula else None,
        }
        sent.append([figures.get(name) for name in STEP_FIELDS])
    return sent


def _figures(step: Step) -> dict:
    negative_ms = step.negative_forward_ms
    return {
        "forced": step.forced,
        "probability": step.probability,
        "model_probability": float(np.exp(step.logprob)),
        "rank": step.rank,
        "u": step.u,
        "mirostat_mu": step.mirostat_mu,
        "entropy": step.entropy_bits,
        "model_entropy": step.model_entropy_bits,
        "survivors": step.survivors,
        "forward_ms": round(step.forward_ms, 4),
        "shape_ms": round(step.shape_ms, 4),
        "draw_ms": round(step.draw_ms, 4),
        "total_ms": round(step.total_ms, 4),
        "reused": step.reused,
        "negative_forward_ms": None if negative_ms is None else round(negative_ms, 4),
        "negative_cache_bytes": step.negative_cache_bytes,
        "guidance_scale": step.guidance_scale,
    }


def _search_figures(step: ContrastiveStep) -> dict:
    """The same of a contrastive search: as if greedy, since nothing is drawn; scoring shapes."""
    return {
        "forced": False,
        "probability": 1.0,
        "model_probability": step.candidates[step.chosen].probability,
        "rank": step.chosen + 1,
        "entropy": 0.0,
        "model_entropy": step.model_entropy_bits,
        "survivors": len(step.candidates),
        "forward_ms": round(step.prefill_ms + step.forward_ms, 4),
        "shape_ms": round(step.score_ms, 4),
        "draw_ms": 0.0,
        "total_ms": round(step.total_ms, 4),
        "reused": False,
    }


def _is_partial(token_bytes: bytes) -> bool:
    """Whether a token is no whole text of its own, but part of a character."""
    try:
        token_bytes.decode()
    except UnicodeDecodeError:
        return True
    return False


def _branches(session: Session) -> list[dict]:
    """All branches, each with how its text goes on from where it departed."""
    if len(session.branches) == 1:
        return []
    labels = labels_of(session.model.vocabulary)
    return [
        {
            "number": branch.number,
            "parent": branch.parent,
            "departs_at": branch.departs_at,
            "length": len(branch.decoder.steps),
            "text": "".join(
                labels[step.token_id]
                for step in branch.decoder.steps[branch.departs_at : branch.departs_at + 16]
            ),
            "current": branch.number == session.current,
        }
        for branch in session.branches.values()
    ]


def _formula(session: Session) -> str | None:
    formula = session.decoder.cache_formula
    return None if formula is None else str(formula)


def _shown_step(session: Session) -> dict:
    """What the row's step was taken with, or the next one will be."""
    decoder, index = session.decoder, session.index
    shown = {
        "index": index,
        "is_pending": session.is_pending,
        "xtc_u": decoder.context(index, WITH_XTC).xtc_uniform,
        "mirostat": _mirostat_before(decoder, index),
    }
    if session.is_pending:
        return shown | {
            "chosen": None,
            "forced": False,
            "u": decoder.uniform(index),
            "recorded_settings": None,
            "recorded_scale": None,
        }
    step = decoder.steps[index]
    return shown | {
        "chosen": step.token_id,
        "forced": step.forced,
        "u": step.u,
        "recorded_settings": plain_settings(decoder.settings_at(index)),
        "recorded_scale": step.guidance_scale,
    }


def _mirostat_before(decoder: Decoder, index: int) -> dict[str, float] | None:
    """What the step before left to Mirostat: its bound, and the tau that it was steered towards.

    Under settings with another tau it begins anew, so the page needs both.
    """
    stage = decoder.settings_at(index - 1).stage("mirostat") if index else None
    if stage is None:
        return None
    mu = decoder.context(index, SamplingSettings(chain=[stage])).mirostat_mu
    return {"tau": stage.tau, "mu": mu}


def _row(
    session: Session, logits: np.ndarray, labels: TokenLabels
) -> tuple[str, dict | None, bytes]:
    """Key, header and arrays of the row; no header where the browser has the row already."""
    exact = not session.playing
    edited = edited_ids(session.settings)
    is_whole = _guidance(session) and (exact or logits.size <= SMALL_VOCABULARY)
    if is_whole:
        return _guided_row(session, labels, edited)
    key = _row_key(session, logits.size, exact, edited)
    if key == session.have.row:
        return key, None, b""
    decoder, index = session.decoder, session.index
    # The context, which penalties look at, the token of the step itself, and what else is edited.
    seen = [*decoder.prompt_ids, *decoder.token_ids[: index + 1], *edited, *session.model.eos_ids]
    header, data = pack_row(logits, seen=seen, exact=exact)
    header["labels"] = [labels[token_id] for token_id in header.pop("leading_ids")[:LABELLED]]
    header["edited_labels"] = [[token_id, labels[token_id]] for token_id in edited[:LABELLED]]
    header["engine_stages"] = header["engine_settings"] = None
    distribution = None if header["exact"] else session.distribution()
    if distribution is not None:
        header["engine_settings"] = plain_settings(session.settings)
        header["engine_stages"] = [
            {
                "name": stage.name,
                "first_rank": stage.after.start + 1,
                "survivors": stage.survivors,
                "mass_removed": stage.mass_removed,
                "entropy_bits": stage.entropy_bits,
            }
            for stage in distribution.stages
        ]
    return key, header, data


def _guided_row(
    session: Session, labels: TokenLabels, edited: list[int]
) -> tuple[str, dict | None, bytes]:
    """The same as the two rows that it is made of: one message for every scale."""
    key = f"{session.row_key}/guided"
    if key == session.have.row:
        return key, None, b""
    header, data = pack_guided(session.guided_rows(), session.decoder.guidance_scale)
    known = [*edited[:LABELLED], *header.pop("compared_ids")]
    header["labels"] = [
        [token_id, labels[token_id]] for token_id in [*header.pop("leading_ids")[:LABELLED], *known]
    ]
    return key, header, data


def _row_key(session: Session, vocab: int, exact: bool, edited: list[int]) -> str:
    """Another one where the browser would get something that it lacks."""
    if vocab <= SMALL_VOCABULARY:
        return f"{session.row_key}/whole"
    ids = hashlib.blake2b(repr(sorted(edited)).encode(), digest_size=8).hexdigest()
    return f"{session.row_key}/{'exact' if exact else 'binned'}/{ids}"
