"""Every mask against an independent reading of the same language, token by token."""

import numpy as np
import pytest

from engine.model import LanguageModel
from tests.engine.grammar import language
from tests.engine.grammar.audited import AUDITED
from tests.engine.grammar.language import Trie

PLACES = 6  # places in each constraint, along a random text


@pytest.fixture(scope="module")
def trie(bundled: LanguageModel) -> Trie:
    vocabulary = bundled.vocabulary
    tokens = [vocabulary.token_bytes(token_id) for token_id in range(vocabulary.size)]
    return Trie.of(tokens, frozenset(vocabulary.special_ids))


def audit(bundled: LanguageModel, trie: Trie, name: str, places: int) -> tuple[int, int]:
    """Compare whole masks along a random text; return the numbers of allowed and refused tokens."""
    constraint, expression = AUDITED[name]
    rng = np.random.default_rng(list(AUDITED).index(name))
    ids: list[int] = []
    state, allowed, refused = language.start(expression), 0, 0
    for _ in range(places):
        place = bundled.places.at(constraint.language, constraint.source, ids)
        expected = trie.allowed(state, bundled.vocab_size)
        may_end = language.ends(state)
        expected[list(bundled.eos_ids)] = may_end
        wrong = np.flatnonzero(place.allowed != expected)
        labels = [bundled.vocabulary.label(int(i)) for i in wrong[:5]]
        assert not wrong.size, f"{name} after {ids}: {wrong.size} tokens differ, first {labels}"
        assert place.may_end == may_end and place.broken_at is None
        expected[list(bundled.eos_ids)] = False
        assert place.must_end == (may_end and not expected.any())
        allowed += int(place.allowed.sum())
        refused += int((~place.allowed).sum())
        if not expected.any():
            break
        choices = np.flatnonzero(expected)
        # Half the time take a short token, so that a choice or a number does not end at once.
        lengths = np.array([len(bundled.vocabulary.token_bytes(int(i))) for i in choices])
        if rng.random() < 0.5:
            choices = choices[lengths == lengths.min()]
        ids.append(int(rng.choice(choices)))
        for byte in bundled.vocabulary.token_bytes(ids[-1]):
            state = language.after(state, byte)
    return allowed, refused


@pytest.mark.parametrize("name", AUDITED)
def test_mask_is_right_for_every_token(name, bundled, trie):
    allowed, refused = audit(bundled, trie, name, PLACES)
    assert allowed and refused


def test_twenty_constraints_are_audited():
    assert len(AUDITED) >= 20
    assert {constraint.language for constraint, _ in AUDITED.values()} == {
        *("choices", "regex", "json_schema", "lark")
    }


def test_reference_reader_accepts_and_rejects_correctly():
    _, expression = AUDITED["order"]
    good = '{"paid":true, "sizes" : [ "S","XL"]}'
    assert language.may_end(expression, good.encode())
    for bad in ('{"paid":true}', good[:-1] + ",}", good.replace('"S"', '"s"'), good + " "):
        assert not language.may_end(expression, bad.encode())
    assert language.may_follow(expression, good[:-5].encode())
    assert not language.may_follow(expression, b'{"paid":t ')
