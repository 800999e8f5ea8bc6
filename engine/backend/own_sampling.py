"""Draws that a server makes by its own samplers, and its account of them.

Decoders draw here, from raw values. `engine.server_check` also asks a server to draw, in order to
compare the two. The protocol is optional for a `Dialect`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np


@dataclass(frozen=True)
class OwnDraw:
    """Tokens that a server drew by its own samplers.

    Attributes:
        token_ids: the tokens.
        settings: the settings that it says it used, in the form in which they are sent; None if it
            does not say.
        ids, probabilities: (n,) the tokens that it drew the first one from, with their
            probabilities after all samplers; None if it does not say.
        drafted, accepted: number of tokens proposed by speculation, and of those accepted; None if
            it does not say.
    """

    token_ids: tuple[int, ...]
    settings: Mapping[str, Any] | None = None
    ids: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    drafted: int | None = None
    accepted: int | None = None


@runtime_checkable
class DrawsItself(Protocol):
    """A dialect that can ask its server to draw."""

    def draw(
        self,
        token_ids: Sequence[int] | np.ndarray,
        settings: Mapping[str, Any],
        *,
        length: int = 1,
        final: int = 0,
    ) -> OwnDraw:
        """Return tokens that the server draws.

        Args:
            token_ids: (tokens,) the whole text.
            settings: settings under the server's names (see `engine.export`).
            length: most tokens to draw.
            final: most tokens whose final probabilities are wanted.
        """
