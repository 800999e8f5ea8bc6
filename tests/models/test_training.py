"""The training code against slow references: stock transformers, autograd, whole documents."""

import json
import lzma
import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

from models.training import corpus, train
from models.training.export import export, exported_tokens, exported_weights
from models.training.network import ChunkedCrossEntropy, Network
from models.training.objectives import MaskedTokens, NextToken, bits_per_byte, masks
from models.training.optimizer import Muon, orthogonalise
from models.training.sizes import SIZES, Architecture, Plan, Recipe

TOKENIZER = Path(__file__).parents[2] / "models" / "target"
SIZES_OF_TINY = {"hidden_size": 64, "intermediate_size": 96, "head_dim": 16, "vocab_size": 50}
LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
TINY = Architecture(**SIZES_OF_TINY, **LAYERS)
# One additional token, the mask.
BIDIRECTIONAL = replace(TINY, is_causal=False, vocab_size=51)


@pytest.fixture
def network() -> Network:
    return random_network(TINY)


def random_network(shape: Architecture) -> Network:
    network = Network(shape, dtype=torch.float32)
    network.initialise(seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():  # zero matrices and unit norms would hide mistakes
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return network


@pytest.fixture
def stock(network) -> Qwen3ForCausalLM:
    return stock_twin(network)


def stock_twin(network: Network) -> Qwen3ForCausalLM:
    shape = asdict(network.shape)
    theta = shape.pop("rope_theta")
    rope = {"rope_type": "default", "rope_theta": theta}
    model = Qwen3ForCausalLM(Qwen3Config(**shape, rope_parameters=rope, tie_word_embeddings=True))
    weights = {f"model.{name}": value.clone() for name, value in network.state_dict().items()}
    assert model.load_state_dict(weights, strict=False).unexpected_keys == []
    model.tie_weights()
    return model.eval()


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(5)
    return torch.randint(0, TINY.vocab_size, (2, 3, 21), generator=generator)


class FixedWindows:
    """A substitute for `corpus.Windows`: the same batch at every step."""

    seed = 6

    def __init__(self, ids, targets):
        self.arrays = ids.numpy(), targets.numpy()

    def batch(self, step, rows, length):
        return self.arrays


def test_logits_match_stock_qwen3(network, stock, batch):
    torch.testing.assert_close(network.logits(batch[0]), stock(batch[0]).logits)


def test_bidirectional_positions_see_all_others(batch):
    network = random_network(BIDIRECTIONAL)
    stock, ids = stock_twin(network), batch[0]
    logits = network.logits(ids)
    torch.testing.assert_close(logits, stock(ids, is_causal=False, use_cache=False).logits)
    changed = ids.clone()
    changed[:, -1] = (ids[:, -1] + 1) % TINY.vocab_size
    assert (network.logits(changed)[:, 0] - logits[:, 0]).abs().max() > 1e-4


def test_chunked_loss_and_gradients_equal_plain_autograd(network, stock, batch, monkeypatch):
    monkeypatch.setattr(ChunkedCrossEntropy, "CHUNK", 16)  # 63 rows: the last chunk is short
    ids, targets = batch
    loss = NextToken().loss(network, FixedWindows(*batch), 0, 3, 21)
    loss.backward()
    expected = F.cross_entropy(stock(ids).logits.flatten(0, 1), targets.flatten())
    expected.backward()
    torch.testing.assert_close(loss, expected)
    compare_gradients(network, stock)


def compare_gradients(network, stock):
    ours = {f"model.{name}": parameter.grad for name, parameter in network.named_parameters()}
    for name, parameter in stock.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad, rtol=1e-3, atol=1e-6)


def test_masked_loss_and_gradients_match_llada_formula(batch):
    network = random_network(BIDIRECTIONAL)
    stock, ids = stock_twin(network), batch.flatten(0, 1)[:4]  # pairs of rows
    loss = MaskedTokens().loss(network, FixedWindows(ids, ids), 9, 4, 21)
    loss.backward()
    masked = torch.from_numpy(masks(np.random.default_rng((FixedWindows.seed, 9, 1)), 4, 21))
    logits = stock(ids.masked_fill(masked, TINY.vocab_size), is_causal=False, use_cache=False)
    rows = [
        F.cross_entropy(row[mask], target[mask])
        for row, mask, target in zip(logits.logits, masked, ids, strict=True)
        if mask.any()
    ]
    expected = torch.stack(rows).mean()
    expected.backward()
    torch.testing.assert_close(loss, expected)
    compare_gradients(network, stock)


