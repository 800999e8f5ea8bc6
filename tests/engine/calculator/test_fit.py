"""Fitting on a card: the largest batch and context are the largest, and bad numbers are named."""

import pytest

from engine.cache_formula import IDEAL, Paged
from engine.calculator.cards import Card, known_cards
from engine.calculator.fit import Fit
from engine.calculator.sources import Described
from engine.calculator.storages import WEIGHT_STORAGES
from engine.calculator.weights import estimate
from engine.errors import SettingError

HALF = WEIGHT_STORAGES["bfloat16 or float16"]
H100 = known_cards()["NVIDIA H100 SXM"]


def fit(name: str = "Llama 3.1 8B", card: Card = H100, reserve: float = 0.1, layout=None) -> Fit:
    one = estimate(Described.named(name))
    return Fit(one.formula, one.weights, HALF, card, reserve, layout or Paged(16))


@pytest.mark.parametrize(
    ("name", "layout"),
    [("Llama 3.1 8B", IDEAL), ("Gemma 3 12B", Paged(16)), ("Mistral 7B v0.1", Paged(256))],
)
def test_largest_batch_and_context_just_fit(name, layout):
    one = fit(name, layout=layout)
    batch = one.largest_batch(8_192)
    assert one.fits(batch, 8_192) and not one.fits(batch + 1, 8_192)
    context = one.largest_context(4)
    if context is not None:
        assert one.fits(4, context) and not one.fits(4, context + 1)
    else:
        assert name == "Mistral 7B v0.1", "only its cache stops growing"


def test_fit_matches_hand_calculation():
    one = fit(reserve=0.0, layout=IDEAL)
    left = 80 * 10**9 - 2 * 8_030_261_248
    assert one.cache_memory == left
    assert one.largest_batch(8_192) == left // (131_072 * 8_192) == 59
    read = 2 * (8_030_261_248 - 128_256 * 4_096) + 131_072 * 8_192
    assert one.tokens_per_second(1, 8_192) == pytest.approx(3_350e9 / read)


def test_oversized_model_leaves_no_room():
    one = fit("Llama 3.1 70B")
    assert one.cache_memory < 0
    assert one.largest_batch(1) == 0 and one.largest_context(1) == 0


def test_constant_size_state_does_not_limit_context():
    one = fit("Mamba 2.8B")
    assert one.largest_context(64) is None
    assert one.cache_bytes(1, 1) == one.cache_bytes(1, 10**6)


def test_larger_batch_reads_more_experts_up_to_all():
    weights = estimate(Described.named("Qwen3 30B-A3B")).weights
    read = [weights.bytes_read(HALF, batch) for batch in (1, 2, 8, 10**6)]
    assert read == sorted(read) and len(set(read)) == 4
    assert read[0] == 2 * weights.active
    assert read[-1] == 2 * (weights.total - weights.unread)


@pytest.mark.parametrize(
    ("card", "reserve", "said"),
    [
        (Card("own", 0, 100), 0.1, "memory of the card must be above 0, got 0"),
        (Card("own", 80, -1), 0.1, "bandwidth of the card must be above 0"),
        (Card("own", float("nan"), 1), 0.1, "memory of the card"),
        (H100, 1.0, "reserve must be from 0 to below 1"),
    ],
)
def test_impossible_card_numbers_are_refused(card, reserve, said):
    with pytest.raises(SettingError, match=said):
        fit(card=card, reserve=reserve)


def test_zero_batch_and_zero_context_are_refused():
    with pytest.raises(SettingError, match="batch must be at least 1"):
        fit().fits(0, 100)
    with pytest.raises(SettingError, match="context must be at least 1"):
        fit().fits(1, 0)
