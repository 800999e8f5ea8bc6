"""Cache layers that can be cropped, repeated and shared: listed by exact type, and tested."""

import pytest
import torch
from transformers import DynamicCache
from transformers.cache_utils import (
    DynamicIndexedLayer,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionLayer,
)

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.model import cache as caches
from engine.model.cache import can_repeat
from tests.engine.model import small_configs
from tests.engine.runs import assert_same_run, finished, rows, sampling

# Layers that a model brings along, with more state than their base classes.


def test_deepseek_v4_rewinds_exactly_before_its_window_is_full():
    """Try layers that compress every 4 and every 8 positions, and a window of 12."""
    model = LanguageModel(small_configs.build("deepseek_v4"))
    decoder = finished(Decoder(model, [5, 11, 3, 29, 17], sampling(1)), 7)
    ids, logits = decoder.token_ids, rows(decoder)
    for keep in (1, 4, 5, 6):
        decoder.rewind(keep)
        assert_same_run(finished(decoder, 7), ids, logits, f"After rewind({keep})")


NEW = torch.ones(1, 2, 1, 4)  # (1, heads, tokens, size)


class CountingLayer(DynamicLayer):
    """A layer that inherits everything and adds a count that its base class does not know."""

    def __init__(self):
        super().__init__()
        self.seen = [0]

    def update(self, key_states, value_states, *args, **kwargs):
        self.seen[0] += key_states.shape[-2]
        return super().update(key_states, value_states)


def filled(layer, tokens: int = 6) -> DynamicCache:
    """A cache of one layer that has read some tokens."""
    cache = DynamicCache()
    cache.layers = [layer]
    grow(cache, torch.arange(2.0 * tokens * 4).reshape(1, 2, tokens, 4))
    return cache


def grow(cache: DynamicCache, vectors: torch.Tensor = NEW) -> None:
    """Read one more token for each of the vectors, (1, heads, tokens, size)."""
    layer = cache.layers[0]
    layer.update(vectors, -vectors)
    if isinstance(layer, DynamicIndexedLayer):
        layer.update_indexer(vectors[:, 0])


def test_subclassed_layer_is_not_trusted():
    cache = filled(CountingLayer())
    assert cache.is_croppable, "transformers would crop it, and leave the count"
    assert not caches.can_crop(cache) and not can_repeat(cache)
    assert caches.forgets(cache), "rewinds need earlier states"
    assert not caches.holds_keys_and_values(cache), "no formula is trusted either"
    twin = caches.fork(cache)
    grow(twin)
    assert (cache.layers[0].seen, twin.layers[0].seen) == ([6], [7])


def test_layer_or_cache_with_extra_state_is_not_trusted():
    layer, whole = filled(DynamicLayer()), filled(DynamicLayer())
    assert caches.can_crop(layer) and can_repeat(layer) and not caches.forgets(layer)
    layer.layers[0].extra = torch.zeros(1, 2)
    whole.linear_cache = [torch.zeros(1, 2)]
    for cache in (layer, whole):
        assert not caches.can_crop(cache) and not can_repeat(cache) and caches.forgets(cache)
    caches.fork(layer).layers[0].extra += 1
    caches.fork(whole).linear_cache[0] += 1
    assert not layer.layers[0].extra.any() and not whole.linear_cache[0].any(), "a fork shares it"


# Layers that transformers defines.


@pytest.mark.parametrize(
    "layer",
    [DynamicLayer, DynamicIndexedLayer, lambda: DynamicSlidingWindowLayer(sliding_window=9)],
    ids=["full", "indexed", "sliding"],
)
def test_known_layers_crop_repeat_and_fork_exactly(layer):
    cache, shorter = filled(layer()), filled(layer())
    assert caches.can_crop(cache) and can_repeat(cache)
    before = state(cache)

    twin = caches.fork(cache)
    grow(twin)
    caches.crop(twin, 4)
    assert same(state(cache), before), "a fork wrote into its parent"

    caches.crop(shorter, 4)
    assert same(state(shorter), state(twin)), "cropping took off other positions"
    assert all(tensor.shape[-2] == 4 for tensor in state(shorter).values())

    cache.batch_repeat_interleave(3)
    cache.batch_select_indices(torch.tensor([2]))
    assert same(state(cache), before), "repeating and thinning out changed a row"


def test_a_full_window_cannot_be_cropped():
    assert not caches.can_crop(filled(DynamicSlidingWindowLayer(sliding_window=6)))


def test_recurrent_layers_are_known_but_cannot_be_cropped():
    cache = DynamicCache()
    cache.layers = [LinearAttentionLayer()]
    cache.layers[0].update_conv_state(torch.ones(1, 4, 3))
    assert caches.is_known(cache)
    assert not caches.can_crop(cache) and not can_repeat(cache) and caches.forgets(cache)
    twin = caches.fork(cache)
    twin.layers[0].update_conv_state(torch.zeros(1, 4, 1))
    assert cache.layers[0].conv_states[0].all(), "a fork wrote into its parent"


def state(cache: DynamicCache) -> dict[str, torch.Tensor]:
    """All tensors of the only layer."""
    values = vars(cache.layers[0]).items()
    return {k: v for k, v in values if isinstance(v, torch.Tensor) and v.dim()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)