def test_mask_pairs_cover_rows_and_reach_every_count():
    drawn = masks(np.random.default_rng(0), 2_000, 8)
    counts = drawn.sum(1)
    assert set(counts[::2] + counts[1::2]) == {8}
    # 1,000 draws of 8 equally likely counts: one is missed with probability 8 x (7/8)^1000.
    assert set(counts[::2]) == set(range(1, 9))
    # Places are uniform: 16,000 fair coins in pairs; 6 standard deviations, 2e-9 per column.
    assert np.abs(drawn.mean(0) - 0.5).max() < 6 * 0.5 / 2_000**0.5
    with pytest.raises(ValueError, match="even"):
        masks(np.random.default_rng(0), 3, 8)


def test_bits_per_byte_exclude_end_of_text(network):
    window = np.array([[0, 5, 6, 0, 7]])
    sizes = np.full(TINY.vocab_size, 3)
    sizes[0] = 0
    found = bits_per_byte(NextToken(), network, {"a": window}, sizes)["a"]
    losses = network.token_losses(torch.tensor([[0, 5, 6, 0]]), torch.tensor([[5, 6, 0, 7]]))[0]
    assert found == pytest.approx(float(losses[[0, 1, 3]].sum()) / math.log(2) / 9)


def test_orthogonalise_brings_singular_values_near_one():
    matrices = torch.randn(3, 64, 128, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalise(matrices).float())
    assert values.min() > 0.3 and values.max() < 1.9


@pytest.mark.parametrize("shape", [(8, 4), (4, 8)])
def test_muon_steps_downhill_for_every_shape(shape):
    weight = torch.nn.Parameter(torch.ones(shape))
    optimizer = Muon([weight], lr=0.01)
    (weight.square().sum() / 2).backward()
    optimizer.step()
    assert weight.square().sum() < torch.ones(shape).square().sum()


def test_schedule_warms_up_holds_and_decays_to_zero():
    recipe = Recipe(1000, {}, batch_tokens=1, warmup_steps=10, decay_share=0.4)
    rates = [train.rate_multiplier(step, recipe.steps, recipe) for step in range(1001)]
    assert rates[0] == 0.1 and rates[9:601] == [1.0] * 592
    assert rates[800] == 0.5 and rates[1000] == 0
    # Windows of two lengths alternate during the decay: of its 400 steps, one in four is long.
    lengths = [train.window_length(step, recipe.steps, recipe) for step in range(1000)]
    assert set(lengths[:600]) == {256} and lengths.count(1024) == 100


def test_every_plan_can_be_trained():
    for plans in SIZES.values():
        for place, plan in enumerate(plans.values()):
            recipe = plan.recipe
            for mix in (recipe.mix, recipe.decay_mix or recipe.mix):
                assert sum(mix.values()) == pytest.approx(1)
            for length in (*recipe.windows, *recipe.decay_windows):
                assert length <= plan.architecture.max_position_embeddings
                # Masks are paired, and compiled code needs as many tokens at every step.
                assert recipe.batch_tokens % (2 * length) == 0
            assert not recipe.start_from or recipe.start_from in list(plans)[:place]


@pytest.fixture
def uncompiled(monkeypatch):
    """Skip compiling, which takes longer than six steps and needs a C++ compiler."""
    monkeypatch.setattr(Network, "compile_blocks", lambda self: None)
    precision = torch.get_float32_matmul_precision()
    yield
    # `train` sets both for its process, which all other tests share.
    torch.set_flush_denormal(False)
    torch.set_float32_matmul_precision(precision)


def tiny_run(tmp_path, shape: Architecture, **changes):
    """Return a plan of 6 steps on a repetitive text, and the other arguments of `train`."""
    row = np.tile(np.array([0, *range(10, 30)], dtype=np.uint16), 40)
    tokens = {"a": row, "valid_a": row[:210]}
    windows = {"batch_tokens": 128, "windows": (16, 32), "decay_windows": (16, 32)}
    recipe = Recipe(6 * 128, {"a": 1.0}, warmup_steps=2, **windows, **changes)
    return Plan("tiny", shape, recipe), tokens, np.ones(50, dtype=np.int64), tmp_path


@pytest.mark.parametrize("shape", [TINY, pytest.param(BIDIRECTIONAL, marks=pytest.mark.long)])
@pytest.mark.usefixtures("uncompiled")
def test_interrupted_run_resumes_to_identical_weights(tmp_path, shape):
    for folder in ("whole", "broken"):
        (tmp_path / folder).mkdir()
    train.train(*tiny_run(tmp_path / "whole", shape))
    train.train(*tiny_run(tmp_path / "broken", shape), stop_after=3)
    assert train.checkpoint_step(tmp_path / "broken" / "last.pt") == 3
    train.train(*tiny_run(tmp_path / "broken", shape))
    weights = [
        torch.load(tmp_path / folder / "last.pt", weights_only=True)["network"]
        for folder in ("whole", "broken")
    ]
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=0, atol=0, msg=name)
    log = (tmp_path / "broken" / train.LOG).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["tokens"] for line in log if "loss" in line] == [3 * 128, 6 * 128]


