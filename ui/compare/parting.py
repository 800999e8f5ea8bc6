"""Where the columns' texts part first, and what each column's settings made of the logits there.

Up to that token all texts are the same, so all columns shaped the same logits: what differs there
is the settings, the random number, or both.
"""

from __future__ import annotations

import base64
import math
from typing import Any

from engine.decoder import Decoder
from engine.sampling.ranking import RankedRow
from ui.compare.column import Column
from ui.compare.comparison import Comparison
from ui.components.outcomes import shaped
from ui.components.rows import pack_light, packed
from ui.components.shown_step import shown_step
from ui.texts.settings import edited_ids, page_table, plain_settings
from ui.words.labels import visible
from ui.words.language import say
from ui.words.metrics import percent
from ui.words.token_labels import TokenLabels, labels_of

LABELLED = 64  # leading tokens that come with their labels; charts and tables show fewer


def parting_place(columns: list[Column]) -> int | None:
    """The first token, counted from 0, at which not all texts are the same; None without one."""
    texts = [column.token_ids for column in columns]
    shortest = min(map(len, texts))
    return next((i for i in range(shortest) if len({text[i] for text in texts}) > 1), None)


def parting_data(comparison: Comparison) -> dict[str, Any] | None:
    """What the app `distributions` gets; None while the texts are the same."""
    columns = list(comparison.columns)
    place = parting_place(columns)
    if place is None:
        return None
    distributions = [column.text.distribution(place) for column in columns]
    first = columns[0].text
    named = {
        token_id
        for column in columns
        for token_id in (column.token_ids[place], *edited_ids(column.text.settings_at(place)))
    }
    row, data = _row(distributions[0].raw, named, labels_of(comparison.model.vocabulary))
    parts = []
    for number, (column, distribution) in enumerate(zip(columns, distributions, strict=True), 1):
        decoder = column.text
        settings = decoder.settings_at(place)
        step = decoder.steps[place]
        told, arrays = shaped(distribution.raw, distribution.stages, settings, step.u)
        parts.append(
            {
                "title": f"{number}. {column.title}",
                "said": _said(decoder, place, labels_of(comparison.model.vocabulary)),
                "settings": plain_settings(settings),
                "token": step.token_id,
                "step": shown_step(decoder, place, distribution.raw),
                "shaped": told | {"offset": len(data)},
            }
        )
        data += arrays
    header = {
        "table": page_table(),
        "row": row,
        "columns": parts,
        "prompt_ids": list(first.prompt_ids),
        "text_ids": list(first.token_ids[:place]),
    }
    return {"place": place, "message": base64.b64encode(packed(header, data)).decode()}


def _row(raw: RankedRow, named: set[int], labels: TokenLabels) -> tuple[dict[str, Any], bytes]:
    header, data = pack_light(raw)
    known = dict.fromkeys([*header.pop("leading_ids")[:LABELLED], *named])
    header["labels"] = [[token_id, labels[token_id]] for token_id in known]
    return header, data


def _said(decoder: Decoder, place: int, labels: TokenLabels) -> str:
    """What a column did there: "takes ␣witch, which has 2.9 % by the model and 11.2 % here"."""
    step = decoder.steps[place]
    label, drawn_with = visible(labels[step.token_id]), step.u
    values = {
        "token": label,
        "own": percent(math.exp(step.logprob)),
        "here": percent(step.probability),
    }
    if drawn_with is None:
        return say("takes {token}: {own} by the model, {here} here", **values)
    u = f"{drawn_with:.4f}"
    return say("u = {u} draws {token}: {own} by the model, {here} here", u=u, **values)
