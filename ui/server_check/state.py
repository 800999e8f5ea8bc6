"""The state of the server page: inputs, the other engine, and the check in the background."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from engine.backend import Backend, ServerLoad
from engine.server_check import (
    MOST_DRAWS,
    MOST_LENGTH,
    MOST_OTHERS,
    Finding,
    Plan,
    ServerCheck,
    is_on_server,
    report_json,
    report_markdown,
)
from ui.jobs import Owner
from ui.labs.inputs import Inputs
from ui.labs.state import InputsState
from ui.measurements.job import MeasureJob
from ui.words.language import localised, marked, say


@dataclass(frozen=True)
class CheckInputs(Inputs):
    """Inputs of the check; see `engine.server_check.Plan`."""

    prompt: str = "He said: my favourite animal is the"
    draws: Annotated[int, Meta(ge=20, le=MOST_DRAWS, title=marked("Draws"))] = 200
    others: Annotated[int, Meta(ge=1, le=MOST_OTHERS, title=marked("Texts at once"))] = 3
    length: Annotated[int, Meta(ge=1, le=MOST_LENGTH, title=marked("Tokens"))] = 24


class CheckJob(MeasureJob[dict[str, Finding]]):
    """The check in the background; it keeps the facts of the server that it began with."""

    doing = marked("the check of the server")
    kept = marked("The finished checks are kept; press Continue to resume.")

    def __init__(self, measurement: ServerCheck) -> None:
        super().__init__(measurement)
        self.facts: Mapping[str, Any] = dict(measurement.model.facts)

    @property
    def progress(self) -> str:
        """The number of checks made, and the work within the current one."""
        what, done, total = self.stage
        if not self.is_running:
            return super().progress
        if total is None:
            return f"{super().progress} · {say(what)}"
        return (
            f"{super().progress} · {say(what)}: {localised(f'{done:,}')}/{localised(f'{total:,}')}"
        )

    @property
    def other(self) -> str | None:
        """The name of the other engine's model; None without one."""
        other = self.measurement.other
        return None if other is None else other.name

    def json(self) -> str:
        """Return the findings as JSON text."""
        return report_json(self.facts, self.measurement.plan, self.other, self.result or {})

    def markdown(self) -> str:
        """Return the findings as Markdown."""
        return report_markdown(self.facts, self.measurement.plan, self.other, self.result or {})


class ServerState(InputsState[CheckInputs]):
    """Inputs, the other engine and the check of one visitor.

    Attributes in addition to those of `InputsState`:
        work: the last check; None before the first.
        other: the other engine's model; None to leave that check out.
        load_read: the server's load when it was last read; None before that.
    """

    name = "server"
    inputs_class = CheckInputs
    work: CheckJob | None = None
    other: Backend | None = None
    load_read: ServerLoad | None = None
    prompt_holders: ClassVar[tuple[()]] = ()

    @property
    def is_on_server(self) -> bool:
        """True if the model is on a server."""
        return is_on_server(self.model)

    def load(self, model: Backend) -> None:
        """Continue with a new model and the same inputs."""
        super().load(model)
        self.other = self.load_read = None

    def read_load(self) -> None:
        """Read the server's load."""
        with self.refusing():
            self.load_read = self.model.load()

    def choose(self, model: Backend | None) -> None:
        """Choose the other engine's model for the next check."""
        self.other = model

    def begin(self, owner: Owner) -> None:
        """Start the check with the inputs on screen."""
        inputs = self.inputs
        plan = Plan(inputs.prompt, inputs.draws, inputs.others, inputs.length)
        self.begin_work("work", lambda: CheckJob(ServerCheck(self.model, plan, self.other)), owner)
