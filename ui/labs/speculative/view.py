"""Rounds, texts and figures of speculative decoding in words and HTML; all texts are escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from engine.decoding.speculative import SpeculativeDecoder
from engine.decoding.speculative.verifier import RoundDistributions
from engine.study.acceptance import Acceptance
from engine.study.speedup import SpeedCurve, SpeedPoint
from engine.trace.speculative import ACCEPTED, REJECTED, RESAMPLED, ProposedToken, SpeculativeStep
from ui.labs.speculative.charts import TokenBar
from ui.skeleton.tables import escaped, table
from ui.words.labels import counted, size, token_label, with_minus

SIGNS = {  # of a verdict or a kind: never told by colour alone
    "accepted": "✓",
    "rejected": "✗",
    "not looked at": "–",
    "resampled": "↻",
    "bonus": "+",
    "plain": "•",
}
LOSS_NAMES = {
    "drafting": "drafting",
    "verification": "dearer checks",
    "acceptance": "uneven acceptance",
    "shaping": "chains and draws",
    "bookkeeping": "bookkeeping",
}
LOSS_SENTENCES = {
    "drafting": "the passes of the draft",
    "verification": "a check of several tokens, which is dearer than a pass over one",
    "acceptance": "acceptance that differs by position, and rounds cut short",
    "shaping": "chains and draws for both models",
    "bookkeeping": "caches, records and stop rules",
}
INVALID = "TEXT INVALID"
MOST_BARS = 10


def written(text: SpeculativeDecoder, prompt: str) -> str:
    """The text so far, with its mark where acceptance was forced."""
    invalid = any(step.text_invalid for step in text.steps)
    mark = f'<strong class="spec-invalid">{INVALID}</strong>' if invalid else ""
    body = f"<span>{escaped(prompt)}</span>{escaped(text.text)}"
    return (
        f'{mark}<div class="dv-written spec-text" tabindex="0" role="region" aria-label="Text">'
        f"{body}</div>"
    )


def rounds(steps: Sequence[SpeculativeStep], chosen: tuple[int, int] | None) -> str:
    """Every round, the latest first."""
    parts = [_round(step, chosen) for step in reversed(steps)]
    return (
        '<div class="spec-rounds" tabindex="0" role="region" aria-label="Rounds">'
        f"{''.join(parts)}</div>"
    )


def _round(step: SpeculativeStep, chosen: tuple[int, int] | None) -> str:
    cells = [
        _proposed(token, step, chosen == (step.index, place))
        for place, token in enumerate(step.proposed)
    ]
    drawn = step.drawn
    if drawn is not None:
        number = "greedy" if drawn.u is None else f"u {drawn.u:.2f}"
        from_residual = drawn.kind == RESAMPLED and step.forced_acceptance is None
        source = "residual" if from_residual else "target"
        cells.append(
            _cell(drawn.kind, drawn.text, f"{number}, {drawn.probability:.2f} in the {source}", "")
        )
    tokens = counted(len(step.token_ids), "token")
    facts = f"{step.accepted} of {len(step.proposed)} accepted · {tokens}"
    return (
        f'<section class="spec-round"><h3>Round {step.index + 1}</h3>'
        f'<p class="dv-facts">{facts}</p><ol>{"".join(cells)}</ol></section>'
    )


def _proposed(token: ProposedToken, step: SpeculativeStep, is_chosen: bool) -> str:
    if token.ratio is None:
        return _cell(
            token.verdict, token.text, f"draft {token.draft_probability:.2f}", "", is_chosen
        )
    bound = min(1.0, token.ratio) if step.forced_acceptance is None else step.forced_acceptance
    bar = f'<i style="width:{100 * bound:.1f}%"></i>'
    if token.u is None:
        said = "greedy: the same token" if token.verdict == ACCEPTED else "greedy: another token"
    else:
        bar += f'<b style="left:{100 * token.u:.1f}%"></b>'
        said = f"u {token.u:.2f} {'<' if token.verdict == ACCEPTED else '≥'} {bound:.2f}"
    bar = f'<span class="spec-bar" aria-hidden="true">{bar}</span>'
    return _cell(token.verdict, token.text, said, bar, is_chosen)


def _cell(kind: str, text: str, said: str, bar: str, is_chosen: bool = False) -> str:
    look = f"spec-{kind.replace(' ', '-')}{' spec-chosen' if is_chosen else ''}"
    return (
        f'<li class="{look}"><code>{html.escape(token_label(text))}</code>{bar}'
        f"<span>{html.escape(said)}</span><strong>{SIGNS[kind]} {kind}</strong></li>"
    )


def position_name(place: int, token: ProposedToken) -> str:
    """A proposal in a list to choose from, as plain text."""
    return f"{place + 1}: {token_label(token.text)} {SIGNS[token.verdict]}"


def bars(
    found: RoundDistributions, step: SpeculativeStep, text: SpeculativeDecoder
) -> list[TokenBar]:
    """The leading tokens of both distributions, and those that the round is about."""
    both, vocabulary = found.overlap, text.model.vocabulary
    most = np.maximum(both.target, both.draft)
    ids = np.argsort(-most, kind="stable")[:MOST_BARS].tolist()
    marks = {found.token.token_id: "proposed"}
    if found.token.verdict == REJECTED:
        marks[step.drawn.token_id] = "drawn"
    ids += [token_id for token_id in marks if token_id not in ids]
    return [
        TokenBar(
            token_label(vocabulary.token_bytes(token_id).decode("utf-8", "replace"))
            + (f" ({marks[token_id]})" if token_id in marks else ""),
            float(both.target[token_id]),
            float(both.draft[token_id]),
        )
        for token_id in ids
        if most[token_id] > 0
    ]


def overlap_sentence(found: RoundDistributions, step: SpeculativeStep) -> str:
    """What the two distributions share, over the full vocabulary, in words."""
    token, both = found.token, found.overlap
    count = both.target.size
    said = (
        f"Over all {count:,} tokens the two share {both.shared:.3f}: the probability that a "
        f"proposal is accepted here. The other {1 - both.shared:.3f} of the target, divided by its "
        "sum, is the residual. "
    )
    if token.target_probability is None:
        return said + "This proposal stands behind a rejection, so nobody looked at it."
    target, draft = token.target_probability, token.draft_probability
    said += f"For the proposed token the target has {target:.4f} and the draft {draft:.4f}"
    if token.u is None:
        return f"{said}, so it is {token.verdict}."
    bound, name = token.ratio, "the ratio"
    if step.forced_acceptance is not None:
        bound, name = step.forced_acceptance, "the forced acceptance"
    below = "is below" if token.verdict == ACCEPTED else "is not below"
    return f"{said}; u = {token.u:.3f} {below} {name}, {bound:.3f}, so it is {token.verdict}."


def figures(found: Acceptance, last: SpeculativeStep) -> str:
    """Figures of all rounds so far as a table."""

    def shown(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    rows = [
        ("acceptance rate: accepted / looked at", shown(found.rate)),
        ("mean accepted length: 1 + accepted / rounds", shown(found.mean_accepted_length)),
        ("tokens per target pass", shown(found.tokens_per_pass)),
        ("target's cache", size(last.target_cache_bytes)),
        ("draft's cache", size(last.draft_cache_bytes)),
    ]
    return table("All rounds so far", ("figure", "value"), rows, "figures")


def notice(text: SpeculativeDecoder) -> str:
    """What there is to see in the rounds just now."""
    steps = text.steps
    found = Acceptance.of(steps)
    if any(step.text_invalid for step in steps):
        forced = next(s.forced_acceptance for s in reversed(steps) if s.text_invalid)
        return (
            f"Acceptance is forced to {forced:.2f}, whatever the models say: {INVALID}. Only the "
            f"pace means something: {found.tokens_per_pass:.2f} tokens per pass of the target."
        )
    if found.rate is None:
        return "Nothing was proposed yet, so every pass of the target gave one token."
    said = (
        f"The target accepted {sum(found.accepted)} of the {sum(found.looked_at)} proposals that "
        f"it looked at: {found.tokens_per_pass:.2f} tokens per pass of the target."
    )
    for step in reversed(steps):
        for token in step.proposed:
            if token.verdict == REJECTED:
                return (
                    f"{said} Round {step.index + 1} rejected {token_label(token.text)}: the draft "
                    f"gave it {token.draft_probability:.2f}, the target "
                    f"{token.target_probability:.2f}."
                )
    return f"{said} None was rejected."


def speed_sentence(curve: SpeedCurve, point: SpeedPoint) -> str:
    """What the trial came to, in words; where it is slower it says so, and why."""
    plain, own = curve.plain.ms_per_token, point.cost.ms_per_token
    largest = point.waterfall.largest
    verdict = "faster" if point.measured >= 1 else "slower"
    said = (
        f"At g = {point.length} a token takes {own:.2f} ms and by plain decoding {plain:.2f} ms: "
        f"{point.measured:.2f} times the speed, so it is {verdict} here. The largest loss is "
        f"{LOSS_SENTENCES[largest.name]}: {with_minus(f'{largest.change:.2f}')}."
    )
    best = curve.best
    if best.length != point.length:
        said += (
            f" The best length measured is g = {best.length}: {best.measured:.2f} times the speed."
        )
    return f"{INVALID}, acceptance is forced. {said}" if curve.text_invalid else said


def speed_table(curve: SpeedCurve) -> str:
    """Every draft length of the trial."""
    head = ("g", "acceptance", "tokens per pass", "c", "v", "ms per token", "formula", "measured")
    rows = [
        (
            str(point.length),
            "–" if point.acceptance.rate is None else f"{point.acceptance.rate:.2f}",
            f"{point.acceptance.tokens_per_pass:.2f}",
            f"{point.waterfall.draft_cost:.2f}",
            f"{point.waterfall.verify_cost:.2f}",
            f"{point.cost.ms_per_token:.2f}",
            f"{point.predicted:.2f}",
            f"{point.measured:.2f}",
        )
        for point in curve.points
    ]
    return table("Speed by draft length", head, rows, "figures")
