"""The diffusion page: fields, and the parts of the page."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from ui.labs import fields
from ui.labs.diffusion.history import history
from ui.labs.diffusion.joint import joint
from ui.labs.diffusion.joint import look_every as joint_every
from ui.labs.diffusion.lab import AFTER, WHERE, WHY, DiffusionLab
from ui.labs.diffusion.picture import canvas, notice, picture
from ui.labs.diffusion.quality import look_every as quality_every
from ui.labs.diffusion.quality import quality
from ui.labs.page import Experiment, LabPage
from ui.texts.limits import LARGEST_SEED, MOST_TOKENS
from ui.words.labels import markdown_text
from ui.words.language import marked, say

STYLE = Path(__file__).with_suffix(".css")
EXAMPLES = {
    marked("Two gaps in a story"): "Once upon a time, there was a[16]. She was very happy.[12]",
    marked("One short gap"): "The [6] sat on the mat.",
    marked(
        "A gap between two facts"
    ): "Tim lost his red ball.[14] At last he found it under the bed.",
    marked("A question and its answer"): "Question: What is the capital of France?\nAnswer:[8]",
}
ORDERS = {
    "low_confidence": marked("most confident first"),
    "entropy": marked("lowest entropy first"),
    "random": marked("random"),
    "left_to_right": marked("left to right"),
}


def draw_fields(lab: DiffusionLab) -> None:
    """Draw the fields for the inputs."""
    fields.prompt(
        lab,
        EXAMPLES,
        label=say("Text with gaps"),
        help=say(
            "A number in brackets is a gap of that many tokens: The [4] sat. Write \\\\[4] "
            "for the text itself. A token is a word or a part of one."
        ),
    )
    with fields.row():
        fields.choice(lab, "where", say("Masks"), fields.said(WHERE), width=210)
        if lab.inputs.where == AFTER:
            fields.whole(lab, "masks", say("New tokens"), 1, MOST_TOKENS)
        fields.whole(
            lab,
            "steps",
            say("Steps"),
            0,
            100_000,
            help=say("Forward passes; 0 means one per mask."),
        )
        fields.choice(
            lab,
            "remasking",
            say("Unmask order"),
            fields.said(ORDERS),
            help=say("Which predictions a step keeps; the others are masked again at once."),
        )
        fields.real(
            lab, "temperature", say("Temperature"), help=say("0 takes the likeliest token.")
        )
        fields.real(
            lab,
            "eta",
            say("Re-masking η"),
            width=160,
            help=say(
                "0: committed tokens stay. Above 0 they compete with the new predictions, "
                "and those that the model has come to doubt are masked again; 1 is on "
                "equal terms (P2, arXiv:2502.03540). The number of steps stays the same."
            ),
        )
        fields.whole(
            lab,
            "block_length",
            say("Block length"),
            0,
            100_000,
            help=say("Masks per block; blocks are filled from left to right. 0 means one block."),
        )
        fields.whole(lab, "seed", say("Seed"), 0, LARGEST_SEED)
    if lab.adjusted:
        st.info(markdown_text(lab.adjusted))
    with st.expander(say("Which model fills the gaps?")):
        st.markdown(say(WHY))
        fields.text(
            lab, "folder", say("Folder of a masked diffusion model, empty for the bundled one")
        )


PAGE = LabPage(
    lab=DiffusionLab,
    title=marked("Masked diffusion"),
    about=marked("It predicts all masked positions at once and keeps the best few, step by step."),
    fields=draw_fields,
    picture=picture,
    notice=notice,
    experiments=(
        Experiment(marked("the charts"), history),
        Experiment(marked("the comparison of two positions"), joint, joint_every),
        Experiment(marked("the passages"), quality, quality_every),
    ),
    staged=partial(canvas, is_short=True),
    styles=(STYLE,),
)
