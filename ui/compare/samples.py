"""Many samples per column: the request, their progress, their figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from engine.errors import DecodingError
from ui.charts.compare import SampleSeries, balance_figure, spread_figure
from ui.charts.figure import show_figure
from ui.compare.column import title_of
from ui.compare.comparison import Comparison
from ui.compare.sampling_run import SAMPLES, SamplingRun
from ui.compare.view import SHOWN, sample_texts, summary_table
from ui.shell.csv_file import NOTE
from ui.shell.fields import whole_number
from ui.shell.theme import is_dark
from ui.shell.work import work_buttons, work_state
from ui.texts.limits import MOST_SAMPLES, checked_whole
from ui.texts.texts import before_text
from ui.words.errors import in_words
from ui.words.labels import markdown_text
from ui.words.language import say

USUAL = 16  # default number of samples per setting


def samples(comparison: Comparison) -> None:
    """Draw the section of samples: the request, their progress, their figures."""
    st.subheader(say("Many texts of each column"), anchor=False)
    run = comparison.sampling
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = whole_number(
            say(SAMPLES), USUAL, width=180, key="compare_samples", persist_state="session"
        )
        problem = _problem(count)
        begin = partial(comparison.sample, count)
        work_buttons("compare_sampling", say("Sample"), run, begin, can_begin=not problem)
    if problem:
        st.error(markdown_text(problem))
    if run is None:
        st.caption(
            say(
                "One text is one draw of many. Many texts of each column, with the same seeds in "
                "all, show what its settings do."
            )
        )
        return
    work_state(run, run.notices)
    if not run.is_running:
        _results(run)


def _problem(count: float | None) -> str:
    """Say why a number of samples is refused; empty if it is accepted."""
    try:
        checked_whole(say(SAMPLES), count, 1, MOST_SAMPLES)
    except DecodingError as error:
        return in_words(error)
    return ""


def _results(run: SamplingRun) -> None:
    titles, has_several = {}, len(set(run.model_names)) > 1
    named = zip(run.columns, run.model_names, strict=True)
    for place, ((number, _, settings), model) in enumerate(named, start=1):
        title = f"{place}. {title_of(settings)}"
        titles[number] = f"{title} · {model}" if has_several else title
    st.html(summary_table(titles, run.summaries()))
    if not run.samples():
        return
    _sample_charts(run, titles)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        column = st.selectbox(
            say("Texts of column"),
            list(titles),
            format_func=titles.get,
            key="compare_texts_of",
            persist_state="session",
        )
    with right:
        st.download_button(
            say("Download CSV"),
            run.csv,
            "samples.csv",
            "text/csv",
            key="compare_csv",
            on_click="ignore",
            help=say(NOTE),
        )
    with st.container(key="compare_samples_texts"):
        st.html(sample_texts(before_text(run.prompt_text, run.chat), run.samples(column)))


def _sample_charts(run: SamplingRun, titles: dict[int, str]) -> None:
    def series(metric: str, beside: str) -> Sequence[SampleSeries]:
        found = []
        for column, title in titles.items():
            metrics = [sample.metrics for sample in run.samples(column)]
            values = [getattr(m, metric) for m in metrics]
            found.append(SampleSeries(title, values, [getattr(m, beside) for m in metrics]))
        return found

    left, right = st.columns(2)
    with left:
        metric = st.selectbox(
            say("Metric"),
            list(SHOWN),
            index=list(SHOWN).index("perplexity"),
            format_func=lambda name: say(SHOWN[name].name),
            key="compare_metric",
            persist_state="session",
        )
        st.caption(say(SHOWN[metric].about))
        figure = spread_figure(series(metric, metric), say(SHOWN[metric].name), is_dark())
        alt = say("{metric} of every sample, by column", metric=say(SHOWN[metric].name))
        show_figure(figure, "compare_spread", alt)
    with right:
        st.caption(
            say(
                "Diversity against likelihood: both grow towards the upper right. A small mark is "
                "a text, a large one the mean of its column."
            )
        )
        diversity, likelihood = SHOWN["distinct_2"], SHOWN["mean_logprob"]
        figure = balance_figure(
            series("distinct_2", "mean_logprob"),
            say(diversity.name),
            say("{metric}, nats per token", metric=say(likelihood.name)),
            is_dark(),
        )
        show_figure(figure, "compare_balance", say("Diversity against likelihood of every sample"))
