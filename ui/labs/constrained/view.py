"""A constrained text in words and HTML; all texts from outside are escaped here."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import numpy as np

from engine.decoder import Decoder
from engine.model import Vocabulary
from engine.study import Broken, ConstraintFigures, Ribbon, Verdict, WholeTexts
from ui.shell.stage import staged_text
from ui.shell.tables import escaped, facts, table
from ui.words.errors import told
from ui.words.labels import counted, token_label
from ui.words.language import say
from ui.words.metrics import number, percent

STAGED = 3  # allowed tokens in stage view


def label(vocabulary: Vocabulary, token_id: int) -> str:
    """Return the label of a token."""
    return token_label(vocabulary.label(token_id))


def bits(value: float) -> str:
    """Format a number of bits with its unit."""
    return say("{count} bits", count=number(value, 1))


# --- the text -------------------------------------------------------------------------------------


def text_html(prompt: str, text: Decoder, ribbon: Ribbon, shown: int | None) -> str:
    """Format prompt and text, with forced characters underlined and the shown step marked."""
    name = html.escape(say("Text under the constraint"))
    dashed, no_choice = say("dashed"), say("nothing else could be there")
    between = say("between tokens")
    return (
        f'<p class="dv-written con-text" tabindex="0" aria-label="{name}">'
        f"<span>{escaped(prompt)}</span>{_tokens(text, ribbon, shown)}</p>"
        f'<p class="dv-facts con-legend"><span class="con-forced">{dashed}</span> {no_choice} · '
        f'<span class="con-token">|</span> {between}</p>'
    )


def staged(prompt: str, text: Decoder, ribbon: Ribbon, last: ConstraintFigures | None) -> str:
    """Format the text for stage view, with its last step's likeliest tokens, refused or not."""
    written = staged_text(prompt, _tokens(text, ribbon, last.index if last else None))
    if last is None:
        return written
    found, step = text.distribution(last.index), text.steps[last.index]
    leading = np.argsort(-found.probs, kind="stable")[:STAGED].tolist()
    allowed = {token_id for token_id in leading if found.probs[token_id] > 0} | {step.token_id}
    own = {token_id: math.exp(found.raw.logprob(token_id)) for token_id in allowed}
    own |= {wanted.token_id: wanted.probability for wanted in last.wanted[:STAGED]}
    rows = []
    for token_id in sorted(own, key=lambda one: -own[one]):
        is_allowed = token_id in allowed
        kind = "chosen" if token_id == step.token_id else "" if is_allowed else "removed"
        token = html.escape(label(text.model.vocabulary, token_id))
        after = percent(found.probs[token_id]) if is_allowed else say("refused")
        rows.append(
            f'<tr class="{kind}"><th scope="row"><code>{token}</code></th>'
            f'<td><i style="--share: {own[token_id]:.4f}"></i>'
            f"<span>{percent(own[token_id])}</span></td><td>{html.escape(after)}</td></tr>"
        )
    head = (say("token"), say("model’s own"), say("after settings"))
    named = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in head)
    body = f"<thead><tr>{named}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{written}{step_text(last)}<table class="dv-staged-bars">{body}</table>'


def _tokens(text: Decoder, ribbon: Ribbon, shown: int | None) -> str:
    """Format every token, with forced characters underlined and the shown step marked."""
    parts, start, pending = [], 0, []
    for step in text.steps:
        if step.is_special:
            continue
        flags = ribbon.forced[start : start + len(step.token_bytes)]
        start += len(step.token_bytes)
        pending += flags
        inside = []
        for character in step.text:
            length = len(character.encode("utf-8", "replace"))
            own, pending = pending[:length], pending[length:]
            inside.append((character, bool(own) and all(own)))
        kind = "con-token con-shown" if step.index == shown else "con-token"
        parts.append(f'<span class="{kind}">{_runs(inside)}</span>')
    return "".join(parts)


def _runs(characters: Sequence[tuple[str, bool]]) -> str:
    """Format characters, with each run of forced ones in one box."""
    parts, run, kind = [], "", False
    for character, is_forced in [*characters, ("", None)]:
        if is_forced is not kind and run:
            shown = escaped(run)
            parts.append(f'<span class="con-forced">{shown}</span>' if kind else shown)
            run = ""
        kind, run = is_forced, run + character
    return "".join(parts)


