"""Edits of the generated text: the tokens kept, the tokens forced, and the branch."""

import pytest
from msgspec import structs

from engine.decoder import Decoder
from engine.sampling import SamplingSettings
from tests.bundled import bundled
from ui.step.edited import edited

GREEDY = SamplingSettings(temperature=0.0)


def written(text: str, *, end: bool = False) -> Decoder:
    """Return a text whose steps were forced to be these words."""
    model = bundled()
    decoder = Decoder(model, "Once upon a time", GREEDY)
    for token_id in model.vocabulary.encode_inside(text):
        decoder.step(token_id)
    if end:
        decoder.step(model.eos_ids[0])
    assert decoder.text == text
    return decoder


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        (" there was a cat.", " there was a dog.", 3),
        (" there was a cat", " there was a cats", 3),  # the change joins the last token
        (" there was a cat", " there was a cat and", 4),
        (" there was a cat", " there", 1),
        (" there was a cat", "", 0),
        (" there was a cat", " there was a cat", 4),
        (" the 🙂 said", " the 🙃 said", 2),  # inside a character
        (" there was", "there was", 0),
    ],
)
def test_edit_keeps_what_is_unchanged(old, new, kept):
    decoder = written(old)
    index, token_ids = edited(decoder.steps, new, decoder.model.vocabulary)
    spelled = b"".join(step.token_bytes for step in decoder.steps[:index])
    token_bytes = decoder.model.vocabulary.token_bytes
    assert (spelled + b"".join(map(token_bytes, token_ids))).decode() == new
    assert index == kept
    if token_ids:
        rest = decoder.model.vocabulary.encode_inside(new)
        assert [step.token_id for step in decoder.steps[:index]] + token_ids == rest


def test_text_after_an_end_replaces_the_end():
    decoder = written(" there was", end=True)
    vocabulary = decoder.model.vocabulary
    assert edited(decoder.steps, " there was a", vocabulary) == (2, vocabulary.encode_inside(" a"))
    assert edited(decoder.steps, " there was", vocabulary) == (3, [])


def test_edit_makes_a_branch_of_forced_tokens(visitor, session):
    before = visitor.steps(6)
    text = session.decoder.text
    new = text[: len(text) // 2] + " suddenly stopped"
    visitor.do("edit", prompt=new)
    assert session.error == "" and session.decoder.text == new
    branch = session.branches[session.current]
    assert (session.current, branch.parent) == (2, 1)
    steps = session.decoder.steps[branch.departs_at :]
    assert steps and all(step.forced for step in steps)
    assert [step.token_id for step in session.branches[1].decoder.steps] == before
    visitor.steps(1)
    assert not session.decoder.steps[-1].forced


def test_edit_that_changes_nothing_makes_no_branch(visitor, session):
    visitor.steps(4)
    visitor.do("edit", prompt=session.decoder.text)
    assert session.error == "" and len(session.branches) == 1


def test_late_or_foreign_edit_is_refused(visitor, session):
    visitor.steps(4)
    late = visitor.event("edit", prompt="Hi")
    visitor.steps(1)
    session.apply(late)
    assert session.error == "", "it was done before"
    visitor.number += 1
    session.apply(structs.replace(late, number=visitor.number))
    assert "moved on" in session.error and len(session.branches) == 1
