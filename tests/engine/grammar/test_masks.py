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


@pytest.mark.parametrize("name", AUDITED)
def test_mask_is_right_for_every_token(name, bundled, trie):
    """Compare whole masks along a random text."""
    constraint, expression = AUDITED[name]
    rng = np.random.default_rng(list(AUDITED).index(name))
    ids: list[int] = []
    state, allowed, refused = language.start(expression), 0, 0
    for _ in range(PLACES):
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
    assert allowed and refused
