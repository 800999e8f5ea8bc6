"""Load tokenizers by their source, without weights."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import constants

from engine.model.loading.checkpoint import locate
from engine.model.loading.configuration import MOST_LAYERS, check_repeats, read_declared
from engine.model.loading.files import check_folder
from engine.model.loading.tokenizer_files import read_tokenizer
from engine.model.vocabulary import Vocabulary
from engine.tokenizing.staged import text_tokenizer
from engine.tokenizing.tokenizer import TextTokenizer


def load_tokenizer(source: str, revision: str | None = None) -> TextTokenizer:
    """Load the tokenizer of a bundled model, a folder or a hub id, without fetching weights.

    Raises:
        ModelError: a subclass that says why it cannot be loaded.
    """
    located = locate(source, revision, with_weights=False)
    check_folder(located.folder)
    if (located.folder / "config.json").is_file():  # transformers makes a configuration from it
        check_repeats(located.folder.name, read_declared(located.folder), MOST_LAYERS)
    read = read_tokenizer(located.folder)
    tokenizer = text_tokenizer(Vocabulary(read, len(read)))
    tokenizer.notices = located.notices
    return tokenizer


def cached_tokenizers(cache: str | Path = constants.HF_HUB_CACHE) -> list[str]:
    """Return the hub ids whose tokenizers are in the local hub cache, in alphabetical order."""
    files = Path(cache).glob("models--*/snapshots/*/tokenizer_config.json")
    names = {file.parents[2].name.removeprefix("models--") for file in files}
    return sorted(name.replace("--", "/", 1) for name in names)
