"""What a visitor tunes: prompts, two settings to sweep over, the sweep at work and the chosen cell.

A change that is refused leaves everything as it was and becomes `error`; what cannot be swept over
yet is said in `plan.problem` while it is being written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pandas as pd
from msgspec import Meta, Struct

from engine.errors import DecodingError, PromptError, SettingError
from engine.model import LanguageModel
from engine.sampling import STAGES, SamplingSettings
from engine.study.sweep import MOST_TEXTS, Axis, Sweep
from engine.values import Name, Whole
from ui.jobs import UNKNOWN, Owner
from ui.models.chooser import begins_alone
from ui.skeleton.work import owner
from ui.texts.constraints import constraint_of
from ui.texts.limits import LONGEST_PROMPT, MOST_TOKENS, checked_whole
from ui.texts.settings import fitted, is_one_number
from ui.tune.metrics import TRADE_OFFS
from ui.tune.sweep_record import Prompt, SweepRecord, sweep_of, sweep_record
from ui.tune.sweep_work import SweepWork, opening_sweep, tokens_per_second
from ui.tune.values import INITIAL, parse_values, unescaped
from ui.visit_page import VisitPage
from ui.visits.records import BrokenRecord, Choice, choice_of, choice_record, read
from ui.words.catalogue import setting_name
from ui.words.language import language, marked, say
from ui.words.metrics import METRICS
from ui.words.refusals import told

NONE = "none"
VIEWS = (
    marked("All metrics"),
    marked("Trade-off"),
    marked("Lowest and highest"),
    marked("Export"),
)
VIEW = ("metric", "trade_off", "view", "target")  # what the page shows of a sweep
MANY_TEXTS = 500
SWEEPABLE = tuple(name for name in STAGES if is_one_number(name))
MOST_PROMPTS = 8
MOST_CELLS = 2_500  # that a heatmap on a page still shows as cells
MOST_SEEDS = 64
MOST_TOKENS_IN_ALL = 2_000_000  # what is recorded of each takes some 50 bytes


@dataclass(frozen=True)
class Example:
    """Prompts worth tuning for.

    Attributes:
        name: in a few words, marked.
        prompts: the texts to go on from.
        stop: text that ends an answer, as it is typed: a line break is ``\\n``.
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
    """What the page calls the values of an axis: ``X values``."""
    return say("{axis} values", axis=axis)


