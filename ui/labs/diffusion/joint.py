"""The joint distribution of two positions against the product of the two."""

from __future__ import annotations

import streamlit as st

from engine.study import JointError
from ui.charts.figure import show_figure
from ui.labs.diffusion.charts import joint_figure
from ui.labs.diffusion.lab import DiffusionLab
from ui.labs.diffusion.picture import percent, token
from ui.shell.fields import bound
from ui.shell.tables import table
from ui.shell.theme import is_dark
from ui.shell.work import LOOK_SECONDS
from ui.words.labels import markdown_text
from ui.words.language import say

ROWS = 6  # of the table of first tokens


def joint(lab: DiffusionLab) -> None:
    """Draw the choice of two masks, the progress of their comparison, and its result."""
    st.subheader(say("Two positions at once: joint against independent"), anchor=False)
    st.caption(
        say(
            "A step draws both tokens from p(xᵢ) p(xⱼ). Committing xᵢ first would draw "
            "xⱼ from p(xⱼ | xᵢ). The difference is what few steps cost."
        )
    )
    if lab.text is None:
        return
    pair = lab.pair
    if pair is None:
        st.info(say("Fewer than two masks are left here; choose an earlier step above."))
    else:
        _choice(lab, pair)
    task = lab.joint_task
    if lab.is_comparing:
        st.progress(task.share, text=markdown_text(task.progress))
    elif task is not None and task.problem:
        st.error(markdown_text(task.problem))
    if lab.joint is not None:
        _result(lab, *lab.joint)


def look_every(lab: DiffusionLab) -> float | None:
    """Return the seconds between two updates while a comparison runs; None if none is running."""
    return LOOK_SECONDS if lab.is_comparing else None


def _choice(lab: DiffusionLab, pair: tuple[int, int]) -> None:
    masks = lab.shown_masks
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for number, name in enumerate((say("Position i"), say("Position j"))):

            def take(place: int, number: int = number) -> None:
                other = pair[1 - number]
                if place == other:
                    other = pair[number]
                lab.look_at(pair=(place, other) if number == 0 else (other, place))

            st.selectbox(
                name,
                masks,
                masks.index(pair[number]),
                width=130,
                **bound(f"diffusion_pair_{number}", pair[number], take),
            )
        if lab.is_comparing:
            if st.button(say("Cancel"), key="diffusion_joint_cancel"):
                lab.joint_task.cancel()
        elif st.button(say("Compare"), key="diffusion_joint_start", type="primary"):
            lab.compare_pair()
            st.rerun()


def _result(lab: DiffusionLab, canvas: tuple[int, ...], errors: tuple[JointError, ...]) -> None:
    one = errors[0]
    pair = say("Positions {first} and {second}", first=one.first, second=one.second)
    if canvas != lab.shown_ids:
        pair = say("{pair} (for an earlier canvas)", pair=pair)
    lines = [
        say(
            "position {place} first: {range}, at least {bits} bits of mutual information",
            place=error.first,
            range=_range(error),
            bits=f"{error.kl_bits:.2f}",
        )
        for error in errors
    ]
    said = say("{pair}. Total variation, {lines}.", pair=pair, lines="; ".join(lines))
    st.markdown(markdown_text(said))
    left, right = st.columns([2, 3], gap="medium")
    with left:
        alt = say("Total variation between product and joint, both orders")
        show_figure(joint_figure(errors, is_dark()), "diffusion_joint", alt)
        st.caption(
            say(
                "0: the two tokens are independent; 1: the two distributions do not overlap. "
                "Over the {count} likeliest first tokens and the whole vocabulary of the "
                "second; the rest is bounded.",
                count=len(one.outcomes),
            )
        )
    with right:
        st.html(_table(lab, one))


def _range(error: JointError) -> str:
    if error.highest - error.lowest < 0.005:
        return f"{error.lowest:.2f}"
    return say("{low} to {high}", low=f"{error.lowest:.2f}", high=f"{error.highest:.2f}")


def _table(lab: DiffusionLab, error: JointError) -> str:
    head = (
        say("if position {place} is", place=error.first),
        "p(xᵢ)",
        say("then position {place} is likeliest", place=error.second),
        "p(xⱼ | xᵢ)",
        say("p(xⱼ) alone"),
        say("TV"),
    )
    rows = [
        (
            token(lab, outcome.token_id),
            percent(outcome.probability),
            token(lab, outcome.likeliest),
            percent(outcome.likeliest_probability),
            percent(outcome.likeliest_alone),
            f"{outcome.total_variation:.2f}",
        )
        for outcome in error.outcomes[:ROWS]
    ]
    return table(say("What the first token does to the second"), head, rows, "figures")
