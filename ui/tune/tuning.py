"""State of the tune page: prompts, settings to sweep over, the last sweep, the chosen cell.

A refused change leaves everything as it was, and `error` says why. While the inputs do not describe
a valid sweep, `plan.problem` says why.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import pandas as pd
from msgspec import Meta, Struct

from engine.errors import DecodingError, PromptError, SettingError
from engine.model import LanguageModel
from engine.sampling import STAGES, SamplingSettings
from engine.study import MOST_TEXTS, Axis, Sweep
from engine.values import Name, Whole
from ui.jobs import UNKNOWN, Owner
from ui.labs.inputs import PlainInputs
from ui.labs.state import InputsState
from ui.models.chooser import begins_alone
from ui.shell.work import owner
from ui.texts.constraints import constraint_of
from ui.texts.limits import LONGEST_PROMPT, MOST_TOKENS
from ui.texts.settings import fitted, is_one_number
from ui.texts.texts import Messages, readable
from ui.tune.metrics import TRADE_OFFS
from ui.tune.sweep_job import (
    Prompt,
    SweepJob,
    SweepRecord,
    opening_sweep,
    sweep_of,
    sweep_record,
    tokens_per_second,
)
from ui.tune.values import parse_values, unescaped
from ui.visit_page import VisitPage
from ui.visits.records import BrokenRecord, Choice, choice_of, choice_record, read
from ui.words.catalogue import setting_name
from ui.words.errors import told
from ui.words.language import language, marked, say
from ui.words.metrics import METRICS

NONE = "none"
VIEWS = (
    marked("All metrics"),
    marked("Trade-off"),
    marked("Lowest and highest"),
    marked("Export"),
)
VIEW = ("metric", "trade_off", "view", "target")  # choices of what the page shows of a sweep
MANY_TEXTS = 500
SWEEPABLE = tuple(name for name in STAGES if is_one_number(name))
MOST_PROMPTS = 8
MOST_CELLS = 2_500  # that a heatmap can show as separate cells
MOST_SEEDS = 64
MOST_TOKENS_IN_ALL = 2_000_000  # each takes about 50 bytes in a record


@dataclass(frozen=True)
class Example:
    """Example prompts to tune settings for.

    Attributes:
        name: a few words, marked.
        prompts: the texts to continue.
        stop: text that ends an answer, as typed: a line break is ``\\n``.
    """

    name: str
    prompts: tuple[str, ...]
    stop: str = ""


_PARCEL = "Customer: My parcel arrived broken. What can I do?\nAgent: I am sorry to hear that."
_LOGIN = "Customer: I cannot log in to my account any more.\nAgent:"
_BOOKING = "Customer: Can I change the date of my booking?\nAgent: Yes,"
EXAMPLES = (
    Example(marked("Support answer"), (_PARCEL,), "\\nCustomer:"),
    Example(marked("Three support answers"), (_PARCEL, _LOGIN, _BOOKING), "\\nCustomer:"),
    Example(marked("Story"), ("Once upon a time, there was a little",)),
    Example(marked("Fact"), ("The capital of France is",), "."),
)


def values_name(axis: str) -> str:
    """Return the page's name for the values of an axis: ``X values``."""
    return say("{axis} values", axis=axis)


def _first_values(setting: str) -> str:
    """Return a setting's default sweep values in the notation of the field; empty for no axis."""
    if setting == NONE:
        return ""
    return ", ".join(f"{value:g}" for value in STAGES[setting].info.numbers[0].sweep)


