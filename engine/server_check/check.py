"""All checks of a server, one after the other; one that fails leaves the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from engine.backend import Backend
from engine.backend.server_model import ServerModel
from engine.checks import at_least_one
from engine.errors import CancelledError, DecodingError, Message
from engine.measure import Measurement
from engine.runner.job import this_job
from engine.server_check.chain import Chain, check_chain
from engine.server_check.crowd import Crowd, check_crowd
from engine.server_check.engines import Engines, check_engines
from engine.server_check.finding import Failed, Finding
from engine.server_check.honoured import Honoured, check_honoured
from engine.server_check.raw import Raw, check_raw
from engine.server_check.speculation import Speculation, check_speculation
from engine.server_check.text import prompt_ids, said_twice

MOST_DRAWS, MOST_OTHERS, MOST_LENGTH = 5_000, 64, 256


@dataclass(frozen=True)
class Plan:
    """Requests to make of the server.

    Attributes:
        prompt: the text to continue.
        draws: number of draws for each setting, if the server does not read settings back.
        others: number of texts that crowd it.
        length: tokens of each greedy text.
        seed: of the draws.
    """

    prompt: str
    draws: int = 200
    others: int = 3
    length: int = 24
    seed: int = 0


class ServerCheck(Measurement[dict[str, Finding]]):
    """The checks, each a part.

        >>> check = ServerCheck(connect("http://127.0.0.1:8080"), Plan("Once upon a time"))
        >>> for seconds_left in check.run(): ...
        >>> check.result["chain"].outcome

    Args:
        model: the model on the server.
        plan: what is asked.
        other: another engine with the same model; None to leave that check out.

    Raises:
        DecodingError: the plan cannot be carried out.
    """

    noun: ClassVar[str] = "check"

    def __init__(self, model: ServerModel, plan: Plan, other: Backend | None = None) -> None:
        at_least_one("draws", plan.draws)
        at_least_one("others", plan.others)
        at_least_one("length", plan.length)
        self.model, self.plan, self.other = model, plan, other
        prompt, text = prompt_ids(model, plan.prompt), said_twice(model, plan.prompt)
        others, length = plan.others, plan.length
        self._checks: dict[str, tuple[Message, Callable[[], Finding]]] = {
            "honoured": (
                Honoured.title,
                lambda: check_honoured(model, text, plan.draws, plan.seed),
            ),
            "raw": (Raw.title, lambda: check_raw(model, text)),
            "chain": (Chain.title, lambda: check_chain(model, text)),
            "crowd": (Crowd.title, lambda: check_crowd(model, prompt, others, length)),
            "speculation": (
                Speculation.title,
                lambda: check_speculation(model, prompt, length),
            ),
        }
        if other is not None:
            self._checks["engines"] = (
                Engines.title,
                lambda: check_engines(model, other, prompt, length),
            )
        self._found: dict[str, Finding] = {}
        super().__init__([1.0] * len(self._checks))

    def _measure(self, part: int) -> None:
        key = list(self._checks)[part]
        title, check = self._checks[key]
        this_job().told(title, 0, None)
        try:
            found = check()
        except CancelledError:
            raise
        except DecodingError as error:
            found = Failed(title, error.message)
        self._found = self._found | {key: found}  # another thread may be reading it

    @property
    def result(self) -> dict[str, Finding] | None:
        """Findings so far, by check."""
        return self._found or None
