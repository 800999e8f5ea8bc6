"""One visitor's beam search, the node chosen in its tree, and the experiments below it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar
from weakref import WeakKeyDictionary

from engine.decoding import BeamSearch, BeamSettings, NextTokens
from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.study import (
    BEAM_WIDTHS,
    CANCELLED,
    SAMPLES,
    ExactProgress,
    SearchError,
    SearchErrorStudy,
    SetText,
    write_set_texts,
)
from engine.trace import KEPT, Trace
from ui.jobs import Job, Owner
from ui.labs.beam.inputs import EARLY_STOPPING, BeamInputs
from ui.labs.beam.tree import Place, best_place, way_to
from ui.labs.inputs import Inputs
from ui.labs.lab import Lab
from ui.texts.constraints import typed_of
from ui.texts.texts import check_prompt
from ui.words.labels import with_minus
from ui.words.language import marked, say

MOST_WRITTEN = 16  # sets of texts kept per model
# Equal inputs give every visitor the same texts, so the texts are generated only once.
_written: WeakKeyDictionary[LanguageModel, dict[BeamInputs, list[SetText]]] = WeakKeyDictionary()
_lock = threading.Lock()


class TextsJob(Job):
    """Generates texts by beam search, greedy decoding and nucleus sampling.

    Texts already generated for another visitor are available at once.

    Attributes:
        inputs: the inputs for all texts.
        texts: the texts so far.
    """

    doing = marked("the texts")

    def __init__(self, model: LanguageModel, inputs: BeamInputs) -> None:
        super().__init__(inputs.width + 1 + SAMPLES)
        self.inputs = inputs
        self.texts: list[SetText] = []
        self._model = model
        self._all = write_set_texts(model, inputs.prompt, inputs.settings, inputs.stops)
        self._is_over = False
        self._take()

    def _take(self) -> None:
        """Reuse the texts that another visitor's job has generated, if any."""
        with _lock:
            written = _written.get(self._model, {}).get(self.inputs.of_texts)
        if written is not None:
            self.texts, self._is_over = list(written), True

    def _keep(self) -> None:
        """Share the texts with other visitors; drop the oldest if there are too many."""
        with _lock:
            of_model = _written.setdefault(self._model, {})
            of_model[self.inputs.of_texts] = list(self.texts)
            while len(of_model) > MOST_WRITTEN:
                del of_model[next(iter(of_model))]

    def _passes(self) -> Iterator[float | None]:
        if not self.texts:
            self._take()  # texts generated while this job waited in line
        if self._is_over:
            return
        try:
            for one in self._all:
                if one is not None:
                    self.texts.append(one)
                yield None
                if self.is_cancelled:
                    return
            self._is_over = True
            self._keep()
        except DecodingError:
            self._is_over = True
            raise

    @property
    def is_done(self) -> bool:
        """True if all texts are generated or an error rules out more."""
        return self._is_over

    @property
    def share(self) -> float:
        """Share of the texts that are finished."""
        return min(1.0, len(self.texts) / self.count)

    @property
    def texts_done(self) -> int:
        """Number of finished texts."""
        return len(self.texts)


class ExactJob(Job):
    """Runs beam searches of several widths, and the exact search.

    Attributes:
        inputs: the inputs for all searches.
        exact: progress of the exact search; None before it starts.

    Raises:
        DecodingError: the inputs allow no search.
    """

    doing = marked("the exact search")
    noun = "search"

    def __init__(self, model: LanguageModel, inputs: BeamInputs) -> None:
        self.inputs = inputs
        self.exact: ExactProgress | None = None
        self._study = SearchErrorStudy(
            model,
            inputs.prompt,
            inputs.exact_tokens,
            widths=(*BEAM_WIDTHS, inputs.width),
            length_penalty=0.0 if inputs.exact_by_sum else inputs.length_penalty,
            constraint=inputs.constraint,
        )
        super().__init__(self._study.searches)
        self._beams_done = 0
        self._is_over = False

    def _passes(self) -> Iterator[float | None]:
        try:
            for progress in self._study.run(self._cancel):
                self._beams_done += progress.exact is None
                self.exact = progress.exact
                yield None
            result = self.result
            self._is_over = result is not None and result.best.stopped != CANCELLED
        except DecodingError:
            self._is_over = True
            raise

    @property
    def result(self) -> SearchError | None:
        """The result; None until the exact search has ended for the first time."""
        return self._study.result if self._study.has_result else None

    @property
    def is_done(self) -> bool:
        """True if the best text is proven optimal, or if the search reached a limit or failed."""
        return self._is_over

    @property
    def texts_done(self) -> int:
        """Number of finished searches."""
        return self._beams_done + self._is_over

    @property
    def share(self) -> float:
        """Share of the promising prefixes found so far that are already expanded."""
        if self.is_done:
            return 1.0
        if self.exact is None:
            return 0.0
        return self.exact.visited / max(1, self.exact.visited + self.exact.open)

    def _in_words(self) -> str:
        if self.exact is None:
            return super()._in_words()
        one = self.exact
        return say(
            "{read} beginnings read, {left} waiting; best {best}, bound {bound}",
            read=f"{one.visited:,}",
            left=f"{one.open:,}",
            best=with_minus(f"{one.best:.3f}"),
            bound=with_minus(f"{one.bound:.3f}"),
        )


