"""Check: the server's sampler chain against ours, on the same row of raw values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from engine.backend.own_sampling import OwnDraw
from engine.backend.server_model import ServerModel
from engine.errors import (
    CancelledError,
    CapabilityError,
    DecodingError,
    Message,
    ServerError,
    msg,
)
from engine.runner.job import this_job
from engine.sampling.samplers import Stage
from engine.server_check.conventions import readings
from engine.server_check.finding import AS_EXPECTED, DIFFERS, OPEN, Sheet
from engine.server_check.samplers import name_of, orders, tested
from engine.server_check.text import MOST_LISTED, Text, drawing, listed_row, written

# Final probabilities of equal chains on the same row differ by float32's rounding alone.
NATS = 0.01
# Rounding may decide a few tokens at the edge of a cut.
EDGE = 1e-3
_SEEDS = 8  # tried if a drawn token ends inside a character


@dataclass(frozen=True)
class Compared:
    """A chain of the server compared with ours.

    Attributes:
        chain: the samplers with their values, in order.
        ours, theirs: number of tokens kept by each; None for more than the server lists.
        probability: largest difference of a final probability.
        nats: largest difference of a final log-probability, over the tokens that both keep.
        edge: total probability of the tokens that only one keeps.
        convention: the reading of the samplers that gives the server's figures; empty for ours,
            None if none does.
        first: as `probability`, by our own reading.
        is_ours: whether our own reading gives the server's figures.
        problem: why there are no figures; empty if there are.
    """

    chain: str
    ours: int | None = None
    theirs: int | None = None
    probability: float | None = None
    nats: float | None = None
    edge: float | None = None
    convention: str | None = None
    first: float | None = None
    is_ours: bool = False
    problem: str = ""

    @property
    def agrees(self) -> bool:
        """True if the figures are the same up to rounding."""
        return self.nats is not None and self.nats <= NATS and self.edge <= EDGE


@dataclass(frozen=True)
class Chain:
    """The server's final probabilities compared with those of our chain.

    Attributes:
        compared: each sampler alone.
        ordered: one chain in several orders.
    """

    compared: tuple[Compared, ...]
    ordered: tuple[Compared, ...]

    title: ClassVar[Message] = msg("Sampler chain")

    @cached_property
    def _known(self) -> list[Compared]:
        return [each for each in self.compared + self.ordered if not each.problem]

    @property
    def outcome(self) -> str:
        """As expected if a reading reproduces every chain."""
        if not self._known:
            return OPEN
        return AS_EXPECTED if all(each.agrees for each in self._known) else DIFFERS

    @property
    def sentences(self) -> list[Message]:
        """The verdict."""
        alike = [each for each in self.compared if each.agrees]
        same = [each for each in alike if each.is_ours]
        missing = [each for each in self.compared + self.ordered if each.problem]
        said = []
        if self._known:
            said.append(
                msg(
                    "{count} of {all} samplers give our probabilities; the largest difference "
                    "is {nats:.4f} nats.",
                    (
                        len(same),
                        sum(not each.problem for each in self.compared),
                        max((each.nats for each in same), default=0.0),
                    ),
                )
            )
            said += [
                msg(
                    "{sampler} agrees if {convention}; as we read it, probabilities differ by "
                    "up to {difference:.4f}.",
                    (each.chain, each.convention, each.first),
                )
                for each in alike
                if not each.is_ours
            ]
            said += [
                msg(
                    "{sampler} differs by up to {difference:.4f}, and no reading known here "
                    "explains it.",
                    (each.chain, each.probability),
                )
                for each in self._known
                if not each.agrees
            ]
            orders_known = [each for each in self.ordered if not each.problem]
            if orders_known and all(each.agrees for each in orders_known):
                said.append(
                    msg(
                        "It applies its samplers in the order sent: {count} orders of one chain "
                        "agree.",
                        len(orders_known),
                    )
                )
        reasons = Counter(each.problem for each in missing)
        said += [
            msg("{count} chains have no figures: {reason}", (count, reason))
            for reason, count in reasons.items()
        ]
        return said

    @property
    def sheets(self) -> list[Sheet]:
        """Every chain with its figures."""
        head = (
            msg("chain"),
            msg("agrees if read"),
            msg("kept here"),
            msg("kept there"),
            msg("largest difference"),
            msg("in nats"),
            msg("kept by one only"),
            msg("difference by our reading"),
        )
        rows = [
            (
                each.chain,
                each.problem or _shown(each),
                each.ours,
                each.theirs,
                each.probability,
                each.nats,
                each.edge,
                each.first,
            )
            for each in self.compared + self.ordered
        ]
        return [Sheet(msg("Final probabilities, there and here"), head, tuple(rows))]


def _shown(each: Compared) -> str:
    if not each.agrees:
        return msg("not explained")
    return each.convention or msg("as ours")


def check_chain(model: ServerModel, text: Text) -> Chain:
    """Compare every sampler alone, and one chain in three orders.

    Raises:
        CapabilityError: the server does not give final probabilities.
    """
    drawing(model)
    listed_row(model, text)  # the next reading finds the text in the server's cache, as all others
    _, row = listed_row(model, text)
    try:
        _final(model, text, [], 1)
    except ServerError as error:
        raise CapabilityError(error.message) from error
    alone = tested(model, row, text)
    chains = [[each] for each in alone] + orders()
    compared = []
    for number, chain in enumerate(chains):
        this_job().check()
        this_job().told(Chain.title, number, len(chains))
        compared.append(_compared(model, text, row, chain))
    return Chain(tuple(compared[: len(alone)]), tuple(compared[len(alone) :]))


def _compared(model: ServerModel, text: Text, row: np.ndarray, chain: Sequence[Stage]) -> Compared:
    name = name_of(chain)
    most = min(MOST_LISTED, model.vocab_size)
    try:
        drawn = _final(model, text, chain, most)
        is_whole = drawn.ids.size < most or most == model.vocab_size
        theirs = np.zeros(model.vocab_size)
        theirs[drawn.ids] = drawn.probabilities
        said = drawn.settings or {}
        breakers = [str(each) for each in said.get("dry_sequence_breakers", ())]
        first = best = None  # our own reading, and the best one
        for convention, ours in readings(
            model, text, row, chain, lambda each: float(theirs[each]), breakers
        ):
            one = _figures(name, convention, ours, theirs, drawn.ids, is_whole)
            first = first or one
            if best is None or (one.agrees, -one.probability) > (best.agrees, -best.probability):
                best = one
            if one.agrees:
                break
    except CancelledError:
        raise
    except DecodingError as error:
        return Compared(name, problem=error.message)
    if best is None:
        return Compared(name, problem=msg("No token of the text is listed, so no logit is known."))
    convention = best.convention if best.agrees else None
    return replace(best, first=first.probability, is_ours=first.agrees, convention=convention)


def _figures(
    name: str,
    convention: Message,
    ours: np.ndarray,
    theirs: np.ndarray,
    ids: np.ndarray,
    is_whole: bool,
) -> Compared:
    if not is_whole:  # the server lists no more
        shown = np.zeros(ours.size)
        shown[ids] = ours[ids]
        ours = shown
    here, there = ours > 0, theirs > 0
    both, one = here & there, here != there
    nats = np.abs(np.log(ours[both]) - np.log(theirs[both])).max(initial=0.0)
    return Compared(
        name,
        int(here.sum()) if is_whole else None,
        int(there.sum()) if is_whole else None,
        float(np.abs(ours - theirs).max()),
        float(nats) if both.any() else None,
        float(np.maximum(ours, theirs)[one].sum()),
        convention,
    )


def _final(model: ServerModel, text: Text, chain: Sequence[Stage], most: int) -> OwnDraw:
    settings = written(model, chain)
    for seed in range(1, _SEEDS + 1):
        drawn = drawing(model).draw(text.token_ids, settings | {"seed": seed}, final=most)
        if drawn.ids is not None and drawn.ids.size:
            return _checked(model, drawn)
    raise ServerError(
        "{name} gave no probabilities after its samplers for {count} answers.", (model.name, _SEEDS)
    )


def _checked(model: ServerModel, drawn: OwnDraw) -> OwnDraw:
    is_good = drawn.ids.max() < model.vocab_size and np.unique(drawn.ids).size == drawn.ids.size
    if not is_good or not (drawn.probabilities >= 0).all():
        raise DecodingError(
            "{name} listed final probabilities that cannot be used: a token twice, one that it "
            "does not have, or a negative value.",
            model.name,
        )
    return drawn
