"""Quality and time by number of steps, compared with an autoregressive model."""

from __future__ import annotations

import math

import streamlit as st

from engine.study import Spread, StepsSummary, summaries
from ui.charts.figure import show_figure
from ui.labs.diffusion.charts import QUALITIES, quality_figure
from ui.labs.diffusion.lab import DiffusionLab, PassagesJob
from ui.shell.fields import bound, whole_number
from ui.shell.tables import table, text_list
from ui.shell.theme import is_dark
from ui.shell.work import look_every as work_look_every
from ui.shell.work import work_buttons, work_state
from ui.words.labels import counted, markdown_text, parameters_text
from ui.words.language import say


def quality(lab: DiffusionLab) -> None:
    """Draw the buttons, the progress, the charts and the table."""
    st.subheader(say("Quality and time against the number of steps"), anchor=False)
    if lab.text is None:
        return
    work, plan = lab.passages, lab.plan
    with st.container(horizontal=True, vertical_alignment="bottom"):
        whole_number(
            say("Seeds"),
            lab.seeds,
            width=130,
            **bound("diffusion_seeds", float(lab.seeds), lab.take_seeds),
        )
        work_buttons(
            "diffusion_passages",
            say("Write passages"),
            work,
            lab.begin,
            version=work.version if work else 0,
        )
        steps = ", ".join(map(str, plan.step_counts))
        st.caption(
            say(
                "{passages}: one per seed in {steps} steps, and one by the bundled "
                "autoregressive model.",
                passages=counted(plan.count, "passage"),
                steps=steps,
            ),
            width="content",
        )
    work_state(work)
    if work is None or not work.passages:
        return
    if work.plan != plan:
        st.info(say("These passages belong to the settings before your changes. Write them again."))
    _results(work)


def look_every(lab: DiffusionLab) -> float | None:
    """Return the seconds between two updates; None if no passages are being generated."""
    return work_look_every(lab.passages)


def _results(work: PassagesJob) -> None:
    rows = summaries(work.passages)
    columns = st.columns(len(QUALITIES), gap="medium")
    for column, field in zip(columns, QUALITIES, strict=True):
        with column:
            alt = say("{measure} against the number of steps", measure=say(QUALITIES[field]))
            show_figure(quality_figure(rows, field, is_dark()), f"diffusion_{field}", alt)
    title = say("Measured:")
    st.markdown(f"**{title}** {markdown_text(_outcome(rows))}")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.html(_table(rows))
        said = say(
            "Mean ± standard deviation over the seeds. Bits per byte from the first gap "
            "onwards, under the model {model}. Few bits mean a fluent text or a dull one, so "
            "check the repetition as well. Diffusion: {parameters}; autoregressive: "
            "{others}. Times are from this machine, measured in turn.",
            model=work.judge.name,
            parameters=parameters_text(work.model.parameters),
            others=parameters_text(work.judge.parameters),
        )
        if not work.plan.settings.temperature:
            said += " " + say("At temperature 0 all seeds give the same text.")
        st.caption(markdown_text(said))
    with right:
        first = work.passages[0].seed
        texts = [
            ([_name(passage.steps)], passage.text)
            for passage in sorted(work.passages, key=lambda one: one.steps or math.inf)
            if passage.seed == first
        ]
        begin = work.plan.canvas[: work.plan.canvas.index(work.model.mask_id)]
        st.html(text_list(say("Passages of the first seed"), work.model.text(begin), texts))


def _name(steps: int | None) -> str:
    return say("autoregressive") if steps is None else counted(steps, "step")


def _table(rows: list[StepsSummary]) -> str:
    head = (
        "",
        say("passages"),
        say("bits per byte"),
        say("repeated pairs"),
        say("repeated 4-grams"),
        say("masked again"),
        say("ms per passage"),
        say("fastest"),
    )
    cells = [
        (
            _name(row.steps),
            str(row.count),
            _spread(row.bits_per_byte, 2),
            _spread(row.repeated_2, 2),
            _spread(row.repeated_4, 2),
            _spread(row.remasked, 1),
            _spread(row.ms, 0),
            f"{row.ms.lowest:,.0f}",
        )
        for row in rows
    ]
    return table(say("Quality and time by the number of steps"), head, cells, "figures")


def _spread(spread: Spread, digits: int) -> str:
    if math.isnan(spread.mean):
        return "–"
    sd = "" if math.isnan(spread.sd) else f" ± {spread.sd:,.{digits}f}"
    return f"{spread.mean:,.{digits}f}{sd}"


def _outcome(rows: list[StepsSummary]) -> str:
    """Sum up the figures in a sentence or two."""
    diffusion = [row for row in rows if row.steps is not None]
    others = [row for row in rows if row.steps is None]
    if len(diffusion) < 2:
        return say("The first passages are being written.")
    few, many = diffusion[0], diffusion[-1]
    said = say(
        "With {few} a passage has {bits} bits per byte and takes {time} ms. With {many} it has "
        "{other_bits} and takes {other_time} ms.",
        few=counted(few.steps, "step"),
        bits=f"{few.bits_per_byte.mean:.2f}",
        time=f"{few.ms.mean:,.0f}",
        many=many.steps,
        other_bits=f"{many.bits_per_byte.mean:.2f}",
        other_time=f"{many.ms.mean:,.0f}",
    )
    if not others:
        return said
    beside = say(
        "The autoregressive model comes to {bits} in {time} ms.",
        bits=f"{others[0].bits_per_byte.mean:.2f}",
        time=f"{others[0].ms.mean:,.0f}",
    )
    return f"{said} {beside}"
