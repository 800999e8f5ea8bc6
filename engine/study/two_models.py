"""One text, read token by token by two models.

With the same tokens, both distributions are compared at every place, over the whole vocabulary.
With other tokens, the models are compared over the stretches of text between the places where
tokens of both end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from engine.model import LanguageModel
from engine.model.vocabulary import readable
from engine.sampling import kl_bits, log_probabilities, total_variation
from engine.study.reading import TOP, PendingReading, TextReading


@dataclass(frozen=True)
class Stretch:
    """A part of a text that begins and ends with tokens of both models.

    Attributes:
        text: the part, as readable text.
        one_bits, other_bits: its surprisal under each model.
        one_tokens, other_tokens: places of its tokens in each reading.
    """

    text: str
    one_bits: float
    other_bits: float
    one_tokens: range
    other_tokens: range


@dataclass(frozen=True)
class TwoReadings:
    """A text under two models.

    Attributes:
        one, other: its readings.
        kl_bits: KL(one || other) at every place, in bits; None if the models have other tokens.
        total_variation: half the sum of the absolute differences of the probabilities, 0 to 1;
            None as for `kl_bits`.
    """

    one: TextReading
    other: TextReading
    kl_bits: tuple[float, ...] | None
    total_variation: tuple[float, ...] | None

    def stretches(self) -> list[Stretch]:
        """Return the parts of the text that both models judge, in order.

        Empty if the tokenizers spell the text differently, as one that changes its case does.
        """
        texts = [_spelled(each.tokens) for each in (self.one, self.other)]
        ends = [_ends(each) for each in (self.one, self.other)]
        # From the end: a prompt or a space before the text need not be equal.
        shared = min(map(len, texts))
        if texts[0][len(texts[0]) - shared :] != texts[1][len(texts[1]) - shared :]:
            return []
        both = sorted(set(ends[0]) & set(ends[1]), reverse=True)
        places = [{left: place for place, left in enumerate(each)} for each in ends]
        found = []
        for begin, end in pairwise(both):
            spans = [range(place[begin], place[end]) for place in places]
            bits = [
                math.fsum(reading.tokens[i].surprisal_bits for i in span)
                for reading, span in zip((self.one, self.other), spans, strict=True)
            ]
            text = texts[0][len(texts[0]) - begin : len(texts[0]) - end]
            found.append(Stretch(readable(text), *bits, *spans))
        return found


def read_with_two(
    model: LanguageModel,
    other: LanguageModel,
    text: str | Sequence[int],
    *,
    prompt: str | Sequence[int] = "",
    top: int = TOP,
) -> TwoReadings:
    """Read a text with two models; the arguments and errors are those of `read_text`."""
    pending = PendingPair(model, other, text, prompt=prompt, top=top)
    for _ in pending.run():
        pass
    return pending.result


class PendingPair:
    """A text being read by two models, a part at a time; see `read_with_two`.

    Attributes:
        one, other: the readings in progress.
    """

    def __init__(
        self,
        model: LanguageModel,
        other: LanguageModel,
        text: str | Sequence[int],
        *,
        prompt: str | Sequence[int] = "",
        top: int = TOP,
    ) -> None:
        self.one = PendingReading(model, text, prompt=prompt, top=top)
        self.other = PendingReading(other, text, prompt=prompt, top=top)
        has_same = other.vocabulary.has_tokens_of(model.vocabulary)
        self._is_same = has_same and model.vocab_size == other.vocab_size
        self._is_same &= (self.one.prompt_ids, self.one.token_ids) == (
            self.other.prompt_ids,
            self.other.token_ids,
        )
        self._kl: list[float] = []
        self._variation: list[float] = []

    @property
    def done(self) -> int:
        """Number of tokens read so far, by both models together."""
        return self.one.done + self.other.done

    @property
    def count(self) -> int:
        """Number of all tokens, of both models together."""
        return len(self.one.token_ids) + len(self.other.token_ids)

    @property
    def result(self) -> TwoReadings:
        """The readings so far."""
        kinds = (tuple(each) if self._is_same else None for each in (self._kl, self._variation))
        return TwoReadings(self.one.result, self.other.result, *kinds)

    def run(self) -> Iterator[int]:
        """Read on; yield the number of tokens read so far."""
        if not self._is_same:
            for pending in (self.one, self.other):
                for _ in pending.run():
                    yield self.done
            return
        for rows in zip(self.one.rows(), self.other.rows(), strict=True):
            one, other = (log_probabilities(row) for row in rows)
            self._kl.append(float(kl_bits(one, other[None])[0]))
            self._variation.append(total_variation(one, other))
            yield self.done


def _spelled(tokens: Sequence) -> bytes:
    return b"".join(token.token_bytes for token in tokens if not token.is_special)


def _ends(reading: TextReading) -> list[int]:
    """Return the bytes of text left before each token, and after the last one: 0."""
    sizes = [0 if token.is_special else len(token.token_bytes) for token in reading.tokens]
    total = sum(sizes)
    return [total - before for before in accumulate(sizes, initial=0)]
