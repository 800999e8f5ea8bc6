"""The tokenizer of a folder, with ids that the model can have."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.errors import TokenizerError, panics_as_errors
from engine.model.loaded import is_out_of_memory
from engine.model.loading.files import first_line

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
        TokenizerError: there is none, it cannot be read, or its ids are far above the model's.
    """
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
        raise TokenizerError(
            "{name} has no tokenizer that can be read ({error}); add its "
            "tokenizer.json and tokenizer_config.json.",
            (folder.name, first_line(error)),
        ) from error
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
    return tokenizer
