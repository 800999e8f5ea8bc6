"""The growing layer against transformers': same bits, separate forks, true sizes, few copies."""

import copy

import numpy as np
import pytest
import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from engine.model import LanguageModel, load_model
from engine.model import cache as caches
from engine.model.cache_layers import formula_of
from engine.model.cache_size import cache_size
from engine.model.growing_cache import BLOCK, GROWN, GrowingLayer, room_for
from engine.runner.runner import Runner
from tests.engine import tiny_models

ROWS, HEADS, SIZE = 2, 3, 4
TOKENS = 2 * BLOCK + 8  # two moves after the first room


def states(seed: int, tokens: int, rows: int = ROWS) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values of `tokens` tokens."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(rows, HEADS, tokens, size, generator=generator) for size in (SIZE, SIZE + 1)
    )


class Both:
    """One of our layers and one of transformers', which undergo the same operations."""

    def __init__(self, ours: GrowingLayer | None = None, theirs: DynamicLayer | None = None):
        self.ours, self.theirs = ours or GrowingLayer(), theirs or DynamicLayer()

    def update(self, seed: int, tokens: int, rows: int = ROWS) -> None:
        new = states(seed, tokens, rows)
        found, expected = self.ours.update(*new), self.theirs.update(*new)
        assert all(map(torch.equal, found, expected))
        self.check()

    def fork(self) -> "Both":
        return Both(self.ours.fork(), copy.copy(self.theirs))

    def do(self, name: str, *arguments: object) -> None:
        getattr(self.ours, name)(*arguments)
        getattr(self.theirs, name)(*arguments)
        self.check()

    def check(self) -> None:
        assert self.ours.get_seq_length() == self.theirs.get_seq_length()
        assert self.ours.get_mask_sizes(3) == self.theirs.get_mask_sizes(3)
        if self.theirs.keys is None:
            assert self.ours.keys is None
        else:
            assert torch.equal(self.ours.keys, self.theirs.keys)
            assert torch.equal(self.ours.values, self.theirs.values)


@pytest.mark.parametrize("seed", range(4))
def test_random_operations_match_the_transformers_cache(seed):
    random = np.random.default_rng(seed)
    all_of_them, rows = [Both()], [1]
    all_of_them[0].update(seed, int(random.integers(1, 70)), rows[0])
    for turn in range(120):
        at = int(random.integers(len(all_of_them)))
        one, length = all_of_them[at], all_of_them[at].theirs.get_seq_length()
        match random.choice(["one", "many", "crop", "fork", "select", "repeat", "order", "reset"]):
            case "one" | "reset" if turn % 40:
                one.update(1000 * seed + turn, 1, rows[at])
            case "many":
                one.update(1000 * seed + turn, int(random.integers(2, 40)), rows[at])
            case "crop":
                one.do("crop", -int(random.integers(0, length + 1)))
            case "fork" if len(all_of_them) < 6:
                all_of_them.append(one.fork())
                rows.append(rows[at])
            case "select" if length:
                chosen = random.integers(rows[at], size=random.integers(1, 4))
                one.do("batch_select_indices", torch.from_numpy(chosen))
                rows[at] = len(chosen)
            case "repeat" if length and rows[at] < 4:
                one.do("batch_repeat_interleave", 2)
                rows[at] *= 2
            case "order":
                one.do("reorder_cache", torch.from_numpy(random.permutation(rows[at])))
            case "reset":
                one.do("reset")
        for other in all_of_them:
            other.check()


def test_only_first_fork_to_grow_writes_in_place():
    parent = Both()
    parent.update(0, 10)
    room = parent.ours.keys.data_ptr()
    parent.do("crop", -4)
    parent.update(1, 4)
    assert parent.ours.keys.data_ptr() == room, "with no fork a rewind copies nothing"
    first, second = parent.fork(), parent.fork()
    first.update(1, 1)
    assert first.ours.keys.data_ptr() == room
    for later in (second, parent):
        later.update(2, 1)
        assert later.ours.keys.data_ptr() != room
    cropped = first.fork()
    cropped.do("crop", -4)
    cropped.update(3, 2)
    for one in (first, second, parent, cropped):
        one.check()


def test_deep_copies_are_independent():
    one = Both()
    one.update(0, 10)
    twin = Both(copy.deepcopy(one.ours), copy.copy(one.theirs))
    twin.update(1, 2)
    one.update(2, 2)
    twin.check()


