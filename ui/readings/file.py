"""A reading as files: a page of HTML that needs no network and no script, and a table."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from engine.model import Vocabulary
from engine.study import ReadToken, TextReading
from engine.trace import Step, Trace
from ui.readings import view
from ui.shell.tables import table
from ui.shell.theme import css
from ui.words.labels import token_label
from ui.words.language import language, say
from ui.words.metrics import number, percent

EXPECTED = 3  # likeliest tokens to name at each place
# Least surprisal of each shade, in bits, as in `parts/reading/strip.js`.
EDGES = (0, 1, 2, 4, 7, 10)
FACTS = ("name", "revision", "dtype", "quantisation", "weights_hash", "transformers", "torch")
STYLE = """
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.6 system-ui, sans-serif;
  color: var(--dv-text); background: var(--dv-ground); }
.text { font-family: ui-monospace, monospace; line-height: 2; white-space: pre-wrap; }
.text span { padding: 0 1px; border-radius: 3px; }
.before { color: var(--dv-muted); }
.fork { border-bottom: 2px dashed var(--dv-cut-text); }
.forced { outline: 1px solid; }
.facts, caption { color: var(--dv-muted); text-align: start; }
table { border-collapse: collapse; }
th, td { padding: 2px 8px; text-align: start; border-bottom: 1px solid var(--dv-line); }
.scroll { overflow-x: auto; }
"""


def frame(reading: TextReading, vocabulary: Vocabulary) -> pd.DataFrame:
    """Return a row for every token."""
    return pd.DataFrame(
        [
            {
                "place": place,
                "token_id": token.token_id,
                "token": vocabulary.label(token.token_id),
                "logprob": token.logprob,
                "probability": math.exp(token.logprob),
                "surprisal_bits": token.surprisal_bits,
                "rank": token.rank,
                "entropy_bits": token.entropy_bits,
                "likeliest": vocabulary.label(int(token.top[0][0])),
                "likeliest_logprob": float(token.top[1][0]),
            }
            for place, token in enumerate(reading.tokens, 1)
        ]
    )


def page(
    reading: TextReading,
    vocabulary: Vocabulary,
    facts: Mapping[str, Any],
    before: str = "",
    *,
    run: Trace | None = None,
) -> str:
    """Return the reading as a page of HTML.

    Args:
        reading: the reading.
        vocabulary: that of the model.
        facts: facts about the model; those of `FACTS` are named.
        before: the prompt; empty if the first token of the text is not judged.
        run: the run that wrote the text; None if it existed before.
    """
    forks = set(reading.forks(view.MAX_GAP))
    title = say("A text, read by {model}", model=reading.model_name)
    if run is not None:
        title = say("A text, written by {model}", model=reading.model_name)
    start = "".join(token_label(vocabulary.label(each)) for each in reading.prompt_ids)
    tokens = "".join(
        _token(token, vocabulary, is_fork=place in forks, step=run and run.steps[place])
        for place, token in enumerate(reading.tokens)
    )
    shades = "".join(f".s{n} {{ background: var(--dv-shade-{n}); }}" for n in range(len(EDGES)))
    known = [f"{name}: {facts[name]}" for name in FACTS if facts.get(name)]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html><html lang="{language()}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{css()}{STYLE}{shades}</style></head><body>"
        f"<h1>{html.escape(title)}</h1><p>{html.escape(view.notice(reading, vocabulary))}</p>"
        f"{view.figures(reading, before)}"
        f'<p class="text"><span class="before">{html.escape(start)}</span>{tokens}</p>'
        f'<p class="facts">{html.escape(_legend())}</p><div class="scroll">'
        f"{table(say('Every token'), _head(run), _rows(reading, vocabulary, run), 'figures')}</div>"
        f'<p class="facts">{html.escape(" · ".join([*known, *_settings(run)]))}</p></body></html>'
    )


def _settings(run: Trace | None) -> list[str]:
    """Return the settings of a run, from which step on each applies."""
    if run is None:
        return []
    found = []
    for first, values in run.settings:
        chain = [f"{name} {_shown(value)}" for name, value in values.get("chain", ())]
        words = ", ".join([*chain, f"seed {values.get('seed', 0)}"])
        found.append(say("from token {place}: {settings}", place=first + 1, settings=words))
    return found


def _shown(value: Any) -> str:
    """Return the fields of a setting; a single one without its name."""
    fields = value if isinstance(value, dict) else {"": value}
    shown = [f"{name} {json.dumps(each)}".strip() for name, each in fields.items()]
    return json.dumps(next(iter(fields.values()))) if len(fields) == 1 else f"({', '.join(shown)})"


def _token(
    token: ReadToken, vocabulary: Vocabulary, *, is_fork: bool, step: Step | None = None
) -> str:
    shade = max(n for n, least in enumerate(EDGES) if token.surprisal_bits >= least or n == 0)
    kind = f"s{shade} fork" if is_fork else f"s{shade}"
    if step is not None and step.forced:
        kind += " forced"
    words = say(
        "{share}, rank {rank}, {bits} bits; likeliest here: {expected}",
        share=percent(math.exp(token.logprob)),
        rank=f"{token.rank:,}",
        bits=number(token.surprisal_bits, 2),
        expected=_expected(token, vocabulary),
    )
    label = html.escape(token_label(vocabulary.label(token.token_id)))
    return f'<span class="{kind}" title="{html.escape(words, quote=True)}">{label}</span><wbr>'


def _expected(token: ReadToken, vocabulary: Vocabulary) -> str:
    ids, logprobs = token.top
    pairs = zip(ids[:EXPECTED].tolist(), logprobs[:EXPECTED].tolist(), strict=True)
    return ", ".join(
        f"{token_label(vocabulary.label(each))} {percent(math.exp(logprob))}"
        for each, logprob in pairs
    )


def _legend() -> str:
    return say(
        "The darker a token, the more it surprises: from {edges} bits on. Dashed: another token "
        "was nearly as likely. Point at a token for its figures; all are in the table.",
        edges=", ".join(map(str, EDGES[1:])),
    )


def _head(run: Trace | None) -> tuple[str, ...]:
    drawn = () if run is None else (say("in the draw"),)
    return (
        say("place"),
        say("token"),
        say("probability"),
        *drawn,
        say("surprisal, bits"),
        say("rank"),
        say("uncertainty, bits"),
        say("likeliest here"),
    )


def _rows(reading: TextReading, vocabulary: Vocabulary, run: Trace | None) -> list[tuple[str, ...]]:
    def drawn(place: int) -> tuple[str, ...]:
        if run is None:
            return ()
        step = run.steps[place - 1]
        share = percent(step.probability)
        return (say("{share}, forced", share=share) if step.forced else share,)

    return [
        (
            f"{place:,}",
            token_label(vocabulary.label(token.token_id)),
            percent(math.exp(token.logprob)),
            *drawn(place),
            number(token.surprisal_bits, 2),
            f"{token.rank:,}",
            number(token.entropy_bits, 2),
            _expected(token, vocabulary),
        )
        for place, token in enumerate(reading.tokens, 1)
    ]
