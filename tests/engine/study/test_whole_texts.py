"""All texts of a constraint, against every token path tried one by one."""

import math
import threading

import numpy as np
import pytest
import torch

from engine.errors import PromptError, SettingError
from engine.model import LanguageModel
from engine.sampling.samplers import Constraint
from engine.study.whole_texts import ENOUGH, Walk
from tests.engine.grammar.language import alt, may_end, may_follow, seq, text, times

PROMPT = "the"
CONSTRAINT = Constraint("regex", "(the|a){1,2}n?")
LANGUAGE = seq(times(alt(text("the"), text("a")), 1, 2), times(text("n"), 0, 1))


@pytest.fixture(scope="module")
def model(text_hf, tokenizer) -> LanguageModel:
    return LanguageModel(text_hf, tokenizer, name="tiny text model")


def walked(model, constraint=CONSTRAINT, **limits):
    walk = Walk(model, PROMPT, constraint, **{"enough": 0} | limits)
    return walk, list(walk.run())


def logprobs(model: LanguageModel, ids: list[int]) -> np.ndarray:
    """Logprobs after these tokens, from one transformers pass without a cache."""
    with torch.inference_mode():
        logits = model.hf(torch.tensor([ids]), use_cache=False).logits[0, -1]
    return torch.log_softmax(logits.double(), -1).numpy()


def brute_force(model: LanguageModel) -> dict[bytes, tuple[int, float, float]]:
    """Text -> paths, p and q: every token path, judged by an independent reading."""
    vocabulary = model.vocabulary
    pieces = {
        i: vocabulary.token_bytes(i)
        for i in range(model.vocab_size)
        if not vocabulary.is_special(i) and vocabulary.token_bytes(i)
    }
    end = model.eos_ids[0]
    found: dict[bytes, tuple[int, float, float]] = {}
    todo = [((), b"", 0.0, 0.0)]
    while todo:
        ids, data, p, q = todo.pop()
        row = logprobs(model, [*vocabulary.encode(PROMPT), *ids])
        allowed = [i for i, piece in pieces.items() if may_follow(LANGUAGE, data + piece)]
        ends = [end] if may_end(LANGUAGE, data) else []
        mass = math.log(math.fsum(math.exp(row[i]) for i in [*allowed, *ends]))
        for i in ends:
            paths, own, masked = found.get(data, (0, 0.0, 0.0))
            p_end, q_end = p + row[i], q + row[i] - mass
            found[data] = paths + 1, own + math.exp(p_end), masked + math.exp(q_end)
        todo += [((*ids, i), data + pieces[i], p + row[i], q + row[i] - mass) for i in allowed]
    return found


def test_walk_matches_brute_force_for_every_text(model):
    walk, steps = walked(model)
    result, expected = walk.result, brute_force(model)
    assert result.is_exact and result.missing == result.masked_missing == 0
    assert {each.text.encode() for each in result.texts} == set(expected) and len(expected) == 12
    total = math.fsum(own for _, own, _ in expected.values())
    assert result.mass == pytest.approx(total, rel=1e-4)
    for each in result.texts:
        paths, own, masked = expected[each.text.encode()]
        assert each.paths == paths
        assert each.probability == pytest.approx(own, rel=1e-4)
        assert each.conditional == pytest.approx(own / total, rel=1e-4)
        assert each.masked == pytest.approx(masked, rel=1e-4)
    assert result.paths == sum(paths for paths, _, _ in expected.values()) > len(expected)
    assert math.fsum(each.masked for each in result.texts) == pytest.approx(1)
    shares = np.array([(each.conditional, each.masked) for each in result.texts])
    distance = np.abs(shares[:, 0] - shares[:, 1]).sum() / 2
    divergence = (shares[:, 1] * np.log2(shares[:, 1] / shares[:, 0])).sum()
    assert result.total_variation == pytest.approx(distance) and distance > 0.01
    assert result.kl_bits == pytest.approx(divergence) and divergence > 0
    assert [each.passes for each in steps] == list(range(1, result.passes + 1))
    assert steps[-1].mass == pytest.approx(result.mass) and steps[-1].missing < 1e-12


def test_masking_changes_nothing_with_a_single_path(model):
    result = walked(model, Constraint("choices", ["a", "b"]))[0].result
    assert result.total_variation > 0
    single = walked(model, Constraint("choices", ["b"]))[0].result
    assert (single.total_variation, single.kl_bits) == pytest.approx((0, 0), abs=1e-12)
    assert single.texts[0].conditional == pytest.approx(1) == single.texts[0].masked


def test_shortened_walk_bounds_the_missing_mass(model):
    whole = walked(model)[0].result
    exact = {each.text: each for each in whole.texts}
    for most in (1, 8):
        part = walked(model, most_passes=most)[0].result
        assert part.passes == most and not part.is_exact
        assert part.mass <= whole.mass * (1 + 1e-6) <= (part.mass + part.missing) * (1 + 2e-6)
        drawn = math.fsum(each.masked for each in part.texts)
        assert drawn + part.masked_missing == pytest.approx(1)
        for each in part.texts:
            assert each.probability <= exact[each.text].probability * (1 + 1e-6)


def test_endless_constraint_stops_early_or_at_limits(model):
    endless = Constraint("regex", "a+")
    walk, steps = walked(model, endless, most_passes=40, enough=ENOUGH)
    assert not walk.result.is_exact and walk.result.missing > 0 and len(steps) <= 40
    short = walked(model, endless, most_tokens=2)[0].result
    assert 0 < short.masked_missing < 1 and not short.is_exact
    assert max(len(each.text) for each in short.texts) >= 2


def test_cancelled_walk_resumes(model):
    cancel = threading.Event()
    walk = Walk(model, PROMPT, CONSTRAINT, enough=0)
    for step in walk.run(cancel):
        if step.passes == 5:
            cancel.set()
    assert walk.result.passes == 5
    assert list(walk.run(cancel)) == []
    for _ in walk.run():
        pass
    whole = walked(model)[0].result
    assert [(t.text, t.paths) for t in walk.result.texts] == [
        (t.text, t.paths) for t in whole.texts
    ]


def test_invalid_walk_is_refused(model, text_model):
    with pytest.raises(SettingError, match="has no end-of-text token"):
        Walk(text_model, PROMPT, CONSTRAINT)
    with pytest.raises(PromptError):
        Walk(model, "", CONSTRAINT)
    with pytest.raises(SettingError, match="most_passes"):
        Walk(model, PROMPT, CONSTRAINT, most_passes=0)


def test_dropped_children_count_as_missing(model, monkeypatch):
    monkeypatch.setattr("engine.study.whole_texts._MOST_CHILDREN", 3)
    anything = Constraint("regex", "[a-z]{0,3}")
    result = walked(model, anything, most_passes=1)[0].result
    place = model.places.at(anything.language, anything.source, ())
    row = logprobs(model, model.vocabulary.encode(PROMPT))
    refused = float(np.exp(row[~place.allowed]).sum())
    assert result.missing == pytest.approx(1 - result.mass - refused, abs=1e-6)
    assert [found.text for found in result.texts][:2] == [""]
