"""The child that reads tokenizers of other people, before this process does.

A request is {"folder": ...}. The answer is empty once all has been done that reading a tokenizer,
and the texts of its tokens, takes; or it says why not.
"""

from __future__ import annotations

import re
import sys

if __name__ == "__main__":
    sys.modules["torch"] = None  # transformers does without it, and is there in half the time

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from engine.errors import panics_as_errors
from engine.guarded.child import Answer, give_back_memory, serve
from engine.guarded.cutting import check_growth, refusal

_TEXT = "Once upon a time"


def answer(request: dict, data: bytes) -> Answer:
    """Read the tokenizer of a folder; empty if that went well."""
    try:
        with panics_as_errors():
            _try_out(
                AutoTokenizer.from_pretrained(
                    request["folder"], trust_remote_code=False, local_files_only=True
                )
            )
    except Exception as error:  # tokenizer classes fail in ways of their own
        return refusal(error), b""
    finally:
        give_back_memory()
    return {}, b""


def _try_out(tokenizer: PreTrainedTokenizerBase) -> None:
    pieces = tokenizer.get_vocab()
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and backend.normalizer is not None:
        check_growth(len(_TEXT), len(backend.normalizer.normalize_str(_TEXT)))
    if backend is not None and backend.decoder is not None:
        for piece in pieces:
            check_growth(len(piece), len(backend.decoder.decode(["a", piece])))
    # As a chat template looks for control tokens in a message.
    re.compile("|".join(map(re.escape, tokenizer.added_tokens_encoder)))


if __name__ == "__main__":
    serve(answer)
