"""The compare page's texts and tables as HTML; it escapes every text from outside."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.decoder import Decoder
from engine.model import Scores
from engine.sampling import RankedRow, kl_bits, log_probabilities, remarks, total_variation
from engine.study import Summary, TextMetrics
from engine.text import MAX_TOKENS
from ui.compare.column import Column, Divergence, divergence, model_title, summary_of
from ui.compare.comparison import Comparison
from ui.compare.sampling_run import Sample
from ui.components.outcomes import shaped
from ui.components.rows import pack_light, packed
from ui.components.shown_step import shown_step
from ui.shell.stage import staged_text
from ui.shell.tables import escaped, table, text_list
from ui.texts.settings import edited_ids, page_table, plain_settings
from ui.texts.texts import before_text
from ui.words.catalogue import setting_name
from ui.words.labels import stop_name, tokens_text, visible
from ui.words.language import say, with_figures
from ui.words.metrics import METRICS, OF_TEXT, number, percent
from ui.words.token_labels import TokenLabels, labels_of

LABELLED = 64  # leading tokens sent with labels; charts and tables show fewer


def parting_place(columns: list[Column]) -> int | None:
    """Return the first index at which the texts' tokens differ.

    None if there is none, and if the models have no common tokens to compare.
    """
    if any(column.has_other_tokens for column in columns):
        return None
    texts = [column.token_ids for column in columns]
    shortest = min(map(len, texts))
    return next((i for i in range(shortest) if len({text[i] for text in texts}) > 1), None)


def parting_data(comparison: Comparison) -> dict[str, Any] | None:
    """Return the data for the app `distributions`; None while the texts are the same.

    All texts are the same up to the first difference, so columns of the same model start from the
    same logits there. `place` is its index; `nats` and `shared` are the largest difference of a
    log-probability between the models' rows, and the number of tokens that both list; `kl_bits` and
    `variation` compare the first model's row with the second's, if both list all tokens. All are
    None for a single model.
    """
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
    labels = labels_of(comparison.model.vocabulary)
    rows, places, data = [], {}, b""
    for column, distribution in zip(columns, distributions, strict=True):
        if column.own_model not in places:
            places[column.own_model] = len(rows)
            row, arrays = _row(distribution.raw, column.text.listed(place), named, labels)
            rows.append(row | {"offset": len(data)})
            data += arrays
    parts = []
    for nth, (column, distribution) in enumerate(zip(columns, distributions, strict=True), 1):
        decoder = column.text
        settings = decoder.settings_at(place)
        step = decoder.steps[place]
        told, arrays = shaped(distribution.raw, distribution.stages, settings, step.u)
        parts.append(
            {
                "title": f"{nth}. {column.title}",
                "said": _said(decoder, place, labels),
                "row": places[column.own_model],
                "settings": plain_settings(settings),
                "token": step.token_id,
                "step": shown_step(decoder, place, distribution.raw),
                "shaped": told | {"offset": len(data)},
            }
        )
        data += arrays
    header = {
        "table": page_table(),
        "rows": rows,
        "columns": parts,
        "prompt_ids": list(first.prompt_ids),
        "text_ids": list(first.token_ids[:place]),
    }
    message = base64.b64encode(packed(header, data)).decode()
    return {"place": place, "message": message, **_between_models(columns, place)}


def _between_models(columns: list[Column], place: int) -> dict[str, float | int | None]:
    """Return the figures of `parting_data` on two models."""
    figures = dict.fromkeys(("nats", "shared", "kl_bits", "variation"))
    here = columns[0]
    there = next((each for each in columns if each.own_model is not here.own_model), None)
    if there is None:
        return figures
    rows = []
    for text in (here.text, there.text):
        scores = text.listed(place)
        logprobs = log_probabilities(text.logits(place))
        rows.append((np.arange(logprobs.size) if scores is None else scores.ids, logprobs))
    shared = np.intersect1d(rows[0][0], rows[1][0])
    one, two = (row[shared] for _, row in rows)
    is_known = (one > -np.inf) & (two > -np.inf)
    nats = np.abs(one[is_known] - two[is_known]).max(initial=0.0)
    figures |= {"nats": float(nats), "shared": int(is_known.sum())}
    if all(shared.size == logprobs.size for _, logprobs in rows):
        bits = float(kl_bits(one, two[None])[0])
        figures |= {"kl_bits": bits, "variation": total_variation(one, two)}
    return figures


def _row(
    raw: RankedRow, scores: Scores | None, named: set[int], labels: TokenLabels
) -> tuple[dict[str, Any], bytes]:
    header, data = pack_light(raw, None if scores is None else scores.ids.size)
    known = dict.fromkeys([*header.pop("leading_ids")[:LABELLED], *named])
    header["labels"] = [[token_id, labels[token_id]] for token_id in known]
    return header, data


def _said(decoder: Decoder, place: int, labels: TokenLabels) -> str:
    """Describe a column's token at `place`: "takes ␣witch: model 2.9 %, here 11.2 %"."""
    step = decoder.steps[place]
    label, drawn_with = visible(labels[step.token_id]), step.u
    values = {
        "token": label,
        "own": percent(math.exp(step.logprob)),
        "here": percent(step.probability),
    }
    if drawn_with is None:
        return say("takes {token}: model {own}, here {here}", **values)
    u = f"{drawn_with:.4f}"
    return say("u = {u} draws {token}: model {own}, here {here}", u=u, **values)


