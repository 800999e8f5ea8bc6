"""The visible labels of a vocabulary, and the search over them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from engine.model import Vocabulary
from ui.words.labels import token_label, visible


class _Made:
    """Labels made so far, without the vocabulary: a reference would keep that alive."""

    def __init__(self) -> None:
        self.labels: dict[int, str] = {}
        self.folded: list[str] | None = None


_MADE: WeakKeyDictionary[Vocabulary, _Made] = WeakKeyDictionary()


class TokenLabels:
    """The labels of a vocabulary by token id, made when first asked for and then kept."""

    def __init__(self, vocabulary: Vocabulary, made: _Made | None = None) -> None:
        self._size = vocabulary.size
        self._raw = vocabulary.label
        self._made = made or _Made()

    @property
    def key(self) -> object:
        """An object that all labels of one vocabulary share; it keeps only the labels alive."""
        return self._made

    def __getitem__(self, token_id: int) -> str:
        label = self._made.labels.get(token_id)
        if label is None:
            label = self._made.labels[token_id] = token_label(self._raw(token_id))
        return label

    def find(self, query: str, logits: np.ndarray, most: int) -> list[int]:
        """Find the ids of the tokens that a person may mean, best match first.

        Letters match in either case. A token that equals the query (with or without the space
        before it) comes first, then those that begin with it, then those that contain it. Among
        equals, the higher logit comes first. A number also finds the token of that id.
        """
        wanted = visible(query).casefold()
        if not wanted:
            return []
        if self._made.folded is None:
            self._made.folded = [self[token_id].casefold() for token_id in range(self._size)]
        bare = wanted.removeprefix("␣")
        found = []
        for token_id, label in enumerate(self._made.folded):
            if bare not in label:
                continue
            if label == wanted:
                grade = 0
            elif label.removeprefix("␣") == bare:
                grade = 1
            elif wanted not in label:
                continue
            else:
                grade = 2 if label.removeprefix("␣").startswith(bare) else 3
            found.append((grade, -float(logits[token_id]), token_id))
        ids = [token_id for _, _, token_id in sorted(found)]
        if query.strip().isdecimal() and int(query) < self._size:
            ids = [int(query), *(token_id for token_id in ids if token_id != int(query))]
        return ids[:most]


def labels_of(vocabulary: Vocabulary) -> TokenLabels:
    """Return the labels of a vocabulary; those already made are shared by all callers."""
    return TokenLabels(vocabulary, _MADE.setdefault(vocabulary, _Made()))
