"""A visitor's state on the speculative decoding page: inputs, rounds, speed trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from engine.decoding import ITSELF, LOOKUP, SpeculativeDecoder
from engine.errors import DecodingError, TraceError
from engine.model import BUNDLED_DRAFT, LanguageModel
from engine.runner import this_job
from engine.sampling import SamplingSettings, SpeculativeSettings
from engine.study import SpeedCurve, SpeedTrial
from engine.trace import REJECTED, Trace
from ui.jobs import Job, Owner
from ui.labs.inputs import ConstrainableInputs, Inputs
from ui.labs.lab import Lab
from ui.models.choice import Choice
from ui.models.chooser import check_allowed, shared_model
from ui.texts.constraints import typed_of
from ui.texts.limits import MOST_TOKENS
from ui.words.language import marked, say


@dataclass(frozen=True)
class SpeculativeInputs(ConstrainableInputs):
    """Inputs of speculative decoding.

    Attributes in addition to prompt and constraint:
        proposer: a key of `PROPOSERS`, or the folder or hub id of a draft model.
        draft_length, adaptive, ngram, max_tokens: as in `SpeculativeSettings`.
        temperature, top_p, seed: settings of both models.
        forced: whether acceptance is forced.
        acceptance: the forced probability of acceptance.
    """

    prompt: str = "Once upon a time, there was a little"
    proposer: str = BUNDLED_DRAFT
    draft_length: int = 4
    adaptive: bool = False
    ngram: int = 3
    temperature: float = 0.8
    top_p: float = 0.95
    seed: int = 1
    max_tokens: int = 64
    forced: bool = False
    acceptance: float = 0.8

    @property
    def settings(self) -> SpeculativeSettings:
        """The settings for the engine; raises `SettingError` if one is out of range."""
        return SpeculativeSettings(
            SamplingSettings(
                temperature=self.temperature,
                top_p=self.top_p,
                constraint=self.constraint,
                seed=self.seed,
            ),
            self.draft_length,
            self.adaptive,
            self.ngram,
            self.max_tokens,
            self.acceptance if self.forced else None,
        )


TOKENS = 40  # of each text in the speed trial
TURNS = 3


class SpeedJob(Job):
    """Runs one speed trial.

    Args:
        model, prompt_ids, draft, settings: as in `SpeedTrial`.

    Raises:
        DecodingError: a setting is out of range, or the draft does not fit the model.
    """

    doing = marked("the measurement")
    breaks_off = True

    def __init__(
        self,
        model: LanguageModel,
        prompt_ids: Sequence[int],
        draft: LanguageModel | None,
        settings: SpeculativeSettings,
    ) -> None:
        self.settings = settings
        self._trial = SpeedTrial(model, prompt_ids, draft, settings, tokens=TOKENS, turns=TURNS)
        super().__init__(self._trial.total)

    def _passes(self) -> Iterator[float | None]:
        for _ in self._trial:
            yield self._left_by_count()
            if self.is_cancelled:
                return

    @property
    def texts_done(self) -> int:
        """Number of finished texts."""
        return self._trial.done

    @cached_property
    def curve(self) -> SpeedCurve:
        """The figures of a finished trial; raises `SettingError` if there is nothing to measure."""
        return self._trial.result()


class SpeculativeLab(Lab[SpeculativeInputs, SpeculativeDecoder]):
    """State of the page: one text's rounds, the position shown, and the last speed trial.

    Attributes in addition to those of `Lab`:
        chosen: the chosen round and position; None for the latest rejection.
        fell_back: why prompt lookup replaces the chosen proposer; empty if it does not.
        work: the last speed trial; None before the first.
    """

    name: ClassVar[str] = "speculative"
    inputs_class: ClassVar[type[Inputs]] = SpeculativeInputs
    first_steps: ClassVar[int] = 4
    opens: ClassVar[tuple[str, ...]] = ("speculative",)
    needs: ClassVar[tuple[str, ...]] = ("full_row", "all_positions")

    works: ClassVar[tuple[str, ...]] = ("work",)

    chosen: tuple[int, int] | None = None
    fell_back = ""
    work: SpeedJob | None = None

    def __init__(self, *beginning: Any, **more: Any) -> None:
        self._loaded: dict[str, LanguageModel] = {}  # draft models by proposer
        super().__init__(*beginning, **more)

    # --- the text ---------------------------------------------------------------------------------

    def begun(self, model: LanguageModel, inputs: SpeculativeInputs) -> SpeculativeDecoder:
        settings, draft, why = inputs.settings, self._draft(model, inputs.proposer), ""
        is_bundled = inputs.proposer == BUNDLED_DRAFT
        if is_bundled and not draft.vocabulary.has_tokens_of(model.vocabulary):
            why = say(
                "The bundled draft has a different tokenizer from {model}, so prompt lookup "
                "is used. Choose a draft with the same tokenizer.",
                model=model.name,
            )
            draft = None
        text = SpeculativeDecoder(model, inputs.prompt, draft, settings)
        self.fell_back = why
        return text

    def inputs_of(self, trace: Trace) -> SpeculativeInputs:
        values = dict(trace.settings[-1][1])
        draft = values.pop("draft")
        settings = SpeculativeSettings.from_dict(values)
        language, source = typed_of(settings.sampling)
        forced = settings.forced_acceptance
        return replace(
            self.inputs,
            prompt=trace.prompt,
            language=language,
            source=source,
            proposer=self._proposer_of(draft),
            draft_length=settings.draft_length,
            adaptive=settings.adaptive,
            ngram=settings.ngram,
            temperature=settings.sampling.temperature,
            top_p=settings.sampling.top_p,
            seed=settings.sampling.seed,
            max_tokens=settings.max_new_tokens or MOST_TOKENS,
            forced=forced is not None,
            acceptance=self.inputs.acceptance if forced is None else forced,
        )

    def _proposer_of(self, draft: Mapping[str, Any] | None) -> str:
        """Return the proposer of a trace's draft model; raises an error if it may not be loaded."""
        if draft is None:
            return LOOKUP
        if draft["source"] == "memory":
            raise TraceError(
                say("The draft of the trace was in memory only, so it cannot be loaded.")
            )
        own = self.model.facts
        if all(draft[name] == own[name] for name in ("source", "revision", "dtype")):
            return ITSELF
        if draft["source"] != BUNDLED_DRAFT:
            check_allowed(Choice.parse(draft["source"]))
        return draft["source"]

    def _draft(self, model: LanguageModel, proposer: str) -> LanguageModel | None:
        if proposer == LOOKUP:
            return None
        if proposer == ITSELF:
            return model
        if proposer not in self._loaded:
            choice = replace(Choice.parse(proposer), local_files_only=True)  # named by a trace
            if proposer != BUNDLED_DRAFT:
                check_allowed(choice)
            self._loaded[proposer] = shared_model(choice)
        return self._loaded[proposer]

    def goes_on_with(self, inputs: SpeculativeInputs) -> bool:
        if replace(inputs, max_tokens=self.inputs.max_tokens) != self.inputs:
            return False
        self.text.settings = self.text.settings.replace(max_new_tokens=inputs.max_tokens)
        return True

    def begun_anew(self) -> None:
        self.chosen = None

    def load_draft(self, typed: str) -> None:
        """Load a draft model by folder or hub id in a job; then make it the proposer."""
        typed = typed.strip()
        try:
            if not typed:
                raise DecodingError(say("The draft has no name; type a folder or a hub id."))
            check_allowed(Choice.parse(typed))
        except DecodingError as error:
            self.refuse(error)
            return

        def told(what: str, done: int, total: int | None) -> None:
            this_job().told(what, done, total)
            this_job().check()

        def load() -> None:
            self._loaded[typed] = shared_model(Choice.parse(typed), told)

        self.player.stop()
        self.player.do("Loading the draft", load, lambda _: self.change(proposer=typed))

    # --- view -------------------------------------------------------------------------------------

    @property
    def looked_at(self) -> tuple[int, int] | None:
        """Round and position of the proposal that is shown; None if nothing was proposed."""
        steps = self.text.steps if self.text else []
        if self.chosen is not None:
            index, position = self.chosen
            if index < len(steps) and position < len(steps[index].proposed):
                return self.chosen
        latest = None
        for step in reversed(steps):
            if not step.proposed:
                continue
            latest = latest or (step.index, 0)
            for position, token in enumerate(step.proposed):
                if token.verdict == REJECTED:
                    return step.index, position
        return latest

    # --- the speed trial --------------------------------------------------------------------------

    def begin(self, owner: Owner) -> None:
        """Start a speed trial with the inputs; if they are refused, the last trial stays."""
        if self.text is not None:
            self.begin_work("work", self._trial, owner)

    def _trial(self) -> SpeedJob:
        return SpeedJob(self.model, self.text.prompt_ids, self.text.draft, self.inputs.settings)

    def load(self, model: LanguageModel) -> None:
        super().load(model)
        self.forget_works()
