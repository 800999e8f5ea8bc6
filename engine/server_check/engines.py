"""Check: a server's greedy text, and the same steps on another engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.backend import Backend
from engine.backend.server_model import ServerModel
from engine.errors import CapabilityError, Message, msg
from engine.server_check.finding import AS_EXPECTED, DIFFERS, Sheet, TokenText
from engine.server_check.greedy import first_difference, greedy, largest


@dataclass(frozen=True)
class Pair:
    """A step on both engines, after the same tokens.

    Attributes:
        here, there: the token that the server and the other engine choose.
        gap, other_gap: log-probability of the best token above that of the second, on each.
        apart: largest difference of a log-probability that both list, in nats.
    """

    here: TokenText
    there: TokenText
    gap: float
    other_gap: float
    apart: float


@dataclass(frozen=True)
class Engines:
    """A greedy text of the server, read by both engines.

    Attributes:
        other: name of the other engine's model.
        pairs: each step; both engines read the server's tokens.
        parts: index of the first step at which they choose different tokens; None if none.
    """

    other: str
    pairs: tuple[Pair, ...]
    parts: int | None

    title: ClassVar[Message] = msg("Two engines")

    @property
    def outcome(self) -> str:
        """As expected if both choose the same tokens."""
        return AS_EXPECTED if self.parts is None else DIFFERS

    @property
    def sentences(self) -> list[Message]:
        """The verdict."""
        apart = max((each.apart for each in self.pairs), default=0.0)
        if self.parts is None:
            closest = min((each.gap for each in self.pairs), default=0.0)
            return [
                msg(
                    "{other} chooses the same {count} tokens. Log-probabilities differ by up to "
                    "{apart:.4f} nats, and the closest choice was {gap:.4f} nats.",
                    (self.other, len(self.pairs), apart, closest),
                )
            ]
        pair = self.pairs[self.parts]
        return [
            msg(
                "They part at token {number}: {here} on the server, {there} on {other}. The two "
                "best were {gap:.4f} nats apart on the server and {other_gap:.4f} on the other.",
                (
                    self.parts + 1,
                    pair.here.quoted,
                    pair.there.quoted,
                    self.other,
                    pair.gap,
                    pair.other_gap,
                ),
            ),
            msg("Log-probabilities differ by up to {apart:.4f} nats there.", pair.apart),
            msg(
                "Over {count} steps they differ by up to {apart:.4f} nats, and {differing} "
                "choices differ.",
                (len(self.pairs), apart, sum(each.here != each.there for each in self.pairs)),
            ),
        ]

    @property
    def sheets(self) -> list[Sheet]:
        """Every step."""
        head = (
            msg("token"),
            msg("on the server"),
            msg("on the other"),
            msg("gap on the server, nats"),
            msg("gap on the other, nats"),
            msg("largest difference, nats"),
        )
        rows = [
            (str(number), each.here, each.there, each.gap, each.other_gap, each.apart)
            for number, each in enumerate(self.pairs, 1)
        ]
        return [Sheet(msg("The server's text on both engines"), head, tuple(rows))]


def check_engines(
    model: ServerModel, other: Backend, prompt: Sequence[int], length: int
) -> Engines:
    """Read the server's greedy text on both engines.

    Raises:
        CapabilityError: the other engine's model has other tokens.
    """
    if not other.vocabulary.has_tokens_of(model.vocabulary):
        raise CapabilityError(
            "{other} has other tokens than {name}, so their texts are not compared; choose the "
            "same model on another engine.",
            (other.name, model.name),
        )
    here = greedy(model, prompt, length)
    there = greedy(other, prompt, len(here), [each.best for each in here])
    label = model.vocabulary.label
    pairs = [
        Pair(
            TokenText(label(one.best)),
            TokenText(label(two.best)),
            one.gap,
            two.gap,
            largest(one, two),
        )
        for one, two in zip(here, there, strict=False)
    ]
    return Engines(other.name, tuple(pairs), first_difference(here, there))
