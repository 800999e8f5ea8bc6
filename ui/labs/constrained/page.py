"""The constrained decoding page: fields, text, figures, experiments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from engine.study import ConstraintFigures, WholeText
from ui.charts.figure import show_figure
from ui.charts.template import literal, palette, template
from ui.labs import fields
from ui.labs.chat_fields import chat_fields
from ui.labs.constrained import view
from ui.labs.constrained.lab import ConstrainedLab
from ui.labs.page import Experiment, LabPage
from ui.shell.constraint_field import ConstraintField
from ui.shell.fields import bound, whole_number
from ui.shell.theme import is_dark
from ui.shell.work import look_every, work_buttons, work_state
from ui.texts.constraints import EXAMPLES
from ui.texts.limits import LARGEST_SEED
from ui.words.glossary import meaning
from ui.words.labels import markdown_text
from ui.words.language import marked, say


def _fields(lab: ConstrainedLab) -> None:
    constraint = ConstraintField(
        lab, "constrained", lab.inputs.typed, lab.take_source, is_optional=False
    )
    left, right = st.columns(2)
    with left:
        fields.text(lab, "prompt", say("Prompt"), height=68)
        with fields.row():
            names = [each.name for each in EXAMPLES]
            st.selectbox(
                say("Example"),
                names,
                index=None,
                format_func=say,
                placeholder=say("Choose one"),
                width=170,
                **bound(
                    "constrained_example",
                    None,
                    lambda name: name and lab.choose(EXAMPLES[names.index(name)]),
                ),
            )
            constraint.language(width=170)
            fields.real(lab, "temperature", say("Temperature"), width=105)
            fields.whole(lab, "seed", say("Seed"), 0, LARGEST_SEED, help=meaning("seed"), width=105)
        if lab.model.vocabulary.has_chat_template:
            with fields.row():
                chat_fields(lab)
    with right:
        constraint.source(height=178)


def _picture(lab: ConstrainedLab) -> None:
    text, vocabulary = lab.text, lab.model.vocabulary
    shown, figures = lab.shown, list(lab.figures)
    st.html(view.text_html(lab.inputs.prompt, text, lab.ribbon, shown))
    if shown is None:
        return
    st.html(view.state_html(figures, text, lab.verdict))
    left, right = st.columns([3, 2])
    with left:
        # A worker may have taken further steps since `figures` was read.
        labels = [view.label(vocabulary, text.steps[each.index].token_id) for each in figures]
        chart = price_figure(figures, labels, shown, is_dark())
        alt = say("What the constraint costs at every step, in bits")
        show_figure(chart, "constrained_price", alt)
    with right:
        _step_field(lab, shown)
        st.html(view.step_text(figures[shown]))
        st.html(view.wanted_html(vocabulary, text, figures[shown]))
    with st.expander(say("Every step")):
        st.html(view.steps_html(vocabulary, text, figures))


def _staged(lab: ConstrainedLab) -> str:
    figures = lab.figures[-1] if lab.text.steps else None
    return view.staged(lab.inputs.prompt, lab.text, lab.ribbon, figures)


def _step_field(lab: ConstrainedLab, shown: int) -> None:
    """Draw the field that selects the step whose figures are shown."""
    whole_number(
        say("Step to look at, 1 to {count}", count=len(lab.text.steps)),
        shown + 1,
        width=220,
        **bound("constrained_step_shown", float(shown + 1), lab.look_at),
    )


def _notice(lab: ConstrainedLab) -> str:
    return view.notice(lab.model.vocabulary, lab.text, lab.figures, lab.ribbon)


def _one_bad_token(lab: ConstrainedLab) -> None:
    st.subheader(say("One bad token"), anchor=False)
    if lab.text is None or lab.shown is None:
        st.caption(say("There is no step yet; take one, or wait while the text is being written."))
        return
    vocabulary, index = lab.model.vocabulary, lab.shown
    wanted = lab.figures[index].wanted
    st.caption(
        say(
            "Force a refused token at step {step}, the one shown above, and continue without "
            "the constraint.",
            step=index + 1,
        )
    )
    if not wanted:
        st.caption(say("The constraint refuses no token that the model could give here."))
        return
    with fields.row():
        ids = [each.token_id for each in wanted]
        token_id = st.selectbox(
            say("Wrong token"),
            ids,
            format_func=lambda i: view.label(vocabulary, i),
            key=f"constrained_wrong_{index}_{ids[0]}",
            width=200,
        )
        pressed = st.button(say("Force it"), key="constrained_force", disabled=lab.player.is_busy)
    if pressed:
        lab.break_at(index, token_id)
        st.rerun()
    if lab.broken is not None:
        st.html(view.broken_html(lab.inputs.prompt, lab.broken, lab.text, lab.verdict))


def _whole_texts(lab: ConstrainedLab) -> None:
    st.subheader(say("Whole texts: exact against step by step"), anchor=False)
    st.caption(
        say(
            "Masking renormalises at every step, so whole texts get odds other than the "
            "model’s own. For small constraints both are computed, over every path of "
            "tokens, at temperature 1."
        )
    )
    if lab.text is None:
        return
    with fields.row():
        work_buttons("constrained_walk", say("Compute both"), lab.walk, lab.begin)
    walk = lab.walk
    if walk is None:
        return
    work_state(walk)
    found = walk.result
    if found is None:
        return
    st.markdown(markdown_text(view.whole_texts_text(found)))
    if found.texts:
        chart = whole_texts_figure(found.texts, is_dark())
        alt = say("Probability of whole texts, masked token by token and conditioned")
        show_figure(chart, "constrained_whole_texts", alt)
        with st.expander(say("Texts")):
            st.html(view.whole_texts_html(found))


MOST_TEXTS = 8


def price_figure(
    figures: Sequence[ConstraintFigures], tokens: Sequence[str], shown: int | None, dark: bool
) -> go.Figure:
    """Chart each step's allowed probability on top; below, its price and the price so far.

    Args:
        figures: the figures of every step.
        tokens: the label of each step's token.
        shown: the step to highlight.
        dark: whether the theme is dark.
    """
    colours = palette(dark)
    free, forced, total = colours.series[0], colours.series[1], colours.series[5]
    allowed = say("allowed probability {share}", share="%{y:.4g}")
    bits = say("{count} bits", count="%{y:.2f}")
    bits_so_far = say("{count} bits so far", count="%{y:.2f}")
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    steps = list(range(1, len(figures) + 1))
    hover = [
        say("step {n}: {token}", n=n, token=literal(token))
        for n, token in zip(steps, tokens, strict=True)
    ]
    figure.add_scatter(
        x=steps,
        y=[each.allowed_mass for each in figures],
        mode="lines+markers",
        line={"color": free, "width": 1},
        marker={
            "size": 9,
            "color": [forced if each.is_forced else free for each in figures],
            "symbol": ["square" if each.is_forced else "circle" for each in figures],
        },
        customdata=hover,
        hovertemplate="%{customdata}<br>" + allowed + "<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )
    for name, is_forced, colour, pattern in (
        (say("price of a step with a choice"), False, free, ""),
        (say("price of a step with one allowed token"), True, forced, "/"),
    ):
        own = [n for n, each in zip(steps, figures, strict=True) if each.is_forced == is_forced]
        figure.add_bar(
            x=own,
            y=[figures[n - 1].price_bits for n in own],
            name=name,
            marker={"color": colour, "pattern": {"shape": pattern}},
            customdata=[hover[n - 1] for n in own],
            hovertemplate="%{customdata}<br>" + bits + "<extra></extra>",
            row=2,
            col=1,
        )
    figure.add_scatter(
        x=steps,
        y=list(accumulate(each.price_bits for each in figures)),
        name=say("price so far"),
        mode="lines",
        line={"color": total, "dash": "dash", "shape": "hv"},
        hovertemplate=bits_so_far + "<extra></extra>",
        row=2,
        col=1,
    )
    if shown is not None and shown < len(figures):
        figure.add_vline(x=shown + 1, line={"color": colours.muted, "dash": "dot"})
    figure.update_yaxes(title=say("allowed Z"), range=[-0.06, 1.06], row=1, col=1)
    figure.update_yaxes(title=say("bits"), rangemode="tozero", row=2, col=1)
    every = max(1, round(len(figures) / 12))
    figure.update_xaxes(range=[0.3, len(figures) + 0.7], dtick=every, tick0=1)
    figure.update_xaxes(title=say("step"), row=2, col=1)
    figure.update_layout(template=template(dark), height=380, bargap=0.25)
    figure.update_layout(margin={"l": 10, "r": 10, "t": 60, "b": 10})
    return figure


def whole_texts_figure(texts: Sequence[WholeText], dark: bool) -> go.Figure:
    """Chart the likeliest texts: their exact probability, and their probability under masking."""
    colours = palette(dark)
    leading = sorted(texts, key=lambda each: -max(each.conditional, each.masked))[:MOST_TEXTS]
    figure = go.Figure()
    series = (
        (say("exact: model’s odds"), "conditional", 0, ""),
        (say("step by step"), "masked", 1, "/"),
    )
    for name, field, place, pattern in series:
        figure.add_bar(
            y=[literal(each.text, 28) for each in leading],
            x=[getattr(each, field) for each in leading],
            name=name,
            orientation="h",
            marker={"color": colours.series[place], "pattern": {"shape": pattern}},
            customdata=[literal(each.text, 200) for each in leading],
            hovertemplate="%{customdata}<br>%{x:.4g}<extra>" + name + "</extra>",
        )
    figure.update_layout(
        template=template(dark),
        height=110 + 44 * len(leading),
        barmode="group",
        xaxis={"title": say("share of texts"), "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "type": "category"},
        margin={"l": 10, "r": 10, "t": 50, "b": 10},
    )
    return figure


PAGE = LabPage(
    ConstrainedLab,
    marked("Constrained decoding"),
    marked("At each step, tokens that would break the format are ruled out."),
    _fields,
    _picture,
    _notice,
    (
        Experiment(marked("one bad token"), _one_bad_token),
        Experiment(marked("the whole texts"), _whole_texts, lambda lab: look_every(lab.walk)),
    ),
    staged=_staged,
    slider=fields.Slider("temperature", marked("Temperature"), 0.0, 2.0, 0.05),
    unit="token",
    styles=(Path(__file__).with_suffix(".css"),),
)
