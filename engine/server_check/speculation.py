"""Check: what a server counts of its own speculation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from engine.backend.metrics import ReportsMetrics
from engine.backend.server_model import ServerModel
from engine.errors import CapabilityError, Message, msg
from engine.sampling.samplers import Temperature
from engine.server_check.finding import AS_EXPECTED, DIFFERS, OPEN, Sheet
from engine.server_check.text import drawing, written


@dataclass(frozen=True)
class Speculation:
    """Counts of speculation over one greedy text.

    Attributes:
        tokens: number of tokens generated.
        drafted, accepted: tokens proposed and accepted, by the answer; None if it does not say.
        counters: the server's counters since its start: name, before the text, after it.
    """

    tokens: int
    drafted: int | None
    accepted: int | None
    counters: tuple[tuple[str, float, float], ...]

    title: ClassVar[Message] = msg("Speculation")

    @property
    def counted(self) -> dict[str, float]:
        """Amounts that the counters rose by during the text."""
        return {name: after - before for name, before, after in self.counters}

    @property
    def _drafted_by_counters(self) -> float | None:
        found = [n for name, n in self.counted.items() if "draft_tokens" in name]
        return found[0] if found else None

    @property
    def outcome(self) -> str:
        """As expected if answer and counters agree; other requests may add to the counters."""
        answered, counted = self.drafted, self._drafted_by_counters
        if answered is None and counted is None:
            return OPEN
        if answered is None or counted is None or answered == counted:
            return AS_EXPECTED
        return OPEN if counted > answered else DIFFERS

    @property
    def sentences(self) -> list[Message]:
        """The verdict."""
        if self.drafted is None and self._drafted_by_counters is None:
            return [msg("Neither its answers nor its counters mention speculation.")]
        if not self.drafted and not self._drafted_by_counters:
            return [
                msg("No token of a text of {tokens} tokens was proposed by a draft.", self.tokens)
            ]
        said = []
        if self.drafted is not None:
            share = (self.accepted or 0) / max(1, self.drafted)
            said.append(
                msg(
                    "For a text of {tokens} tokens it proposed {drafted} and accepted {accepted} "
                    "({share}).",
                    (self.tokens, self.drafted, self.accepted or 0, f"{100 * share:.0f} %"),
                )
            )
        if self._drafted_by_counters is not None:
            said.append(
                msg(
                    "Its counters added {counted:.0f} proposed tokens during that.",
                    self._drafted_by_counters,
                )
            )
        if self.outcome == OPEN:
            said.append(msg("Other requests may have added to them; check it when it is idle."))
        return said

    @property
    def sheets(self) -> list[Sheet]:
        """The counters."""
        if not self.counters:
            return []
        head = (msg("counter"), msg("before"), msg("after"))
        return [Sheet(msg("Counters of the server since its start"), head, self.counters)]


def check_speculation(model: ServerModel, prompt: Sequence[int], length: int) -> Speculation:
    """Have the server write a greedy text, and read its counters before and after.

    Raises:
        CapabilityError: the server is not asked to draw, or the names of its settings are unknown.
    """
    server = drawing(model)
    settings = written(model, [Temperature(0.0)])
    before = _counters(model)
    drawn = server.draw(prompt, settings, length=length)
    after = _counters(model)
    counters = [(name, count, after.get(name, count)) for name, count in sorted(before.items())]
    return Speculation(len(drawn.token_ids), drawn.drafted, drawn.accepted, tuple(counters))


def _counters(model: ServerModel) -> dict[str, float]:
    """Return the server's counters of speculation; none if it was started without metrics."""
    if not isinstance(model.dialect, ReportsMetrics):
        return {}
    try:
        metrics = model.dialect.metrics()
    except CapabilityError:
        return {}
    return {
        name: count
        for name, count in metrics.items()
        if "spec_decode_num" in name and name.endswith("_total")
    }