SHOWN = {name: metric for name, metric in OF_TEXT.items() if name != "logprob"}
TOGETHER = ("sample_distinct_2", "self_bleu", "looped")


def reason(column: Column, max_tokens: int) -> str:
    """Say why a text has ended, or that it continues."""
    if column.error:
        return say("failed")
    if column.can_go_on(max_tokens):
        return say("continues")
    return stop_name(column.stop_reason or MAX_TOKENS)


# --- the texts ------------------------------------------------------------------------------------


def cards(comparison: Comparison) -> str:
    """Format the columns' texts side by side."""
    first = comparison.columns[0]
    parts = [
        _card(comparison, column, place, None if column is first else divergence(column, first))
        for place, column in enumerate(comparison.columns, start=1)
    ]
    return f'<div class="cmp-grid" style="--cmp-columns: {len(parts)}">{"".join(parts)}</div>'


def _card(comparison: Comparison, column: Column, place: int, parts: Divergence | None) -> str:
    labels = labels_of(comparison.model_of(column).vocabulary)
    first = labels_of(comparison.model_of(comparison.columns[0]).vocabulary)
    title = html.escape(f"{place}. {column.title}")
    seed = comparison.inputs.effective(column).seed
    about = say("{settings}; seed {seed}", settings=summary_of(column.in_force), seed=seed)
    if comparison.second_model is not None:
        about = f"{model_title(comparison.model_of(column))}; {about}"
    about = html.escape(about)
    shown, said = _marked_text(column, parts, labels), _parting(column, place, parts, labels, first)
    prompt = before_text(comparison.inputs.prompt, comparison.inputs.chat)
    notes = "".join(f'<p class="cmp-parts">{escaped(note)}</p>' for note in _notes(column))
    label = html.escape(say("Text of column {place}", place=place))
    return (
        f'<section class="dv-card cmp-card" aria-label="{label}"><h3>{title}</h3>'
        f'<p class="dv-facts">{about}</p><p class="dv-written cmp-text" tabindex="0">'
        f"<span>{escaped(prompt)}</span>{shown}</p>"
        f'<p class="cmp-parts">{said}</p>{notes}</section>'
    )


def _marked_text(column: Column, parts: Divergence | None, labels: TokenLabels) -> str:
    """Format a text, with the first token that differs from column 1 marked."""
    texts = [step.text for step in column.steps]
    if parts is None:
        return escaped("".join(texts))
    token = escaped(labels[parts.here.token_id])
    return (
        f"{escaped(''.join(texts[: parts.index]))}<mark>≠&nbsp;{token}</mark>"
        f"{escaped(''.join(texts[parts.index + 1 :]))}"
    )


def staged_columns(comparison: Comparison) -> str:
    """Format the columns' texts for stage view."""
    first = comparison.columns[0]
    cards = []
    for place, column in enumerate(comparison.columns, start=1):
        labels = labels_of(comparison.model_of(column).vocabulary)
        parts = None if column is first else divergence(column, first)
        title = html.escape(f"{place}. {column.title}")
        body = _marked_text(column, parts, labels) or html.escape(column.error)
        mark = f"<mark>≠&nbsp;{escaped(labels[parts.here.token_id])}</mark>" if parts else ""
        head = f"<h2><span>{title}</span>{mark}</h2>"
        cards.append(f"<section>{head}{staged_text('', body)}</section>")
    prompt = staged_text(comparison.inputs.prompt, "")
    return f'{prompt}<div class="dv-staged-columns">{"".join(cards)}</div>'


