"""An existing text, read token by token: how likely the model finds each, and its alternatives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.checks import at_least_one
from engine.decoding import inputs
from engine.errors import PromptError, TraceError
from engine.model import LanguageModel
from engine.model.vocabulary import readable
from engine.sampling.ranking import RankedRow
from engine.study.likelihood import next_rows
from engine.trace import Step, Trace

_LN2 = math.log(2.0)
TOP = 10


@dataclass(frozen=True)
class ReadToken:
    """A token of a text, with the model's expectation before it, at temperature 1.

    Attributes:
        token_id: the token.
        text: it as readable text.
        token_bytes: its bytes.
        is_special: whether it is a control token, which is no part of the text.
        logprob: its log-probability, in nats.
        rank: its rank, 1 for the likeliest token.
        entropy_bits: entropy of the whole distribution, in bits.
        top: the likeliest tokens, and their log-probabilities: (n,) int64 and (n,) float64.
    """

    token_id: int
    text: str
    token_bytes: bytes
    is_special: bool
    logprob: float
    rank: int
    entropy_bits: float
    top: tuple[np.ndarray, np.ndarray] = field(repr=False, compare=False)

    @property
    def surprisal_bits(self) -> float:
        """-log2 of its probability."""
        return -self.logprob / _LN2

    @property
    def gap(self) -> float:
        """Log-probability of the token minus that of the likeliest other one, in nats."""
        ids, logprobs = self.top
        others = logprobs[ids != self.token_id]
        return self.logprob - float(others[0]) if others.size else math.inf


@dataclass(frozen=True)
class TextReading:
    """A text, read token by token.

    Attributes:
        model_name: name of the model.
        prompt_ids: the tokens before the text. Without a prompt, the first token, which has no
            probability, as nothing is before it.
        tokens: all other tokens.
        window: most tokens that the model read at once.
        stride: tokens by which the window moved on, if the text is longer; each token then has at
            least `window` - `stride` tokens before it.
    """

    model_name: str
    prompt_ids: tuple[int, ...]
    tokens: tuple[ReadToken, ...]
    window: int
    stride: int

    @classmethod
    def of_trace(cls, trace: Trace) -> TextReading:
        """Return a sampled text as a trace recorded it, without its model.

        The alternatives are the leading tokens of each step; older traces have none.

        Raises:
            TraceError: a trace without figures, or of another strategy.
        """
        if trace.strategy != "sampling" or trace.is_brief:
            raise TraceError(
                "Only a trace of sampling, with the figures of its steps, can be read as a text; "
                "this one is of {strategy}.",
                trace.strategy,
            )
        context = trace.model.get("context_length") or 0
        length = max(context, len(trace.prompt_ids) + len(trace.steps))
        tokens = tuple(_of_step(step) for step in trace.steps)
        return cls(trace.model.get("name", ""), trace.prompt_ids, tokens, length, length)

    @property
    def logprob(self) -> float:
        """Log-probability of all tokens together, in nats."""
        return math.fsum(token.logprob for token in self.tokens)

    @property
    def perplexity(self) -> float:
        """exp(-mean log-probability) per token."""
        return math.exp(-self.logprob / len(self.tokens)) if self.tokens else math.nan

    @cached_property
    def text(self) -> str:
        """The text of the tokens."""
        return b"".join(token.token_bytes for token in self.tokens if not token.is_special).decode(
            "utf-8", "replace"
        )

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of the text in UTF-8."""
        return self._bits_per(sum(len(t.token_bytes) for t in self.tokens if not t.is_special))

    @property
    def bits_per_character(self) -> float:
        """Bits per character of the text."""
        return self._bits_per(len(self.text))

    @property
    def bits_per_word(self) -> float:
        """Bits per word: per run of characters between white space."""
        return self._bits_per(len(self.text.split()))

    def _bits_per(self, units: int) -> float:
        return -self.logprob / _LN2 / units if units else math.nan

    def forks(self, max_gap: float = 0.5) -> list[int]:
        """Return the places of tokens for which another one was nearly as likely.

        Args:
            max_gap: largest difference of the two log-probabilities, in nats.
        """
        return [place for place, token in enumerate(self.tokens) if abs(token.gap) <= max_gap]