def state_html(figures: Sequence[ConstraintFigures], text: Decoder, verdict: Verdict) -> str:
    """Return the text's state: its price so far, and whether it is complete and valid."""
    total = sum(each.price_bits for each in figures)
    has_ended = text.stop_reason == "eos"
    words = [
        say("price so far {bits}", bits=bits(total)),
        say("{bits} a token", bits=bits(total / len(figures))) if figures else "",
        say("complete") if has_ended else say("not at its end; Play or Step adds more"),
        verdict_text(verdict) if has_ended else "",
    ]
    return f'<p class="dv-facts">{facts(word for word in words if word)}</p>'


def verdict_text(verdict: Verdict) -> str:
    """Put a parser's verdict into a few words."""
    problem = told(verdict.problem)
    if verdict.is_valid is None:
        return say("not judged: {problem}", problem=problem)
    if verdict.is_valid:
        return say("✓ valid, says {parser}", parser=verdict.parser)
    said = say("✗ not valid, says {parser}", parser=verdict.parser)
    if verdict.position is not None:
        place = say("character {place}", place=f"{verdict.position + 1:,}")
        return f"{said}: {problem} ({place})"
    return f"{said}: {problem}"


# --- figures --------------------------------------------------------------------------------------


def wanted_html(vocabulary: Vocabulary, text: Decoder, each: ConstraintFigures) -> str:
    """Return a table of a step: its token, then the tokens that the model preferred."""
    step = text.steps[each.index]
    rows = [
        (
            say("{token} (written)", token=label(vocabulary, step.token_id)),
            percent(math.exp(step.logprob)),
            f"{step.rank:,}",
        )
    ]
    rows += [
        (label(vocabulary, wanted.token_id), percent(wanted.probability), f"{wanted.rank:,}")
        for wanted in each.wanted
    ]
    caption = say("Step {step}: what the model wanted instead", step=each.index + 1)
    return table(caption, (say("token"), say("model’s probability"), say("rank")), rows, "figures")


def step_text(each: ConstraintFigures) -> str:
    """Return one step's figures on one line."""
    forced = each.forced_bytes.decode("utf-8", "replace")
    words = [
        say("{tokens} allowed", tokens=counted(each.allowed, "token")),
        say("allowed probability {share}", share=percent(each.allowed_mass)),
        say("price {bits}", bits=bits(each.price_bits)),
    ]
    if each.must_end:
        words.append(say("only the end is left"))
    elif each.may_end:
        words.append(say("the text may end here"))
    if forced:
        words.append(say("forced next: {text}", text=token_label(forced)))
    return f'<p class="dv-facts">{facts(words)}</p>'


def steps_html(vocabulary: Vocabulary, text: Decoder, figures: Sequence[ConstraintFigures]) -> str:
    """Return a table of all steps: token, allowed tokens, price, likeliest refused token."""
    rows, total = [], 0.0
    for each in figures:
        total += each.price_bits
        wanted = each.wanted[0] if each.wanted else None
        rows.append(
            (
                str(each.index + 1),
                label(vocabulary, text.steps[each.index].token_id),
                f"{each.allowed:,}",
                percent(each.allowed_mass),
                number(each.price_bits, 2),
                number(total, 1),
                f"{label(vocabulary, wanted.token_id)} {percent(wanted.probability)}"
                if wanted
                else "–",
            )
        )
    head = (
        say("step"),
        say("token"),
        say("allowed"),
        say("probability"),
        say("bits"),
        say("so far"),
        say("most wanted but refused"),
    )
    return table(say("Every step"), head, rows, "figures")


