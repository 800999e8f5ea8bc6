"""Both experiments of the page in the background: texts set side by side, the exact search."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from engine.errors import DecodingError
from engine.model import LanguageModel
from engine.study.exact_best import CANCELLED, ExactProgress
from engine.study.search_error import WIDTHS, SearchError, SearchErrorStudy
from engine.study.set_texts import SAMPLES, SetText, set_texts
from ui.jobs import Job
from ui.labs.beam.inputs import BeamInputs
from ui.words.labels import with_minus
from ui.words.language import marked, say

MOST_WRITTEN = 16  # sets of texts that are kept of a model
# Equal inputs give every visitor equal texts, so they are written once for all.
_written: WeakKeyDictionary[LanguageModel, dict[BeamInputs, list[SetText]]] = WeakKeyDictionary()
_lock = threading.Lock()


class TextsWork(Job):
    """The texts of beam search, greedy decoding and nucleus sampling.

    Whoever asks for those of another visitor has them at once.

    Attributes:
        inputs: what they begin with.
        texts: those there are so far.
    """

    doing = marked("the texts")

    def __init__(self, model: LanguageModel, inputs: BeamInputs) -> None:
        super().__init__(inputs.width + 1 + SAMPLES)
        self.inputs = inputs
        self.texts: list[SetText] = []
        self._model = model
        self._all = set_texts(model, inputs.prompt, inputs.settings, inputs.stops)
        self._is_over = False
        self._take()

    def _take(self) -> None:
        """Take what another visitor's work has written, if it has."""
        with _lock:
            written = _written.get(self._model, {}).get(self.inputs.of_texts)
        if written is not None:
            self.texts, self._is_over = list(written), True

    def _keep(self) -> None:
        """Let others have the texts; the oldest go where there are too many."""
        with _lock:
            of_model = _written.setdefault(self._model, {})
            of_model[self.inputs.of_texts] = list(self.texts)
            while len(of_model) > MOST_WRITTEN:
                del of_model[next(iter(of_model))]

    def _passes(self) -> Iterator[float | None]:
        if not self.texts:
            self._take()  # what was written while this one waited in line
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
        """Whether all texts are there, or no more can be."""
        return self._is_over

    @property
    def share(self) -> float:
        """Share of the texts that are there."""
        return min(1.0, len(self.texts) / self.count)

    @property
    def texts_done(self) -> int:
        """Texts that have ended."""
        return len(self.texts)


class ExactWork(Job):
    """Beam searches of several widths, and the exact search.

    Attributes:
        inputs: what they begin with.
        exact: how far the exact search is; None before it.

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
            widths=(*WIDTHS, inputs.width),
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
        """What was found; None before the exact search has ended once."""
        return self._study.result if self._study.has_result else None

    @property
    def is_done(self) -> bool:
        """Whether the best text is proven, or a limit was reached."""
        return self._is_over

    @property
    def texts_done(self) -> int:
        """Searches that have ended."""
        return self._beams_done + self._is_over

    @property
    def share(self) -> float:
        """How much of the beginnings that may win has been read: of those known so far."""
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
            "{read} beginnings read, {left} wait; best {best}, bound {bound}",
            read=f"{one.visited:,}",
            left=f"{one.open:,}",
            best=with_minus(f"{one.best:.3f}"),
            bound=with_minus(f"{one.bound:.3f}"),
        )