def read_text(
    model: LanguageModel,
    text: str | Sequence[int],
    *,
    prompt: str | Sequence[int] = "",
    top: int = TOP,
) -> TextReading:
    """Read a text token by token; every figure is over the whole vocabulary.

        >>> reading = read_text(load_model(), "Once upon a time")
        >>> reading.perplexity, reading.tokens[0].rank

    Args:
        model: a local model; it reads at temperature 1, without samplers.
        text: text, or token ids.
        prompt: what comes before the text, and is not judged. Both are tokenized together: a token
            with the end of one and the beginning of the other counts as the text's.
        top: number of likeliest tokens to keep for each place.

    Raises:
        PromptError: an empty text, or ids outside the vocabulary.
        CapabilityError: a model on a server.
        LogitsError: the model returned NaN.
        OutOfMemoryError: the device is out of memory.
    """
    reading = PendingReading(model, text, prompt=prompt, top=top)
    for _ in reading.run():
        pass
    return reading.result


class PendingReading:
    """A text being read, a part at a time; arguments and errors are those of `read_text`."""

    def __init__(
        self,
        model: LanguageModel,
        text: str | Sequence[int],
        *,
        prompt: str | Sequence[int] = "",
        top: int = TOP,
    ) -> None:
        self._model = model
        self._top = min(at_least_one("top", top), model.vocab_size)
        ids, start = _split(model, text, prompt)
        self.prompt_ids, self.token_ids = tuple(ids[:start]), tuple(ids[start:])
        self._ids, self._start = ids, start
        self.window = model.context_length or len(ids)
        self.stride = max(1, self.window // 2)
        self._tokens: list[ReadToken] = []

    @property
    def done(self) -> int:
        """Number of tokens read so far."""
        return len(self._tokens)

    @property
    def result(self) -> TextReading:
        """The reading so far."""
        return TextReading(
            self._model.name, self.prompt_ids, tuple(self._tokens), self.window, self.stride
        )

    def run(self) -> Iterator[int]:
        """Read on; yield the number of tokens read so far."""
        for _ in self.rows():
            yield self.done

    def rows(self) -> Iterator[np.ndarray]:
        """Read on; yield the logits before each token, once it is read: (vocab,) float32."""
        ids, label = self._ids, self._model.vocabulary
        while (place := self._start + self.done) < len(ids):
            # The first window is filled; later ones begin with what the stride leaves.
            begin = max(0, place - (self.window - self.stride)) if place >= self.window else 0
            part = ids[place : begin + self.window]
            rows = next_rows(self._model, ids[begin:place], part)
            for row, token_id in zip(rows, part, strict=True):
                ranked = RankedRow(row)
                ranked.sort_to_depth(self._top)
                leading = ranked.ids[: self._top]
                token_bytes = label.token_bytes(token_id)
                self._tokens.append(
                    ReadToken(
                        token_id,
                        readable(token_bytes),
                        token_bytes,
                        label.is_special(token_id),
                        ranked.logprob(token_id),
                        ranked.rank(token_id),
                        ranked.entropy_bits,
                        (leading, np.array([ranked.logprob(each) for each in leading.tolist()])),
                    )
                )
                yield row


def _of_step(step: Step) -> ReadToken:
    leading, own = step.leading, math.exp(step.logprob)
    pairs = zip(leading.token_ids, step.model_probabilities, strict=True) if leading else ()
    listed = dict(pairs) or {step.token_id: own}
    least = np.finfo(np.float64).tiny
    logprobs = np.log(np.maximum(np.fromiter(listed.values(), float), least))
    top = np.array(list(listed)), logprobs
    return ReadToken(
        step.token_id,
        readable(step.token_bytes),
        step.token_bytes,
        step.is_special,
        step.logprob,
        step.rank,
        step.model_entropy_bits,
        top,
    )


def _split(
    model: LanguageModel, text: str | Sequence[int], prompt: str | Sequence[int]
) -> tuple[list[int], int]:
    """Return the ids of prompt and text, and the place where the judged tokens begin."""
    if len(text) == 0:
        raise PromptError("The text is empty; give at least one character.")
    before = [] if len(prompt) == 0 else _ids(model, prompt)
    if isinstance(text, str) and isinstance(prompt, str):
        ids = _ids(model, prompt + text)
        pairs = enumerate(zip(ids, before, strict=False))
        shared = min(len(ids), len(before))
        common = next((place for place, (one, other) in pairs if one != other), shared)
        return ids, max(1, common)
    ids = before + _ids(model, text)
    return ids, max(1, len(before))


def _ids(model: LanguageModel, text: str | Sequence[int]) -> list[int]:
    """Return the token ids of a text that may be longer than the context."""
    if isinstance(text, str):
        return model.vocabulary.encode(text)
    return [inputs.checked_token(token_id, model) for token_id in text]
