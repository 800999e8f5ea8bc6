"""Everyday facts: the notation of tables, all wordings well-formed, and no test prompt."""

import random
import re

import pytest

from models.training.evaluation.facts import check_unseen
from models.training.own_texts import SEED
from models.training.own_texts.facts import passages
from models.training.own_texts.facts.table import Table, parse_tables
from models.training.own_texts.facts.telling import all_tables
from models.training.own_texts.tales import tales

HOMES = """animal; home

{A animal} lives in {a home}.
[Here|There] are {animal.many}.

mouse/mice; hole
owl; tree
"""


def test_table_states_facts_in_all_wordings():
    (table,) = parse_tables(HOMES)
    mouse, owl = table.facts
    said = {table.say(mouse, random.Random(seed)) for seed in range(40)}
    assert said == {"A mouse lives in a hole.", "Here are mice.", "There are mice."}
    said = {table.say(owl, random.Random(seed)) for seed in range(40)}
    assert said == {"An owl lives in a tree.", "Here are owls.", "There are owls."}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("\n\nmouse", "\nmouse"), "got 2 parts"),
        (("{a home}", "{a house}"), "house is used but not declared"),
        (("[Here", "Here"), "brackets do not match"),
        (("mouse/mice; hole", "mouse/mice"), "must have animal, home, got 'mouse/mice'"),
    ],
)
def test_malformed_table_is_refused(change: tuple[str, str], said: str):
    with pytest.raises(ValueError, match=said):
        parse_tables(HOMES.replace(*change))


@pytest.mark.parametrize("table", all_tables(), ids=lambda table: table.wordings[0])
def test_wordings_give_well_formed_sentences(table: Table):
    assert len(set(map(str, table.facts))) == len(table.facts)
    chance = random.Random(1)
    article = r"\b[Aa] ([aeio]\w|hour)|\b[Aa]n [bcdfgjklmnpqrstvwxyz]"
    wrong = rf"[\[\]{{}}|]|  | [.,!?]|,[,.]|\.,|\bn't|{article}"
    for fact in table.facts:
        for text in {table.say(fact, chance) for _ in range(40)}:
            assert not re.search(wrong, text), text
            assert text[0].isupper() or text[0] == '"', text
            assert text[-1] in '.!?"' and text.count('"') % 2 == 0, text


def test_passages_cover_every_fact_and_are_reproducible():
    assert passages(100, seed=5)[:50] == passages(50, seed=5) != passages(50, seed=6)
    many = [text.lower() for text in passages(6_000, seed=5)]
    for table in all_tables():
        for fact in table.facts:
            words = [(word.text.lower(), word.many.lower()) for word in fact.values()]
            assert any(
                sum(one in text or plural in text for one, plural in words) >= 2 for text in many
            ), f"nothing says {fact}"


def test_training_texts_contain_no_evaluation_prompt():
    ours = [*passages(1_000, SEED), *tales(500, SEED)]  # training checks all texts
    check_unseen(ours)
    with pytest.raises(ValueError, match="Hot and cold are opposites"):
        check_unseen([*ours, "Hot and cold are OPPOSITES, and so are big and small."])
