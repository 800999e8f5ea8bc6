"""Search error of beam search: how far it falls short of the most likely text.

    >>> study = SearchErrorStudy(model, "The cat sat on the", 8, widths=(1, 2, 4, 8))
    >>> for progress in study.run():
    ...     print(progress.exact)
    >>> [(miss.width, miss.found, miss.nats) for miss in study.result.misses]

The best text and the texts of all widths are scored in the same way, each read alone. So
rounding differences in passes over many rows do not count.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.decoding.beam import BeamSearch, BeamSettings, Hypothesis
from engine.decoding.prompt import encode_prompt
from engine.errors import SettingError
from engine.model import LanguageModel
from engine.sampling.samplers import Constraint
from engine.study.exact_search import MOST_NODES, ExactBest, ExactProgress, ExactSearch
from engine.study.likelihood import token_logprobs
from engine.study.metrics import sequence_logprob

BEAM_WIDTHS = (1, 2, 4, 8)
# Nats by which the scores of equally likely texts may differ: in float32, and in shorter dtypes.
ROUNDING, COARSE_ROUNDING = 1e-4, 0.1


@dataclass(frozen=True)
class Miss:
    """Result of a beam search, compared with the best text.

    Attributes:
        width: its number of beams.
        token_ids, text: its best text.
        logprob: sum of the text's log-probabilities, read alone, in nats.
        score: logprob / length ** length_penalty.
        found: whether it is the best text that the exact search found, or equally likely as far as
            the model's dtype can tell (`ROUNDING`, `COARSE_ROUNDING`).
        nats: the best text's score minus this one's; 0 if found.
    """

    width: int
    token_ids: tuple[int, ...]
    text: str
    logprob: float
    score: float
    found: bool
    nats: float


@dataclass(frozen=True)
class SearchError:
    """Result of a study: the best text, and the result of each beam search.

    Attributes:
        best: the exact search's text and its proof, by passes over many rows.
        logprob, score: of that text, read alone.
        misses: one for each width, ascending.
    """

    best: ExactBest
    logprob: float
    score: float
    misses: tuple[Miss, ...]


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study.

    Attributes:
        width: number of beams of the search that has just ended; None during the exact search.
        exact: progress of the exact search; None before it.
    """

    width: int | None
    exact: ExactProgress | None


class SearchErrorStudy:
    """Beam searches of several widths, and an exact search that begins with their best texts.

    Args:
        model: the model; other callers may use it at the same time.
        prompt: text, or token ids.
        max_new_tokens: maximum number of tokens per text, for all searches.
        widths: numbers of beams, one for each beam search.
        length_penalty, early_stopping: as in `BeamSettings`, for all searches.
        most_nodes: maximum number of prefixes that the exact search reads.
        constraint: constraint on all texts, or None.

    Raises:
        PromptError, TokenizerError, SettingError: as in `BeamSearch` and `ExactSearch`.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: str | Sequence[int],
        max_new_tokens: int,
        *,
        widths: Sequence[int] = BEAM_WIDTHS,
        length_penalty: float = 0.0,
        early_stopping: bool | str = "never",
        most_nodes: int = MOST_NODES,
        constraint: Constraint | None = None,
    ) -> None:
        if not widths:
            raise SettingError("widths", widths, "names no width", "use for example (1, 4)")
        self._model = model
        self._prompt_ids = encode_prompt(model, prompt)
        self._bounds = {"most_nodes": most_nodes, "constraint": constraint}
        # Raises before anything runs if it cannot search with these settings.
        exact = ExactSearch(
            model, self._prompt_ids, max_new_tokens, length_penalty=length_penalty, **self._bounds
        )
        self._exact = exact
        self._searches = [
            BeamSearch(
                model,
                self._prompt_ids,
                BeamSettings(
                    width=width,
                    length_penalty=length_penalty,
                    early_stopping=early_stopping,
                    max_new_tokens=exact.max_new_tokens,
                    chain=() if constraint is None else (constraint,),
                ),
            )
            for width in sorted(set(widths))
        ]
        self._texts: list[Hypothesis] = []  # the best text of each width searched
        self._result: SearchError | None = None

    @property
    def searches(self) -> int:
        """Number of searches, the exact one included."""
        return len(self._searches) + 1

    @property
    def has_result(self) -> bool:
        """True once the exact search has ended."""
        return self._result is not None

    @property
    def result(self) -> SearchError:
        """The result of a study that has run.

        Raises:
            RuntimeError: the beam searches have not ended.
        """
        if self._result is None:
            raise RuntimeError("This study has not got to its exact search; run it first.")
        return self._result

    def run(self, cancel: threading.Event | None = None) -> Iterator[StudyProgress]:
        """Run all searches; yields after every beam search and every pass of the exact one.

        Setting `cancel` ends the run. If the exact search has begun, the interval that it has
        proven is the result. Another `run` continues from there.

        Raises:
            DecodingError: as in the searches.
        """
        while len(self._texts) < len(self._searches):
            search = self._searches[len(self._texts)]
            for _ in search.run():
                pass
            self._texts.append(search.hypotheses[0])
            search.release_cache()
            yield StudyProgress(search.settings.width, None)
            if cancel is not None and cancel.is_set():
                return
        if self._result is None:
            self._exact = ExactSearch(
                self._model,
                self._prompt_ids,
                self._exact.max_new_tokens,
                length_penalty=self._exact.length_penalty,
                start=self._texts,
                **self._bounds,
            )
        for progress in self._exact.run(cancel):
            yield StudyProgress(None, progress)
        self._result = self._compared(self._texts, self._exact.result)

    def _compared(self, texts: list[Hypothesis], best: ExactBest) -> SearchError:
        alone: dict[tuple[int, ...], float] = {}
        for token_ids in [best.token_ids, *(one.token_ids for one in texts)]:
            if token_ids not in alone:
                logprobs = token_logprobs(self._model, self._prompt_ids, token_ids)
                alone[token_ids] = sequence_logprob(logprobs)
        settings = self._searches[0].settings
        fine = self._model.facts["dtype"] in ("float32", "float64")
        rounding = ROUNDING if fine else COARSE_ROUNDING
        score = settings.score(alone[best.token_ids], len(best.token_ids))
        misses = []
        for search, one in zip(self._searches, texts, strict=True):
            own = settings.score(alone[one.token_ids], len(one.token_ids))
            found = one.token_ids == best.token_ids or score - own < rounding
            misses.append(
                Miss(
                    search.settings.width,
                    one.token_ids,
                    one.text,
                    alone[one.token_ids],
                    own,
                    found,
                    0.0 if found else score - own,
                )
            )
        return SearchError(best, alone[best.token_ids], score, tuple(misses))
