"""Figures of a constraint on a text, against sums over the whole vocabulary."""

import math

import numpy as np
import pytest

from engine.decoder import Decoder
from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Constraint
from engine.study.constraint import figures_at, ribbon

NUMBER = Constraint("regex", "-?[0-9]{2,4}\\.[0-9]{2}")


@pytest.fixture(scope="module")
def model(text_hf, tokenizer) -> LanguageModel:
    return LanguageModel(text_hf, tokenizer, name="tiny text model")


@pytest.fixture(scope="module")
def text(model) -> Decoder:
    """A text under a penalty and a temperature, which the figures ignore."""
    return written(model, temperature=1.3, repetition_penalty=1.2, top_k=3, seed=2)


def written(model, **chosen) -> Decoder:
    decoder = Decoder(model, "a", SamplingSettings(constraint=NUMBER, **chosen))
    list(decoder.run(30))
    return decoder


def test_figures_match_sums_over_the_vocabulary(text):
    for step in text.steps:
        figures = figures_at(text, step.index)
        logits = text.logits(step.index).astype(np.float64)
        probs = np.exp(logits - logits.max())
        probs /= probs.sum()
        place = NUMBER.place(text.context(step.index))
        assert figures.allowed == place.allowed.sum()
        assert figures.allowed_mass == pytest.approx(probs[place.allowed].sum(), rel=1e-9)
        assert figures.price_bits == pytest.approx(-math.log2(figures.allowed_mass), abs=1e-9)
        refused = [i for i in np.argsort(-probs, kind="stable").tolist() if not place.allowed[i]]
        assert [each.token_id for each in figures.wanted] == refused[:5]
        for each in figures.wanted:
            assert each.probability == pytest.approx(probs[each.token_id], rel=1e-6)
            assert each.rank == 1 + (probs > probs[each.token_id]).sum()
        assert figures.is_forced == (figures.allowed == 1)
    last = figures_at(text, len(text.steps) - 1)
    assert last.must_end and last.may_end and last.is_forced and last.forced_bytes == b""
    assert not figures_at(text, 0).may_end


def test_price_is_the_gap_between_both_probabilities(model):
    plain = written(model, seed=7)
    price = sum(figures_at(plain, step.index).price_bits for step in plain.steps)
    masked = sum(math.log2(step.probability) for step in plain.steps)
    own = sum(step.logprob for step in plain.steps) / math.log(2)
    assert price == pytest.approx(masked - own, abs=1e-6) and price > 1


def test_another_constraint_applies_from_the_beginning(text):
    wider = Constraint("regex", "[-0-9.]*")
    for step in text.steps[:-1]:
        figures = figures_at(text, step.index, wider, most_wanted=0)
        assert figures.may_end and figures.wanted == ()
        assert figures.price_bits <= figures_at(text, step.index).price_bits + 1e-9


def test_a_step_without_a_constraint_has_no_figures(model):
    free = Decoder(model, "a", SamplingSettings(seed=1))
    free.step()
    with pytest.raises(SettingError, match="was taken without a constraint"):
        figures_at(free, 0)
    assert figures_at(free, 0, NUMBER).allowed < model.vocab_size


@pytest.mark.parametrize(
    ("constraint", "data", "forced", "complete", "broken"),
    [
        (Constraint("choices", ["yes", "yellow"]), "yes", "##.", True, None),
        (Constraint("choices", ["yes", "yellow"]), "yell", "##.#", False, None),
        (Constraint("regex", "a[0-9]b?"), "a7b", "#..", True, None),
        (Constraint("regex", "a[0-9]b?"), "a7x", "#..", False, 2),
        (Constraint("regex", "ab"), "xab", "...", False, 0),
        (Constraint("choices", ["é"]), "é", "##", True, None),
    ],
)
def test_ribbon_marks_forced_bytes(constraint, data, forced, complete, broken):
    found = ribbon(constraint, data.encode())
    assert "".join(".#"[each] for each in found.forced) == forced
    assert (found.is_complete, found.broken_at) == (complete, broken)
