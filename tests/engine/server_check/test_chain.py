"""The sampler chain of a real llama.cpp server against ours."""

import pytest

from engine.errors import CapabilityError
from engine.sampling.samplers import Xtc
from engine.server_check import chain as chains
from engine.server_check import samplers
from engine.server_check.chain import check_chain
from engine.server_check.finding import AS_EXPECTED, DIFFERS
from engine.server_check.raw import check_raw
from engine.server_check.text import said_twice


@pytest.fixture(scope="module")
def chain(remote):
    return check_chain(remote, said_twice(remote, "He said: my favourite animal is the"))


def test_every_chain_of_llama_cpp_agrees(chain):
    assert (len(chain.compared), len(chain.ordered)) == (14, 3)
    for each in chain.compared + chain.ordered:
        # All on one cached row: the difference measured is 0.0005 nats.
        assert each.agrees and each.nats < 2e-3, each
        assert each.ours == each.theirs
    assert chain.outcome == AS_EXPECTED
    assert "11 of 14 samplers" in chain.sentences[0]


def test_conventions_are_named(chain):
    read = {each.chain.split()[0]: each for each in chain.compared}
    assert "counts the prompt" in read["presence_penalty"].convention
    assert "counts the prompt" in read["frequency_penalty"].convention
    assert "repetitions end at" in read["dry"].convention
    for name in ("presence_penalty", "frequency_penalty", "dry"):
        assert not read[name].is_ours and read[name].first > 1e-3
    assert read["repetition_penalty"].is_ours
    assert read["repetition_penalty"].convention.startswith("its logits are the listed values plus")
    assert read["top_p"].convention == ""


@pytest.fixture
def short(monkeypatch):
    """Compare the likeliest tokens only, which is faster."""
    monkeypatch.setattr(chains, "MOST_LISTED", 200)


def test_line_breaks_are_removed_by_xtc(remote, short, monkeypatch):
    """After a pause the line break is a top choice: ours spares it, llama.cpp does not."""

    def xtc_only(*given):
        return [each for each in samplers.tested(*given) if isinstance(each, Xtc)]

    monkeypatch.setattr(chains, "tested", xtc_only)
    found = check_chain(remote, said_twice(remote, "One, two.\nOne, two."))
    (xtc,) = [each for each in found.compared if each.chain.startswith("xtc")]
    assert xtc.agrees and not xtc.is_ours
    assert "line breaks" in xtc.convention


def test_fixed_order_is_found(changed, remote, short, monkeypatch):
    monkeypatch.setattr(chains, "tested", lambda *_: [])
    changed.dialect.fixed_order = True
    found = check_chain(changed, said_twice(remote, "He said: my favourite animal is the"))
    assert found.outcome == DIFFERS
    assert not all(each.agrees for each in found.ordered)
    assert any("no reading known here explains it" in each for each in found.sentences)


def test_hidden_final_probabilities_are_said(changed, remote, short):
    changed.dialect.hides_final = True
    with pytest.raises(CapabilityError, match="gave no probabilities after its samplers"):
        check_chain(changed, said_twice(remote, "Hello"))


def test_raw_rows_do_not_move(remote):
    found = check_raw(remote, said_twice(remote, "Hello there"))
    assert found.outcome == AS_EXPECTED and found.listed == remote.vocab_size
    assert all(each.is_raw for each in found.sent) and found.total == pytest.approx(1, abs=1e-3)


def test_processed_rows_are_found(changed, remote):
    changed.dialect.processes = True
    found = check_raw(changed, said_twice(remote, "Hello there"))
    assert found.outcome == DIFFERS
    tempered = next(each for each in found.sent if each.name == "temperature 2")
    assert tempered.moved == pytest.approx(tempered.would_move, rel=0.2)
    assert any(each.startswith("They are processed: temperature 2") for each in found.sentences)
