"""Messages to the browser: a header as JSON, then arrays.

Layout: header length (u32, little-endian), header (UTF-8, padded with spaces to a multiple of 4),
arrays: those of the row (see `rows`), then those of `outcomes`, each beginning at a multiple of 4.

A header of kind ``state`` contains everything that changed since the last one on this connection:
the steps that the page lacks, and the row unless the page has it. A step sends a light row, and the
engine's results for it under the settings in force. A question brings the whole row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from engine.model import LanguageModel
from engine.sampling import RankedRow, SamplingSettings, remarks
from engine.trace import ContrastiveStep, Guidance, Step
from ui.components.outcomes import is_previewed, shaped
from ui.components.rows import (
    LIGHT_HEAD,
    compared,
    pack_light,
    pack_row,
    packed,
)
from ui.components.shown_step import shown_step
from ui.step import busy
from ui.step.session import Session
from ui.texts.examples import shown_examples
from ui.texts.settings import edited_ids, plain_settings, preset, stage_defaults
from ui.words.language import marked, say
from ui.words.token_labels import TokenLabels, labels_of

LABELLED = 256  # ranks whose labels come with a whole row; others are asked for
LABELLED_LIGHT = 64
LONGEST_START = 120  # characters of an earlier text's prompt

STEP_FIELDS = (
    "id",
    "label",
    "text",
    "special",
    "partial",
    "forced",
    "probability",
    "model_probability",
    "rank",
    "u",
    "stage_states",
    "entropy",
    "model_entropy",
    "survivors",
    "forward_ms",
    "network_ms",
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


@dataclass
class Sent:
    """A record of what one page has been sent, so that it need not be sent again.

    Attributes:
        run, branch: the text.
        steps: its steps.
        row: the key of the row.
        is_whole: whether the page has the whole row.
        vocabulary, labelled: the vocabulary, and the tokens whose labels the page has.
        shaped: the settings under which it has the engine's results for that row.
        others: parts of the header that seldom change, by name.
    """

    run: str = ""
    branch: int = 0
    steps: list = field(default_factory=list)
    row: str = ""
    is_whole: bool = False
    vocabulary: Any = None
    labelled: set[int] = field(default_factory=set)
    shaped: SamplingSettings | None = None
    others: dict[str, Any] = field(default_factory=dict)

    def forget(self) -> None:
        """Forget everything, so that everything is sent again."""
        self.__dict__.update(Sent().__dict__)

    def new_labels(self, token_ids: Iterable[int], labels: TokenLabels) -> list[list]:
        """Return [id, label] of those tokens whose labels the page lacked until now."""
        if self.vocabulary is not labels.key:
            self.vocabulary, self.labelled = labels.key, set()
        new = [i for i in dict.fromkeys(token_ids) if i not in self.labelled]
        self.labelled.update(new)
        return [[token_id, labels[token_id]] for token_id in new]


def state_message(
    session: Session, sent: Sent, more: dict[str, Any] | None = None, *, whole: bool = False
) -> bytes:
    """Pack everything that changed since `sent`, and bring `sent` up to date.

    Args:
        session: the session; its lock is held.
        sent: the record of the page's data.
        more: further fields of the header.
        whole: whether the whole row is wanted.
    """
    labels = labels_of(session.model.vocabulary)
    is_known = sent.run == session.run
    steps = session.decoder.steps
    first = _same(sent.steps, steps) if is_known and sent.branch == session.current else 0
    header = {
        "kind": "state",
        "run": session.run,
        "text": None if is_known else _text(session, labels),
        "branch": session.current,
        "first": first,
        "length": len(steps),
        "steps": _steps(session, steps[first:], labels),
        "index": session.index,
        "row_key": "",
        "row": None,
        "stop": {
            "reason": session.decoder.stop_reason,
            "sentence": session.stop_sentence,
            "is_over": session.is_over,
            "at_limit": session.has_reached_limit,
        },
        "pending_bytes": session.decoder.pending_bytes.hex(" "),
        "left": session.left,
    }
    rare = {
        "in_force": _in_force(session),
        "search": _searched(session, labels),
        "recorded": _recorded(session, labels),
    }
    header |= {name: value for name, value in rare.items() if value is not None}
    edited = edited_ids(session.settings)[:LABELLED]
    header["labels"] = sent.new_labels(edited, labels)
    seldom = {
        "examples": shown_examples(session.loaded),
        "branches": _branches(session),
        "earlier": [_earlier(text) for text in session.earlier],
        "remarks": _remarks(session),
        "cache_formula": _formula(session),
        "step_fields": STEP_FIELDS,
    }
    header |= {
        name: value
        for name, value in seldom.items()
        if (not is_known and name != "examples") or sent.others.get(name) != value
    }
    arrays = b""
    raw = session.raw()  # None if no token can follow
    if raw is not None:
        row, arrays = _row(session, raw, sent, labels, whole=whole)
        header |= row
    else:
        sent.row = ""
    session.forget_shaped()
    sent.run, sent.branch, sent.steps = session.run, session.current, list(steps)
    sent.others = seldom
    header["error"] = session.error  # last: the row's forward pass may have failed
    header["cancelled"] = session.cancelled
    header["said"], session.said = session.said, ""  # once
    return packed(header | (more or {}), arrays)


def row_answer(session: Session, sent: Sent, more: dict[str, Any]) -> bytes:
    """Pack the whole row on screen, for a page that asks for it."""
    labels = labels_of(session.model.vocabulary)
    header: dict[str, Any] = {"kind": "answer", "row_key": "", "row": None, "error": ""}
    arrays = b""
    kept = session.error, session.cancelled
    session.error, session.cancelled = "", False
    raw = session.raw()
    if session.cancelled:
        header |= {"error": say(busy.QUESTION), "cancelled": True}
    session.error, session.cancelled = kept
    sent.is_whole = False  # the page that asks lacks it, as its answer came too late
    if raw is not None:
        row, arrays = _row(session, raw, sent, labels, whole=True)
        header |= row
    session.forget_shaped()
    return packed(header | {"index": session.index} | more, arrays)


def _same(kept: list, steps: list) -> int:
    """Count the leading steps that are the same objects in both."""
    most = min(len(kept), len(steps))
    if most and kept[most - 1] is steps[most - 1]:
        return most  # appending leaves all earlier steps in place
    return next((i for i in range(most) if kept[i] is not steps[i]), most)


# --- the text -------------------------------------------------------------------------------------


def _text(session: Session, labels: TokenLabels) -> dict:
    """Return the header fields that stay the same for a whole run."""
    model, vocabulary = session.model, session.model.vocabulary
    guidance = _guidance(session)
    return {
        "model": {
            "name": model.name,
            "source": model.source,
            "vocab_size": model.vocab_size,
            "listed": model.listed,
            "gives_rows": "row_on_demand" in model.capabilities,
            "has_logits": "logits" in model.capabilities,
            "context_length": model.context_length,
            "has_chat_template": vocabulary.has_chat_template,
            "recommended": _recommended(model),
        },
        "prompt": _plain_text(session.prompt),
        "chat": session.chat,
        "before": list(session.beginning.before),
        "from_cache": getattr(session.decoder, "from_cache", 0),
        "prompt_tokens": _tokens(session.decoder.prompt_ids, session, labels),
        "negative_prompt": _plain_text(session.beginning.negative_prompt),
        "negative_tokens": _tokens(guidance.negative_prompt_ids, session, labels)
        if guidance
        else None,
        "guidance_scale": session.guidance_scale,
        "strategy": _strategy(session),
        "read_only": session.read_only,
        "settings": plain_settings(session.settings, session.order),
        "stage_defaults": stage_defaults(vocabulary),
        "limits": _limits(session),
    }


def _recommended(model: LanguageModel) -> dict | None:
    """Return the settings that came with the model as a preset; None without any."""
    settings = getattr(model, "recommended", None)
    return None if settings is None else preset(marked("Model’s own"), settings)


def _limits(session: Session) -> dict:
    return {
        "max_tokens": session.max_tokens,
        "thinking_budget": session.thinking_budget,
        "stop_strings": list(session.decoder.stop_strings),
    }


def _in_force(session: Session) -> dict | None:
    """Return the settings in force if the page shows refused ones; else None."""
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
    """Return the settings of contrastive search; None for sampling."""
    return None if session.strategy is None else asdict(session.strategy)


def _remarks(session: Session) -> list[list]:
    """List remarks on the samplers in force: name, reason, whether the sampler has an effect."""
    if session.search or session.read_only:
        return []
    return [
        [remark.stage.setting, say(remark.reason), remark.has_effect]
        for remark in remarks(session.settings.chain)
    ]


def _earlier(text: Any) -> dict[str, Any]:
    return {
        "number": text.number,
        "prompt": text.record["beginning"]["prompt"][:LONGEST_START],
        "tokens": text.lengths[0],
        "model": text.record["branches"][0]["trace"]["model"].get("name", ""),
        "when": text.record["when"],
    }


def _searched(session: Session, labels: TokenLabels) -> dict | None:
    """Return the search's step on screen; None before there is one, and for sampling."""
    decoder = session.decoder
    if not session.strategy or session.is_pending:
        return None
    step = decoder.steps[session.index]
    text = [*decoder.prompt_ids, *decoder.token_ids]
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


