"""Result of a chain on one row of logits: every stage's output, the probabilities, the draw.

The arithmetic is exact over the full vocabulary (see `engine.sampling.ranking`). The results equal
those of transformers' processors, row for row, with two exceptions. Float32 rounding in *their*
running sum may decide whether a token at the edge of a cut stays. Ties may be broken differently;
each sampler documents that case. With `parity=True` their processors run instead, and
`torch.multinomial` draws, so that a run repeats `model.generate` token for token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.errors import NoCandidatesError
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import (
    NO_CONTEXT,
    Context,
    CutStage,
    ScaleStage,
    Stage,
    Temperature,
    ranked_after,
)
from engine.sampling.settings import SamplingSettings
from engine.sampling.survivors import Survivors

MOST_NAMED = 12  # leading tokens of an edit that are listed by name


class StageResult:
    """Effect of one stage of the chain on the row.

    Attributes:
        stage: the stage.
        before, after: the tokens left before and after it.
        context: everything that the stage saw in addition to the scores.
    """

    def __init__(
        self, stage: Stage, before: Survivors, after: Survivors, context: Context = NO_CONTEXT
    ) -> None:
        self.stage = stage
        self.before = before
        self.after = after
        self.context = context

    def __repr__(self) -> str:
        removed = f"mass_removed={self.mass_removed:.4g}"
        return f"StageResult({self.name}, survivors={self.survivors:,}, {removed})"

    @property
    def name(self) -> str:
        """The stage's setting, e.g. ``top_p``."""
        return self.stage.name

    @property
    def survivors(self) -> int:
        """Number of tokens left after this stage."""
        return self.after.count

    @cached_property
    def mass_removed(self) -> float:
        """Share of the incoming probability that the stage removed, 0 to 1."""
        before, after = self.before, self.after
        if after.count == before.count:
            return 0.0
        if after.row is before.row:
            return max(0.0, 1.0 - after.mass / before.mass)
        _, old, new = self._moved
        return _share(before, old[new == -np.inf])

    @property
    def kept(self) -> np.ndarray:
        """True for every token left after this stage: (vocab,) bool."""
        return self.after.scores > -np.inf

    @property
    def probs(self) -> np.ndarray:
        """Distribution right after this stage, renormalised: (vocab,) float64."""
        return self.after.probs

    @property
    def entropy_bits(self) -> float:
        """Shannon entropy in bits of the distribution right after this stage."""
        return self.after.entropy_bits

    @cached_property
    def figures(self) -> dict[str, float]:
        """Figures for sentences about this stage (see `engine.sampling.samplers.info.Info`).

        These are the stage's own numbers by name, those that its rule computed (`Stage.figures`),
        and

            before, after, removed          counts of tokens
            mass_removed                    as above
            entropy_before, entropy_after   bits
            above                           of a cut: removed tokens that rank above all survivors
            moved, rose, fell, banned       of an edit: counts of tokens whose score it changed
            share_before, share_after       the probability that these tokens hold together
        """
        before, after = self.before, self.after
        figures = {
            **self.stage.numbers,
            "before": before.count,
            "after": after.count,
            "removed": before.count - after.count,
            "mass_removed": self.mass_removed,
            "entropy_before": before.entropy_bits,
            "entropy_after": after.entropy_bits,
        }
        if self.stage.kind == "cut":
            figures["above"] = before.ahead_of(after)
        elif self.stage.kind == "edit":
            figures |= self._edit_figures()
        return figures | self.stage.figures(before, after, self.context)

    @cached_property
    def case(self) -> str:
        """Key in `Info.says` of the sentence that applies here."""
        return self.stage.case(self.before, self.after, self.context)

    @cached_property
    def moved_ids(self) -> list[int]:
        """Ids of the leading tokens that the stage removed or whose score it changed, at most 12.

        They are in the rank order of just before the stage.
        """
        ids, old, _ = self._moved
        if ids.size > MOST_NAMED:  # a mask moves nearly all tokens, too many to sort
            leading = old >= np.partition(old, -MOST_NAMED)[-MOST_NAMED]
            ids, old = ids[leading], old[leading]
        return ids[np.lexsort((ids, -old))[:MOST_NAMED]].tolist()

    @cached_property
    def _moved(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ids of the tokens whose score has changed, and the scores before and after: (n,) each."""
        if self.after is self.before:
            return np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32)
        before, after = self.before.scores, self.after.scores
        edited = self.after.row.edited_from(self.before.row)
        if edited is None:
            ids = np.flatnonzero(before != after)
        else:
            ids = edited[before[edited] != after[edited]]
        return ids, before[ids], after[ids]

    def _edit_figures(self) -> dict[str, float]:
        ids, old, new = self._moved
        banned = int(np.count_nonzero(np.isneginf(new)))
        rose = int(np.count_nonzero(new > old))
        return {
            "moved": ids.size,
            "rose": rose,
            "fell": ids.size - rose - banned,
            "banned": banned,
            "share_before": _share(self.before, old),
            "share_after": _share(self.after, new),
        }


def _share(survivors: Survivors, scores: np.ndarray) -> float:
    """Return the total probability of tokens with these scores among the survivors."""
    if not survivors.count:
        return 0.0
    weights = np.exp(scores.astype(np.float64) - survivors.row.highest)
    return min(1.0, float(weights.sum()) / survivors.mass)


class Drawn(NamedTuple):
    """A drawn token: its id and its final probability."""

    token_id: int
    probability: float


class Candidate(NamedTuple):
    """One row of the candidates table.

    Attributes:
        rank: 1 for the highest score just before the first cut (by default, after penalties and
            temperature).
        token_id: the token.
        logit: raw logit, as the model gave it.
        prob: probability just before the first cut.
        cumulative: sum of `prob` down to and including this rank.
        removed_by: name of the stage that removed it, None for a survivor.
        final_prob: probability in the draw, 0 for a removed token.
    """

    rank: int
    token_id: int
    logit: float
    prob: float
    cumulative: float
    removed_by: str | None
    final_prob: float


class Distribution:
    """Result of a chain on one row of logits.

    Attributes:
        logits: (vocab,) float32 raw logits.
        stages: one `StageResult` per stage, in order.
    """

    def __init__(self, raw: RankedRow, stages: Sequence[StageResult]) -> None:
        self._raw = raw
        self.logits = raw.scores
        self.stages = tuple(stages)
        self._start = stages[0].before if stages else Survivors(raw)
        self._final = stages[-1].after if stages else self._start

    @property
    def raw(self) -> RankedRow:
        """The raw logits with their ranking, softmax and entropy (temperature 1, nothing cut)."""
        return self._raw

    @property
    def survivors(self) -> int:
        """Number of tokens that can still be drawn."""
        return self._final.count

    @property
    def final_scores(self) -> np.ndarray:
        """Scores at the end of the chain, removed tokens at -inf: (vocab,) float32."""
        return self._final.scores

    @cached_property
    def probs(self) -> np.ndarray:
        """Final probabilities, 0 for removed tokens, sum 1: (vocab,) float64."""
        return self._final.probs

    @property
    def tempered(self) -> Survivors:
        """The tokens after the temperature stage or, without one, just before the first cut.

        If both temperatures are on, after the last one.
        """
        for result in reversed(self.stages):
            if isinstance(result.stage, ScaleStage):
                return result.after
        shaped = self._start
        cut_seen = False
        for result in self.stages:
            cut_seen = cut_seen or isinstance(result.stage, CutStage)
            if not cut_seen:
                shaped = result.after
        return shaped

    @property
    def before_cuts(self) -> Survivors:
        """The tokens just before the first stage that cuts, as `candidates` ranks them.

        Temperature 0 is such a cut, so with it these are the model's own odds after penalties.
        """
        for result in self.stages:
            cuts = isinstance(result.stage, CutStage) or (
                isinstance(result.stage, Temperature) and result.stage.is_greedy
            )
            if cuts:
                return result.before
        return self._final

    @property
    def entropy_bits(self) -> float:
        """Shannon entropy in bits after the temperature (0 when greedy)."""
        return self.tempered.entropy_bits

    @property
    def final_entropy_bits(self) -> float:
        """Shannon entropy in bits of the distribution that is drawn from, after all cuts."""
        return self._final.entropy_bits

    def draw(self, u: float) -> Drawn:
        """Draw the token at `u` on the cumulative distribution, in rank order.

        Args:
            u: uniform number, 0 <= u < 1.
        """
        place = self._final.place_at(u)
        return Drawn(place.token_id, place.weight / self._final.mass)

    def sample(self, u: float) -> int:
        """Return the id of the token that `u` draws."""
        return self.draw(u).token_id

    def probability(self, token_id: int) -> float:
        """Return the final probability of one token, 0 if it was removed."""
        return float(self.probabilities(np.array([token_id]))[0])

    def probabilities(self, token_ids: np.ndarray) -> np.ndarray:
        """Return the final probabilities of these tokens, 0 for removed ones: (n,) float64."""
        return self._final.probs_of(token_ids)

    def removed_by(self, token_id: int) -> str | None:
        """Return the name of the stage that removed a token, None if it survived."""
        for result in self.stages:
            if result.before.scores[token_id] > -np.inf >= result.after.scores[token_id]:
                return result.name
        return None

    def states_after(self, token_id: int) -> Mapping[str, object]:
        """Return the states of the stages with memory after this step, by setting.

        Args:
            token_id: the token that was drawn or forced.
        """
        return {
            result.name: result.stage.after(
                result.stage.state(result.context), token_id, result.before
            )
            for result in self.stages
            if result.stage.has_memory()
        }

    def candidates(self, count: int) -> list[Candidate]:
        """Return the `count` leading tokens in rank order, including removed ones."""
        start = self.before_cuts
        row = start.row
        row.sort_to_depth(count)
        ids = row.ids[:count]
        removed: dict[int, str] = {}
        for result in self.stages:
            if result.survivors < result.before.count:
                out = ids[~(result.after.scores[ids] > -np.inf)]
                for token_id in out.tolist():
                    removed.setdefault(token_id, result.name)
        final_probs = self.probs[ids]
        probs = row.weights[:count] / start.mass
        cumulative = row.cumulative[:count] / start.mass
        return [
            Candidate(
                rank=place + 1,
                token_id=token_id,
                logit=float(self.logits[token_id]),
                prob=float(probs[place]),
                cumulative=float(cumulative[place]),
                removed_by=removed.get(token_id),
                final_prob=float(final_probs[place]),
            )
            for place, token_id in enumerate(ids.tolist())
        ]


def shape(
    logits: np.ndarray, settings: SamplingSettings, context: Context = NO_CONTEXT
) -> Distribution:
    """Run the chain of `settings` over one row of logits.

    Args:
        logits: (vocab,) float32; not modified.
        settings: the chain.
        context: the tokens so far, and everything else that stages use.

    Raises:
        LogitsError: NaN or +inf among the logits.
        NoCandidatesError: every token is at -inf; the error names the stage that removed the last
            one, and contains the results of the chain up to it.
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
