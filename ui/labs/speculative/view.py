"""Rounds, texts and figures of speculative decoding in words and HTML, escaped here."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from engine.decoding import RoundDistributions, SpeculativeDecoder
from engine.study import Acceptance, SpeedCurve, SpeedPoint
from engine.trace import ACCEPTED, REJECTED, RESAMPLED, ProposedToken, SpeculativeStep
from ui.labs.speculative.charts import TokenBar
from ui.shell.stage import staged_text
from ui.shell.tables import escaped, table
from ui.words.labels import counted, size, token_label, with_minus
from ui.words.language import marked, say, with_figures

SIGNS = {  # by verdict or kind of token, as colour alone never shows it
    marked("accepted"): "✓",
    marked("rejected"): "✗",
    marked("not looked at"): "–",
    marked("resampled"): "↻",
    marked("bonus"): "+",
    marked("plain"): "•",
}
LOSS_NAMES = {
    "drafting": marked("drafting"),
    "verification": marked("costlier checks"),
    "acceptance": marked("uneven acceptance"),
    "shaping": marked("chains and draws"),
    "bookkeeping": marked("bookkeeping"),
}
LOSS_SENTENCES = {
    "drafting": marked("the passes of the draft"),
    "verification": marked("a check of several tokens, which costs more than a pass over one"),
    "acceptance": marked("acceptance that differs by position, and rounds cut short"),
    "shaping": marked("chains and draws for both models"),
    "bookkeeping": marked("caches, records and stop rules"),
}
INVALID = marked("TEXT INVALID")
MOST_BARS = 10
STAGED = 3  # rounds in stage view


def _invalid(text: SpeculativeDecoder) -> str:
    """Return the mark of a text with forced acceptance; empty for a valid text."""
    invalid = any(step.text_invalid for step in text.steps)
    return f'<strong class="spec-invalid">{say(INVALID)}</strong>' if invalid else ""


def staged(text: SpeculativeDecoder, prompt: str) -> str:
    """Format the text and its last rounds for stage view."""
    last = "".join(_round(step, None) for step in text.steps[: -STAGED - 1 : -1])
    body = staged_text(prompt, escaped(text.text), _invalid(text))
    return f'{body}<div class="dv-staged-rounds">{last}</div>'


def written(text: SpeculativeDecoder, prompt: str) -> str:
    """Format the text so far, with a mark if acceptance was forced."""
    mark = _invalid(text)
    name = say("Text")
    body = f"<span>{escaped(prompt)}</span>{escaped(text.text)}"
    return (
        f'{mark}<div class="dv-written spec-text" tabindex="0" role="region" aria-label="{name}">'
        f"{body}</div>"
    )


def rounds(steps: Sequence[SpeculativeStep], chosen: tuple[int, int] | None) -> str:
    """Format every round, the latest first."""
    parts = [_round(step, chosen) for step in reversed(steps)]
    name = say("Rounds")
    return (
        f'<div class="spec-rounds" tabindex="0" role="region" aria-label="{name}">'
        f"{''.join(parts)}</div>"
    )


def _round(step: SpeculativeStep, chosen: tuple[int, int] | None) -> str:
    cells = [
        _proposed(token, step, chosen == (step.index, place))
        for place, token in enumerate(step.proposed)
    ]
    drawn = step.drawn
    if drawn is not None:
        number = "greedy" if drawn.u is None else with_figures(f"u {drawn.u:.2f}")
        from_residual = drawn.kind == RESAMPLED and step.forced_acceptance is None
        words = (
            marked("{number}, {share} in the residual")
            if from_residual
            else marked("{number}, {share} in the target")
        )
        said = say(words, number=number, share=f"{drawn.probability:.2f}")
        cells.append(_cell(drawn.kind, drawn.text, said, ""))
    tokens = counted(len(step.token_ids), "token")
    accepted = say("{one} of {all} accepted", one=step.accepted, all=len(step.proposed))
    facts = f"{accepted} · {tokens}"
    name = say("Round {number}", number=step.index + 1)
    return (
        f'<section class="spec-round"><h3>{name}</h3>'
        f'<p class="dv-facts">{facts}</p><ol>{"".join(cells)}</ol></section>'
    )


def _proposed(token: ProposedToken, step: SpeculativeStep, is_chosen: bool) -> str:
    if token.ratio is None:
        said = say("draft {share}", share=f"{token.draft_probability:.2f}")
        return _cell(token.verdict, token.text, said, "", is_chosen)
    bound = min(1.0, token.ratio) if step.forced_acceptance is None else step.forced_acceptance
    bar = f'<i style="width:{100 * bound:.1f}%"></i>'
    if token.u is None:
        is_same = token.verdict == ACCEPTED
        said = say("greedy: the same token") if is_same else say("greedy: another token")
    else:
        bar += f'<b style="left:{100 * token.u:.1f}%"></b>'
        said = with_figures(
            f"u {token.u:.2f} {'<' if token.verdict == ACCEPTED else '≥'} {bound:.2f}"
        )
    bar = f'<span class="spec-bar" aria-hidden="true">{bar}</span>'
    return _cell(token.verdict, token.text, said, bar, is_chosen)


def _cell(kind: str, text: str, said: str, bar: str, is_chosen: bool = False) -> str:
    look = f"spec-{kind.replace(' ', '-')}{' spec-chosen' if is_chosen else ''}"
    return (
        f'<li class="{look}"><code>{html.escape(token_label(text))}</code>{bar}'
        f"<span>{html.escape(said)}</span><strong>{SIGNS[kind]} {say(kind)}</strong></li>"
    )


def position_name(place: int, token: ProposedToken) -> str:
    """Return the name of a proposal in a list, as plain text."""
    return f"{place + 1}: {token_label(token.text)} {SIGNS[token.verdict]}"


def bars(
    found: RoundDistributions, step: SpeculativeStep, text: SpeculativeDecoder
) -> list[TokenBar]:
    """Return bars for the leading tokens of both distributions and the tokens of this round."""
    both, vocabulary = found.overlap, text.model.vocabulary
    most = np.maximum(both.target, both.draft)
    ids = np.argsort(-most, kind="stable")[:MOST_BARS].tolist()
    marks = {found.token.token_id: say("proposed")}
    if found.token.verdict == REJECTED:
        marks[step.drawn.token_id] = say("drawn")
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
    """Say how much the two distributions overlap over the full vocabulary."""
    token, both = found.token, found.overlap
    count = both.target.size
    said = say(
        "Over all {count} tokens the two share {shared}: the probability that a proposal is "
        "accepted here. The target's remaining {rest}, divided by its sum, is the residual.",
        count=f"{count:,}",
        shared=f"{both.shared:.3f}",
        rest=f"{1 - both.shared:.3f}",
    )
    if token.target_probability is None:
        behind = say("This proposal comes after a rejection, so it was never examined.")
        return f"{said} {behind}"
    shares = say(
        "The target gives the proposed token {target}, the draft {draft}.",
        target=f"{token.target_probability:.4f}",
        draft=f"{token.draft_probability:.4f}",
    )
    return f"{said} {shares} {_why(token, step)}"


def _why(token: ProposedToken, step: SpeculativeStep) -> str:
    """Say why a verified proposal is accepted or rejected."""
    is_accepted = token.verdict == ACCEPTED
    if token.u is None:
        return say("So it is accepted.") if is_accepted else say("So it is rejected.")
    forced = step.forced_acceptance
    below = (
        marked("u = {u} is below the ratio, {bound}, so it is accepted."),
        marked("u = {u} is below the forced acceptance, {bound}, so it is accepted."),
    )
    above = (
        marked("u = {u} is not below the ratio, {bound}, so it is rejected."),
        marked("u = {u} is not below the forced acceptance, {bound}, so it is rejected."),
    )
    words = (below if is_accepted else above)[forced is not None]
    bound = token.ratio if forced is None else forced
    return say(words, u=f"{token.u:.3f}", bound=f"{bound:.3f}")


def figures(found: Acceptance, last: SpeculativeStep) -> str:
    """Return a table of the figures over all rounds so far."""

    def shown(value: float | None) -> str:
        return "–" if value is None else f"{value:.2f}"

    rows = [
        (say("acceptance rate: accepted / looked at"), shown(found.rate)),
        (say("mean accepted length: 1 + accepted / rounds"), shown(found.mean_accepted_length)),
        (say("tokens per target pass"), shown(found.tokens_per_pass)),
        (say("target's cache"), size(last.target_cache_bytes)),
        (say("draft's cache"), size(last.draft_cache_bytes)),
    ]
    return table(say("All rounds so far"), (say("figure"), say("value")), rows, "figures")


def notice(text: SpeculativeDecoder) -> str:
    """Say what to notice in the rounds so far."""
    steps = text.steps
    found = Acceptance.of(steps)
    if any(step.text_invalid for step in steps):
        forced = next(s.forced_acceptance for s in reversed(steps) if s.text_invalid)
        return say(
            "Acceptance is forced to {share}, whatever the models say: {invalid}. Only the "
            "speed is meaningful: {tokens} tokens per pass of the target.",
            share=f"{forced:.2f}",
            invalid=say(INVALID),
            tokens=f"{found.tokens_per_pass:.2f}",
        )
    if found.rate is None:
        return say("Nothing has been proposed yet, so every pass of the target gave one token.")
    said = say(
        "The target accepted {one} of the {all} proposals that it looked at: {tokens} tokens per "
        "pass of the target.",
        one=sum(found.accepted),
        all=sum(found.looked_at),
        tokens=f"{found.tokens_per_pass:.2f}",
    )
    for step in reversed(steps):
        for token in step.proposed:
            if token.verdict == REJECTED:
                rejected = say(
                    "Round {number} rejected {token}: the draft gave it {draft}, the target "
                    "{target}.",
                    number=step.index + 1,
                    token=token_label(token.text),
                    draft=f"{token.draft_probability:.2f}",
                    target=f"{token.target_probability:.2f}",
                )
                return f"{said} {rejected}"
    none = say("None was rejected.")
    return f"{said} {none}"


def speed_sentence(curve: SpeedCurve, point: SpeedPoint) -> str:
    """Say whether the trial was faster or slower than plain decoding, and name the largest loss."""
    plain, own = curve.plain.ms_per_token, point.cost.ms_per_token
    largest = point.waterfall.largest
    verdict = (
        marked(
            "At g = {length} a token takes {own} ms, with plain decoding {plain} ms: {times} "
            "times the speed, so it is faster here."
        )
        if point.measured >= 1
        else marked(
            "At g = {length} a token takes {own} ms, with plain decoding {plain} ms: {times} "
            "times the speed, so it is slower here."
        )
    )
    said = [
        say(
            verdict,
            length=point.length,
            own=f"{own:.2f}",
            plain=f"{plain:.2f}",
            times=f"{point.measured:.2f}",
        ),
        say(
            "The largest loss is {loss}: {change}.",
            loss=say(LOSS_SENTENCES[largest.name]),
            change=with_minus(f"{largest.change:.2f}"),
        ),
    ]
    best = curve.best
    if best.length != point.length:
        said.append(
            say(
                "The best length measured is g = {length}: {times} times the speed.",
                length=best.length,
                times=f"{best.measured:.2f}",
            )
        )
    if curve.text_invalid:
        said.insert(0, say("{invalid}: acceptance is forced.", invalid=say(INVALID)))
    return " ".join(said)


def speed_table(curve: SpeedCurve) -> str:
    """Return a table of the trial's figures for every draft length."""
    head = (
        "g",
        say("acceptance"),
        say("tokens per pass"),
        "c",
        "v",
        say("ms per token"),
        say("formula"),
        say("measured"),
    )
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
    return table(say("Speed by draft length"), head, rows, "figures")
