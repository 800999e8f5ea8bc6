"""A visitor's state of a measuring page: one or two models, sections, another machine's file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from engine.errors import DecodingError
from engine.measure import Machine, Pace, PaceMeasurement, Report, Setting
from engine.model import LanguageModel
from engine.values import Name
from ui.jobs import Owner
from ui.labs.inputs import PlainInputs
from ui.measurements.job import MeasureJob, SectionJob
from ui.measurements.section import Laid, Section
from ui.measurements.section_state import SectionState
from ui.visits.records import BrokenRecord, Choice, choice_of, choice_record, read
from ui.words.errors import told
from ui.words.language import say


class Bench:
    """One visitor's sections with one model.

    Args:
        name: name of its sections within the session.
        model: the model to measure.
        sections: sections of the page, in order.
        inputs: inputs by section key; a section without an entry starts with its first inputs.

    Attributes:
        sections: sections by key, in the order of the page.
        pacing: job that times a few passes, from which all durations are estimated; None before the
            first drawing of the page.
        busy: the machine, if it was busy during these passes, which then give no estimate; else
            None.
    """

    def __init__(
        self,
        name: str,
        model: LanguageModel,
        sections: Sequence[Section],
        inputs: Mapping[str, PlainInputs],
    ) -> None:
        self.model = model
        self.sections = {
            one.key: SectionState(f"{name}_{one.key}", one, model, inputs.get(one.key))
            for one in sections
        }
        self.pacing: MeasureJob[Pace] | None = None
        self.busy: Machine | None = None

    def look(self, owner: Owner) -> None:
        """Time a few passes once, and again if the machine was busy and is now idle."""
        if self.pacing is not None and (self.busy is None or self.pacing.is_running):
            return
        machine = Machine.here()
        if self.pacing is not None and machine.is_busy:
            return
        self.busy = machine if machine.is_busy else None
        self.pacing = MeasureJob(PaceMeasurement(self.model)).start(owner)

    @property
    def pace(self) -> Pace | None:
        """The speed of forward passes; None if unknown."""
        if self.pacing is None or not self.pacing.is_done:
            return None
        return self.pacing.result

    @property
    def inputs(self) -> dict[str, PlainInputs]:
        """The inputs of its sections, by key."""
        return {key: held.inputs for key, held in self.sections.items()}

    def report(self) -> Report | None:
        """Return all results measured or computed so far; None if there are none."""
        results = {key: held.result() for key, held in self.sections.items()}
        parts = {key: result for key, result in results.items() if result is not None}
        begun = (held.setting for held in self.sections.values() if held.setting is not None)
        return Report(next(begun, None) or Setting.here(self.model), parts) if parts else None

    def records(self) -> dict[str, Any]:
        """Return the complete results of its sections by key, for a record."""
        records = {key: held.results for key, held in self.sections.items()}
        return {key: record for key, record in records.items() if record is not None}

    def restore(self, data: dict[str, Any]) -> list[str]:
        """Restore the output of `records`; returns the keys of unreadable results."""
        broken = []
        for key, held in self.sections.items():
            record = data.get(key)
            try:
                if record is not None:
                    held.take_results(record)
            except BrokenRecord:
                broken.append(key)
        return broken

    def release(self) -> None:
        """End all work."""
        if self.pacing is not None:
            self.pacing.cancel()
        for held in self.sections.values():
            held.release()


class _KeptState(Struct):
    model: Choice
    second: Choice | None
    chosen: Name
    inputs: dict[str, dict[str, Any]]
    results: list[dict[str, Any]]


class MeasurementState:
    """One visitor's measuring page.

    Args:
        name: name of the page.
        model: the model to measure.
        sections: sections of the page, in order.
        inputs: inputs by section key; None for first inputs.

    Attributes:
        bench: the first model and its measurements.
        second: the same for a second model; None if there is none.
        chosen: key of the visible section.
        other: another machine's measurement, shown next to this machine's; None if there is none.
        error: an error of the page as a whole; empty if there is none.
    """

    def __init__(
        self,
        name: str,
        model: LanguageModel,
        sections: Sequence[Section],
        inputs: dict[str, PlainInputs] | None = None,
    ) -> None:
        self.name = name
        self._all = tuple(sections)
        self.bench = Bench(name, model, sections, inputs or {})
        self.second: Bench | None = None
        self.chosen = sections[0].key
        self.other: Report | None = None
        self.error = ""
        self._waiting: deque[SectionState] = deque()  # to be measured next, in this order
        self._running: SectionState | None = None

    # --- the first model --------------------------------------------------------------------------

    @property
    def model(self) -> LanguageModel:
        """The first model."""
        return self.bench.model

    @property
    def sections(self) -> dict[str, SectionState]:
        """The first model's sections, by key."""
        return self.bench.sections

    @property
    def held(self) -> SectionState:
        """The first model's visible section, whose inputs both models use."""
        return self.sections[self.chosen]

    @property
    def prompt_holders(self) -> list[SectionState]:
        """The sections whose prompt follows the one typed last."""
        return [held for held in self.sections.values() if held.section.follows]

    @property
    def benches(self) -> list[Bench]:
        """The first model and, if there is one, the second."""
        return [self.bench] if self.second is None else [self.bench, self.second]

    @property
    def in_sight(self) -> list[SectionState]:
        """The visible section of each model."""
        return [bench.sections[self.chosen] for bench in self.benches]

    def choose(self, key: str) -> None:
        """Show the section with this key; the previous one continues measuring."""
        self.chosen = key

    def load(self, model: LanguageModel) -> None:
        """Continue with a new model and the same inputs; everything is measured again."""
        self._waiting.clear()
        self.bench.release()
        self.bench, self.error = Bench(self.name, model, self._all, self.bench.inputs), ""

    def load_second(self, model: LanguageModel) -> None:
        """Add a second model, to be measured with the same inputs."""
        self.drop_second()
        self.second = Bench(f"{self.name}_second", model, self._all, self.bench.inputs)

    def drop_second(self) -> None:
        """Remove the second model, and end its measurements."""
        self._waiting.clear()
        if self.second is not None:
            self.second.release()
        self.second = None

    # --- measuring --------------------------------------------------------------------------------

    def look(self, owner: Owner) -> None:
        """Start all that needs no button press: timed passes, first inputs, the next in line."""
        for bench in self.benches:
            bench.look(owner)
        if self.bench.pace is not None:
            self.held.begin_alone(owner)
        self._begin_next(owner)

    def begin(self, owner: Owner) -> None:
        """Measure the visible section with the first model now, then with the second."""
        first, *others = self.in_sight
        is_free = not self.is_busy
        self._begin_one(first, owner)
        if is_free:
            self._running = first
        self._waiting.extendleft(reversed(others))

    def begin_each(self, keys: Iterable[str], owner: Owner) -> None:
        """Measure the sections with these keys in order, each with one model after the other."""
        self._waiting.extend(bench.sections[key] for key in keys for bench in self.benches)
        self._begin_next(owner)

    def _begin_next(self, owner: Owner) -> None:
        """Start the next waiting section if none is running; discard them after a Cancel."""
        running = self._running
        if running is not None and running.is_running:
            return
        if running is not None and running.work is not None and running.work.is_cancelled:
            self._waiting.clear()
        self._running = self._waiting.popleft() if self._waiting else None
        if self._running is not None:
            self._begin_one(self._running, owner)

    def _begin_one(self, held: SectionState, owner: Owner) -> None:
        held.inputs = self.sections[held.section.key].inputs
        held.begin(owner)

    def cancel(self) -> None:
        """Cancel the current measurement, and discard those that are waiting."""
        self._waiting.clear()
        if self._running is not None:
            self._running.release()

    @property
    def stage(self) -> object:
        """A value that changes whenever a measurement starts or ends."""
        works = [held.work for bench in self.benches for held in bench.sections.values()]
        return [(id(work), work.is_running) for work in works if work is not None]

    @property
    def is_pacing(self) -> bool:
        """True if passes are being timed for an estimate."""
        pacings = [bench.pacing for bench in self.benches]
        return any(pacing is not None and pacing.is_running for pacing in pacings)

    @property
    def busy(self) -> Machine | None:
        """The machine, if it was busy while passes were timed; see `Bench`."""
        return next((bench.busy for bench in self.benches if bench.busy is not None), None)

    def seconds(self, keys: Iterable[str] | None = None) -> float | None:
        """Estimate the seconds to measure sections with all models; None if unknown.

        Passes timed on a busy machine give no estimate, as they may take many times as long.

        Args:
            keys: keys of the sections; None for the visible one.
        """
        if self.busy is not None:
            return None
        total = 0.0
        for key in [self.chosen] if keys is None else keys:
            for bench in self.benches:
                pace = bench.pace
                inputs = self.sections[key].inputs
                one = None if pace is None else bench.sections[key].seconds(pace, inputs)
                if one is None:
                    return None
                total += one
        return total

    @property
    def is_busy(self) -> bool:
        """True if a section is being measured or is waiting."""
        return bool(self._waiting) or (self._running is not None and self._running.is_running)

    @property
    def work(self) -> SectionJob | None:
        """The visible section's job to cancel or continue; otherwise the first model's last job."""
        works = [held.work for held in self.in_sight if held.work is not None]
        running = (work for work in works if work.is_running)
        broken_off = (work for work in works if not work.is_done)
        return next(running, None) or next(broken_off, None) or next(iter(works), None)

    # --- files ------------------------------------------------------------------------------------

    def report(self) -> Report | None:
        """Return all results of the first model so far; None if there are none."""
        return self.bench.report()

    def lay_over(self, text: str) -> None:
        """Show another machine's measurement from a file; a bad file leaves the previous one."""
        self.error = ""
        kinds = {section.key: section.result for section in self._all}
        try:
            self.other = Report.from_json(text, kinds)
        except DecodingError as error:
            self.error = told(error)

    def refuse(self, sentence: str) -> None:
        """Set `error` to the reason for a refusal."""
        self.error = sentence

    def take_off(self) -> None:
        """Remove the other machine's measurement."""
        self.other, self.error = None, ""

    def laid(self, key: str) -> Laid | None:
        """Return the other machine's result for a section; None if it has none."""
        if self.other is None or key not in self.other.parts:
            return None
        return Laid(self.other.setting.name, self.other.parts[key])

    # --- to disk and back -------------------------------------------------------------------------

    @property
    def version(self) -> object:
        """A value that changes whenever the record would change."""
        models = tuple(id(bench.model) for bench in self.benches)
        works = [held.work for bench in self.benches for held in bench.sections.values()]
        whole = tuple(id(work) for work in works if work is not None and work.is_done)
        return models, self.chosen, tuple(self.bench.inputs.values()), whole

    def record(self) -> dict[str, Any]:
        """Return models, visible section, inputs and complete results as plain values."""
        return {
            "model": choice_record(self.model),
            "second": choice_record(self.second.model) if self.second else None,
            "chosen": self.chosen,
            "inputs": {key: inputs.record() for key, inputs in self.bench.inputs.items()},
            "results": [bench.records() for bench in self.benches],
        }

    @classmethod
    def restored(
        cls,
        name: str,
        data: Any,
        load: Callable[[str, str | None], LanguageModel],
        sections: Sequence[Section],
    ) -> MeasurementState:
        """Restore a `record`; a section that it lacks starts with its first inputs.

        If the page no longer has the chosen section, the first one is chosen.

        Raises:
            DecodingError: the record cannot be used, or a model cannot be loaded.
        """
        kept = read(data, _KeptState)
        by_key = {section.key: section for section in sections}
        inputs = {
            key: section.inputs.restored(kept.inputs[key])
            for key, section in by_key.items()
            if key in kept.inputs
        }
        state = cls(name, load(*choice_of(kept.model)), sections, inputs)
        if kept.second is not None:
            state.load_second(load(*choice_of(kept.second)))
        if kept.chosen in by_key:
            state.chosen = kept.chosen
        for bench, results in zip(state.benches, kept.results, strict=False):
            for key in bench.restore(results):
                name = say(by_key[key].name)
                state.error = say(
                    "What was measured under {name} cannot be read; measure it again.", name=name
                )
        return state

    def release(self) -> None:
        """End all measurements."""
        self._waiting.clear()
        for bench in self.benches:
            bench.release()
