"""The tune page: a sweep over two settings, its heatmaps, the texts behind a cell.

    tune_inputs.py   what to sweep over
    tune_results.py  what came of it

Streamlit forgets a field while its visitor is on another page, so every field begins with what the
session holds and tells it of a change by a callback. Where something else changes what it holds,
the field gets a new key, and so begins anew: a value written into a field's own key is lost where
a second run of the script overtakes the first on its way to the browser.
"""

from __future__ import annotations

import streamlit as st

from engine.errors import DecodingError
from engine.model import LanguageModel
from ui.models.chooser import model_chooser
from ui.skeleton.page import header, opened_visit, show_notices
from ui.skeleton.problems import guarded
from ui.tune.inputs import inputs
from ui.tune.results import results
from ui.tune.tuning import KEY, Tuning, begun, tuning_here, tuning_of
from ui.tune.view import STYLE
from ui.visits.tab import somebody_there, this_visit
from ui.visits.visits import Visit
from ui.words.labels import about, markdown_text

CAPTION = (
    "Notice how far the colour changes along each axis: a setting that hardly changes it is not "
    "worth tuning. Click a cell to read what it writes."
)
LOOK_SECONDS = 0.5  # between two looks at a sweep
PAGE_STYLE = """
<style>
.st-key-tune_inputs { border-right: 1px solid rgba(128, 128, 128, 0.25); padding-right: 1.2rem; }
@media (max-width: 1000px) {
  .st-key-tune [data-testid="stHorizontalBlock"]:has(> [data-testid="stColumn"]) {
    flex-wrap: wrap;
  }
  .st-key-tune [data-testid="stColumn"] { min-width: 100%; }
  .st-key-tune_inputs { border-right: 0; padding-right: 0; }
  .st-key-tune_inputs [data-testid="stColumn"], .st-key-tune_cell [data-testid="stColumn"] {
    flex: 1 1 40%; min-width: 40%; width: auto;
  }
}
</style>
"""


def tune_page() -> None:
    """Draw the whole page."""
    band = header()
    st.html(STYLE + PAGE_STYLE)
    visit = opened_visit()
    if visit is None:
        return
    tuning, problem = _opened(visit)
    show_notices(visit)
    with band:
        model_chooser(tuning.model if tuning else None, _on_load)
    if tuning is None:
        st.error(markdown_text(problem))
        return
    st.caption(CAPTION)
    with st.container(key="tune"):
        left, right = st.columns([1, 3], gap="medium")
        with left, st.container(key="tune_inputs"):
            inputs(tuning)
        with right:
            progress = guarded(_run_band, "the sweep's progress")
            st.fragment(progress, run_every=LOOK_SECONDS if tuning.is_running else None)(tuning)
            st.fragment(guarded(results, "the results"))(tuning)


def _opened(visit: Visit) -> tuple[Tuning | None, str]:
    """What the visit has on this page, or why there is nothing."""
    try:
        with st.spinner("Opening the page"):
            return tuning_of(visit), ""
    except DecodingError as error:
        return None, str(error)


def _on_load(model: LanguageModel) -> None:
    visit = this_visit()
    tuning = visit.present(KEY)
    if tuning is None:
        visit.put(KEY, begun(model))
    else:
        tuning.load(model)


# --- the sweep ------------------------------------------------------------------------------------


def _run_band(tuning: Tuning) -> None:
    """What Run would do, Run, and how far it has come; only this runs again while it works."""
    work, sweep = tuning.work, tuning.plan.sweep
    running = tuning.is_running
    shown = (work, work.version if work else 0, running)
    if st.session_state.setdefault("tune_shown", shown) != shown:
        st.session_state["tune_shown"] = shown
        st.rerun()  # with the new texts in the charts, and with or without this clock
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Run sweep",
            type="primary",
            key="tune_run",
            disabled=running or sweep is None,
            on_click=_on_run,
        )
        if running:
            st.button("Cancel", key="tune_cancel", on_click=_on_cancel)
        elif work is not None and not work.is_done:
            st.button("Continue", key="tune_continue", on_click=_on_continue)
        if sweep is not None:
            st.markdown(_count(tuning))
    if tuning.error or tuning.plan.problem:
        st.error(markdown_text(tuning.error or tuning.plan.problem))
    if running:
        st.progress(work.share, text=work.progress)
    elif work is not None:
        _state(tuning)


def _on_run() -> None:
    tuning_here().run(somebody_there())
    st.session_state["tune_shown"] = None


def _on_cancel() -> None:
    work = tuning_here().work
    work.cancel()
    work.wait(5)


def _on_continue() -> None:
    tuning_here().work.start(somebody_there())


def _count(tuning: Tuning) -> str:
    """The texts of the planned sweep, and how long they would take."""
    sweep = tuning.plan.sweep
    cells = f"{len(sweep.x.values):,}" + (f" × {len(sweep.y.values):,}" if sweep.y else "")
    factors = [f"{cells} cells", f"{len(sweep.seeds):,} seeds", f"{len(sweep.prompts)} prompts"]
    if len(sweep.seeds) == 1:
        factors[1] = "1 seed"
    if len(sweep.prompts) == 1:
        factors[2] = "1 prompt"
    seconds = tuning.seconds
    time = f", at most **{about(seconds)}**" if seconds is not None else ""
    return (
        f"{' × '.join(factors)} = **{sweep.count:,} texts** of at most "
        f"{sweep.max_tokens} tokens{time}"
    )


def _state(tuning: Tuning) -> None:
    """What is on screen once a sweep is over."""
    work = tuning.work
    if work.problem:
        st.error(markdown_text(work.problem))
    for notice in work.result.notices if work.result else ():
        st.warning(markdown_text(notice))
    if not work.is_done:
        st.info(
            f"Ended early with {work.texts_done:,} of {work.sweep.count:,} texts. Metrics are of "
            "the texts that have ended; Continue goes on from here."
        )
    elif tuning.has_changed and tuning.plan.sweep is not None:
        made = f"made by {work.model.name} " if work.model is not tuning.model else ""
        st.info(markdown_text(f"Below is the last sweep, {made}before your changes. Run anew."))
