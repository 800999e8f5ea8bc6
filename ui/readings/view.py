"""A reading in words and HTML; all texts from outside are escaped here."""

from __future__ import annotations

import math

from engine.model import Vocabulary
from engine.study import ReadToken, TextReading
from ui.shell.tables import facts, table
from ui.words.labels import counted, token_label
from ui.words.language import say
from ui.words.metrics import number, percent

_LN2 = math.log(2.0)
MAX_GAP = 0.5  # nats between two tokens that are nearly as likely


def figures(reading: TextReading, before: str) -> str:
    """Return the figures of a whole text as HTML, and what they leave out."""
    words = [
        counted(len(reading.tokens), "token"),
        say("perplexity {figure} per token", figure=number(reading.perplexity, 2)),
        say("{figure} bits per word", figure=number(reading.bits_per_word, 2)),
        say("{figure} bits per character", figure=number(reading.bits_per_character, 2)),
        say("{figure} bits per byte", figure=number(reading.bits_per_byte, 2)),
    ]
    if not before:
        words.append(say("the first token has nothing before it, so it is not judged"))
    if len(reading.prompt_ids) + len(reading.tokens) > reading.window:
        words.append(
            say(
                "longer than the context of {window} tokens: read in windows that move on by "
                "{stride}, so a later token has {least} or more before it",
                window=f"{reading.window:,}",
                stride=f"{reading.stride:,}",
                least=f"{reading.window - reading.stride:,}",
            )
        )
    return f'<p class="dv-facts">{facts(words)}</p>'


def notice(reading: TextReading, vocabulary: Vocabulary) -> str:
    """Say what to notice: the most surprising token, and what the model expected there."""
    if not reading.tokens:
        return say("The text has a single token, which has nothing before it.")
    token = max(reading.tokens, key=lambda each: each.surprisal_bits)
    expected = _expected(token, vocabulary)
    if expected is None:
        return say("The model expected every token of this text.")
    return say(
        "“{token}” surprises most: {share}, rank {rank}. The model expected “{other}” "
        "({other_share}).",
        token=_label(token.token_id, vocabulary),
        share=percent(math.exp(token.logprob)),
        rank=f"{token.rank:,}",
        other=expected[0],
        other_share=expected[1],
    )


def _expected(token: ReadToken, vocabulary: Vocabulary) -> tuple[str, str] | None:
    ids, logprobs = token.top
    if token.rank == 1:
        return None
    return _label(int(ids[0]), vocabulary), percent(math.exp(float(logprobs[0])))


def comparison(one: TextReading, other: TextReading) -> str:
    """Compare two continuations of one beginning, as a table in HTML."""
    rows = [
        (
            _shortened(reading.text),
            counted(len(reading.tokens), "token"),
            number(-reading.logprob / _LN2, 2),
            number(reading.perplexity, 2),
        )
        for reading in (one, other)
    ]
    head = (
        say("continuation"),
        say("length"),
        say("surprisal in all, bits"),
        say("perplexity per token"),
    )
    return table(say("Figures of both"), head, rows, "figures")


def verdict(one: TextReading, other: TextReading, vocabulary: Vocabulary) -> str:
    """Say which of two continuations is likelier, by how much, and at which token they part."""
    gap = (one.logprob - other.logprob) / _LN2
    first, second = (one, other) if gap >= 0 else (other, one)
    said = [
        say(
            "“{first}” is {times} times as likely as “{second}”, a difference of {bits} bits.",
            first=_shortened(first.text),
            second=_shortened(second.text),
            times=_times(abs(gap)),
            bits=number(abs(gap), 2),
        )
    ]
    pairs = enumerate(zip(one.tokens, other.tokens, strict=False))
    place = next((at for at, pair in pairs if pair[0].token_id != pair[1].token_id), None)
    if place is not None:
        tokens = one.tokens[place], other.tokens[place]
        here = (tokens[0].logprob - tokens[1].logprob) / _LN2
        said.append(
            say(
                "They part at token {place}: “{one}” ({share}) against “{other}” ({other_share}), "
                "{bits} bits of the difference; the tokens after it make up the rest.",
                place=place + 1,
                one=_label(tokens[0].token_id, vocabulary),
                share=percent(math.exp(tokens[0].logprob)),
                other=_label(tokens[1].token_id, vocabulary),
                other_share=percent(math.exp(tokens[1].logprob)),
                bits=number(here if gap >= 0 else -here, 2),
            )
        )
    return " ".join(said)


def _times(bits: float) -> str:
    """Return 2**bits in three digits, or as a power if it is long."""
    if bits >= 40:
        return say("2 to the power of {bits}", bits=f"{bits:,.0f}")
    return f"{float(f'{2**bits:.3g}'):,.13g}"


def _label(token_id: int, vocabulary: Vocabulary) -> str:
    return token_label(vocabulary.label(token_id))


def _shortened(text: str, longest: int = 60) -> str:
    shown = token_label(text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
