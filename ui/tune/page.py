"""The tune page: a sweep over two settings, its heatmaps, the texts behind a cell."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.models.chooser import show_limits
from ui.server.problems import guarded
from ui.skeleton.work import look_every, watching, work_buttons, work_state
from ui.tune.inputs import inputs
from ui.tune.results import results
from ui.tune.tuning import PAGE, Tuning
from ui.words.labels import about, counted, markdown_text
from ui.words.language import marked, say

CAPTION = marked(
    "Look how far the colour changes along each axis: a setting that hardly "
    "changes it needs no tuning. Click a cell to read its texts."
)
STYLE = Path(__file__).with_suffix(".css")


def tune_page() -> None:
    """Draw the whole page."""
    tuning = PAGE.opened(STYLE)
    if tuning is None:
        return
    show_limits(tuning.model)
    st.caption(say(CAPTION))
    with st.container(key="tune"):
        left, right = st.columns([1, 3], gap="medium")
        with left, st.container(key="tune_inputs"):
            inputs(tuning)
        with right:
            sweep = guarded(_sweep, marked("the sweep's progress"))
            watching(sweep, lambda: look_every(tuning.work))(tuning)
            st.fragment(guarded(results, marked("the results")))(tuning)


def _sweep(tuning: Tuning) -> None:
    """What Run would do, Run, and how far it has come; only this runs again while it works."""
    work, sweep = tuning.work, tuning.plan.sweep
    with st.container(horizontal=True, vertical_alignment="center"):
        work_buttons(
            "tune_sweep",
            say("Run sweep"),
            work,
            tuning.run,
            can_begin=sweep is not None,
            cancel=tuning.cancel,
            version=work.version if work else 0,  # with the new texts in the charts
        )
        if sweep is not None:
            st.markdown(_count(tuning))
    if tuning.error or tuning.plan.problem:
        st.error(markdown_text(tuning.error or tuning.plan.problem))
    if tuning.removed_stop:
        st.info(
            markdown_text(
                say(
                    "The stop string {removed_stop} belonged to the example and was removed with "
                    "it. Type it again to keep it.",
                    removed_stop=tuning.removed_stop,
                )
            )
        )
    work_state(work, work.result.notices if work and work.result else ())
    if work and work.is_done and tuning.has_changed and sweep is not None:
        if work.model is tuning.model:
            said = say("Below is the last sweep, before your changes. Run again.")
        else:
            said = say(
                "Below is the last sweep, by {model}, before your changes. Run again.",
                model=work.model.name,
            )
        st.info(markdown_text(said))


def _count(tuning: Tuning) -> str:
    """The texts of the planned sweep, and how long they would take."""
    sweep = tuning.plan.sweep
    cells = f"{len(sweep.x.values):,}" + (f" × {len(sweep.y.values):,}" if sweep.y else "")
    factors = (
        say("{count} cells", count=cells),
        counted(len(sweep.seeds), "seed"),
        counted(len(sweep.prompts), "prompt"),
    )
    seconds = tuning.seconds
    texts = say(
        "{factors} = **{texts}** of at most {max_tokens} tokens",
        factors=" × ".join(factors),
        texts=counted(sweep.count, "text"),
        max_tokens=sweep.max_tokens,
    )
    if seconds is None:
        return texts
    return say("{texts}, **{time}** if none ends early", texts=texts, time=about(seconds))