@dataclass(frozen=True)
class AxisInput:
    """One axis as typed.

    Attributes:
        setting: the swept setting; `NONE` for no axis.
        texts: the values as typed, for each setting chosen so far.
    """

    setting: Literal[NONE, *SWEEPABLE]
    texts: dict[Name, Prompt] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The values as typed."""
        return self.texts.get(self.setting, _first_values(self.setting))

    def typed(self, values: str) -> AxisInput:
        """Return a copy with new values for its setting."""
        return replace(self, texts={**self.texts, self.setting: values})

    def axis(self, field_name: str) -> Axis | None:
        """Parse the axis; raises `SettingError` naming the field and the value."""
        if self.setting == NONE:
            return None
        return Axis(self.setting, parse_values(field_name, self.text))


@dataclass(frozen=True)
class TuningInputs(PlainInputs):
    """The inputs of a sweep.

    Attributes:
        prompts, chat: the texts to continue, and whether they go through the chat template.
        before: messages before each prompt; only in chat.
        base: settings of the samplers that no axis changes.
        x, y: the axes as typed.
        seeds: number of texts per cell and prompt; seeds count from 0.
        max_tokens: maximum number of tokens per text.
        stop: string that ends a text, as typed; empty for none.
    """

    prompts: tuple[str, ...] = EXAMPLES[0].prompts
    chat: bool = False
    base: SamplingSettings = field(default_factory=SamplingSettings)
    x: AxisInput = AxisInput("temperature")
    y: AxisInput = AxisInput("top_p")
    seeds: Annotated[int, Meta(title=marked("Seeds"), ge=1, le=MOST_SEEDS)] = 1
    max_tokens: Annotated[int, Meta(title=marked("Max tokens"), ge=1, le=MOST_TOKENS)] = 32
    stop: str = EXAMPLES[0].stop
    before: Messages = ()

    def record(self) -> dict[str, Any]:
        axes = [asdict(self.x), asdict(self.y)]
        typed = {name: getattr(self, name) for name in ("chat", "seeds", "max_tokens", "stop")}
        lists = {"prompts": list(self.prompts), "before": list(self.before), "axes": axes}
        return typed | lists | {"base": self.base.to_dict()}

    @property
    def has_stop_of_example(self) -> bool:
        """True if the stop string is that of an example of which a prompt is still in the list."""
        prompts = [p for one in EXAMPLES if one.stop == self.stop != "" for p in one.prompts]
        return not set(self.prompts).isdisjoint(prompts)


@dataclass(frozen=True)
class Plan:
    """The sweep that Run would start, or the reason that it cannot run.

    Attributes:
        sweep: the sweep; None if it cannot run.
        problem: the reason; empty if it can run.
    """

    sweep: Sweep | None
    problem: str = ""


SomePrompts = Annotated[list[Prompt], Meta(max_length=MOST_PROMPTS)]


class _KeptSweep(Struct):
    model: Choice
    prompts: SomePrompts
    chat: bool
    sweep: SweepRecord
    before: Messages = ()


class _Kept(Struct):
    model: Choice
    prompts: SomePrompts
    chat: bool
    base: dict[str, Any]
    axes: tuple[AxisInput, AxisInput]
    seeds: Annotated[int, Meta(ge=1, le=MOST_SEEDS)]
    max_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
    stop: Prompt
    view: dict[Name, Name]
    chosen: Annotated[list[Whole], Meta(max_length=2)]
    prompt_shown: Whole
    work: _KeptSweep | None
    before: Messages = ()


def _inputs(kept: _Kept, model: LanguageModel) -> TuningInputs:
    """Return the inputs of a record; raises `BrokenRecord` and errors of settings."""
    x, y = kept.axes
    if x.setting == NONE:
        raise BrokenRecord("Its axes are incomplete.")
    chat = kept.chat and model.vocabulary.has_chat_template
    base, prompts = SamplingSettings.from_dict(kept.base), tuple(kept.prompts)
    rest = kept.seeds, kept.max_tokens, kept.stop, kept.before
    return TuningInputs(prompts, chat, base, x, y, *rest)


class Tuning(InputsState[TuningInputs]):
    """One visitor's tune page.

    Attributes in addition to those of `InputsState`:
        removed_stop: the stop string removed together with its example, until the visitor types a
            new one or starts a sweep; empty for none.
        work: the last sweep, running or finished.
        chosen: index of the chosen cell along x and along y.
        metric, trade_off, view, prompt_shown, target: the visitor's choices of what to show.
    """

    name: ClassVar[str] = "tune"
    inputs_class: ClassVar[type[PlainInputs]] = TuningInputs
    kept: ClassVar[type[Struct]] = _Kept
    prompt_holders: ClassVar[tuple[()]] = ()  # there may be several prompts
    copy = None  # another tab uses the record, which includes a running sweep's texts so far

    removed_stop = ""
    work: SweepJob | None = None
    chosen = (0, 0)
    metric = "perplexity"
    trade_off = next(iter(TRADE_OFFS))
    view = VIEWS[0]
    prompt_shown = 0
    target = ""
    _owner = UNKNOWN  # the visitor who started the sweep
    _plan: tuple[object, Plan] | None = None

    # --- what to run ------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The plan that Run would carry out with the current inputs."""
        made_from = language(), id(self.model), self.inputs
        if self._plan is None or self._plan[0] != made_from:
            try:
                plan = Plan(self._sweep())
            except DecodingError as error:
                plan = Plan(None, told(error))
            self._plan = made_from, plan
        return self._plan[1]

    def _sweep(self) -> Sweep:
        one = self.inputs
        x, y = one.x.axis(values_name("X")), one.y.axis(values_name("Y"))
        if y and x.setting == y.setting:
            remedy = say("choose another one, or none")
            name = setting_name(x.setting)
            raise SettingError(
                say("{name} axis", name="Y"),
                name,
                say("has the same setting as the X axis"),
                remedy,
            )
        cells = len(x.values) * (len(y.values) if y else 1)
        texts = cells * one.seeds * len(one.prompts)
        if texts <= MOST_TEXTS and cells > MOST_CELLS:
            remedy = say("use fewer values at first, then a closer range around what looks good")
            raise SettingError(
                say("grid"),
                cells,
                say("has more than {most_cells} cells", most_cells=f"{MOST_CELLS:,}"),
                remedy,
            )
        if texts <= MOST_TEXTS and texts * one.max_tokens > MOST_TOKENS_IN_ALL:
            remedy = say(
                "set max tokens to at most {most_tokens_in_all}, or use fewer texts",
                most_tokens_in_all=f"{MOST_TOKENS_IN_ALL // texts:,}",
            )
            problem = say(
                "has {texts} texts with more than {most_tokens_in_all} tokens in all",
                texts=f"{texts:,}",
                most_tokens_in_all=f"{MOST_TOKENS_IN_ALL:,}",
            )
            raise SettingError(say("sweep"), texts * one.max_tokens, problem, remedy)
        for field_name, axis in ((values_name("X"), x), (values_name("Y"), y)):
            if axis and texts <= MOST_TEXTS:  # otherwise `Sweep` refuses it before it checks values
                self._check(field_name, axis)
        stop = unescaped(one.stop)
        return Sweep(
            base=one.base,
            x=x,
            y=y,
            prompts=[self._read(place, prompt) for place, prompt in enumerate(one.prompts)],
            seeds=range(one.seeds),
            max_tokens=one.max_tokens,
            stop_strings=(stop,) if stop else (),
        )

    def _check(self, field_name: str, axis: Axis) -> None:
        """Raise `DecodingError` if the sampler or the vocabulary rules out a value of an axis."""
        try:
            for value in axis.values:
                axis.applied(SamplingSettings(), value).check_vocabulary(self.model.vocab_size)
        except SettingError as error:
            raise DecodingError(f"{field_name}: {told(error)}") from error

    def _read(self, place: int, prompt: str) -> str | tuple[int, ...]:
        """Return a prompt as `Sweep` accepts it; raises `PromptError` if it is empty."""
        if not prompt:
            raise PromptError(
                say("Prompt {place} is empty; write something or remove it.", place=place + 1)
            )
        inputs = self.inputs
        read = readable(self.model, prompt, chat=inputs.chat, before=inputs.before)
        return read if isinstance(read, str) else tuple(read)

    @property
    def seconds(self) -> float | None:
        """Estimated seconds for the planned sweep, by the last one's speed; None if unknown."""
        speed, sweep = tokens_per_second(self.model), self.plan.sweep
        return sweep.count * sweep.max_tokens / speed if sweep and speed else None

    @property
    def has_changed(self) -> bool:
        """True if the inputs differ from those of the sweep on screen."""
        work = self.work
        return work is not None and (work.sweep != self.plan.sweep or work.model is not self.model)

    # --- changes ----------------------------------------------------------------------------------

    def take(self, inputs: TuningInputs) -> None:
        if inputs.stop != self.inputs.stop:
            self.removed_stop = ""
        super().take(inputs)

    def set_prompt(self, place: int, prompt: str) -> None:
        """Replace the text of one prompt."""
        self.error, prompts = "", list(self.inputs.prompts)
        if len(prompt) > LONGEST_PROMPT:
            self.error = say(
                "Prompt {place} has {length} characters; use at most {most}.",
                place=place + 1,
                length=f"{len(prompt):,}",
                most=f"{LONGEST_PROMPT:,}",
            )
        elif place < len(prompts):
            prompts[place] = prompt.encode("utf-8", "replace").decode("utf-8")
            before = self.inputs
            self.change(prompts=tuple(prompts))
            if before.has_stop_of_example and not self.inputs.has_stop_of_example:
                self.change(stop="")
                self.removed_stop = before.stop

    def add_prompt(self) -> None:
        """Add an empty prompt."""
        if len(self.inputs.prompts) < MOST_PROMPTS:
            self.change(prompts=(*self.inputs.prompts, ""))

    def remove_prompt(self, place: int) -> None:
        """Remove a prompt; the last one stays."""
        prompts = self.inputs.prompts
        if len(prompts) > 1:
            self.change(prompts=prompts[:place] + prompts[place + 1 :])

    def take_example(self, example: Example) -> None:
        """Set the prompts and the stop string to those of an example."""
        self.change(prompts=example.prompts, stop=example.stop)
        self.removed_stop = ""

    def set_base(self, name: str, value: float | None) -> None:
        """Set the value of a sampler in the base settings; None switches it off."""
        with self.refusing():
            self.take(replace(self.inputs, base=self.inputs.base.replace(**{name: value})))

    def constrain(self, language: str, source: str) -> bool:
        """Set the typed constraint for every cell; return True if it is accepted."""
        with self.refusing():
            constraint = constraint_of(language, source)
            if constraint is not None:
                constraint.check_tokens(self.model.places)
            self.take(replace(self.inputs, base=self.inputs.base.replace(constraint=constraint)))
        return not self.error

    def load(self, model: LanguageModel) -> None:
        """Continue with a new model; the old model's sweep stays on screen."""
        base, self.error = fitted(self.inputs.base, self.model, model)
        chat = self.inputs.chat and model.vocabulary.has_chat_template
        self.model, self.inputs = model, replace(self.inputs, base=base, chat=chat)

    def take_settings(self, settings: SamplingSettings, model: LanguageModel) -> None:
        """Take over a page's model, and its settings for all samplers that no axis changes."""
        self.load(model)
        # This clears the error of `load` about lost settings, which are replaced anyway.
        self.change(base=settings.replace(parity=False))

    # --- to disk and back -------------------------------------------------------------------------

    @property
    def version(self) -> object:
        """A value that changes whenever the record would change."""
        work = self.work
        # A running sweep's record contains all its texts, so it is not rewritten for every new one.
        made = work and (id(work), work.is_running, work.version // (1 + work.count // MANY_TEXTS))
        view = tuple(getattr(self, name) for name in VIEW)
        return super().version, view, self.chosen, self.prompt_shown, made

    def record(self) -> dict[str, Any]:
        """Return the whole page state as plain values."""
        work, result = self.work, self.work.result if self.work else None
        made = result and {
            "model": choice_record(work.model),
            "prompts": list(work.prompts),
            "chat": work.chat,
            "before": list(work.before),
            "sweep": sweep_record(work.sweep, result),
        }
        return super().record() | {
            "view": {name: getattr(self, name) for name in VIEW},
            "chosen": list(self.chosen),
            "prompt_shown": self.prompt_shown,
            "work": made,
        }

    @classmethod
    def restored(cls, data: Any, load: Callable[[str, str | None], LanguageModel]) -> Tuning:
        """Restore a `record`; starts the opening sweep if nothing was changed or started."""
        kept = read(data, _Kept)
        model = load(*choice_of(kept.model))
        tuning = cls(model, _inputs(kept, model))
        known = {"metric": METRICS, "trade_off": TRADE_OFFS, "view": VIEWS}
        for name, value in kept.view.items():
            if name in VIEW and value in known.get(name, (value,)):
                setattr(tuning, name, value)
        if kept.work is not None:
            tuning._take_work(kept.work, load)
            tuning.choose(*[*kept.chosen, 0, 0][:2])
            tuning.prompt_shown = min(kept.prompt_shown, len(tuning.work.prompts) - 1)
        elif tuning.plan.sweep == cls(model).plan.sweep:
            return begun(model)
        return tuning

    def follow_link(self, values: dict[str, Any]) -> None:
        nothing = {"view": {}, "chosen": [], "prompt_shown": 0, "work": None}
        kept = read({"model": choice_record(self.model)} | nothing | values, _Kept)
        self.inputs = _inputs(kept, self.model)

    def _take_work(
        self, kept: _KeptSweep, load: Callable[[str, str | None], LanguageModel]
    ) -> None:
        sweep, result = sweep_of(kept.sweep)
        model = load(*choice_of(kept.model))
        if len(kept.prompts) != len(sweep.prompts):
            raise BrokenRecord("Its sweep has other prompts.")
        kind = {"chat": kept.chat, "before": kept.before}
        self.work = SweepJob(sweep, model, kept.prompts, **kind, result=result)

    def release(self) -> None:
        """End the sweep, for which no page is waiting."""
        self.cancel()

    # --- the sweep --------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """True if a sweep is running."""
        return self.work is not None and self.work.is_running

    def run(self, owner: Owner = UNKNOWN, *, for_all: bool = False) -> None:
        """Start the planned sweep; if it cannot start, `error` says why.

        Args:
            owner: the visitor for whom it runs.
            for_all: whether all visitors share this sweep, so that it runs only once.
        """
        self.error = self.plan.problem
        if self.plan.sweep is None or self.is_running:
            return
        make, before, one = opening_sweep if for_all else SweepJob, self.work, self.inputs
        kind = {"chat": one.chat, "before": one.before}
        made = partial(make, self.plan.sweep, self.model, one.prompts, **kind)
        self.begin_work("work", made, owner)
        if self.work is before:  # it was refused
            return
        self._owner = owner
        sweep = self.work.sweep
        is_same_grid = before is not None and (before.sweep.x, before.sweep.y) == (sweep.x, sweep.y)
        if not is_same_grid:
            rows = len(sweep.y.values) if sweep.y else 1
            self.chosen = (len(sweep.x.values) // 2, rows // 2)
        self.prompt_shown = min(self.prompt_shown, len(self.work.prompts) - 1)
        self.removed_stop = ""

    def cancel(self) -> None:
        """End the sweep for this visitor; the results so far stay."""
        if self.work is not None:
            self.work = self.work.left_by(self._owner)

    def choose(self, x: int, y: int) -> None:
        """Choose a cell by its index along the axes; an index out of range is ignored."""
        sweep = self.work.sweep if self.work else None
        rows = len(sweep.y.values) if sweep and sweep.y else 1
        if sweep and 0 <= x < len(sweep.x.values) and 0 <= y < rows:
            self.chosen = (x, y)

    def choose_number(self, number: int) -> None:
        """Choose a cell by its index in `Sweep.cells`."""
        rows = len(self.work.sweep.y.values) if self.work and self.work.sweep.y else 1
        self.choose(number // rows, number % rows)

    @property
    def chosen_number(self) -> int:
        """Index of the chosen cell in `Sweep.cells`."""
        rows = len(self.work.sweep.y.values) if self.work and self.work.sweep.y else 1
        return self.chosen[0] * rows + self.chosen[1]

    @property
    def chosen_settings(self) -> SamplingSettings:
        """Settings of the chosen cell, with the first seed."""
        sweep = self.work.sweep
        return sweep.cells[self.chosen_number].settings.replace(seed=sweep.seeds[0])

    def chosen_texts(self) -> pd.DataFrame:
        """Return the rows of `SweepResult.texts` for the chosen cell and the prompt on screen."""
        texts, cell = self.work.result.texts, self.work.sweep.cells[self.chosen_number]
        here = (texts["x"] == cell.x) & (texts["prompt"] == self.prompt_shown)
        if cell.y is not None:
            here &= texts["y"] == cell.y
        return texts[here]

    def export(self) -> pd.DataFrame:
        """Return every text that was started, with everything needed to reproduce it."""
        work = self.work
        sweep, frame = work.sweep, work.result.texts
        chains = {
            (cell.x, cell.y): json.dumps(cell.settings.to_dict()["chain"]) for cell in sweep.cells
        }
        places = [(x, None if math.isnan(y) else y) for x, y in frame[["x", "y"]].to_numpy()]
        names = {"x": sweep.x.setting} | ({"y": sweep.y.setting} if sweep.y else {})
        shown = frame.drop(columns=[] if sweep.y else ["y"]).rename(columns=names)
        shown["prompt"] = [work.prompts[place] for place in frame["prompt"]]
        return shown.assign(
            chain=[chains[place] for place in places],
            model=work.model.name,
            revision=work.model.revision,
            facts=json.dumps(work.model.facts),
            chat_template=work.chat,
            messages_before=json.dumps(work.before) if work.before else "",
            max_tokens=sweep.max_tokens,
            stop_strings=json.dumps(sweep.stop_strings),
        )


# --- for a visitor --------------------------------------------------------------------------------


def begun(model: LanguageModel) -> Tuning:
    """Return a new visitor's state; starts the opening sweep if `begins_alone` allows it."""
    tuning = Tuning(model)
    if begins_alone(model):
        tuning.run(owner(), for_all=True)
    return tuning


PAGE = VisitPage(
    "tuning",
    begin=begun,
    restore=Tuning.restored,
    lost=marked("Your last sweep could not be read, so a new one begins."),
    kept=marked("Prompts and settings are kept, and so is the last sweep until you run another."),
)