@dataclass
class AxisInput:
    """One axis as it is typed.

    Attributes:
        setting: the setting, `NONE` for no axis.
        texts: the values of each setting that was chosen here before.
    """

    setting: Literal[NONE, *SWEEPABLE]
    texts: dict[Name, Prompt] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The values as typed."""
        return self.texts.get(self.setting, INITIAL.get(self.setting, ""))

    def axis(self, field_name: str) -> Axis | None:
        """The axis; raises `SettingError` naming the field and the value."""
        if self.setting == NONE:
            return None
        return Axis(self.setting, parse_values(field_name, self.text))


@dataclass(frozen=True)
class Plan:
    """What Run would do.

    Attributes:
        sweep: the sweep, None where it cannot be run.
        problem: why not, empty if it can.
    """

    sweep: Sweep | None
    problem: str = ""


SomePrompts = Annotated[list[Prompt], Meta(max_length=MOST_PROMPTS)]


class _KeptWork(Struct):
    model: Choice
    prompts: SomePrompts
    chat: bool
    sweep: SweepRecord


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
    work: _KeptWork | None


class Tuning:
    """One visitor's page.

    Attributes:
        model: the model of the next sweep.
        prompts, chat: the texts to go on from, and whether through the chat template.
        base: settings of the stages that no axis changes.
        x, y: the axes as typed.
        seeds: texts per cell and prompt, with seeds from 0 on.
        max_tokens: most tokens of a text.
        stop: text that ends one, as typed; empty for none.
        error: what went wrong with the last change, empty if nothing did.
        removed_stop: the stop string that was removed with its example, until another one is typed
            or a sweep begins; empty for none.
        work: the last sweep, under way or over.
        chosen: place of the chosen cell along x and along y.
        metric, trade_off, view, prompt_shown, target: what the page shows of it.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.prompts = list(EXAMPLES[0].prompts)
        self.chat = False
        self.base = SamplingSettings()
        self.x, self.y = AxisInput("temperature"), AxisInput("top_p")
        self.seeds = 1
        self.max_tokens = 32
        self.stop = EXAMPLES[0].stop
        self.error = self.removed_stop = ""
        self.work: SweepWork | None = None
        self._owner = UNKNOWN  # for whom it was begun
        self.chosen = (0, 0)
        self.metric = "perplexity"
        self.trade_off = next(iter(TRADE_OFFS))
        self.view = VIEWS[0]
        self.prompt_shown = 0
        self.target = ""
        self._plan: tuple[object, Plan] | None = None

    # --- what to run ------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """What Run would do with the inputs as they stand."""
        inputs = (
            language(),
            id(self.model),
            tuple(self.prompts),
            self.chat,
            self.base,
            (self.x.setting, self.x.text, self.y.setting, self.y.text),
            (self.seeds, self.max_tokens, self.stop),
        )
        if self._plan is None or self._plan[0] != inputs:
            try:
                plan = Plan(self._sweep())
            except DecodingError as error:
                plan = Plan(None, told(error))
            self._plan = inputs, plan
        return self._plan[1]

    def _sweep(self) -> Sweep:
        x, y = self.x.axis(values_name("X")), self.y.axis(values_name("Y"))
        if y and x.setting == y.setting:
            remedy = say("choose another one, or none")
            name = setting_name(x.setting)
            raise SettingError(
                say("{name} axis", name="Y"), name, say("is the setting of the X axis too"), remedy
            )
        cells = len(x.values) * (len(y.values) if y else 1)
        texts = cells * self.seeds * len(self.prompts)
        if texts <= MOST_TEXTS and cells > MOST_CELLS:
            remedy = say("use fewer values at first, then a closer range around what looks good")
            raise SettingError(
                say("grid"),
                cells,
                say("has more than {most_cells} cells", most_cells=f"{MOST_CELLS:,}"),
                remedy,
            )
        if texts <= MOST_TEXTS and texts * self.max_tokens > MOST_TOKENS_IN_ALL:
            remedy = say(
                "use at most {most_tokens_in_all} max tokens, or fewer texts",
                most_tokens_in_all=f"{MOST_TOKENS_IN_ALL // texts:,}",
            )
            problem = say(
                "has {texts} texts with more than {most_tokens_in_all} tokens in all",
                texts=f"{texts:,}",
                most_tokens_in_all=f"{MOST_TOKENS_IN_ALL:,}",
            )
            raise SettingError(say("sweep"), texts * self.max_tokens, problem, remedy)
        for field_name, axis in ((values_name("X"), x), (values_name("Y"), y)):
            if axis and texts <= MOST_TEXTS:  # else `Sweep` refuses it, before it looks at values
                self._check(field_name, axis)
        stop = unescaped(self.stop)
        return Sweep(
            base=self.base,
            x=x,
            y=y,
            prompts=[self._read(place, prompt) for place, prompt in enumerate(self.prompts)],
            seeds=range(self.seeds),
            max_tokens=self.max_tokens,
            stop_strings=(stop,) if stop else (),
        )

    def _check(self, field_name: str, axis: Axis) -> None:
        """Refuse a value that its stage or this model's vocabulary rules out, naming the field."""
        try:
            for value in axis.values:
                axis.applied(SamplingSettings(), value).check_vocabulary(self.model.vocab_size)
        except SettingError as error:
            raise DecodingError(f"{field_name}: {told(error)}") from error

    def _read(self, place: int, prompt: str) -> str | tuple[int, ...]:
        """A prompt as the sweep takes it."""
        if not prompt:
            raise PromptError(
                say("Prompt {place} is empty; write something or remove it.", place=place + 1)
            )
        return tuple(self.model.vocabulary.chat_ids(prompt)) if self.chat else prompt

    @property
    def seconds(self) -> float | None:
        """How long the plan would take at the speed of the last sweep; None while unknown."""
        speed, sweep = tokens_per_second(self.model), self.plan.sweep
        return sweep.count * sweep.max_tokens / speed if sweep and speed else None

    @property
    def has_changed(self) -> bool:
        """Whether the inputs are others than those of the sweep on screen."""
        work = self.work
        return work is not None and (work.sweep != self.plan.sweep or work.model is not self.model)

    # --- changes ----------------------------------------------------------------------------------

    def set_prompt(self, place: int, prompt: str) -> None:
        """Another text for one prompt."""
        self.error = ""
        if len(prompt) > LONGEST_PROMPT:
            self.error = say(
                "Prompt {place} has {length} characters; use at most {most}.",
                place=place + 1,
                length=f"{len(prompt):,}",
                most=f"{LONGEST_PROMPT:,}",
            )
        elif place < len(self.prompts):
            was_of_example = self._is_stop_of_example
            self.prompts[place] = prompt.encode("utf-8", "replace").decode("utf-8")
            if was_of_example and not self._is_stop_of_example:
                self.removed_stop, self.stop = self.stop, ""

    @property
    def _is_stop_of_example(self) -> bool:
        """Whether the stop string came with an example of which a prompt is still there."""
        prompts = [p for one in EXAMPLES if one.stop == self.stop != "" for p in one.prompts]
        return not set(self.prompts).isdisjoint(prompts)

    def add_prompt(self) -> None:
        """One prompt more, empty."""
        self.error = ""
        if len(self.prompts) < MOST_PROMPTS:
            self.prompts.append("")

    def remove_prompt(self, place: int) -> None:
        """One prompt less; the last one stays."""
        self.error = ""
        if len(self.prompts) > 1 and place < len(self.prompts):
            del self.prompts[place]

    def take_example(self, example: Example) -> None:
        """The prompts and the stop string of an example."""
        self.error = ""
        self.prompts, self.stop = list(example.prompts), example.stop
        self.removed_stop = ""

    def set_stop(self, stop: str) -> None:
        """Another text that ends one, as it was typed."""
        self.error, self.removed_stop, self.stop = "", "", stop

    def set_chat(self, chat: bool) -> None:
        """Whether prompts go through the chat template."""
        self.error, self.chat = "", chat

    def set_axis(self, axis: AxisInput, setting: str) -> None:
        """Another setting for an axis; the values of the one before are remembered."""
        self.error, axis.setting = "", setting

    def set_values(self, axis: AxisInput, values: str) -> None:
        """Other values for an axis, as they were typed."""
        self.error, axis.texts[axis.setting] = "", values

    def set_seeds(self, seeds: float | None) -> None:
        """Another number of texts per cell and prompt, as it was typed."""
        with self._typed():
            self.seeds = checked_whole(say("Seeds"), seeds, 1, MOST_SEEDS)

    def set_max_tokens(self, max_tokens: float | None) -> None:
        """Another limit for every text, as it was typed."""
        with self._typed():
            self.max_tokens = checked_whole(say("Max tokens"), max_tokens, 1, MOST_TOKENS)

    @contextmanager
    def _typed(self) -> Iterator[None]:
        """A value from a field: refused, it becomes `error`, and the field shows the one before."""
        self.error = ""
        try:
            yield
        except DecodingError as error:
            self.error = told(error)

    def set_base(self, name: str, value: float | None) -> None:
        """Another value for a stage of the base settings; None switches it off."""
        with self._typed():
            self.base = self.base.replace(**{name: value})

    def constrain(self, language: str, source: str) -> bool:
        """Another constraint for every cell, as it was typed; whether it is taken."""
        with self._typed():
            constraint = constraint_of(language, source)
            if constraint is not None:
                constraint.check_tokens(self.model.places)
            self.base = self.base.replace(constraint=constraint)
        return not self.error

    def load(self, model: LanguageModel) -> None:
        """Go on with another model; the sweep on screen stays that of the old one."""
        self.base, self.error = fitted(self.base, self.model, model)
        self.model = model
        self.chat = self.chat and model.vocabulary.has_chat_template

    def take_settings(self, settings: SamplingSettings, model: LanguageModel) -> None:
        """The settings of another page for all stages that no axis changes, and its model."""
        self.load(model)
        # What `load` says was lost were the settings that these replace.
        self.base, self.error = settings.replace(parity=False), ""

    # --- to disk and back -------------------------------------------------------------------------

    @property
    def version(self) -> object:
        """Compares unequal once the record would be another."""
        work = self.work
        # Each record of a sweep under way holds all of its texts: not every new one is worth that.
        made = work and (id(work), work.is_running, work.version // (1 + work.count // MANY_TEXTS))
        inputs = (tuple(self.prompts), self.chat, self.base, self.seeds, self.max_tokens, self.stop)
        axes = [(axis.setting, tuple(axis.texts.items())) for axis in (self.x, self.y)]
        view = tuple(getattr(self, name) for name in VIEW)
        return id(self.model), inputs, tuple(axes), view, self.chosen, self.prompt_shown, made

    def record(self) -> dict[str, Any]:
        """All of it as plain values."""
        work, result = self.work, self.work.result if self.work else None
        return {
            "model": choice_record(self.model),
            "prompts": list(self.prompts),
            "chat": self.chat,
            "base": self.base.to_dict(),
            "axes": [{"setting": axis.setting, "texts": axis.texts} for axis in (self.x, self.y)],
            "seeds": self.seeds,
            "max_tokens": self.max_tokens,
            "stop": self.stop,
            "view": {name: getattr(self, name) for name in VIEW},
            "chosen": list(self.chosen),
            "prompt_shown": self.prompt_shown,
            "work": None
            if result is None
            else {
                "model": choice_record(work.model),
                "prompts": list(work.prompts),
                "chat": work.chat,
                "sweep": sweep_record(work.sweep, result),
            },
        }

    @classmethod
    def restored(cls, data: Any, load: Callable[[str, str | None], LanguageModel]) -> Tuning:
        """The inverse of `record`.

        Args:
            data: the record.
            load: gives a model by source and revision.

        Raises:
            DecodingError: a record that cannot be used, or a model that cannot be loaded.
        """
        kept = read(data, _Kept)
        tuning = cls(load(*choice_of(kept.model)))
        tuning.prompts = kept.prompts
        tuning.chat = kept.chat and tuning.model.vocabulary.has_chat_template
        tuning.base = SamplingSettings.from_dict(kept.base)
        tuning.x, tuning.y = kept.axes
        if tuning.x.setting == NONE:
            raise BrokenRecord("Its axes are incomplete.")
        tuning.seeds, tuning.max_tokens, tuning.stop = kept.seeds, kept.max_tokens, kept.stop
        known = {"metric": METRICS, "trade_off": TRADE_OFFS, "view": VIEWS}
        for name, value in kept.view.items():
            if name in VIEW and value in known.get(name, (value,)):
                setattr(tuning, name, value)
        if kept.work is not None:
            tuning._take_work(kept.work, load)
            tuning.choose(*[*kept.chosen, 0, 0][:2])
            tuning.prompt_shown = min(kept.prompt_shown, len(tuning.work.prompts) - 1)
        return tuning

    def _take_work(self, kept: _KeptWork, load: Callable[[str, str | None], LanguageModel]) -> None:
        sweep, result = sweep_of(kept.sweep)
        model = load(*choice_of(kept.model))
        if len(kept.prompts) != len(sweep.prompts):
            raise BrokenRecord("Its sweep has other prompts.")
        self.work = SweepWork(sweep, model, kept.prompts, chat=kept.chat, result=result)

    def release(self) -> None:
        """End what nobody waits for any more."""
        self.cancel()

    # --- the sweep --------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether a sweep is under way."""
        return self.work is not None and self.work.is_running

    def run(self, owner: Owner = UNKNOWN, *, for_all: bool = False) -> None:
        """Begin the planned sweep; why it cannot begin becomes `error`.

        Args:
            owner: for whom.
            for_all: whether every visitor asks for this sweep, so that it is made once.
        """
        self.error = self.plan.problem
        if self.plan.sweep is None or self.is_running:
            return
        try:
            make = opening_sweep if for_all else SweepWork
            work = make(self.plan.sweep, self.model, self.prompts, chat=self.chat)
        except DecodingError as error:
            self.error = told(error)
            return
        sweep, before = work.sweep, self.work
        is_same_grid = before is not None and (before.sweep.x, before.sweep.y) == (sweep.x, sweep.y)
        if not is_same_grid:
            rows = len(sweep.y.values) if sweep.y else 1
            self.chosen = (len(sweep.x.values) // 2, rows // 2)
        self.prompt_shown = min(self.prompt_shown, len(work.prompts) - 1)
        self.removed_stop = ""
        self.work, self._owner = work, owner
        work.start(owner)

    def cancel(self) -> None:
        """End the sweep for this visitor; what is there stays."""
        if self.work is not None:
            self.work = self.work.left_by(self._owner)

    def choose(self, x: int, y: int) -> None:
        """Another cell, by its place along the axes; one that is not there is passed over."""
        sweep = self.work.sweep if self.work else None
        rows = len(sweep.y.values) if sweep and sweep.y else 1
        if sweep and 0 <= x < len(sweep.x.values) and 0 <= y < rows:
            self.chosen = (x, y)

    def choose_number(self, number: int) -> None:
        """Another cell, by its place in `Sweep.cells`."""
        rows = len(self.work.sweep.y.values) if self.work and self.work.sweep.y else 1
        self.choose(number // rows, number % rows)

    @property
    def chosen_number(self) -> int:
        """Place of the chosen cell in `Sweep.cells`."""
        rows = len(self.work.sweep.y.values) if self.work and self.work.sweep.y else 1
        return self.chosen[0] * rows + self.chosen[1]

    @property
    def chosen_settings(self) -> SamplingSettings:
        """Those of the chosen cell, with the first seed."""
        sweep = self.work.sweep
        return sweep.cells[self.chosen_number].settings.replace(seed=sweep.seeds[0])

    def chosen_texts(self) -> pd.DataFrame:
        """The rows of `SweepResult.texts` of the chosen cell and the prompt that is shown."""
        texts, cell = self.work.result.texts, self.work.sweep.cells[self.chosen_number]
        here = (texts["x"] == cell.x) & (texts["prompt"] == self.prompt_shown)
        if cell.y is not None:
            here &= texts["y"] == cell.y
        return texts[here]

    def export(self) -> pd.DataFrame:
        """Every text begun, with all that it takes to make it again."""
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
            chat_template=work.chat,
            max_tokens=sweep.max_tokens,
            stop_strings=json.dumps(sweep.stop_strings),
        )


# --- of a visitor ---------------------------------------------------------------------------------


def begun(model: LanguageModel) -> Tuning:
    """Return the sweep that the page opens with, which starts by itself on a bundled model."""
    tuning = Tuning(model)
    if begins_alone(model):
        tuning.run(owner(), for_all=True)
    return tuning


def restored(data: dict[str, Any], load: Callable[[str, str | None], LanguageModel]) -> Tuning:
    """What a record holds; where nobody has changed or begun anything, the opening sweep begins."""
    tuning = Tuning.restored(data, load)
    is_untouched = tuning.work is None and tuning.plan.sweep == Tuning(tuning.model).plan.sweep
    return begun(tuning.model) if is_untouched else tuning


PAGE = VisitPage(
    "tuning",
    begin=begun,
    restore=restored,
    lost=marked("Your last sweep could not be read, so a new one begins."),
    kept=marked("Prompts and settings are kept, and so is the last sweep until you run another."),
)