def _notes(column: Column) -> list[str]:
    """Return notes on a column: remarks on its samplers, and why it could not continue."""
    notes = []
    for remark in remarks(column.in_force.chain):
        name = setting_name(remark.stage.setting)
        sentence = (
            "{sampler}: {why}." if remark.has_effect else say("{sampler} has no effect: {why}.")
        )
        notes.append(sentence.format(sampler=name, why=say(remark.reason)))
    return [*notes, column.error] if column.error else notes


def _parting(
    column: Column,
    place: int,
    parts: Divergence | None,
    labels: TokenLabels,
    first: TokenLabels,
) -> str:
    if place == 1:
        return say("The others are compared with this one.")
    if parts is None:
        if column.length:
            return say("The same as column 1 so far.")
        return say("Nothing generated yet.")
    here, there = (
        f"<bdi>{escaped(own[step.token_id])}</bdi>"
        for own, step in ((labels, parts.here), (first, parts.there))
    )
    drawn = [percent(step.probability) for step in (parts.here, parts.there)]
    model = [percent(math.exp(step.logprob)) for step in (parts.here, parts.there)]
    return say(
        "≠ at token {place}. Here {here}: model {here_model}, after settings {here_drawn}. Column "
        "1 {there}: model {there_model}, after settings {there_drawn}.",
        place=parts.index + 1,
        here=here,
        here_model=model[0],
        here_drawn=drawn[0],
        there=there,
        there_model=model[1],
        there_drawn=drawn[1],
    )


# --- tables ---------------------------------------------------------------------------------------


def figures(comparison: Comparison) -> str:
    """Return a table of each column's metrics so far."""
    head = [say("column"), *(say(metric.name) for metric in SHOWN.values()), say("end")]
    rows = [
        (
            f"{place}. {column.title}",
            *_values(column.metrics),
            reason(column, comparison.inputs.max_tokens),
        )
        for place, column in enumerate(comparison.columns, start=1)
    ]
    return table(say("So far"), head, rows, "figures")


def meanings() -> str:
    """Return a table that explains each metric on this page."""
    shown = [*SHOWN.values(), *(METRICS[name] for name in TOGETHER)]
    rows = [(say(metric.name), say(metric.about)) for metric in shown]
    return table(say("Metrics"), (say("metric"), say("what it says")), rows)


def _values(metrics: TextMetrics) -> list[str]:
    return [number(getattr(metrics, name), metric.digits) for name, metric in SHOWN.items()]


def summary_table(titles: dict[int, str], summaries: dict[int, Summary]) -> str:
    """Tabulate mean ± standard deviation of every metric over each column's samples."""
    several = [*SHOWN.values(), *(METRICS[name] for name in TOGETHER)]
    head = [say("column"), say("texts"), *(say(metric.name) for metric in several)]
    rows = []
    for column, title in titles.items():
        found = summaries.get(column)
        if found is None:
            rows.append((title, "0", *["–"] * len(several)))
            continue
        spreads = []
        for name, metric in SHOWN.items():
            spread, digits = found.metrics[name], max(metric.digits, 1)
            shown = number(spread.mean, digits)
            spreads.append(shown if shown in "–∞" else f"{shown} ± {number(spread.sd, digits)}")
        last = [number(found.distinct_2, 2), number(found.self_bleu, 2), percent(found.looped)]
        rows.append((title, f"{found.count:,}", *spreads, *last))
    return table(say("Samples: mean ± standard deviation"), head, rows, "figures")


def sample_texts(prompt: str, samples: Sequence[Sample]) -> str:
    """Format texts for reading, each with its seed and a few figures."""
    texts = []
    for sample in samples:
        metrics = sample.metrics
        perplexity, distinct = SHOWN["perplexity"], SHOWN["distinct_2"]
        about = (
            say("seed {seed}", seed=sample.text.settings.seed),
            f"{tokens_text(metrics.length)}, {stop_name(sample.text.stop_reason)}",
            with_figures(f"{say(perplexity.name)} {number(metrics.perplexity, 1)}"),
            with_figures(f"{say(distinct.name)} {number(metrics.distinct_2, 2)}"),
        )
        texts.append((about, sample.text.text))
    return text_list(say("Sampled texts"), prompt, texts)