CANDIDATES = 10  # tokens of a distribution that the page lists


class BeamLab(Lab[BeamInputs, BeamSearch]):
    """State of the beam search page: the search, its tree, two experiments.

    Attributes in addition to those of `Lab`:
        shown: number of steps that the tree shows.
        last_shown: the last step shown; None for the newest.
        texts: the job that generates texts for comparison; None before the first.
        exact: the job of the exact search; None before the first.
    """

    name: ClassVar[str] = "beam"
    inputs_class: ClassVar[type[Inputs]] = BeamInputs
    first_steps: ClassVar[int] = 6
    opens: ClassVar[tuple[str, ...]] = ("beam",)
    works: ClassVar[tuple[str, ...]] = ("texts", "exact")

    shown: int = 5
    last_shown: int | None = None
    texts: TextsJob | None = None
    exact: ExactJob | None = None
    _chosen: Place | None = None
    _following: tuple[tuple[BeamSearch, int, int], NextTokens] | None = None

    def begun(self, model: LanguageModel, inputs: BeamInputs) -> BeamSearch:
        return BeamSearch(model, inputs.prompt, inputs.settings, stop_strings=inputs.stops)

    def inputs_of(self, trace: Trace) -> BeamInputs:
        settings = BeamSettings.from_dict(trace.settings_at(0))
        names = {value: name for name, value in EARLY_STOPPING.items()}
        language, source = typed_of(settings.samplers)
        return replace(
            self.inputs,
            prompt=trace.prompt,
            stop_strings="\n".join(trace.stop_strings),
            language=language,
            source=source,
            width=settings.width,
            length_penalty=settings.length_penalty,
            early_stopping=names[settings.early_stopping],
            groups=settings.groups,
            diversity_penalty=settings.diversity_penalty,
            max_new_tokens=settings.max_new_tokens,
        )

    def goes_on_with(self, inputs: BeamInputs) -> bool:
        return self.inputs.of_texts == inputs.of_texts

    def begun_anew(self) -> None:
        self.forget_works()
        self._chosen = self._following = self.last_shown = None

    # --- the tree ---------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[int, int]:
        """The first and the last step that the tree shows."""
        newest = len(self.text.steps) - 1
        last = newest if self.last_shown is None else min(self.last_shown, newest)
        return max(0, last - self.shown + 1), last

    def show(self, shown: int | None = None, last: int | None = None) -> None:
        """Show `shown` steps up to `last`; if that is the newest, the tree follows the search."""
        if shown is not None:
            self.shown = shown
        if last is not None:
            self.last_shown = None if last >= len(self.text.steps) - 1 else max(0, last)

    @property
    def chosen(self) -> Place | None:
        """The chosen node; by default, the newest visible node of the best hypothesis."""
        steps = self.text.steps if self.text else []
        if self._chosen is not None:
            step, at = self._chosen
            if step < len(steps) and at < len(steps[step].candidates):
                return self._chosen
        best = best_place(steps)
        if best is None:
            return None
        first, last = self.columns
        shown = [place for place in way_to(steps, best) if first <= place[0] <= last]
        return shown[-1] if shown else best

    def choose(self, place: Place | None) -> None:
        """Choose a node in the tree; None for the default."""
        self._chosen = place

    def has_following(self, place: Place) -> bool:
        """Return whether a hypothesis became a beam, so that tokens may follow it."""
        step, at = place
        return self.text.steps[step].candidates[at].fate == KEPT

    def following(self, place: Place) -> NextTokens | None:
        """Return the next-token distribution of a beam; None until it is computed."""
        step, at = place
        key = self.text, step, self.text.steps[step].candidates[at].beam
        if self._following is None or self._following[0] != key:
            text, _, beam = key

            def read() -> None:
                self._following = key, text.candidates(step + 1, beam, CANDIDATES)

            self.player.do("Reading the beams", read)
        found = self._following
        return found[1] if found is not None and found[0] == key else None

    # --- experiments ------------------------------------------------------------------------------

    def begin(self, owner: Owner) -> None:
        """Start generating texts by several decoders, for comparison."""
        self.begin_work("texts", lambda: TextsJob(self.model, self._checked_inputs), owner)
        self.began_alone = True

    def begin_alone(self, owner: Owner) -> None:
        """Start the first texts without a button press, once a search is on screen."""
        if self.text is not None and not self.player.is_busy:
            super().begin_alone(owner)

    def begin_exact(self, owner: Owner) -> None:
        """Start the exact search, which finds the best text and proves that it is the best."""
        self.begin_work("exact", lambda: ExactJob(self.model, self._checked_inputs), owner)

    @property
    def _checked_inputs(self) -> BeamInputs:
        check_prompt("prompt", self.inputs.prompt)
        return self.inputs