def notice(
    vocabulary: Vocabulary, text: Decoder, figures: Sequence[ConstraintFigures], ribbon: Ribbon
) -> str:
    """Say what to notice: the steps that cost the most, and how many bytes left no choice."""
    total = sum(each.price_bits for each in figures)
    forced = sum(ribbon.forced)
    share = say(
        "{forced} of {all} bytes left no choice.",
        forced=f"{forced:,}",
        all=f"{len(ribbon.forced):,}",
    )
    if total < 0.5:
        cheap = say(
            "The constraint costs {bits}: the model wanted such a text anyway.", bits=bits(total)
        )
        return f"{cheap} {share}"
    dearest = max(figures, key=lambda each: each.price_bits)
    token = label(vocabulary, text.steps[dearest.index].token_id)
    wanted = dearest.wanted[0] if dearest.wanted else None
    values = {
        "bits": bits(total),
        "most": bits(dearest.price_bits),
        "step": dearest.index + 1,
        "token": token,
    }
    if wanted is None:
        said = say("The constraint costs {bits} so far, {most} of them at step {step}.", **values)
    else:
        said = say(
            "The constraint costs {bits} so far, {most} of them at step {step}, where the "
            "model wanted “{wanted}” ({share}) and “{token}” came.",
            wanted=label(vocabulary, wanted.token_id),
            share=percent(wanted.probability),
            **values,
        )
    return f"{said} {share}"


# --- experiments ----------------------------------------------------------------------------------


def broken_html(prompt: str, broken: Broken, text: Decoder, verdict: Verdict) -> str:
    """Format the broken text next to the constrained one, each with its verdict."""
    where = ""
    if broken.left_at is not None:
        where = say("breaks the constraint at character {place}", place=f"{broken.left_at + 1:,}")
    elif not broken.is_complete:
        where = say("keeps to the constraint, but is not complete")
    without = (
        f"<span>{escaped(prompt)}</span>{escaped(broken.before)}"
        f'<mark class="con-wrong">{escaped(broken.wrong) or "⟨end⟩"}</mark>{escaped(broken.after)}'
    )
    within = f"<span>{escaped(prompt)}</span>{escaped(text.text)}"
    ended = say("complete") if text.stop_reason == "eos" else say("not complete yet")
    parts = [
        _card(say("Without the constraint"), without, [verdict_text(broken.verdict), where]),
        _card(say("With the constraint"), within, [verdict_text(verdict), ended]),
    ]
    return f'<div class="lab-grid">{"".join(parts)}</div>'


def _card(name: str, body: str, words: Sequence[str]) -> str:
    told = " · ".join(html.escape(word) for word in words if word)
    return (
        f'<section class="dv-card lab-card con-card" aria-label="{html.escape(name)}">'
        f"<h3>{html.escape(name)}</h3>"
        f'<p class="dv-written" tabindex="0">{body}</p><p class="dv-facts">{told}</p></section>'
    )


def whole_texts_text(found: WholeTexts) -> str:
    """Sum up in a few sentences what the walk over all texts found."""
    if not found.texts:
        return say(
            "No complete text was found in {passes}; choose a smaller constraint, such as the "
            "example “{example}”.",
            passes=counted(found.passes, "pass"),
            example=say("How the dog was"),
        )
    most = max(found.texts, key=lambda each: abs(each.masked - each.conditional))
    parts = [
        say(
            "{texts}, reached by {paths} of tokens.",
            texts=counted(len(found.texts), "text"),
            paths=counted(found.paths, "path"),
        ),
        say(
            "The two distributions differ by {share} (total variation), {bits} of divergence.",
            share=percent(found.total_variation),
            bits=bits(found.kl_bits),
        ),
        say(
            "Among all allowed texts, the model gives “{text}” a share of {exact}; masking "
            "writes it in {masked} of cases.",
            text=token_label(most.text),
            exact=percent(most.conditional),
            masked=percent(most.masked),
        ),
    ]
    whole = found.mass + found.missing
    if not found.is_exact and whole > 0:
        parts.append(
            say(
                "The enumeration may have missed at most {odds} of the odds and {masked} of "
                "what masking writes.",
                odds=percent(found.missing / whole),
                masked=percent(found.masked_missing),
            )
        )
    return " ".join(parts)


def whole_texts_html(found: WholeTexts) -> str:
    """Return a table of texts with their exact and masked probabilities, likeliest first."""
    leading = sorted(found.texts, key=lambda each: -max(each.conditional, each.masked))[:20]
    rows = [
        (token_label(each.text), percent(each.conditional), percent(each.masked), f"{each.paths:,}")
        for each in leading
    ]
    head = (say("text"), say("exact"), say("step by step"), say("paths"))
    return table(say("Texts of the constraint"), head, rows, "figures")
