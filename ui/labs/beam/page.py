"""The beam search page: fields, the tree, the tokens after a node, and two experiments."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from engine.decoding import MOST_BEAMS
from engine.study import MOST_EXACT, MOST_NODES
from ui.charts.figure import show_figure
from ui.labs import fields
from ui.labs.beam import view
from ui.labs.beam.charts import likely_figure, tree_figure
from ui.labs.beam.lab import BeamLab
from ui.labs.beam.tree import Place, tree_of
from ui.labs.page import Experiment, LabPage, notice_line
from ui.shell.fields import bound
from ui.shell.theme import is_dark
from ui.shell.work import look_every, owner, work_buttons, work_state
from ui.words.glossary import meaning
from ui.words.labels import markdown_text
from ui.words.language import marked, say
from ui.words.token_labels import TokenLabels, labels_of

MOST_TOKENS = 128
MOST_SHOWN = 24
EXAMPLES = {
    marked("Width matters"): "At the end of the day,",
    marked("The best text is short"): "The sun rises in the",
    marked("Greedy decoding loops"): "They think that",
    marked("Beams agree"): "The days of the week are Monday,",
    marked("Fact"): "Water freezes at",
}
STOPS = {
    "false": marked("no improvement likely (False)"),
    "true": marked("as many texts as beams (True)"),
    "never": marked("no improvement possible (never)"),
}
SCORES = {True: marked("plain sum"), False: marked("with length penalty")}


def _fields(lab: BeamLab) -> None:
    fields.prompt(lab, EXAMPLES)
    inputs, constraint = lab.inputs, fields.constraint(lab)
    with fields.row():
        fields.whole(lab, "width", say("Width"), 1, MOST_BEAMS, help=meaning("beam"))
        fields.real(lab, "length_penalty", say("Length penalty"), help=meaning("length penalty"))
        fields.choice(lab, "early_stopping", say("Early stopping"), fields.said(STOPS), width=300)
        fields.whole(lab, "groups", say("Groups"), 1, MOST_BEAMS, help=meaning("diverse groups"))
        fields.real(lab, "diversity_penalty", say("Diversity penalty"))
        fields.whole(lab, "max_new_tokens", say("Max tokens"), 1, MOST_TOKENS)
    is_open = bool(inputs.language or inputs.stop_strings)
    with st.expander(say("Constraint, stop strings"), expanded=is_open):
        with fields.row():
            constraint.language(width=230)
            hint = say("one per line")
            fields.text(lab, "stop_strings", say("Stop strings"), placeholder=hint, width=230)
        constraint.source()
    lab.begin_alone(owner())


# --- The tree -------------------------------------------------------------------------------------


def _picture(lab: BeamLab) -> None:
    if not lab.text.steps:
        return
    labels = labels_of(lab.text.model.vocabulary)
    left, right = st.columns([1.7, 1], gap="medium")
    with left:
        _tree(lab, labels)
    with right:
        _node(lab, labels)
    st.html(view.ranking_table(lab.text))


def _tree(lab: BeamLab, labels: TokenLabels) -> None:
    first, last = lab.columns
    tree = tree_of(lab.text.steps, first, last)
    show_figure(
        tree_figure(tree, labels.__getitem__, lab.chosen, is_dark()),
        "beam_tree",
        say("Tree of hypotheses, steps {first} to {last}", first=first + 1, last=last + 1),
        on_point=lambda place: lab.choose((int(place[0]), int(place[1]))),
    )
    st.caption(
        say(
            "Below a token: its log-probability, then Σ, the sum of its hypothesis. "
            "Press a node to see what may follow it. {hidden}",
            hidden=view.hidden(tree),
        )
    )
    newest = len(lab.text.steps)
    with fields.row():
        st.number_input(
            say("Steps shown"),
            1,
            MOST_SHOWN,
            lab.shown,
            width=130,
            **bound("beam_shown", lab.shown, lambda typed: typed and lab.show(shown=int(typed))),
        )
        if newest > 1:
            st.slider(
                say("Up to step"),
                1,
                newest,
                last + 1,
                width=260,
                **bound("beam_last", last + 1, lambda step: lab.show(last=step - 1)),
            )


def _node(lab: BeamLab, labels: TokenLabels) -> None:
    """Draw the field that selects a node, and the tokens that may follow it."""
    steps, place = lab.text.steps, lab.chosen
    first, last = lab.columns
    places: list[Place] = [
        (step, at) for step in range(first, last + 1) for at in range(len(steps[step].candidates))
    ]
    if place not in places:
        places.insert(0, place)
    # Names, not places: Streamlit returns the name if the list has changed.
    named = {view.place_name(steps, one, labels.__getitem__): one for one in places}
    name = view.place_name(steps, place, labels.__getitem__)
    st.selectbox(
        say("Node"),
        list(named),
        list(named).index(name),
        **bound("beam_node", name, lambda name: name in named and lab.choose(named[name])),
    )
    st.html(view.hypothesis(lab.inputs.prompt, steps, place))
    if not lab.has_following(place):
        st.caption(view.no_more(steps, place))
    elif (found := None if lab.player.is_busy else lab.following(place)) is not None:
        st.html(view.following_table(steps, place, found, labels.__getitem__))


# --- Experiments ----------------------------------------------------------------------------------


def _texts(lab: BeamLab) -> None:
    st.subheader(say("Likelier, blander?"), anchor=False)
    st.caption(
        say(
            "The whole beam search against greedy decoding and six samples with top-p 0.9, all "
            "from this prompt, with the same stop strings and constraint. Likelihoods are the "
            "model’s own."
        )
    )
    with fields.row():
        work_buttons(
            "beam_texts",
            say("Write the texts"),
            lab.texts,
            lab.begin,
            can_begin=bool(lab.text),
        )
    work = lab.texts
    if work is None:
        return
    work_state(work)
    if not work.texts:
        return
    if not work.is_running:
        notice_line(
            "beam_texts", view.texts_notice(work.texts) or say("Some of the texts are missing.")
        )
    left, right = st.columns([1, 1.5], gap="medium")
    with left:
        chart = likely_figure(work.texts, is_dark())
        alt = say("Texts by log-probability per token and distinct-1")
        show_figure(chart, "beam_likely", alt)
    with right:
        st.html(view.texts_list(work.inputs.prompt, work.texts))


def _exact(lab: BeamLab) -> None:
    st.subheader(say("Search error"), anchor=False, help=meaning("search error"))
    st.caption(
        say(
            "Is there a likelier text than the beams found? An exact search finds the best "
            "one and proves it by branch and bound; it reads at most {count} prefixes.",
            count=f"{MOST_NODES:,}",
        )
    )
    if lab.inputs.language:
        st.caption(
            say("Both keep to the constraint: the best text is the best of all that it allows.")
        )
    if lab.inputs.stop_strings:
        st.caption(
            say("Stop strings play no part here: the best text and the beams continue past them.")
        )
    with fields.row():
        fields.whole(lab, "exact_tokens", say("Maximum tokens"), 1, MOST_EXACT)
        fields.choice(lab, "exact_by_sum", say("Score"), fields.said(SCORES), width=230)
        work_buttons(
            "beam_exact",
            say("Prove the best"),
            lab.exact,
            lab.begin_exact,
            can_begin=bool(lab.text),
        )
    work = lab.exact
    if work is None:
        return
    if work.is_running:
        work_state(work)
        return
    if work.problem:
        st.error(markdown_text(work.problem))
    found = work.result
    if found is None:
        return
    notice_line("beam_exact", view.verdict(found, work.inputs))
    st.html(view.misses_table(found))
    st.caption(markdown_text(view.proof(found, str(lab.model.facts.get("dtype", "")))))


PAGE = LabPage(
    BeamLab,
    marked("Beam search"),
    marked("The best few hypotheses are extended together; the rest are pruned."),
    _fields,
    _picture,
    lambda lab: view.notice(lab.text),
    staged=lambda lab: view.staged(lab.inputs.prompt, lab.text),
    slider=fields.Slider("width", marked("Width"), 1, 12, 1),
    experiments=(
        Experiment(marked("the texts"), _texts, lambda lab: look_every(lab.texts)),
        Experiment(marked("the exact search"), _exact, lambda lab: look_every(lab.exact)),
    ),
    styles=(Path(__file__).with_suffix(".css"),),
)
