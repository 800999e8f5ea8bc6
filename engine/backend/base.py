"""The interface between decoders and models, local or on a server.

A `Backend` opens a `Sequence`. Extending that by tokens gives a `Reading` with the scores of the
next token. `LanguageModel` is the local back end. Others may provide less: a server may list only
its most likely tokens, or not report its cache. `Backend.capabilities` lists what a back end
provides (see `engine.backend.capabilities`).
"""

from __future__ import annotations

from collections.abc import Sequence as Ids
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from engine.model.forward import Forward, Scores

if TYPE_CHECKING:
    from engine.cache_formula import CacheFormula
    from engine.grammar import Places
    from engine.model.cache_size import CacheSize
    from engine.model.vocabulary import Vocabulary


@dataclass(frozen=True)
class Reading:
    """Result of extending a sequence by tokens.

    Attributes:
        forward: the last pass, with the logits of the next token.
        ms: wall time of all passes, including the wait for a turn, in milliseconds.
        forward_ms: wall time of the passes over these tokens alone, each from the start of its
            turn.
        passes: number of tokens that each pass read, in order; several passes for a long input, or
            if a cache was rebuilt.
        is_prefill: whether the sequence was read from its beginning.
        network_ms: for a model on a server, the share of `ms` that the server did not report as its
            own; otherwise None.
    """

    forward: Forward
    ms: float
    forward_ms: float
    passes: tuple[int, ...]
    is_prefill: bool
    network_ms: float | None = field(default=None, kw_only=True)


class Sequence(Protocol):
    """Protocol of one text that a model reads, locally or on a server.

    Attributes:
        positions: number of tokens read so far.
    """

    positions: int

    @property
    def usage(self) -> CacheSize | None:
        """Bytes of the text's cache; None if the back end does not report them."""

    @property
    def formula(self) -> CacheFormula | None:
        """Formula for the cache's size; None if there is none."""

    @property
    def has_cache(self) -> bool:
        """False if its cache was released; the next reading rebuilds it."""

    @property
    def can_select(self) -> bool:
        """True if it can be copied into rows of a batch (`engine.runner.runner.Runner.select`)."""

    def extend(self, token_ids: Ids[int] | np.ndarray, *, parity: bool = False) -> Reading:
        """Read more tokens.

        Args:
            token_ids: (tokens,) at least one.
            parity: whether to read exactly as transformers' `generate` does.

        Raises:
            DecodingError: nothing has been read.
        """

    def truncate(self, positions: int) -> None:
        """Keep the first `positions` positions."""

    def fork(self) -> Self:
        """Return an independent copy."""

    def whole_row(self, token_ids: Ids[int] | np.ndarray) -> Scores:
        """Return the scores of all tokens after a text (capability ``row_on_demand``)."""

    def logprobs_of(self, token_ids: Ids[int] | np.ndarray, wanted: Ids[int]) -> np.ndarray:
        """Return log-probabilities of tokens after a text (capability ``scores_by_id``): (wanted,).

        NaN for those that are not scored.
        """

    def distrust(self) -> None:
        """Drop a cache that may contain a wrong value; the next reading rebuilds it."""

    def release(self) -> bool:
        """Release memory whose contents can be rebuilt; returns False if it is in use."""


class Backend(Protocol):
    """Protocol of a causal language model, as decoders and pages use it.

    Attributes:
        name: short name for the screen.
        source, revision: the source that it was loaded from.
        vocabulary: tokens as bytes and text.
        vocab_size: number of tokens that it scores.
        input_size: number of token ids that it accepts.
        context_length: most positions of a text; None if it sets no limit.
        eos_ids, generate_eos_ids: ids that end a text, here and in `generate`.
        device: the device on which its rows are processed; for a server, this computer's own.
        capabilities: some of `CAPABILITIES`.
        listed: most tokens that it scores in one step; None for all.
        cache_formula: formula for the size of a text's cache; None if there is none.
        notices: sentences about it that a person should see.
        facts: everything except prompt and settings that affects a text, as plain values.
    """

    name: str
    source: str
    revision: str | None
    vocabulary: Vocabulary
    vocab_size: int
    input_size: int
    context_length: int | None
    eos_ids: tuple[int, ...]
    generate_eos_ids: tuple[int, ...]
    device: Any
    capabilities: frozenset[str]
    listed: int | None
    cache_formula: CacheFormula | None
    notices: tuple[str, ...]
    facts: dict[str, object]
    places: Places

    def open(self) -> Sequence:
        """Return a new, empty sequence."""

    def with_whole_rows(self) -> Self:
        """Return it with the scores of all tokens in every step (capability ``row_on_demand``)."""
