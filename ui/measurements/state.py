"""State of a measuring page for a visitor: one model or two, sections, another machine's file."""

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
from ui.measurements.held import Held
from ui.measurements.section import Laid, Section
from ui.measurements.work import MeasureWork, SectionWork
from ui.visits.records import BrokenRecord, Choice, choice_of, choice_record, read
from ui.words.language import say
from ui.words.refusals import told


class Bench:
    """The sections with one model, as one visitor has them.

    Args:
        name: names its sections within the session.
        model: what is measured.
        sections: of the page, in their order.
        inputs: of the sections, by key; those that have none begin with new ones.

    Attributes:
        sections: by key, in the order of the page.
        pacing: times a few passes, from which the duration of everything else is estimated; None
            before the page is drawn first.
        busy: the machine, if it was busy as they were timed: they say nothing of an idle one.
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
            one.key: Held(f"{name}_{one.key}", one, model, inputs.get(one.key)) for one in sections
        }
        self.pacing: MeasureWork[Pace] | None = None
        self.busy: Machine | None = None

    def look(self, owner: Owner) -> None:
        """Time a few passes, once; again where the machine was busy then and is no longer."""
        if self.pacing is not None and (self.busy is None or self.pacing.is_running):
            return
        machine = Machine.here()
        if self.pacing is not None and machine.is_busy:
            return
        self.busy = machine if machine.is_busy else None
        self.pacing = MeasureWork(PaceMeasurement(self.model)).start(owner)

    @property
    def pace(self) -> Pace | None:
        """Return the pace of forward passes; None while it is unknown."""
        if self.pacing is None or not self.pacing.is_done:
            return None
        return self.pacing.result

    @property
    def inputs(self) -> dict[str, PlainInputs]:
        """The inputs of its sections, by key."""
        return {key: held.inputs for key, held in self.sections.items()}

    def report(self) -> Report | None:
        """All that is measured or computed so far; None where there is nothing yet."""
        results = {key: held.result() for key, held in self.sections.items()}
        parts = {key: result for key, result in results.items() if result is not None}
        begun = (held.setting for held in self.sections.values() if held.setting is not None)
        return Report(next(begun, None) or Setting.here(self.model), parts) if parts else None

    def records(self) -> dict[str, Any]:
        """Results of its sections that are whole, by key, for a record."""
        records = {key: held.results for key, held in self.sections.items()}
        return {key: record for key, record in records.items() if record is not None}

    def restore(self, data: dict[str, Any]) -> list[str]:
        """The inverse of `records`; gives the keys of results that cannot be read."""
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
        """End what is being done."""
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
    """One visitor's page.

    Args:
        name: of the page.
        model: what is measured.
        sections: of the page, in their order.
        inputs: of the sections, by key, where they are not new.

    Attributes:
        bench: the model, and what is measured of it.
        second: the same of a second model, beside the first; None without.
        chosen: key of the section in sight.
        other: a measurement of another machine, shown beside ours; None without.
        error: what went wrong with the page as a whole, empty if nothing did.
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
        self._waiting: deque[Held] = deque()  # measured next, one after the other
        self._running: Held | None = None

    # --- the first model --------------------------------------------------------------------------

    @property
    def model(self) -> LanguageModel:
        """Return the model that is measured."""
        return self.bench.model

    @property
    def sections(self) -> dict[str, Held]:
        """The sections with the first model, by key."""
        return self.bench.sections

    @property
    def held(self) -> Held:
        """The section in sight, with the first model; its fields are those of both."""
        return self.sections[self.chosen]

    @property
    def prompt_holders(self) -> list[Held]:
        """The sections that follow the prompt in hand."""
        return [held for held in self.sections.values() if held.section.follows]

    @property
    def benches(self) -> list[Bench]:
        """The first model and, where there is one, the second."""
        return [self.bench] if self.second is None else [self.bench, self.second]

    @property
    def in_sight(self) -> list[Held]:
        """The section in sight, with each of the models."""
        return [bench.sections[self.chosen] for bench in self.benches]

    def choose(self, key: str) -> None:
        """Look at another section; what runs in this one goes on."""
        self.chosen = key

    def load(self, model: LanguageModel) -> None:
        """Go on with another model from the same inputs; everything is measured again."""
        self._waiting.clear()
        self.bench.release()
        self.bench, self.error = Bench(self.name, model, self._all, self.bench.inputs), ""

    def load_second(self, model: LanguageModel) -> None:
        """Measure with this model as well."""
        self.drop_second()
        self.second = Bench(f"{self.name}_second", model, self._all, self.bench.inputs)

    def drop_second(self) -> None:
        """Measure with the first model alone."""
        self._waiting.clear()
        if self.second is not None:
            self.second.release()
        self.second = None

    # --- measuring --------------------------------------------------------------------------------

    def look(self, owner: Owner) -> None:
        """Begin what waits for no press: passes to time, the first inputs, the next in line."""
        for bench in self.benches:
            bench.look(owner)
        if self.bench.pace is not None:
            self.held.begin_alone(owner)
        self._begin_next(owner)

    def begin(self, owner: Owner) -> None:
        """Measure the section in sight at once, and then with the second model."""
        first, *others = self.in_sight
        is_free = not self.is_busy
        self._begin_one(first, owner)
        if is_free:
            self._running = first
        self._waiting.extendleft(reversed(others))

    def begin_each(self, keys: Iterable[str], owner: Owner) -> None:
        """Measure some sections, one after the other, each with one model after the other."""
        self._waiting.extend(bench.sections[key] for key in keys for bench in self.benches)
        self._begin_next(owner)

    def _begin_next(self, owner: Owner) -> None:
        """Go on with what waits, where the one before has ended; a cancelled one ends it all."""
        running = self._running
        if running is not None and running.is_running:
            return
        if running is not None and running.work is not None and running.work.is_cancelled:
            self._waiting.clear()
        self._running = self._waiting.popleft() if self._waiting else None
        if self._running is not None:
            self._begin_one(self._running, owner)

    def _begin_one(self, held: Held, owner: Owner) -> None:
        held.inputs = self.sections[held.section.key].inputs
        held.begin(owner)

    def cancel(self) -> None:
        """End what is measured just now, and what waits behind it."""
        self._waiting.clear()
        if self._running is not None:
            self._running.release()

    @property
    def stage(self) -> object:
        """Compares unequal once a measurement has begun or ended."""
        works = [held.work for bench in self.benches for held in bench.sections.values()]
        return [(id(work), work.is_running) for work in works if work is not None]

    @property
    def is_pacing(self) -> bool:
        """Tell whether passes are being timed, for an estimate."""
        pacings = [bench.pacing for bench in self.benches]
        return any(pacing is not None and pacing.is_running for pacing in pacings)

    @property
    def busy(self) -> Machine | None:
        """The machine, if it was busy as passes were timed; see `Bench`."""
        return next((bench.busy for bench in self.benches if bench.busy is not None), None)

    def seconds(self, keys: Iterable[str] | None = None) -> float | None:
        """An estimate for some sections, all models together; None where there is none.

        Passes that were timed on a busy machine give none: they may take many times as long.

        Args:
            keys: of the sections; None for the one in sight.
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
        """Tell whether sections are being measured, one after the other."""
        return bool(self._waiting) or (self._running is not None and self._running.is_running)

    @property
    def work(self) -> SectionWork | None:
        """The work in sight that can be cancelled or gone on with; else the first model's last."""
        works = [held.work for held in self.in_sight if held.work is not None]
        running = (work for work in works if work.is_running)
        broken_off = (work for work in works if not work.is_done)
        return next(running, None) or next(broken_off, None) or next(iter(works), None)

    # --- files ------------------------------------------------------------------------------------

    def report(self) -> Report | None:
        """All that is measured or computed of the first model; None where there is nothing yet."""
        return self.bench.report()

    def lay_over(self, text: str) -> None:
        """Show the measurement in a file beside ours; a bad one leaves what was there."""
        self.error = ""
        kinds = {section.key: section.result for section in self._all}
        try:
            self.other = Report.from_json(text, kinds)
        except DecodingError as error:
            self.error = told(error)

    def refuse(self, sentence: str) -> None:
        """Say why something was not done."""
        self.error = sentence

    def take_off(self) -> None:
        """Show ours alone."""
        self.other, self.error = None, ""

    def laid(self, key: str) -> Laid | None:
        """Return the other machine's result of a section; None if it has none."""
        if self.other is None or key not in self.other.parts:
            return None
        return Laid(self.other.setting.name, self.other.parts[key])

    # --- to disk and back -------------------------------------------------------------------------

    @property
    def version(self) -> object:
        """Compares unequal once the record would be another."""
        models = tuple(id(bench.model) for bench in self.benches)
        works = [held.work for bench in self.benches for held in bench.sections.values()]
        whole = tuple(id(work) for work in works if work is not None and work.is_done)
        return models, self.chosen, tuple(self.bench.inputs.values()), whole

    def record(self) -> dict[str, Any]:
        """Return models, section, inputs, and results that are whole."""
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
        """The inverse of `record`; a section that the record does not know begins with new inputs.

        A chosen section that the page no longer has gives way to the first one.

        Raises:
            DecodingError: a record that cannot be used, or a model that cannot be loaded.
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
        """End all work that is no longer wanted."""
        self._waiting.clear()
        for bench in self.benches:
            bench.release()
