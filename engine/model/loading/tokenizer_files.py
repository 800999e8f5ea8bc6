"""The tokenizer of a folder, with ids that the model can have."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.errors import TokenizerError, panics_as_errors
from engine.model.guarded_tokenizer import guard, no_tokenizer, try_to_read
from engine.model.loaded import is_out_of_memory
from engine.model.loading.files import first_line, is_bundled, text_bytes

# Tokenizers may know more ids than the model has rows, but not many times as many: the vocabulary
# keeps a list as long as the highest id.
_IDS_PER_ROW = 4
_FEW_IDS = 1_000_000


def read_tokenizer(folder: Path, most_ids: int = _FEW_IDS) -> PreTrainedTokenizerBase:
    """The tokenizer that lies in a folder.

    Args:
        folder: the folder of the model.
        most_ids: how many ids the model takes in, where it is known.

    Raises:
        TokenizerError: there is none, it cannot be read, takes more time or memory than it may, or
            its ids are far above the model's.
    """
    is_foreign = not is_bundled(folder)
    if is_foreign:
        try_to_read(folder, size := text_bytes(folder))
    try:
        with panics_as_errors():
            tokenizer = AutoTokenizer.from_pretrained(
                folder, trust_remote_code=False, local_files_only=True
            )
            highest = max(tokenizer.get_vocab().values(), default=-1)
    except Exception as error:
        # Tokenizer classes fail in ways of their own: OSError, ValueError, KeyError, and bare
        # Exceptions from the tokenizers library.
        if is_out_of_memory(error):
            raise
        raise no_tokenizer(folder.name, first_line(error)) from error
    if len(tokenizer) == 0:
        raise TokenizerError(
            "The tokenizer of {name} has no entries; add its tokenizer.json.", folder.name
        )
    if highest >= max(_IDS_PER_ROW * most_ids, _FEW_IDS):
        raise TokenizerError(
            "The tokenizer of {name} has id {highest:,}, and the model takes in "
            "{most_ids:,} ids; add the tokenizer.json that belongs to the model.",
            (folder.name, highest, most_ids),
        )
    if is_foreign:
        guard(tokenizer, folder, size)
    return tokenizer
