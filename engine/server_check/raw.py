"""Check: whether the listed row is the model's own, or has passed the server's samplers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from engine.backend.dialect import Listed
from engine.backend.server_model import ServerModel
from engine.errors import Message, ServerError, msg
from engine.runner.job import this_job
from engine.sampling import SamplingSettings, shape
from engine.sampling.samplers import LogitBias, PresencePenalty, Stage, Temperature, TopK
from engine.server_check.finding import AS_EXPECTED, DIFFERS, OPEN, Sheet
from engine.server_check.samplers import name_of
from engine.server_check.text import Text, is_refusal, listed_row, written

COMPARED = 100  # likeliest tokens
_LISTED = 1_000
# A full batch moves values by hundredths.
MOVED_NATS = 0.1
_BIAS = 50.0


@dataclass(frozen=True)
class Sent:
    """A sampler's effect on the listed row.

    Attributes:
        name: the sampler with its value.
        moved: largest change of a listed log-probability, in nats.
        would_move: the same if the row had passed the sampler; None if that removes tokens.
        noise: largest change that does not count, in nats: other requests in the same batch cause
            some.
    """

    name: str
    moved: float | None
    would_move: float | None
    noise: float = MOVED_NATS

    @property
    def is_raw(self) -> bool:
        """True if the row did not move, though the sampler would have moved it."""
        return self.moved is not None and self.moved <= self.noise

    @property
    def decides(self) -> bool:
        """True if the sampler would have moved a processed row."""
        return self.moved is not None and (
            self.would_move is None or self.would_move > 2 * self.noise
        )


@dataclass(frozen=True)
class Raw:
    """Effects of samplers on the listed row.

    Attributes:
        total: total of the listed probabilities.
        listed: number of listed tokens.
        again: largest change of a log-probability between two readings of the same text.
        sent: each sampler.
    """

    total: float
    listed: int
    again: float
    sent: tuple[Sent, ...]

    title: ClassVar[Message] = msg("Listed probabilities")

    @property
    def outcome(self) -> str:
        """As expected if they are raw."""
        deciding = [each for each in self.sent if each.decides]
        if not deciding:
            return OPEN
        return AS_EXPECTED if all(each.is_raw for each in deciding) else DIFFERS

    @property
    def sentences(self) -> list[Message]:
        """The verdict."""
        moved = [each for each in self.sent if each.decides and not each.is_raw]
        stayed = [each for each in self.sent if each.decides and each.is_raw]
        said = []
        if stayed:
            said.append(
                msg(
                    "They are raw: samplers sent along move them by at most {moved:.4f} nats "
                    "({names}).",
                    (max(each.moved for each in stayed), "; ".join(each.name for each in stayed)),
                )
            )
        said += [
            msg(
                "They are processed: {name} moves them by up to {moved:.2f} nats.",
                (each.name, each.moved),
            )
            for each in moved
        ]
        if not moved and not stayed:
            said.append(msg("No sampler that could be sent would move this row enough to tell."))
        said.append(
            msg(
                "Two readings of the same text differ by up to {again:.4f} nats; the "
                "probabilities of {listed:,} listed tokens sum to {total:.4f}.",
                (self.again, self.listed, self.total),
            )
        )
        return said

    @property
    def sheets(self) -> list[Sheet]:
        """Every sampler with its effect."""
        head = (
            msg("sampler sent"),
            msg("largest change, nats"),
            msg("change if processed, nats"),
        )
        rows = tuple(
            (
                each.name,
                msg("refused") if each.moved is None else each.moved,
                msg("removes tokens") if each.would_move is None else each.would_move,
            )
            for each in self.sent
        )
        return [Sheet(msg("Listed values with and without a sampler"), head, rows)]


def check_raw(model: ServerModel, text: Text) -> Raw:
    """Send samplers along with the question for raw values.

    Raises:
        CapabilityError: the names of the server's settings are unknown.
    """
    plain, row = listed_row(model, text)
    # A request for all tokens of a large vocabulary takes megabytes, and few are compared.
    count = min(plain.ids.size, _LISTED)
    again = model.dialect.next_scores(text.token_ids, count)
    order = np.argsort(-row, kind="stable")
    # The bias decides the server's own draw, which must not end inside a character.
    whole = next((int(each) for each in order[1:] if _is_whole(model, int(each))), int(order[1]))
    chains: list[list[Stage]] = [
        [Temperature(2.0)],
        [Temperature(2.0), TopK(3)],
        [LogitBias({whole: _BIAS})],
        [PresencePenalty(2.0)],
    ]
    moved = difference(plain, again)
    noise = max(MOVED_NATS, 2 * moved)
    sent = tuple(_sent(model, text, row, again, chain, noise) for chain in chains)
    return Raw(float(np.exp(plain.logprobs).sum()), plain.ids.size, moved, sent)


def _sent(
    model: ServerModel,
    text: Text,
    row: np.ndarray,
    plain: Listed,
    chain: Sequence[Stage],
    noise: float,
) -> Sent:
    this_job().check()
    name = name_of(chain)
    settings: dict[str, Any] = written(model, chain)
    try:
        after = model.dialect.next_scores(text.token_ids, plain.ids.size, settings=settings)
    except ServerError as error:
        if not is_refusal(error):
            raise
        return Sent(name, None, None, noise)
    probs = shape(row, SamplingSettings(chain=list(chain)), text.context(model, 0)).probs
    best = plain.ids[np.argsort(-plain.logprobs, kind="stable")[:COMPARED]]
    moved = difference(plain, after)
    if (probs[best] <= 0).any():
        return Sent(name, moved, None, noise)
    shift = np.abs(np.log(probs[best]) - row[best].astype(np.float64)).max()
    return Sent(name, moved, float(shift), noise)


def difference(one: Listed, other: Listed) -> float:
    """Return the largest difference of a log-probability among one's likeliest tokens, in nats.

    A token that the other lacks, or gives probability 0, counts as its distance from the lowest.
    """
    values = dict(zip(other.ids.tolist(), other.logprobs.tolist(), strict=True))
    order = np.argsort(-one.logprobs, kind="stable")[:COMPARED]
    lowest = min((each for each in values.values() if np.isfinite(each)), default=0.0)
    found = 0.0
    for token_id, logprob in zip(one.ids[order].tolist(), one.logprobs[order], strict=True):
        now = values.get(token_id, lowest)
        if np.isfinite(logprob):
            found = max(found, abs((now if np.isfinite(now) else lowest) - float(logprob)))
    return found


def _is_whole(model: ServerModel, token_id: int) -> bool:
    try:
        model.vocabulary.token_bytes(token_id).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return token_id not in model.eos_ids