def _recorded(session: Session, labels: TokenLabels) -> dict | None:
    """Return the step on screen of a read-only text; None for other texts."""
    if not session.read_only or not session.length:
        return None
    shown = session.decoder.shown(session.index)
    return shown | {"rows": [[labels[row[0]], *row] for row in shown["rows"]]}


def _plain_text(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _tokens(token_ids: Sequence[int], session: Session, labels: TokenLabels) -> list[list]:
    is_special = session.model.vocabulary.is_special
    return [[token_id, labels[token_id], is_special(token_id)] for token_id in token_ids]


def _steps(session: Session, steps: list, labels: TokenLabels) -> list[list]:
    """Return one list for each step, in the order of `STEP_FIELDS`."""
    if not steps:
        return []
    formula = session.decoder.cache_formula
    figures_of = _search_figures if isinstance(steps[0], ContrastiveStep) else _figures
    sent = []
    for step in steps:
        figures = figures_of(step) | {
            "id": step.token_id,
            "label": labels[step.token_id],
            "text": step.text,
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
    return {
        "forced": step.forced,
        "probability": step.probability,
        "model_probability": float(np.exp(step.logprob)),
        "rank": step.rank,
        "u": step.u,
        "stage_states": [[state.stage, state.name, state.value] for state in step.stage_states],
        "entropy": step.entropy_bits,
        "model_entropy": step.model_entropy_bits,
        "survivors": step.survivors,
        "forward_ms": round(step.forward_ms, 4),
        "network_ms": _rounded(step.network_ms),
        "shape_ms": round(step.shape_ms, 4),
        "draw_ms": round(step.draw_ms, 4),
        "total_ms": round(step.total_ms, 4),
        "reused": step.reused,
        "negative_forward_ms": _rounded(step.negative_forward_ms),
        "negative_cache_bytes": step.negative_cache_bytes,
        "guidance_scale": step.guidance_scale,
    }


def _rounded(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 4)


def _search_figures(step: ContrastiveStep) -> dict:
    """Return the figures of a contrastive step, as if greedy; its scoring counts as shaping."""
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
    """Return whether a token's bytes are part of a character: not valid UTF-8 by themselves."""
    try:
        token_bytes.decode()
    except UnicodeDecodeError:
        return True
    return False


def _branches(session: Session) -> list[dict]:
    """Return all branches, each with the first 16 tokens from where it departs."""
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


# --- the row --------------------------------------------------------------------------------------


def _row(
    session: Session, raw: RankedRow, sent: Sent, labels: TokenLabels, *, whole: bool
) -> tuple[dict[str, Any], bytes]:
    """Return the row's header fields and the arrays, without data that the page already has."""
    key, settings = session.row_key, session.shown_settings
    distribution = session.distribution()
    whole = whole or raw.scores.size <= 2 * LIGHT_HEAD  # not longer than a light row
    whole = whole or (sent.is_whole and _place(sent.row) == _place(key))  # same place, other scale
    is_same = sent.row == key
    has_row = is_same and (sent.is_whole or not whole)
    if not is_same:
        sent.row, sent.is_whole, sent.shaped = key, False, None
    header: dict[str, Any] = {"row_key": key, "row": None}
    data = b""
    if not has_row:
        header["row"], data = _packed_row(session, raw, sent, labels, whole=whole)
        sent.is_whole, sent.shaped = whole, None
    header["step"] = shown_step(session.decoder, session.index, raw)
    stages = session.emptied if distribution is None else distribution.stages
    is_shaped = distribution is not None or bool(stages)
    is_wanted = not sent.is_whole or not is_previewed(settings)
    if is_wanted and is_shaped and sent.shaped != settings:
        decoder, index = session.decoder, session.index
        u = decoder.uniform(index) if session.is_pending else decoder.steps[index].u
        told, arrays = shaped(raw, stages, settings, u)
        header["shaped"] = told | {"offset": len(data)}
        data += arrays
        sent.shaped = settings
    return header, data


def _place(row_key: str) -> str:
    return row_key.partition(" at ")[0]


def _packed_row(
    session: Session,
    raw: RankedRow,
    sent: Sent,
    labels: TokenLabels,
    *,
    whole: bool,
) -> tuple[dict[str, Any], bytes]:
    scores = session.listed
    listed = None if scores is None else scores.ids.size
    if not whole:
        header, data = pack_light(raw, listed)
        known = header.pop("leading_ids")[:LABELLED_LIGHT]
    else:
        header, data = pack_row(raw, listed)
        known = header.pop("leading_ids")[:LABELLED]
        if session.is_guided:
            header["compared"] = compared(session.guided_rows(), raw)
            known += [token_id for token_id, *_ in header["compared"]]
    header["scale"] = session.shown_scale
    if scores is not None:
        lowest = float(scores.logprobs.min())
        header["listed"] = {"count": listed, "rest": scores.rest, "lowest": lowest}
    if not session.is_pending:
        known.append(session.decoder.steps[session.index].token_id)
    header["labels"] = sent.new_labels(known, labels)
    return header, data
