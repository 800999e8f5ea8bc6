"""Read the tokenizer of a folder, with a check that its ids fit the model."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.errors import TokenizerError, panics_as_errors
from engine.model.guarded_tokenizer import guard, no_tokenizer, read
from engine.model.loaded import is_out_of_memory
from engine.model.loading.files import (
    first_line,
    is_bundled,
    read_bounded,
    text_bytes,
    text_files,
)

# Tokenizers may have more ids than the model has rows, but only a few times as many. The vocabulary
# keeps a list as long as the highest id.
_IDS_PER_ROW = 4
_FEW_IDS = 1_000_000
# Largest file of a tokenizer that transformers runs in Python, in bytes. This process parses it
# too, in a third of a second. The largest in use has 4 MB.
_MOST_IN_PYTHON = 8_000_000


def read_tokenizer(folder: Path, most_ids: int = _FEW_IDS) -> PreTrainedTokenizerBase:
    """Read the tokenizer of a model's folder.

    Args:
        folder: the folder of the model.
        most_ids: number of ids that the model accepts, if known.

    Raises:
        TokenizerError: there is none, it cannot be read, exceeds its limits of time or memory, or
            its ids are far above the model's.
    """
    if is_bundled(folder):
        return _read_here(folder)
    most, size = max(_IDS_PER_ROW * most_ids, _FEW_IDS), text_bytes(folder)
    tokenizer, entries, highest = read(folder, size, most)
    if entries == 0:
        raise TokenizerError(
            "The tokenizer of {name} has no entries; add its tokenizer.json.", folder.name
        )
    if highest >= most:
        raise TokenizerError(
            "The tokenizer of {name} has ids up to {highest:,}, and the model accepts only "
            "{most_ids:,} ids; add the tokenizer.json that belongs to the model.",
            (folder.name, highest, most_ids),
        )
    if tokenizer is None:
        _check_files(folder)
        tokenizer = _read_here(folder)
        guard(tokenizer, folder, size)
    return tokenizer


def _check_files(folder: Path) -> None:
    """Refuse a tokenizer that runs in Python if one of its files would take long to parse."""
    try:
        for path in text_files(folder, ".json"):
            read_bounded(path, _MOST_IN_PYTHON)
    except ValueError as error:
        raise TokenizerError(
            "The tokenizer of {name} runs in Python and has a file that would take too long to "
            "read: {error}; choose another model.",
            (folder.name, first_line(error)),
        ) from error


def _read_here(folder: Path) -> PreTrainedTokenizerBase:
    try:
        with panics_as_errors():
            return AutoTokenizer.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
    except Exception as error:
        # Tokenizer classes fail in their own ways: OSError, ValueError, KeyError, and bare
        # Exceptions from the tokenizers library.
        if is_out_of_memory(error):
            raise
        raise no_tokenizer(folder.name, first_line(error)) from error