def test_states_of_another_dtype_join_as_in_transformers():
    one = Both()
    one.update(0, 5)
    wide = tuple(part.double() for part in states(1, 2))
    assert all(map(torch.equal, one.ours.update(*wide), one.theirs.update(*wide)))
    assert one.ours.keys.dtype == one.theirs.keys.dtype == torch.float64
    one.update(3, 1)  # the first kind again
    with pytest.raises(RuntimeError, match="Sizes of tensors must match"):
        one.ours.update(*states(2, 1, rows=ROWS + 1))


def test_offloaded_states_can_be_extended():
    one = Both()
    one.update(0, 5)
    one.do("offload")
    one.do("prefetch")
    one.update(1, 1)


def test_growth_copies_seldom_and_spares_little_room():
    layer, moves, before = GrowingLayer(), 0, None
    for position in range(2048):
        layer.update(*states(position, 1))
        moves += layer.keys.data_ptr() != before
        before = layer.keys.data_ptr()
    assert moves < 32
    for positions in (1, 63, 64, 65, 500, 4096, 100_000):
        room = room_for(positions)
        assert positions <= room < positions * 9 / 8 + BLOCK and room % BLOCK == 0


def test_sizes_count_the_whole_room_as_held():
    config = tiny_models.build("llama").config
    cache = caches.new_cache(config)
    for index in range(len(cache.layers)):
        cache.update(torch.zeros(1, 2, TOKENS, 8), torch.zeros(1, 2, TOKENS, 8), index)
    formula = formula_of(config, torch.float32)
    size = cache_size(cache)
    assert size.logical == formula.bytes_at(TOKENS)
    assert size.held == formula.bytes_at(TOKENS, GROWN)
    caches.crop(cache, 1)
    assert cache_size(cache).logical == formula.bytes_at(1)
    assert cache_size(cache).held == size.held
    fork = caches.fork(cache)
    assert cache_size(cache, fork).held == size.held, "shared memory counts once"


def test_only_full_attention_layers_are_replaced():
    for architecture in tiny_models.ARCHITECTURES:
        config = tiny_models.CONFIGS[architecture]()
        theirs, ours = DynamicCache(config=config), caches.new_cache(config)
        for one, other in zip(theirs.layers, ours.layers, strict=True):
            expected = GrowingLayer if type(one) is DynamicLayer else type(one)
            assert type(other) is expected, architecture


# In models: the bits of a step do not depend on how its cache grew.


# Passes over several tokens, with single tokens between, as the room grows and afterwards.
PASSES = [(0, 9), (13, 56), (72, 124)]


def logits_with(model: LanguageModel, cache: DynamicCache, ids: list[int], parity: bool):
    """(passes, vocab) logits after `PASSES` and after each token between them."""
    several, found, position = dict(PASSES if model.can_chunk else PASSES[:1]), [], 0
    while position < len(ids):
        end = min(several.get(position, position + 1), len(ids))
        found.append(model.forward(ids[position:end], cache, position, parity=parity).logits)
        position = end
    return np.stack(found)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("architecture", ["llama", "bloom", "gemma3", "qwen3_next"])
def test_logits_match_the_transformers_cache(architecture, dtype, attention):
    model = LanguageModel(tiny_models.build(architecture, dtype=dtype))
    model.hf.set_attn_implementation(attention)
    ids = tiny_models.prompt(5, TOKENS)
    parity = attention == "eager"
    expected = logits_with(model, DynamicCache(config=model.hf.config), ids, parity)
    assert np.array_equal(logits_with(model, model.new_cache(), ids, parity), expected)


@pytest.mark.long
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_bundled_model_logits_match_the_transformers_cache(dtype, attention):
    model = load_model(device="cpu", dtype=dtype)
    model.hf.set_attn_implementation(attention)
    ids = tiny_models.prompt(5, TOKENS)
    expected = logits_with(model, DynamicCache(config=model.hf.config), ids, True)
    assert np.array_equal(logits_with(model, model.new_cache(), ids, True), expected)


def test_rows_match_transformers_cache_bit_for_bit(monkeypatch):
    model = LanguageModel(tiny_models.build("llama", max_position_embeddings=512))

    def run() -> list[np.ndarray]:
        runner, found = Runner(model), []
        runner.extend(tiny_models.prompt(1, BLOCK - 3))
        runner.select([0, 0, 0])
        for token_id in range(10):
            rows = [[token_id + row] for row in range(runner.rows)]
            found.append(runner.read_rows(rows)[0])
            if token_id == 4:
                runner.select([2, 0])
        runner.truncate(BLOCK)
        found.append(runner.read_rows([[1], [2]])[0])
        return found

    ours = run()
    monkeypatch.setattr(
        LanguageModel, "new_cache", lambda model: DynamicCache(config=model.hf.config)
    )
    assert all(map(np.array_equal, ours, run()))
