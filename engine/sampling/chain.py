"""The stages of some settings, one after another, over one row of logits.

The arithmetic is exact over the full vocabulary (see `engine.sampling.ranking`). It equals the
processors of transformers, row for row, with two exceptions. Float32 rounding in *their* running
sum may decide on a token at the edge of a cut. Scores may be equal; each stage documents that case.
With `parity=True` their processors run instead, and `torch.multinomial` draws, so that a run
repeats `model.generate` token for token.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.errors import NoCandidatesError
from engine.sampling.distribution import Distribution, StageResult
from engine.sampling.ranking import RankedRow
from engine.sampling.settings import SamplingSettings
from engine.sampling.stages import NO_CONTEXT, Context, ranked_after
from engine.sampling.survivors import Survivors


def shape(
    logits: np.ndarray, settings: SamplingSettings, context: Context = NO_CONTEXT
) -> Distribution:
    """Run the chain of `settings` over one row of logits.

    Args:
        logits: (vocab,) float32; not modified.
        settings: the chain.
        context: the tokens so far, and everything else that stages look at.

    Raises:
        LogitsError: NaN or +inf among the logits.
        NoCandidatesError: every token is at -inf; names the stage that took the last one, and
            holds the results of the chain up to it.
    """
    raw = RankedRow(np.asarray(logits, np.float32))
    survivors = Survivors(raw)
    after_stage = _transformers_stages(raw, settings, context) if settings.parity else None
    results = []
    for stage in settings.chain:
        try:
            after = next(after_stage) if after_stage else stage.apply(survivors, context)
        except NoCandidatesError as error:
            none = Survivors(survivors.row, survivors.start, survivors.start)
            error.stages = (*results, StageResult(stage, survivors, none, context))
            raise
        results.append(StageResult(stage, survivors, after, context))
        survivors = after
    return Distribution(raw, results)


def _transformers_stages(
    raw: RankedRow, settings: SamplingSettings, context: Context
) -> Iterator[Survivors]:
    """Yield the survivors after each stage, as transformers' own processors leave them.

    They run on the model's device, as in `generate`: a GPU rounds and adds in its own way.
    """
    import torch  # only parity mode needs it here

    scores = torch.tensor(raw.scores, device=context.device)[None]  # (1, vocab)
    token_ids = torch.tensor(context.token_ids, device=context.device)[None]  # (1, positions)
    for stage in settings.chain:
        scores = stage.processor(context)(token_ids, scores)
        yield ranked_after(stage.setting, scores[0].cpu().numpy())


def draw(probs: np.ndarray, u: float) -> int:
    """Return the id of the token at `u` on the cumulative sum of `probs`, most likely first.

    Equal probabilities are ordered by id, lower first. This is the definition; `Distribution.draw`
    gives the same token without sorting the whole vocabulary.

    Args:
        probs: (vocab,) probabilities; their sum is taken as 1.
        u: uniform number, 0 <= u < 1.
    """
    order = np.lexsort((np.arange(probs.size), -probs))
    order = order[probs[order] > 0]
    cumulative = np.cumsum(probs[order], dtype=np.float64)
    place = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
    return int(order[min(place, order.size - 1)])
