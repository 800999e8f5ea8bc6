"""From a decoder's recorded step to the plain values that tables and charts show."""

from __future__ import annotations

import math

import numpy as np

from engine.decoder import Decoder
from engine.ranking import RankedRow, Survivors
from engine.sampling import Candidate, Distribution, SamplingSettings
from engine.stages import CutStage
from engine.vocabulary import Vocabulary
from ui.charts.data import Curve, Draw, Row, StageRow, StepView, log_ranks
from ui.labels import token_label


def step_view(decoder: Decoder, index: int, settings: SamplingSettings, count: int) -> StepView:
    """What `settings` make of a recorded step.

    Args:
        decoder: the run.
        index: the step, from 0.
        settings: need not be those that the step was taken with.
        count: how many leading tokens get a row.

    Raises:
        DecodingError: the settings do not fit the model, or leave no candidate.
    """
    settings.check_vocabulary(decoder.model.vocab_size)
    step, vocabulary = decoder.steps[index], decoder.model.vocabulary
    distribution = decoder.distribution(index, settings)

    ranked = distribution.before_cuts
    ranked.row.sort_to_depth(ranked.row.count)  # the curve is over the whole vocabulary
    candidates = distribution.candidates(min(count, ranked.row.count))
    others = decoder.model.vocab_size - len(candidates)
    final = np.cumsum(distribution.probs[ranked.row.ids])
    below = len(candidates) - 1
    others_prob = float(ranked.row.cumulative[-1] - ranked.row.cumulative[below]) / ranked.mass
    others_final = float(final[-1] - final[below])
    if all(candidate.token_id != step.token_id for candidate in candidates):
        candidates.append(_candidate(distribution, ranked, step.token_id))
        others -= 1
        others_prob -= candidates[-1].prob
        others_final -= candidates[-1].final_prob

    last_kept = int(np.flatnonzero(distribution.final_scores[ranked.row.ids] > -np.inf)[-1]) + 1
    return StepView(
        index=index,
        rows=tuple(
            _row(candidate, distribution.raw, vocabulary, step.token_id) for candidate in candidates
        ),
        vocab_size=decoder.model.vocab_size,
        others=others,
        others_prob=max(0.0, others_prob),
        others_final=max(0.0, others_final),
        stages=tuple(_stage_rows(distribution, ranked.row)),
        survivors=distribution.survivors,
        last_kept=last_kept,
        curve=_curve(ranked, final, (last_kept, candidates[-1].rank)),
        draw=_draw(distribution, ranked.row, vocabulary, step.u),
        why_no_draw=_why_no_draw(step.forced, step.u, decoder),
        entropy_bits=distribution.entropy_bits,
        final_entropy_bits=distribution.final_entropy_bits,
        is_greedy=settings.is_greedy,
        as_recorded=settings.chain == decoder.settings_at(index).chain,
    )


def _candidate(distribution: Distribution, ranked: Survivors, token_id: int) -> Candidate:
    """One token's line, wherever it ranks."""
    row = ranked.row
    rank = row.rank(token_id)
    possible = rank <= row.count  # a forced token may have had a logit of -inf
    return Candidate(
        rank=rank,
        token_id=token_id,
        logit=float(distribution.logits[token_id]),
        prob=float(row.weights[rank - 1]) / ranked.mass if possible else 0.0,
        cumulative=float(row.cumulative[rank - 1]) / ranked.mass if possible else 1.0,
        removed_by=distribution.removed_by(token_id),
        final_prob=distribution.probability(token_id),
    )


def _row(candidate: Candidate, raw: RankedRow, vocabulary: Vocabulary, chosen: int) -> Row:
    return Row(
        label=token_label(vocabulary.label(candidate.token_id)),
        model_prob=math.exp(raw.logprob(candidate.token_id)),
        chosen=candidate.token_id == chosen,
        **candidate._asdict(),
    )


def _stage_rows(distribution: Distribution, row: RankedRow):
    entropy = distribution.raw.entropy_bits
    for result in distribution.stages:
        entropy_before, entropy = entropy, result.entropy_bits
        cuts = isinstance(result.stage, CutStage) or result.stage.setting == "temperature"
        kept = np.flatnonzero(result.kept[row.ids])
        yield StageRow(
            name=result.name,
            value=result.stage.value,
            before=result.before.count,
            after=result.survivors,
            entropy_before=entropy_before,
            entropy_after=entropy,
            mass_removed=result.mass_removed,
            last_rank=int(kept[-1]) + 1 if cuts and kept.size < row.count else None,
        )


def _curve(ranked: Survivors, final: np.ndarray, needed: tuple[int, ...]) -> Curve:
    """The ranking at log-spaced ranks, and at those where something happens."""
    row = ranked.row
    around = {rank + offset for rank in needed for offset in (-1, 0, 1)}
    exact = [rank for rank in around if 1 <= rank <= row.count]
    ranks = np.union1d(log_ranks(row.count), np.array(exact, np.int64))
    places = ranks - 1
    return Curve(
        ranks=ranks,
        probs=row.weights[places] / ranked.mass,
        cumulative=row.cumulative[places] / ranked.mass,
        final=final[places],
    )


def _draw(distribution: Distribution, row: RankedRow, vocabulary: Vocabulary, u: float | None):
    if u is None:
        return None
    token_id = distribution.sample(u)
    return Draw(u, token_id, token_label(vocabulary.label(token_id)), row.rank(token_id))


def _why_no_draw(forced: bool, u: float | None, decoder: Decoder) -> str:
    if forced:
        return "forced"
    if u is not None:
        return ""
    return "parity mode" if decoder.settings.parity else "greedy"
