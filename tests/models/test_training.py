"""The training code against slow twins: stock transformers, plain autograd, whole documents."""

import lzma

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import Qwen3Config, Qwen3ForCausalLM

from models.training import corpus, train
from models.training.network import ChunkedCrossEntropy, Decoder
from models.training.optimizer import Muon, orthogonalise
from models.training.sizes import Architecture, Recipe

TINY = Architecture(
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=96,
    head_dim=16,
    vocab_size=50,
)


@pytest.fixture
def network() -> Decoder:
    decoder = Decoder(TINY, dtype=torch.float32)
    decoder.initialise(seed=3)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():  # zero matrices and unit norms would hide mistakes
        for parameter in decoder.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return decoder


@pytest.fixture
def stock(network) -> Qwen3ForCausalLM:
    config = Qwen3Config(
        **{name: getattr(TINY, name) for name in TINY.__dataclass_fields__ if name != "rope_theta"},
        rope_parameters={"rope_type": "default", "rope_theta": TINY.rope_theta},
        tie_word_embeddings=True,
    )
    model = Qwen3ForCausalLM(config)
    weights = {f"model.{name}": value.clone() for name, value in network.state_dict().items()}
    assert model.load_state_dict(weights, strict=False).unexpected_keys == []
    model.tie_weights()
    return model.eval()


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(5)
    return torch.randint(0, TINY.vocab_size, (2, 3, 21), generator=generator)


def test_logits_are_those_of_stock_qwen3(network, stock, batch):
    torch.testing.assert_close(network.logits(batch[0]), stock(batch[0]).logits)


def test_chunked_loss_and_gradients_equal_plain_autograd(network, stock, batch, monkeypatch):
    monkeypatch.setattr(ChunkedCrossEntropy, "CHUNK", 16)  # 63 rows: the last chunk is short
    ids, targets = batch
    loss = network.loss(ids, targets)
    loss.backward()
    expected = F.cross_entropy(stock(ids).logits.flatten(0, 1), targets.flatten())
    expected.backward()
    torch.testing.assert_close(loss, expected)
    ours = {f"model.{name}": parameter.grad for name, parameter in network.named_parameters()}
    for name, parameter in stock.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad, rtol=1e-3, atol=1e-6)


def test_token_losses_average_to_the_loss(network, batch):
    torch.testing.assert_close(network.token_losses(*batch).mean(), network.loss(*batch))


def test_orthogonalise_brings_singular_values_near_one():
    matrices = torch.randn(3, 64, 128, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalise(matrices).float())
    assert values.min() > 0.3 and values.max() < 1.9


@pytest.mark.parametrize("shape", [(8, 4), (4, 8), (4, 4)])
def test_muon_steps_downhill_whatever_the_shape(shape):
    weight = torch.nn.Parameter(torch.ones(shape))
    optimizer = Muon([weight], lr=0.01)
    (weight.square().sum() / 2).backward()
    optimizer.step()
    assert weight.square().sum() < torch.ones(shape).square().sum()


def test_schedule_warms_up_holds_and_decays_to_zero():
    recipe = Recipe(tokens=1000, batch_tokens=1, mix={}, warmup_steps=10, decay_share=0.4)
    rates = [train.rate_multiplier(step, recipe.steps, recipe) for step in range(1001)]
    assert rates[0] == 0.1 and rates[9:601] == [1.0] * 592
    assert rates[800] == 0.5 and rates[1000] == 0


def test_long_windows_are_half_of_the_decay():
    recipe = Recipe(tokens=1000, batch_tokens=1, mix={}, decay_share=0.4)
    lengths = [train.window_length(step, recipe.steps, recipe) for step in range(1000)]
    assert set(lengths[:600]) == {recipe.window}
    assert lengths.count(recipe.long_window) == 200


def _windows(aligned_share: float) -> corpus.Windows:
    shard = np.array([0, 10, 11, 12, 0, 20, 21, 0, 30, 31, 32, 33], dtype=np.uint16)
    return corpus.Windows({"a": shard}, {"a": 1.0}, aligned_share, seed=7)


def test_a_batch_depends_on_nothing_but_seed_and_step():
    used = _windows(0.5)
    used.batch(0, 4, 5)
    for again, fresh in zip(used.batch(9, 4, 5), _windows(0.5).batch(9, 4, 5), strict=True):
        np.testing.assert_array_equal(again, fresh)


def test_targets_are_inputs_moved_by_one():
    ids, targets = _windows(0.5).batch(0, 8, 5)
    np.testing.assert_array_equal(ids[:, 1:], targets[:, :-1])


def test_aligned_windows_start_at_documents_with_and_without_the_end_of_text_token():
    ids, _ = _windows(1.0).batch(0, 200, 3)
    assert set(ids[:, 0]) == {0, 10, 20, 30}
    assert 60 < (ids[:, 0] == 0).sum() < 140  # 200 fair coins: outside by chance once in 10^8


def _write(path, *texts):
    with lzma.open(path, "wt", encoding="utf-8") as file:
        file.write("\n<|endoftext|>\n".join(texts) + "\n")


def test_overlap_finds_a_repeated_document_and_a_repeated_paragraph(tmp_path):
    long = "The old fox said that the grapes were sour, and went home to his supper. " * 2
    _write(tmp_path / "train.txt.xz", "First text.", f"Short.\n\n{long}\n\nAnother end.")
    _write(tmp_path / "valid_x.txt.xz", "Unseen.", "first TEXT", f"New beginning.\n{long}")
    overlap = corpus.measure_overlap(tmp_path)["valid_x"]
    assert overlap.documents == 3
    assert overlap.repeated == {1} and overlap.mostly_repeated == {2}


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"\*\.txt\.xz"):
        corpus.training_shards(tmp_path)
