"""Many texts of each column: asking for them, their progress, their figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from engine.errors import DecodingError
from ui.charts.compare import SampleSeries, balance_figure, spread_figure
from ui.charts.template import CONFIG
from ui.compare.comparison import Comparison
from ui.compare.sampling_run import SAMPLES, SamplingRun
from ui.compare.view import SHOWN, sample_texts, summary_table
from ui.skeleton.csv_file import NOTE
from ui.skeleton.fields import whole_number
from ui.skeleton.theme import is_dark
from ui.skeleton.work import work_buttons, work_state
from ui.texts.limits import MOST_SAMPLES, checked_whole
from ui.words.labels import markdown_text

USUAL = 16  # samples per setting


def samples(comparison: Comparison) -> None:
    """Many texts per column: asking for them, their progress, their figures."""
    st.subheader("Many texts of each column", anchor=False)
    run = comparison.sampling
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = whole_number(
            SAMPLES, USUAL, width=180, key="compare_samples", persist_state="session"
        )
        problem = _problem(count)

        def begin(there: Callable[[], bool]) -> None:
            begun = comparison.sample(count)
            if begun is not None:
                begun.start(there)

        work_buttons("compare_sampling", "Sample", run, begin, can_begin=not problem)
    if problem:
        st.error(markdown_text(problem))
    if run is None:
        st.caption(
            "One text is one draw of many. Many texts of each column, with the same seeds in all, "
            "show what its settings do."
        )
        return
    work_state(run, run.notices)
    if not run.is_running:
        _results(run)


def _problem(count: float | None) -> str:
    """Why there can be no such number of samples; empty if there can."""
    try:
        checked_whole(SAMPLES, count, 1, MOST_SAMPLES)
    except DecodingError as error:
        return str(error)
    return ""


def _results(run: SamplingRun) -> None:
    titles = {number: title for number, title, _ in run.columns}
    st.html(summary_table(titles, run.summaries()))
    if not run.samples():
        return
    _sample_charts(run, titles)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        column = st.selectbox(
            "Texts of column",
            list(titles),
            format_func=titles.get,
            key="compare_texts_of",
            persist_state="session",
        )
    with right:
        st.download_button(
            "Download CSV",
            run.csv,
            "samples.csv",
            "text/csv",
            key="compare_csv",
            on_click="ignore",
            help=NOTE,
        )
    with st.container(key="compare_samples_texts"):
        st.html(sample_texts(run.prompt_text, run.samples(column)))


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
            "Metric",
            list(SHOWN),
            index=list(SHOWN).index("perplexity"),
            format_func=lambda name: SHOWN[name].name,
            key="compare_metric",
            persist_state="session",
        )
        st.caption(SHOWN[metric].about)
        figure = spread_figure(series(metric, metric), SHOWN[metric].name, is_dark())
        st.plotly_chart(figure, theme=None, key="compare_spread", config=CONFIG)
    with right:
        st.caption(
            "Diversity against likelihood: both grow towards the upper right. A small mark is a "
            "text, a large one the mean of its column."
        )
        figure = balance_figure(
            series("distinct_2", "mean_logprob"),
            SHOWN["distinct_2"].name,
            f"{SHOWN['mean_logprob'].name}, nats per token",
            is_dark(),
        )
        st.plotly_chart(figure, theme=None, key="compare_balance", config=CONFIG)
