"""The compare page's texts and tables as HTML: every text that is not ours is escaped here."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

from engine import stopping
from engine.metrics import Summary, TextMetrics
from engine.sampling import remarks
from ui.compare.column import Column, Divergence, divergence, summary_of
from ui.compare.comparison import Comparison
from ui.compare.sampling_run import Sample
from ui.words.labels import setting_name, stop_name, visible, with_minus
from ui.words.token_labels import TokenLabels, labels_of

STYLE = """
<style>
.cmp {
  --cmp-muted: light-dark(#5d6877, #9aa7b6); --cmp-line: light-dark(#dfe4ea, #2a3541);
  --cmp-mark: light-dark(#8a5a00, #f0b429);
}
.cmp-grid { display: grid; gap: 0.75rem; grid-template-columns: repeat(var(--cmp-columns), 1fr); }
.cmp-card {
  border: 1px solid var(--cmp-line); border-radius: 8px; padding: 0.6rem 0.8rem;
  display: flex; flex-direction: column; gap: 0.4rem; min-width: 0;
}
.stMainBlockContainer .cmp-card h3 { font-size: 1rem; font-weight: 600; padding: 0; margin: 0; }
.cmp-card p { margin: 0; }
.cmp-muted { color: var(--cmp-muted); font-size: 0.85rem; }
.cmp-text {
  white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; flex: 1;
  max-height: 17rem; min-height: 6rem; overflow-y: auto; line-height: 1.5;
}
.cmp-text .cmp-prompt { color: var(--cmp-muted); }
.cmp-text mark {
  background: none; color: inherit; font-weight: 700; padding: 0 0.15em; border-radius: 4px;
  border: 2px solid var(--cmp-mark); box-decoration-break: clone;
}
.cmp-parts { border-top: 1px solid var(--cmp-line); padding-top: 0.4rem; font-size: 0.85rem; }
.cmp bdi, .cmp-token { font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.cmp-scroll { overflow-x: auto; border: 1px solid var(--cmp-line); border-radius: 8px; }
.cmp-scroll table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.cmp-scroll caption { text-align: left; padding: 0.5rem 0.8rem; font-weight: 600; }
.cmp-scroll th, .cmp-scroll td {
  padding: 0.3rem 0.55rem; text-align: right; border: 0; border-top: 1px solid var(--cmp-line);
  font-size: 0.9rem; white-space: nowrap;
}
.cmp-scroll th { font-weight: 400; color: var(--cmp-muted); vertical-align: bottom; }
.cmp-scroll thead th { white-space: normal; }
.cmp-scroll tbody th { color: inherit; }
.cmp-scroll th:first-child { padding-left: 0.8rem; }
.cmp-scroll th:first-child { text-align: left; }
.cmp-scroll abbr { text-decoration: none; }
ol.cmp.cmp-texts { margin: 0; padding: 0; list-style: none; display: grid; gap: 0.5rem;
  grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); }
.cmp-texts li { border: 1px solid var(--cmp-line); border-radius: 8px; padding: 0.6rem 0.8rem;
  margin: 0; min-width: 0; }
@media (max-width: 1000px) { .cmp-grid { grid-template-columns: repeat(2, 1fr); } }
@media (max-width: 640px) {
  .cmp-grid, ol.cmp.cmp-texts { grid-template-columns: 1fr; }
  .cmp-text { min-height: 0; }
  .cmp-scroll thead th { white-space: nowrap; }
}
</style>
"""

# Field of `TextMetrics`: name in tables, what it says, digits.
METRICS = {
    "length": ("tokens", "generated tokens, an end-of-text token included", 0),
    "mean_logprob": ("mean log-prob.", "per token under the model itself, in nats", 2),
    "perplexity": ("perplexity", "effective number of equally likely choices per token", 1),
    "model_entropy_bits": (
        "entropy, model’s own",
        "mean over the model's own distributions, in bits",
        2,
    ),
    "final_entropy_bits": (
        "entropy, after settings",
        "mean over the distributions that tokens were drawn from, in bits",
        2,
    ),
    "distinct_1": ("distinct-1", "different tokens over all tokens", 2),
    "distinct_2": ("distinct-2", "different pairs of neighbours over all pairs", 2),
    "distinct_3": ("distinct-3", "different runs of three over all of them", 2),
    "seq_rep_4": ("repeated 4-grams", "share of runs of four that came before in the text", 2),
    "loop_tokens": ("in a loop", "tokens of the loop that the text ended in, 0 without one", 0),
}
LONGEST_FACT = 40  # characters that stay on one line


def escaped(text: str) -> str:
    """Any text for HTML, what has no ink as glyphs; spaces and line breaks stay what they are."""
    lines = text.encode("utf-8", "replace").decode("utf-8").split("\n")
    shown = (" ".join(visible(word) for word in line.split(" ")) for line in lines)
    return html.escape("\n".join(shown))


def facts(words: Iterable[str]) -> str:
    """A line of facts as HTML that breaks between them, not within ``distinct-2``."""
    return " · ".join(
        f'<span style="white-space: nowrap">{html.escape(word)}</span>'
        if len(word) <= LONGEST_FACT
        else html.escape(word)
        for word in words
    )


def percent(probability: float) -> str:
    """A probability for reading."""
    value = 100 * probability
    if 0 < value < 0.01:
        return "below 0.01 %"
    return f"{value:.2f} %" if value < 1 else f"{value:.1f} %"


def number(value: float, digits: int) -> str:
    """A figure for reading; NaN, which a text too short for it has, is a dash."""
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else with_minus(f"{value:,.{digits}f}")


def reason(column: Column, max_tokens: int) -> str:
    """Why a text has ended, or that it has not."""
    if column.error:
        return "failed"
    if column.can_go_on(max_tokens):
        return "goes on"
    return stop_name(column.stop_reason or stopping.MAX_TOKENS)


# --- the texts ------------------------------------------------------------------------------------


def cards(comparison: Comparison) -> str:
    """The columns' texts side by side."""
    first = comparison.columns[0]
    parts = [
        _card(comparison, column, place, None if column is first else divergence(column, first))
        for place, column in enumerate(comparison.columns, start=1)
    ]
    return f'<div class="cmp cmp-grid" style="--cmp-columns: {len(parts)}">{"".join(parts)}</div>'


def _card(comparison: Comparison, column: Column, place: int, parts: Divergence | None) -> str:
    labels = labels_of(comparison.model.vocabulary)
    title = html.escape(f"{place}. {column.title}")
    seed = comparison.effective(column).seed
    about = html.escape(f"{summary_of(column.settings)}; seed {seed}")
    texts = [step.text for step in column.steps]
    if parts is None:
        shown = escaped("".join(texts))
    else:
        token = escaped(labels[parts.here.token_id])
        shown = (
            f"{escaped(''.join(texts[: parts.index]))}<mark>≠&nbsp;{token}</mark>"
            f"{escaped(''.join(texts[parts.index + 1 :]))}"
        )
    prompt = f'<span class="cmp-prompt">{escaped(comparison.prompt)}</span>'
    notes = "".join(f'<p class="cmp-parts">{escaped(note)}</p>' for note in _notes(column))
    return (
        f'<section class="cmp-card" aria-label="Text of column {place}"><h3>{title}</h3>'
        f'<p class="cmp-muted">{about}</p>'
        f'<p class="cmp-text" tabindex="0">{prompt}{shown}</p>'
        f'<p class="cmp-parts">{_parting(column, place, parts, labels)}</p>{notes}</section>'
    )


def _notes(column: Column) -> list[str]:
    """What to know about a column besides its text: stages at odds, why it could not go on."""
    notes = []
    for remark in remarks(column.settings.chain):
        name = setting_name(remark.stage.setting)
        notes.append(f"{name}{':' if remark.has_effect else ' has no effect:'} {remark.reason}.")
    return [*notes, column.error] if column.error else notes


def _parting(column: Column, place: int, parts: Divergence | None, labels: TokenLabels) -> str:
    if place == 1:
        return "The others are compared with this one."
    if parts is None:
        return "The same as column 1 so far." if column.length else "Nothing generated yet."
    here, there = (
        f"<bdi>{escaped(labels[step.token_id])}</bdi>" for step in (parts.here, parts.there)
    )
    drawn = [percent(step.probability) for step in (parts.here, parts.there)]
    model = [percent(math.exp(step.logprob)) for step in (parts.here, parts.there)]
    return (
        f"≠ at token {parts.index + 1}: {here} here ({drawn[0]} after settings, {model[0]} by "
        f"the model), {there} in column 1 ({drawn[1]} and {model[1]})"
    )


# --- tables ---------------------------------------------------------------------------------------


def _table(caption: str, head: Sequence[tuple[str, str]], rows: Sequence[tuple[str, ...]]) -> str:
    """A table from plain texts; each head has a name and what it means."""
    named = "".join(
        f'<th scope="col"><abbr title="{html.escape(about)}">{html.escape(name)}</abbr></th>'
        for name, about in head
    )
    body = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in others)
        + "</tr>"
        for first, *others in rows
    )
    caption = html.escape(caption)
    return (
        f'<div class="cmp cmp-scroll" tabindex="0" role="region" aria-label="{caption}"><table>'
        f"<caption>{caption}</caption><thead><tr>{named}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def figures(comparison: Comparison) -> str:
    """What every column's text measures so far."""
    head = [("column", ""), *((name, about) for name, about, _ in METRICS.values()), ("stop", "")]
    rows = [
        (
            f"{place}. {column.title}",
            *_values(column.metrics),
            reason(column, comparison.max_tokens),
        )
        for place, column in enumerate(comparison.columns, start=1)
    ]
    return _table("So far", head, rows)


def _values(metrics: TextMetrics) -> list[str]:
    return [number(getattr(metrics, name), digits) for name, (*_, digits) in METRICS.items()]


def summary_table(titles: dict[int, str], summaries: dict[int, Summary]) -> str:
    """Mean ± standard deviation of every metric over the samples of each column."""
    together = [
        ("distinct-2, together", "of all texts of the column taken together"),
        ("self-BLEU", "how alike the texts of the column are, 0 to 1"),
        ("looped", "share of the texts that ended in a loop"),
    ]
    head = [
        ("column", ""),
        ("texts", "that have ended"),
        *((name, about) for name, about, _ in METRICS.values()),
        *together,
    ]
    rows = []
    for column, title in titles.items():
        found = summaries.get(column)
        if found is None:
            rows.append((title, "0", *["–"] * (len(METRICS) + len(together))))
            continue
        spreads = []
        for name, (*_, digits) in METRICS.items():
            spread = found.metrics[name]
            digits = max(digits, 1)
            shown = number(spread.mean, digits)
            spreads.append(shown if shown in "–∞" else f"{shown} ± {number(spread.sd, digits)}")
        last = [number(found.distinct_2, 2), number(found.self_bleu, 2), percent(found.looped)]
        rows.append((title, f"{found.count:,}", *spreads, *last))
    return _table("Samples: mean ± standard deviation", head, rows)


def sample_texts(prompt: str, samples: Sequence[Sample]) -> str:
    """Texts to read, each with its seed and a few figures."""
    items = []
    for sample in samples:
        metrics = sample.metrics
        about = (
            f"seed {sample.text.settings.seed}",
            f"{metrics.length} tokens, {stop_name(sample.text.stop_reason)}",
            f"perplexity {number(metrics.perplexity, 1)}",
            f"distinct-2 {number(metrics.distinct_2, 2)}",
        )
        items.append(
            f'<li><p class="cmp-muted">{facts(about)}</p><div class="cmp-text">'
            f'<span class="cmp-prompt">{escaped(prompt)}</span>{escaped(sample.text.text)}'
            "</div></li>"
        )
    return f'<ol class="cmp cmp-texts" aria-label="Sampled texts">{"".join(items)}</ol>'
