"""The tune page: a sweep over two settings, its heatmaps, the texts behind a cell."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.skeleton.problems import guarded
from ui.skeleton.work import look_every, work_buttons, work_state
from ui.tune.inputs import inputs
from ui.tune.results import results
from ui.tune.tuning import PAGE, Tuning
from ui.words.labels import about, counted, markdown_text

CAPTION = (
    "Look how far the colour changes along each axis: a setting that hardly changes it needs no "
    "tuning. Click a cell to read its texts."
)
STYLE = Path(__file__).with_suffix(".css")


def tune_page() -> None:
    """Draw the whole page."""
    tuning = PAGE.opened(STYLE)
    if tuning is None:
        return
    st.caption(CAPTION)
    with st.container(key="tune"):
        left, right = st.columns([1, 3], gap="medium")
        with left, st.container(key="tune_inputs"):
            inputs(tuning)
        with right:
            sweep = guarded(_sweep, "the sweep's progress")
            st.fragment(sweep, run_every=look_every(tuning.work))(tuning)
            st.fragment(guarded(results, "the results"))(tuning)


def _sweep(tuning: Tuning) -> None:
    """What Run would do, Run, and how far it has come; only this runs again while it works."""
    work, sweep = tuning.work, tuning.plan.sweep
    with st.container(horizontal=True, vertical_alignment="center"):
        work_buttons(
            "tune_sweep",
            "Run sweep",
            work,
            tuning.run,
            can_begin=sweep is not None,
            version=work.version if work else 0,  # with the new texts in the charts
        )
        if sweep is not None:
            st.markdown(_count(tuning))
    if tuning.error or tuning.plan.problem:
        st.error(markdown_text(tuning.error or tuning.plan.problem))
    if tuning.removed_stop:
        st.info(
            markdown_text(
                f"The stop string {tuning.removed_stop} belonged to the example and was removed "
                "with it. Type it again to keep it."
            )
        )
    work_state(work, work.result.notices if work and work.result else ())
    if work and work.is_done and tuning.has_changed and sweep is not None:
        made = f"by {work.model.name}, " if work.model is not tuning.model else ""
        st.info(markdown_text(f"Below is the last sweep, {made}before your changes. Run again."))


def _count(tuning: Tuning) -> str:
    """The texts of the planned sweep, and how long they would take."""
    sweep = tuning.plan.sweep
    cells = f"{len(sweep.x.values):,}" + (f" × {len(sweep.y.values):,}" if sweep.y else "")
    factors = (
        f"{cells} cells",
        counted(len(sweep.seeds), "seed"),
        counted(len(sweep.prompts), "prompt"),
    )
    seconds = tuning.seconds
    time = f", **{about(seconds)}** if none ends early" if seconds is not None else ""
    return (
        f"{' × '.join(factors)} = **{counted(sweep.count, 'text')}** of at most "
        f"{sweep.max_tokens} tokens{time}"
    )
