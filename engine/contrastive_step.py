"""What one step of contrastive search is: the candidates, the winner, the cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ContrastiveCandidate:
    """One of the most likely next tokens, and how it fares.

    Attributes:
        token_id: the token.
        probability: the model's, over the full vocabulary at temperature 1.
        penalty: largest cosine similarity of its hidden state to one before it, -1 to 1.
        nearest: position in the text, 0 for the prompt's first token, of that most similar state.
        score: (1 - penalty_alpha) * probability - penalty_alpha * penalty.
    """

    token_id: int
    probability: float
    penalty: float
    nearest: int
    score: float


@dataclass(frozen=True, slots=True)
class ContrastiveStep:
    """One step: the candidates, the token chosen among them, the cost.

    Attributes:
        index: 0 for the first generated token.
        token_id: the token appended.
        token_bytes: its bytes; a special token's name.
        text: text that this token completed; empty for special tokens and unfinished characters.
        is_special: whether it is a control token.
        candidates: most likely first; fewer than `top_k` where the model rules all others out.
        chosen: place of the best score among them, the likelier on a tie; above 0 where the
            penalty changed what greedy decoding would have taken.
        penalty_alpha: what the penalty counted against the probability.
        model_entropy_bits: entropy of the model's distribution (temperature 1).
        stop_reason: None, ``max_tokens``, ``eos``, ``stop_string`` or ``context``.
        stop_string: the stop string that ended generation here, else None.
        is_prefill: whether the prompt was read, in the first step or to rebuild a lost cache.
        cache_positions: positions in the cache, this token's included.
        cache_bytes: bytes of the cached values of the text, without the other candidates.
        cache_bytes_held: memory kept for them (see `engine.cache.CacheSize`).
        passes: forward passes of the step: one over all candidates, or one for each where a model's
            states cannot be copied row by row; and those that read the prompt or a lost cache.
        prefill_ms: wall time in milliseconds of reading the prompt, or all that a lost cache held.
        forward_ms: the pass over the candidates.
        score_ms: penalties, scores and the next candidates.
        total_ms: all of it, with bookkeeping.
    """

    index: int
    token_id: int
    token_bytes: bytes
    text: str
    is_special: bool
    candidates: tuple[ContrastiveCandidate, ...]
    chosen: int
    penalty_alpha: float
    model_entropy_bits: float
    stop_reason: str | None
    stop_string: str | None
    is_prefill: bool
    cache_positions: int
    cache_bytes: int
    cache_bytes_held: int
    passes: int
    prefill_ms: float
    forward_ms: float
    score_ms: float
    total_ms: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values; bytes as hexadecimal text."""
        candidates = [asdict(candidate) for candidate in self.candidates]
        return asdict(self) | {"token_bytes": self.token_bytes.hex(), "candidates": candidates}
