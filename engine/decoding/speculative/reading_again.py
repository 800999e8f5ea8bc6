"""Bring both models up to date before a round: read the prompt, or rebuild lost caches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.decoding.speculative.block_reader import BlockReader
from engine.decoding.speculative.proposers import Proposer
from engine.trace.speculative import SpeculativeStep

# Up to this many rounds, a lost cache is rebuilt by the same passes, which gives the same bits.
# Beyond that, it is read in chunks, which is faster and changes the last bits.
EXACT_ROUNDS = 64


def read_beginning(
    reader: BlockReader,
    proposer: Proposer,
    ids: np.ndarray,
    prompt_length: int,
    steps: Sequence[SpeculativeStep],
    with_draft: bool,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Read the prompt except its last token, and reread the rounds if a cache was lost.

    Args:
        reader: the target's reader.
        proposer: the proposer.
        ids: (positions,) the text.
        prompt_length: number of prompt tokens in it.
        steps: the rounds so far.
        with_draft: whether the draft proposes next, so that it must have read the prompt.

    Returns:
        The passes over the prompt by the target and by the draft; empty if it was already read.
    """
    exact = len(steps) <= EXACT_ROUNDS
    if exact and reader.is_lost:
        reader.begin_again()
    lost_draft = exact and proposer.is_lost
    if lost_draft:
        proposer.begin_again()
    again = not reader.positions
    reading = reader.prefill(ids[:prompt_length])
    draft_passes: tuple[int, ...] = ()
    if with_draft and not proposer.positions:
        draft_passes = proposer.prefill(ids[:prompt_length])[0]
    for step in steps:
        end = prompt_length + step.start
        proposed = [token.token_id for token in step.proposed]
        kept = end + len(step.token_ids) - 1
        if again:
            reader.catch_up(ids[:end])
            reader.mark()
            block = [*ids[reader.positions : end].tolist(), *proposed]
            reader.read(block, all_positions=True)
            reader.keep(kept)
        if lost_draft and proposed:
            proposer.repeat(ids, end, proposed)
            proposer.keep(kept)
    return (reading.passes if reading else ()), draft_passes
