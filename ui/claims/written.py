"""Texts of an experiment on the page: how much they repeat, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import streamlit as st

from engine.claims.texts import Written
from ui.measurements.section import Table
from ui.skeleton.tables import text_list
from ui.words.labels import stop_name, tokens_text
from ui.words.language import Literal, say

# Of both claims on loops, so that their figures are of the same texts.
PROMPTS = """They think that
The most important thing is
The meaning of life is
The old house stood
I would like to
We talked about
He said that he
He was not
The history of
The sun and the moon
In the middle of the forest
My favourite thing in the world is
One day, the king
She opened the box and
I think that the
It was a"""
LOOP_TOKENS = 96


def repeated_dots(
    texts: Sequence[Written], ways: Mapping[str, str]
) -> dict[str, list[tuple[str, float]]]:
    """By way: prompt and share of repeated 4-grams of each text that is long enough."""
    return {
        say(name): [
            (text.prompt, text.repeated)
            for text in texts
            if text.way == way and text.repeated is not None
        ]
        for way, name in ways.items()
    }


def texts_table(texts: Sequence[Written], ways: Mapping[str, str]) -> Table:
    """What each text measures, and the text."""
    rows = [
        (
            Literal(text.prompt),
            say(ways[text.way]),
            text.tokens,
            text.repeated,
            text.loop_tokens,
            stop_name(text.stop_reason),
            Literal(text.text),
        )
        for text in texts
    ]
    head = (
        say("prompt"),
        say("way"),
        say("tokens"),
        say("repeated 4-grams"),
        say("tokens in a loop"),
        say("ended by"),
        say("text"),
    )
    return Table(say("Texts"), head, rows)


def written_texts(texts: Sequence[Written], ways: Mapping[str, str]) -> None:
    """The texts to read, prompt by prompt."""
    for prompt, group in groupby(texts, key=lambda text: text.prompt):
        shown = [(_facts(text, say(ways[text.way])), text.text) for text in group]
        st.html(text_list(say("Texts of {name}", name=prompt), prompt, shown))


def _facts(text: Written, way: str) -> list[str]:
    facts = [way, tokens_text(text.tokens)]
    if text.looped:
        facts.append(say("loop of {tokens}", tokens=tokens_text(text.loop_tokens)))
    return facts
