"""One visitor's canvas, with the step and position shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from engine.decoding import DiffusionDecoder, DiffusionSettings, block_lengths, step_counts
from engine.errors import DecodingError, ModelNotFoundError, SettingError
from engine.model import (
    BUNDLED,
    DiffusionModel,
    LanguageModel,
    continuation,
    fill_gaps,
    load_diffusion_model,
    marked_gaps,
)
from engine.runner import this_job
from engine.study import JointError, Passage, Plan, gap_positions, joint_error_of
from engine.trace import DiffusionStep, Trace
from ui.jobs import Call, Job, Owner
from ui.labs.inputs import Inputs
from ui.labs.lab import Lab
from ui.models.choice import Choice
from ui.models.chooser import check_allowed
from ui.models.first_model import load_quietly
from ui.models.models import SharedModels
from ui.playing import PATIENCE_SECONDS
from ui.texts.limits import checked_whole
from ui.words.language import marked, say

_MODELS = SharedModels()
WHY = marked(
    "The model in the band above is causal: it sees no token to the right, so it cannot fill "
    "gaps. This page uses the bundled masked diffusion model. Another one can be loaded from "
    "a folder whose config.json contains `is_causal: false` and a `mask_token_id`."
)


def masked_model(folder: str) -> DiffusionModel:
    """Load the masked diffusion model from a folder; the bundled one if `folder` is empty.

    Raises:
        ModelError: the folder is missing, may not be loaded here, or contains no masked diffusion
            model.
    """
    source = folder.strip() or BUNDLED
    if source != BUNDLED:
        check_allowed(Choice(source))
        if not Path(source).is_dir():
            raise ModelNotFoundError(
                say(
                    "There is no folder {folder}; type the folder of a masked diffusion model, "
                    "or leave the field empty for the bundled one.",
                    folder=source,
                )
            )
    return _MODELS.get(source, None, lambda: load_diffusion_model(source))


GAPS, AFTER = "gaps", "after"  # where the masks are
WHERE = {GAPS: marked("In the gaps marked [n]"), AFTER: marked("After the prompt")}


@dataclass(frozen=True)
class DiffusionInputs(Inputs):
    """A canvas and its settings; for steps and block length, 0 means None.

    Attributes:
        where: ``gaps`` for masks at every ``[n]`` of the prompt, ``after`` for masks after it.
        masks: the number of masks after the prompt.
        steps, remasking, temperature, eta, block_length, seed: see `DiffusionSettings`.
        folder: the folder of a masked diffusion model; empty for the bundled one.
    """

    prompt: str = "Once upon a time, there was a[16]. She was very happy.[12]"
    where: str = GAPS
    masks: int = 24
    steps: int = 14
    remasking: str = "low_confidence"
    temperature: float = 1.0
    eta: float = 1.0
    block_length: int = 0
    seed: int = 19
    folder: str = ""

    def canvas(self, model: DiffusionModel) -> tuple[int, ...]:
        """Return the token ids with masks; raises the errors of `fill_gaps` and `continuation`."""
        if self.where == GAPS:
            return fill_gaps(model, self.prompt)
        if self.where == AFTER:
            return continuation(model, self.prompt, self.masks)
        raise SettingError("where", self.where, say("is not known"), f"use {GAPS} or {AFTER}")

    def settings(self) -> DiffusionSettings:
        """Return the settings for the engine; raises the errors of `DiffusionSettings`."""
        return DiffusionSettings(
            self.steps or None,
            self.temperature,
            self.remasking,
            self.seed,
            self.block_length or None,
            self.eta,
        )

    def fitted(self, masks: int) -> DiffusionInputs:
        """Return the inputs with steps and block length adjusted to fit `masks` masks."""
        block = self.block_length if self.block_length in block_lengths(masks) else 0
        fitting = step_counts(masks, block or None)
        steps = self.steps
        if steps and steps not in fitting:
            steps = max([count for count in fitting if count <= steps], default=fitting.start)
        return replace(self, steps=steps, block_length=block)


MOST_SEEDS = 20
MOST_STEP_COUNTS = 7  # points of the chart of quality
TRIED = 48  # tokens tried at the first position, one pass for each


class PassagesJob(Job):
    """Generates all passages of a plan.

    Args:
        plan: the passages to generate.
        model: the diffusion model, which fills the canvas.
        judge: the autoregressive model, which also generates passages and scores all of them.

    Attributes:
        plan, model, judge: as given.
        passages: the finished passages.

    Raises:
        PromptError, SettingError: the plan does not fit the models.
    """

    doing = marked("the passages")
    noun = "passage"

    def __init__(self, plan: Plan, model: DiffusionModel, judge: LanguageModel) -> None:
        super().__init__(plan.count)
        plan.check(model, judge)
        self.plan, self.model, self.judge = plan, model, judge
        self.passages: list[Passage] = []

    def _passes(self) -> Iterator[float | None]:
        run = self.plan.run(
            self.model, self.judge, done=tuple(self.passages), should_stop=self._cancel.is_set
        )
        for passage in run:
            self.passages.append(passage)
            yield self._left_by_count()

    @property
    def texts_done(self) -> int:
        return len(self.passages)

    @property
    def version(self) -> int:
        """Number of finished passages; a new one makes the page redraw its results."""
        return len(self.passages)


@dataclass(frozen=True)
class View:
    """The part of the text that is shown.

    Attributes:
        steps: the canvas is shown after this number of steps; None for the latest.
        position: position whose distribution is shown; None for the first that the step committed.
        pair: the two masks to compare; None for the first two.
    """

    steps: int | None = None
    position: int | None = None
    pair: tuple[int, int] | None = None


class DiffusionLab(Lab[DiffusionInputs, DiffusionDecoder]):
    """State of the diffusion page: a canvas being filled, the view, two experiments.

    Attributes in addition to those of `Lab`:
        view: the part of the text that is shown.
        has_looked: whether the view has changed since the page was drawn.
        adjusted: a sentence on inputs that the last change adapted as well; empty if none.
        joint: the last comparison's canvas, and its result in both orders; None before the first.
        joint_task: the job that compares; None before the first.
        passages: the job that generates passages; None before the first.
        seeds: number of passages generated for each number of steps.
    """

    name: ClassVar[str] = "diffusion"
    inputs_class: ClassVar[type[Inputs]] = DiffusionInputs
    first_steps: ClassVar[int] = 9
    prompt_holders: ClassVar[tuple[()]] = ()  # its prompt marks gaps, so other pages cannot use it
    limit: ClassVar[int | None] = None  # the settings determine the number of steps
    opens: ClassVar[tuple[str, ...]] = ("diffusion",)
    works: ClassVar[tuple[str, ...]] = ("passages", "joint_task")
    view = View()
    has_looked = False
    adjusted = ""
    joint: tuple[tuple[int, ...], tuple[JointError, ...]] | None = None
    joint_task: Call[None] | None = None
    passages: PassagesJob | None = None
    seeds = 3

    def take_seeds(self, typed: float | None) -> None:
        """Set the number of seeds, as typed."""
        try:
            self.seeds = checked_whole(say("Seeds"), typed, 1, MOST_SEEDS)
            self.error = ""
        except DecodingError as error:
            self.refuse(error)

    def begun(self, model: LanguageModel, inputs: DiffusionInputs) -> DiffusionDecoder:
        masked = masked_model(inputs.folder)
        return DiffusionDecoder(masked, inputs.canvas(masked), inputs.settings())

    def inputs_of(self, trace: Trace) -> DiffusionInputs:
        settings = DiffusionSettings(**trace.settings_at(0))
        source = trace.model.get("source", "")
        folder = "" if source == BUNDLED else source
        return replace(
            self.inputs,
            prompt=marked_gaps(masked_model(folder), trace.prompt_ids),
            where=GAPS,
            steps=settings.steps or 0,
            remasking=settings.remasking,
            temperature=settings.temperature,
            eta=settings.eta,
            block_length=settings.block_length or 0,
            seed=settings.seed,
            folder=folder,
        )

    def begun_anew(self) -> None:
        self.view, self.joint = View(), None

    def change(self, **changes: Any) -> None:
        """Change inputs; those that no longer fit are adapted, and `adjusted` says so."""
        self.adjusted = ""
        self.forget_works("joint_task")
        if changes.get("remasking", "low_confidence") != "low_confidence" and self.inputs.eta:
            changes = {"eta": 0.0} | changes
            self.adjusted = say(
                "Re-masking η went from {before} to 0: it compares confidences, so it needs the "
                "order by confidence.",
                before=f"{self.inputs.eta:g}",
            )
        if changes.keys() & {"prompt", "where", "masks", "block_length", "folder"}:
            changes |= self._fitting(replace(self.inputs, **changes), changes)
        super().change(**changes)
        if self.error:
            self.adjusted = ""

    def _fitting(self, inputs: DiffusionInputs, changes: dict[str, Any]) -> dict[str, Any]:
        """Return new steps and block length for a new canvas; empty if nothing needs to change."""
        try:
            masked = masked_model(inputs.folder)
            masks = inputs.canvas(masked).count(masked.mask_id)
        except DecodingError:
            return {}  # the change will be refused, with a reason
        asked = inputs.block_length
        if "block_length" in changes and asked and asked not in block_lengths(masks):
            return {}
        fitted = inputs.fitted(masks)
        if fitted == inputs:
            return {}
        words = [
            say(
                "{name} went from {before} to {now}, to fit {masks} masks.",
                name=say(name),
                before=getattr(inputs, field),
                now=getattr(fitted, field) or say("one block"),
                masks=f"{masks:,}",
            )
            for field, name in (
                ("steps", marked("Steps")),
                ("block_length", marked("Block length")),
            )
            if getattr(inputs, field) != getattr(fitted, field)
        ]
        self.adjusted = " ".join(words)
        return {"steps": fitted.steps, "block_length": fitted.block_length}

    # --- view -------------------------------------------------------------------------------------

    def look_at(self, **changes: Any) -> None:
        """Show a different step, position or pair."""
        self.view = replace(self.view, **changes)
        if self.view.steps == len(self.text.steps):
            self.pressed()
        self.has_looked = True

    def pressed(self) -> None:
        """Show the latest step."""
        self.view = replace(self.view, steps=None)

    @property
    def shown_steps(self) -> int:
        """Number of steps after which the canvas is shown."""
        taken = len(self.text.steps)
        return taken if self.view.steps is None else min(max(1, self.view.steps), taken)

    @property
    def shown(self) -> DiffusionStep | None:
        """The step whose outcome is shown; None before the first."""
        return self.text.steps[self.shown_steps - 1] if self.shown_steps else None

    @property
    def shown_ids(self) -> tuple[int, ...]:
        """Token ids of the canvas that is shown."""
        return self.shown.ids_after if self.shown_steps else self.text.canvas

    @property
    def shown_masks(self) -> list[int]:
        """Masked positions of the canvas that is shown."""
        mask = self.text.model.mask_id
        return [place for place, token_id in enumerate(self.shown_ids) if token_id == mask]

    @property
    def shown_position(self) -> int:
        """The position whose distribution is shown."""
        gaps = gap_positions(self.text.steps)
        chosen = self.view.position
        return chosen if chosen in gaps else self.shown.unmasked[0]

    @property
    def pair(self) -> tuple[int, int] | None:
        """The two masks to compare; None if there are fewer than two."""
        masks = self.shown_masks
        if len(masks) < 2:
            return None
        chosen = self.view.pair
        return chosen if chosen and set(chosen) <= set(masks) else (masks[0], masks[1])

    # --- experiments ------------------------------------------------------------------------------

    def compare_pair(self) -> None:
        """Compare the pair's joint distribution with the product, in both orders, in a job."""
        canvas, pair, model = self.shown_ids, self.pair, self.text.model
        if pair is None or self.is_comparing:
            return

        def work() -> None:
            found = []
            for number, (first, second) in enumerate((pair, pair[::-1])):

                def tell(done: int, total: int, before: int = number) -> None:
                    this_job().told("Comparing", before * total + done, 2 * total)

                found.append(
                    joint_error_of(model, canvas, first, second, most=TRIED, progress=tell)
                )
            self.joint = canvas, tuple(found)

        self.begin_work("joint_task", lambda: Call("Comparing", work), self.owner)
        self.joint_task.wait(PATIENCE_SECONDS)

    @property
    def is_comparing(self) -> bool:
        """True if a comparison is running."""
        return self.joint_task is not None and self.joint_task.is_running

    @property
    def plan(self) -> Plan:
        """The passages to generate: numbers of steps by powers of two, and one step per mask."""
        text = self.text
        masks = sum(map(len, text.blocks))
        fitting = step_counts(masks, text.settings.block_length)
        wanted = {fitting.start * 2**power for power in range(MOST_STEP_COUNTS - 1)}
        counts = sorted(wanted.intersection(fitting) | {masks})
        return Plan(text.canvas, tuple(counts), tuple(range(self.seeds)), text.settings)

    def begin(self, owner: Owner) -> None:
        """Start generating passages in few and in many steps, in the background."""
        self.begin_work("passages", self._to_write, owner)

    def _to_write(self) -> PassagesJob:
        return PassagesJob(self.plan, self.text.model, load_quietly(BUNDLED, None))
