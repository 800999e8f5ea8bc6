"""The tokenizers to choose from, and how to load them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from engine.model import BUNDLED, LanguageModel
from engine.tokenizing import (
    TextTokenizer,
    byte_tokenizer,
    cached_tokenizers,
    code_point_tokenizer,
    load_tokenizer,
    text_tokenizer,
)
from ui.models.choice import Choice
from ui.models.chooser import allowed, check_allowed
from ui.models.servers import is_address
from ui.words.language import marked, say

MODEL, BYTES, CODE_POINTS, NOTHING = "model", "bytes", "code points", ""
_OWN = {  # tokenizers that need no files
    BYTES: (marked("ByT5 (bytes)"), byte_tokenizer),
    CODE_POINTS: (marked("CANINE (code points)"), code_point_tokenizer),
}


def names(model: LanguageModel, chosen: str) -> dict[str, str]:
    """Return the tokenizers that may be chosen: their keys, with their names on the page.

    Args:
        model: the page's model.
        chosen: key of the current choice, which stays in the list.
    """
    found = {MODEL: say("{name} (this model's)", name=name_of(MODEL, model))}
    if model.source != BUNDLED:
        found[BUNDLED] = name_of(BUNDLED, model)
    found |= {key: say(name) for key, (name, _) in _OWN.items()}
    permitted = allowed()
    others = cached_tokenizers() if permitted is None else map(_typed, permitted)
    listed = [key for key in others if key != model.source and not is_address(key)]
    keys = [key for key in [*listed, chosen] if key not in (NOTHING, *found)]
    return found | {key: name_of(key, model) for key in keys}


def name_of(key: str, model: LanguageModel) -> str:
    """Return a tokenizer's name on the page."""
    if key == MODEL:
        return model.name
    if key in _OWN:
        return say(_OWN[key][0])
    folder = Path(key).expanduser()
    return folder.resolve().name if _is_folder(folder) else str(Choice.parse(key))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # too long for a file name
        return False


def tokenizer_of(key: str, model: LanguageModel) -> TextTokenizer:
    """Return the tokenizer with this key, loading it if necessary.

    Raises:
        ModelError: it cannot be read, or this visitor may not load it.
    """
    if key == MODEL:
        return text_tokenizer(model.vocabulary)
    if key in _OWN:
        return _own(key)
    choice = Choice.parse(key)
    check_allowed(choice)
    return _loaded(choice)


def _typed(choice: Choice) -> str:
    return f"{choice.source}@{choice.revision}" if choice.revision else choice.source


@lru_cache(maxsize=len(_OWN))
def _own(key: str) -> TextTokenizer:
    return _OWN[key][1]()


@lru_cache(maxsize=4)  # one with a large vocabulary takes about 100 MB
def _loaded(choice: Choice) -> TextTokenizer:
    return load_tokenizer(choice.source, choice.revision)
