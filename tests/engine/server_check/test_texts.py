"""Greedy texts of a real server: in a crowd, on two engines, with speculation."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from engine import Decoder, SamplingSettings, connect, load_model
from engine.decoding import SpeculativeDecoder
from engine.errors import CapabilityError, ServerError
from engine.model import BUNDLED_DRAFT
from engine.sampling.speculation import SpeculativeSettings
from engine.server_check import crowd, engines
from engine.server_check.crowd import check_crowd, crowded
from engine.server_check.engines import check_engines
from engine.server_check.finding import AS_EXPECTED, DIFFERS, OPEN
from engine.server_check.greedy import Place
from engine.server_check.speculation import check_speculation
from engine.study import Acceptance
from tests.engine.backend.llama_server import LlamaServer

PROMPT = "Once upon a time"
GREEDY = SamplingSettings(temperature=0)


@pytest.fixture(scope="module")
def ids(remote):
    return remote.vocabulary.encode(PROMPT)


def test_crowd_gets_answers_beside_the_text(remote, ids):
    found = check_crowd(remote, ids, 3, 8)
    assert found.answers >= 3 and found.parts_alone is None
    # The text is not so close anywhere that rounding could decide a choice.
    assert (found.outcome, found.parts, len(found.steps)) == (AS_EXPECTED, None, 8)
    assert 0 <= found.moved < 1e-3
    assert "same 8 tokens" in found.sentences[0]
    assert [len(row) for row in found.sheets[0].rows] == [6] * 8


def place(best, gap):
    ids = np.array([best, 1 - best])
    return Place(best, gap, ids, np.array([-0.5, -0.5 - gap]))


def test_first_difference_is_shown_with_its_gap(remote, ids, monkeypatch):
    alone = [place(0, 3.0), place(0, 0.001), place(0, 3.0)]
    among = [place(0, 3.0), place(1, 0.001), place(1, 3.0)]
    readings = iter([alone, alone, among])
    monkeypatch.setattr(crowd, "greedy", lambda *_: next(readings))
    found = check_crowd(remote, ids, 1, 3)
    assert (found.outcome, found.parts, len(found.steps)) == (DIFFERS, 1, 2)
    assert "token 2 differs" in found.sentences[0]
    assert "0.0010 nats apart" in found.sentences[0]
    assert found.steps[0].moved == 0


def test_lost_server_ends_the_crowd(remote, ids):
    def lost(*_, **__):
        raise ServerError("{server} cannot be reached.", "it")

    model = SimpleNamespace(dialect=SimpleNamespace(next_scores=lost), count=9)
    with pytest.raises(ServerError), crowded(model, ids, 2, 4):
        pass


def test_text_that_nothing_crowds_decides_nothing(remote, ids, monkeypatch):
    description = replace(remote.description, slots=1)
    single = SimpleNamespace(description=description, name="single")
    with pytest.raises(CapabilityError, match="one text at a time"):
        check_crowd(single, ids, 3, 4)
    monkeypatch.setattr(crowd, "greedy", lambda *_: [place(0, 3.0)])  # over at once
    assert check_crowd(remote, ids, 1, 1).outcome == OPEN


def test_same_model_here_chooses_the_same_tokens(remote, local, ids):
    found = check_engines(remote, local, ids, 8)
    assert (found.outcome, found.parts, len(found.pairs)) == (AS_EXPECTED, None, 8)
    assert 0 < max(each.apart for each in found.pairs) < 1e-3


def test_smaller_model_parts_and_says_where(remote, ids):
    draft = load_model(BUNDLED_DRAFT, dtype="float32")
    found = check_engines(remote, draft, ids, 16)
    assert found.outcome == DIFFERS
    pair = found.pairs[found.parts]
    assert pair.here != pair.there
    assert all(each.here == each.there for each in found.pairs[: found.parts])
    assert f"part at token {found.parts + 1}" in found.sentences[0]
    assert len(found.pairs) == 16


def test_other_tokens_are_refused(remote, ids):
    vocabulary = SimpleNamespace(has_tokens_of=lambda vocabulary: False)
    other = SimpleNamespace(name="other", vocabulary=vocabulary)
    with pytest.raises(CapabilityError, match="has other tokens than"):
        check_engines(remote, other, ids, 4)


def test_server_without_draft_proposes_nothing(remote, ids):
    found = check_speculation(remote, ids, 6)
    assert (found.tokens, found.outcome) == (6, AS_EXPECTED)
    assert set(found.counted.values()) == {0.0}
    assert "was proposed by a draft" in found.sentences[0]


def test_acceptance_counts_match_ours(gguf_file, draft_file, local, ids):
    """A server with a draft counts as `Acceptance` does, over the same greedy text."""
    with LlamaServer(gguf_file, slots=1, draft=draft_file) as server:
        found = check_speculation(connect(server.address, tokenizer=local.tokenizer), ids, 64)
    # The server takes the first token from the prompt's own pass.
    first = Decoder(local, ids, GREEDY).step().token_id
    draft = load_model(BUNDLED_DRAFT, dtype="float32")
    settings = SpeculativeSettings(GREEDY, draft_length=4, max_new_tokens=63)
    ours = SpeculativeDecoder(local, [*ids, first], draft, settings)
    counts = Acceptance.of(ours.run())
    assert (found.tokens, found.outcome) == (64, AS_EXPECTED)
    assert found.drafted == sum(counts.proposed) > found.accepted == sum(counts.accepted) > 0
    drafts = "llamacpp:spec_decode_num_drafts_total"
    assert found.counted[drafts] == counts.drafted


@pytest.mark.parametrize(("counted", "outcome"), [(9.0, AS_EXPECTED), (8.0, DIFFERS), (12.0, OPEN)])
def test_counters_are_compared_with_the_answer(changed, ids, counted, outcome):
    name = "llamacpp:spec_decode_num_draft_tokens_total"
    changed.dialect.counters = [{name: 4.0}, {name: 4.0 + counted}]
    changed.dialect.drafted = (9, 3)
    found = check_speculation(changed, ids, 4)
    assert found.outcome == outcome
    assert "proposed 9 and accepted 3 (33 %)" in found.sentences[0]


def test_server_that_counts_nothing_leaves_it_open(changed, ids):
    changed.dialect.counters = [{}, {}]
    found = check_speculation(changed, ids, 4)
    assert (found.outcome, found.sheets) == (OPEN, [])


def test_ties_are_counted(remote):
    step = crowd.Step("a", "a", 0.0, None, 0.1)
    found = crowd.Crowd(1, 1, (step, replace(step, gap=1.0)), None, None)
    assert found.ties == 1 and any("equally likely" in each for each in found.sentences)
    assert engines.Engines("x", (), None).sentences