@pytest.mark.usefixtures("uncompiled")
def test_decay_phase_reads_the_decay_mix(tmp_path):
    plan, tokens, _, _ = tiny_run(tmp_path, TINY, decay_mix={"b": 1.0})
    tokens["b"] = np.tile(np.array([0, *range(30, 50)], dtype=np.uint16), 40)
    trainer = train.Trainer(plan, tokens, "cpu")
    read = []
    trainer.objective.loss = lambda network, windows, *rest: (
        read.append(windows.shards[0][1]) or (network.norm.weight.sum())
    )
    for _ in range(6):
        trainer.step()
    assert read == [10, 10, 10, 10, 30, 30]  # the last 40 % of 6 steps, rounded up to whole ones


@pytest.mark.usefixtures("uncompiled")
def test_masked_model_starts_from_language_model_weights(tmp_path, network):
    plan, tokens, sizes, folder = tiny_run(tmp_path, BIDIRECTIONAL)
    start = (network.state_dict(), 1_000)
    train.train(plan, tokens, sizes, folder, stop_after=1, start=start)
    assert train.checkpoint_tokens(folder / "last.pt") == 1_128
    trainer = train.Trainer(plan, tokens, "cpu")
    trainer.start_from(*start)
    table = trainer.network.embed_tokens.weight
    torch.testing.assert_close(table[:50], network.embed_tokens.weight)
    torch.testing.assert_close(table[50], network.embed_tokens.weight.mean(0))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("is_causal", [True, pytest.param(False, marks=pytest.mark.long)])
def test_export_holds_weights_config_and_tokenizer(tmp_path, is_causal):
    size = SIZES["small"]["target" if is_causal else "diffusion"].architecture.vocab_size
    shape = replace(TINY, vocab_size=size, is_causal=is_causal)
    plan, tokens, _, folder = tiny_run(tmp_path, shape)
    train.train(plan, tokens, np.ones(size, dtype=np.int64), folder, stop_after=1)
    output = tmp_path / "exported"
    export(folder / "last.pt", folder / train.LOG, TOKENIZER, output)
    assert exported_tokens(output) == 128
    trained = torch.load(folder / "last.pt", weights_only=True)["network"]
    for name, value in exported_weights(output).items():
        torch.testing.assert_close(value, trained[name].bfloat16().float(), rtol=0, atol=0)
    config = json.loads((output / "config.json").read_text(encoding="utf-8"))
    tokenizer = AutoTokenizer.from_pretrained(output)
    assert len(tokenizer) == size
    if is_causal:
        assert "mask_token_id" not in config
    else:
        assert config["is_causal"] is False
        assert config["mask_token_id"] == tokenizer.mask_token_id == size - 1


def _windows(aligned_share: float) -> corpus.Windows:
    shard = np.array([0, 10, 11, 12, 0, 20, 21, 0, 30, 31, 32, 33], dtype=np.uint16)
    return corpus.Windows({"a": shard}, {"a": 1.0}, aligned_share, seed=7)


def test_batch_depends_only_on_seed_and_step():
    used = _windows(0.5)
    ids, targets = used.batch(0, 4, 5)
    np.testing.assert_array_equal(ids[:, 1:], targets[:, :-1])
    for again, fresh in zip(used.batch(9, 4, 5), _windows(0.5).batch(9, 4, 5), strict=True):
        np.testing.assert_array_equal(again, fresh)


def test_aligned_windows_start_at_document_boundaries():
    ids, _ = _windows(1.0).batch(0, 200, 3)
    assert set(ids[:, 0]) == {0, 10, 20, 30}
    assert 60 < (ids[:, 0] == 0).sum() < 140  # 200 fair coins: by chance outside once in 10^8


def _write(path, *texts):
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.write("\n<|endoftext|>\n".join(texts) + "\n")


def test_overlap_finds_repeated_documents_and_paragraphs(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"\*\.txt\.xz"):
        corpus.training_shards(tmp_path)
    long = "The old fox said that the grapes were sour, and went home to his supper. " * 2
    _write(tmp_path / "train.txt.xz", "First text.", f"Short.\n\n{long}\n\nAnother end.")
    _write(tmp_path / "valid_x.txt.xz", "Unseen.", "first TEXT", f"New beginning.\n{long}")
    overlap = corpus.measure_overlap(tmp_path)["valid_x"]
    assert overlap.documents == 3
    assert overlap.repeated == {1} and overlap.mostly_repeated == {2}
