"""Fixtures of the engine's tests: one CPU thread, a tiny tokenizer, and a tiny model with it."""

import shutil
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers

from engine.model import LanguageModel
from engine.runner.budget import MemoryBudget
from tests.engine import tiny_models
from tests.engine.model.loading.folders import tiny_model, tiny_tokenizer

END = "<|end|>"
OTHERS = {*tiny_models.ARCHITECTURES} - {*tiny_models.SOME}
# Enough text for merges of several letters, with characters of two, three and four bytes.
TRAINING_TEXT = [
    "the cat sat on the mat and the dog sat on the cat",
    "one step is forward, shape, draw, append; then one step more",
    "naïve café, Größe, 日本語, 日本, emoji 🙂🙂 and 🚀",
    "there and then and here and the other thing, again and again",
] * 3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of `OTHERS` as long forms if their function has one of `SOME` too."""
    named = [
        (item, item.callspec.params.get("architecture"))
        for item in items
        if hasattr(item, "callspec")
    ]
    has_short = {item.function for item, name in named if name in tiny_models.SOME}
    for item, name in named:
        if name in OTHERS and item.function in has_short:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Use one thread: toy models gain nothing from a second core, and busy machines lose by it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def three_threads():
    """Act as a machine with three cores; within a pass, the model's own number counts."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tokenizer() -> transformers.PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer: 256 bytes, some merges and one special token."""
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=[END],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(TRAINING_TEXT, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=END)


@pytest.fixture(scope="session")
def text_hf(tokenizer) -> transformers.PreTrainedModel:
    """A tiny Llama with one output per entry of the tokenizer, and no end-of-text id.

    It has three layers: tests name strings that it writes.
    """
    return tiny_models.build("llama", seed=5, vocab_size=len(tokenizer), num_hidden_layers=3)


@pytest.fixture(scope="session")
def text_model(text_hf, tokenizer) -> LanguageModel:
    """That Llama with its tokenizer; no test may change it."""
    model = LanguageModel(text_hf, tokenizer, name="tiny text model")
    model.eos_ids = ()  # tests of the end of text set their own
    return model


@pytest.fixture
def llama() -> LanguageModel:
    """A model that the test may change or break."""
    return LanguageModel(tiny_models.build("llama"))


@pytest.fixture
def budget(monkeypatch) -> MemoryBudget:
    """A memory budget for the test, without a limit at first."""
    own = MemoryBudget(2**50)
    for user in ("engine.runner.runner", "engine.decoding.batch"):
        monkeypatch.setattr(f"{user}.budget_of", lambda device: own)
    return own


@pytest.fixture(scope="session")
def original(tmp_path_factory) -> Path:
    """A whole model in a folder; no test may change it."""
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    tiny_model().save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(original, tmp_path) -> Path:
    """A whole model in a folder that a test may damage."""
    return Path(shutil.copytree(original, tmp_path / "tiny-llama"))
