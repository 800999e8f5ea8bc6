"""Many texts of each column: asking for them, their progress, their figures."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.errors import DecodingError
from ui.charts.compare import SampleSeries, balance_figure, spread_figure
from ui.charts.template import CONFIG
from ui.compare.comparison import Comparison
from ui.compare.sampling_run import SAMPLES, SamplingRun
from ui.compare.view import METRICS, sample_texts, summary_table
from ui.skeleton.csv_file import NOTE
from ui.skeleton.fields import is_dark, whole_number
from ui.texts.limits import MOST_SAMPLES, checked_whole
from ui.visits.tab import somebody_there
from ui.words.labels import markdown_text

USUAL = 16  # samples per setting


def samples(comparison: Comparison) -> None:
    """Many texts per column: asking for them, their progress, their figures."""
    st.subheader("Many texts of each column", anchor=False)
    run = comparison.sampling
    running = run is not None and run.is_running
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = whole_number(
            SAMPLES, USUAL, width=180, key="compare_samples", persist_state="session"
        )
        problem = _problem(count)
        blocked = running or bool(problem)
        if st.button("Sample", type="primary", disabled=blocked, key="compare_sample"):
            run = comparison.sample(count)
            if run is not None:
                run.start(somebody_there())
            st.rerun()
        if running and st.button("Cancel", key="compare_cancel"):
            run.cancel()
            run.wait(5)
            st.rerun()
        is_partial = run is not None and not running and not run.is_done
        if is_partial and st.button("Continue", key="compare_continue"):
            run.start(somebody_there())
            st.rerun()
    if problem:
        st.error(markdown_text(problem))
    if run is None:
        st.caption(
            "One text is one throw of the dice. Many texts of each column, with the same seeds in "
            "all, tell what a setting does."
        )
        return
    if running:
        st.progress(run.share, text=run.progress)
        st.session_state["compare_was_running"] = True
        return
    if st.session_state.pop("compare_was_running", False):
        st.rerun()  # without the clock of the fragment
    _results(run)


def _problem(count: float | None) -> str:
    """Why there can be no such number of samples; empty if there can."""
    try:
        checked_whole(SAMPLES, count, 1, MOST_SAMPLES)
    except DecodingError as error:
        return str(error)
    return ""


def _results(run: SamplingRun) -> None:
    if run.problem:
        st.error(markdown_text(run.problem))
    for notice in run.notices:
        st.warning(markdown_text(notice))
    if not run.is_done:
        st.info(f"Ended early with {run.progress}; figures are of the texts that have ended.")
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
            list(METRICS),
            index=list(METRICS).index("perplexity"),
            format_func=lambda name: METRICS[name][0],
            key="compare_metric",
            persist_state="session",
        )
        figure = spread_figure(series(metric, metric), METRICS[metric][0], is_dark())
        st.plotly_chart(figure, theme=None, key="compare_spread", config=CONFIG)
    with right:
        st.caption("Diversity against likelihood: towards the upper right is more of both.")
        figure = balance_figure(
            series("distinct_2", "mean_logprob"),
            "distinct-2",
            "mean log-probability per token, nats",
            is_dark(),
        )
        st.plotly_chart(figure, theme=None, key="compare_balance", config=CONFIG)
