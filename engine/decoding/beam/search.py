"""Beam search: the best few hypotheses, all continued together.

    >>> search = BeamSearch(model, "Once upon a time", BeamSettings(width=4, max_new_tokens=20))
    >>> for step in search.run():
    ...     print(len(step.candidates), step.text)
    >>> search.hypotheses[0].text, search.hypotheses[0].score

A step runs the model once over all beams, ranks their best continuations, and keeps as many as the
search is wide. A continuation that ends a text goes to a pool of complete texts. They are ranked by
the sum of their log-probabilities over a power of their length. Sequences and scores are those of
transformers' `generate` with `num_beams`. With groups it is diverse beam search (Vijayakumar et al.
2016, arXiv:1610.02424). Samplers such as a constraint edit the log-probabilities of every step, and
keep separate memory for each hypothesis. Nothing is random.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from engine.backend import require
from engine.checks import at_least_one, is_whole
from engine.decoding import inputs
from engine.decoding.beam.choice import Choice, Group, Past, choose, pooled, recorded
from engine.decoding.beam.continuations import (
    EMPTY,
    Node,
    Spelling,
    best_continuations,
    penalties,
)
from engine.decoding.beam.kept_rows import KeptRows
from engine.decoding.beam.results import Hypothesis, NextToken, NextTokens
from engine.decoding.beam.scores import Scores
from engine.decoding.beam.settings import BeamSettings
from engine.decoding.generation import Generation
from engine.decoding.prompt import encode_prompt
from engine.errors import DecodingError, NoCandidatesError, OutOfMemoryError, SettingError, msg
from engine.model import LanguageModel
from engine.model.growing_cache import GROWN
from engine.runner.branches import Branches
from engine.runner.budget import budget_of
from engine.runner.job import this_job
from engine.sampling.samplers import Context
from engine.text import stopping
from engine.trace import Trace
from engine.trace.beam import BeamStep

_REMEDY = msg("use a smaller width, a shorter prompt or a smaller model")


class _Cost(NamedTuple):
    """Cost of reading the beams: passes, whether they began at the prompt, milliseconds."""

    passes: int
    is_prefill: bool
    ms: float


_NO_COST = _Cost(0, False, 0.0)


class BeamSearch(Generation[BeamStep]):
    """A beam search on a shared model.

    Args:
        model: the model; decoders and other searches may use it at the same time.
        prompt: text, or token ids.
        settings: settings for the whole search.
        stop_strings: strings that end a hypothesis; one may begin and end inside tokens.

    Attributes:
        prompt_ids: token ids of the prompt.
        settings: as given.
        stop_strings: as given.
        steps: the steps so far; read-only.

    Raises:
        PromptError: an empty prompt, one longer than the context, or ids outside the vocabulary.
        TokenizerError: a text for a model without a tokenizer.
        SettingError: settings of the wrong type, a width beyond the vocabulary, a chain that does
            not fit the model, or an empty stop string.
    """

    model: LanguageModel

    def __init__(
        self,
        model: LanguageModel,
        prompt: str | Sequence[int],
        settings: BeamSettings | None = None,
        *,
        stop_strings: str | Sequence[str] = (),
    ) -> None:
        settings = BeamSettings() if settings is None else settings
        if not isinstance(settings, BeamSettings):
            remedy = msg("use for example BeamSettings(width=4)")
            raise SettingError("settings", settings, "must be BeamSettings", remedy)
        require(model, msg("Beam search"), "full_row")
        settings.check_vocabulary(model.vocab_size, len(model.eos_ids))
        inputs.checked_settings(settings.samplers, model)
        super().__init__(model)
        self.prompt_ids = encode_prompt(model, prompt)
        self.settings = settings
        self.stop_strings = stopping.checked_stop_strings(stop_strings)
        self._spelling = Spelling(model.vocabulary, model.eos_ids, self.stop_strings)
        left = math.inf
        if model.context_length is not None:
            left = model.context_length - len(self.prompt_ids)
        self._most = int(min(settings.max_new_tokens, left))
        is_short = self._most < settings.max_new_tokens
        self._at_most = stopping.CONTEXT if is_short else stopping.MAX_TOKENS
        # The states before each step taken, and before the next one.
        self._pasts = [Past((Group((EMPTY,)),) * settings.groups)]
        self._logits = KeptRows()
        self._branches: Branches | None = None  # the beams of one of those pasts
        self._read = 0  # index of that past
        self._unpaid: _Cost | None = None  # of the last reading, until a step counts it

    # --- queries ----------------------------------------------------------------------------------

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """All texts, best score first: the complete ones and, until the search ends, the beams."""
        with self._lock:
            has_ended = self.stop_reason is not None
            return tuple(self._ranked(self._pasts[-1].groups, has_ended))

    @property
    def text(self) -> str:
        """The readable text of the best hypothesis."""
        return self.steps[-1].text if self.steps else ""

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens of the best hypothesis."""
        return list(self.steps[-1].ids_after) if self.steps else []

    @property
    def stop_reason(self) -> str | None:
        """Reason that the last step ended the search; None while it continues."""
        return self.steps[-1].stop_reason if self.steps else None

    def beams(self, index: int) -> tuple[Hypothesis, ...]:
        """Return the beams before a step, in order; before the first, an empty text per group.

        Raises:
            SettingError: the step is neither taken nor next.
        """
        with self._lock:
            index = inputs.checked_place(index, len(self.steps))
            return tuple(
                self._hypothesis(node, place, is_finished=False)
                for place, group in enumerate(self._pasts[index].groups)
                for node in group.live
            )

    def candidates(self, index: int, beam: int, count: int) -> NextTokens:
        """Return the tokens that may follow a beam, most likely first, over the full vocabulary.

        Logits that were freed are recomputed by reading the beams again.

        Args:
            index: a step that was taken or is next.
            beam: index of the beam before it.
            count: number of tokens to return.

        Raises:
            SettingError: no such step or beam, or a count below 1.
            OutOfMemoryError, CancelledError: the search stays as it is.
        """
        with self._lock:
            index = inputs.checked_place(index, len(self.steps))
            live = self._pasts[index].live
            if not is_whole(beam) or not 0 <= beam < len(live):
                remedy = (
                    msg("use 0 to {live}", len(live) - 1) if live else msg("use an earlier step")
                )
                raise SettingError(
                    "beam", beam, msg("is not a beam before step {index}", index), remedy
                )
            count = at_least_one("count", count)
            logits = self._logits.get(index)
            if logits is None and index == len(self.steps):
                logits = self._read_beams(index)  # which the next step need not repeat
            elif logits is None:
                logits = self._read_from_prompt(index)[1]
                self._logits.keep(index, logits)
            scores = self._scores(live[beam], logits[beam if index else 0])
        row = scores.row
        count = min(count, row.count)
        row.sort_to_depth(count)
        before = live[beam].total
        leading = ((token_id, row.logprob(token_id)) for token_id in row.ids[:count].tolist())
        tokens = tuple(
            NextToken(place + 1, token_id, logprob, before + logprob, scores.leaves(token_id))
            for place, (token_id, logprob) in enumerate(leading)
        )
        rest = max(0.0, 1.0 - float(row.weights[:count].sum()) / row.total)
        return NextTokens(tokens, self.model.vocab_size - count, rest, row.entropy_bits)

    def trace(self) -> Trace:
        """Return everything so far as plain values, to save or show."""
        with self._lock:
            token_bytes = self.model.vocabulary.token_bytes
            prompt = b"".join(token_bytes(token_id) for token_id in self.prompt_ids)
            return Trace(
                model=self.model.facts,
                prompt_ids=tuple(self.prompt_ids),
                prompt=prompt.decode("utf-8", "replace"),
                settings=((0, self.settings.to_dict()),),
                stop_strings=self.stop_strings,
                steps=tuple(self.steps),
                strategy="beam",
            )

    def release_cache(self) -> bool:
        """Free the caches, which are rebuilt when needed; returns False if they are in use."""
        return self._branches is None or self._branches.release()

    def release_rows(self) -> bool:
        """Free the logits, which are recomputed when needed; returns False if there are none."""
        return self._logits.release()

    # --- the parts of a step ----------------------------------------------------------------------

    def step(self) -> BeamStep:
        """Take one step: read the beams, rank their continuations, keep the best.

        Raises:
            DecodingError: the search has ended.
            LogitsError: the model returned NaN; the search stays as it is.
            NoCandidatesError: samplers leave no beam a token, and no text is complete; the search
                stays as it is.
            OutOfMemoryError: the width needs too much memory; the search stays as it is.
        """
        return super().step()

    def _step(self, limit: int | None) -> BeamStep:
        if self.stop_reason is not None:
            raise DecodingError(
                "The search has ended; rewind, or start one with more tokens or another width."
            )
        index = len(self.steps)
        logits = self._read_beams(index)
        cost = self._unpaid or _NO_COST
        choosing = time.perf_counter()
        past = self._pasts[index]
        choices = self._choose(past, logits, index)
        following = past.after(choices)
        chosen = time.perf_counter()
        size = self._branches.size
        reasons = [group.reason for group in following.groups]
        has_ended = None not in reasons
        best = self._ranked(following.groups, has_ended)[0]
        step = BeamStep(
            index=index,
            candidates=recorded(choices, self.settings, self.model.vocabulary),
            pool=pooled(following.groups),
            ids_after=best.token_ids,
            text=best.text,
            score=best.score,
            stop_reason=reasons[-1] if has_ended else None,
            is_prefill=cost.is_prefill,
            rows_read=self._branches.rows,
            cache_positions=self._branches.positions,
            cache_bytes=size.logical if size else None,
            cache_bytes_held=size.held if size else None,
            passes=cost.passes,
            forward_ms=cost.ms,
            choose_ms=(chosen - choosing) * 1e3,
            total_ms=cost.ms + (time.perf_counter() - choosing) * 1e3,
        )
        self._unpaid = None
        self._pasts.append(following)
        self.steps.append(step)
        return step

    def _read_beams(self, index: int) -> np.ndarray:
        """Return the logits of the beams before a step; the step then counts the reading's cost."""
        there = self._branches is not None and self._branches.has_caches
        logits = self._logits.get(index)
        if there and self._read == index and logits is not None:
            return logits
        start = time.perf_counter()
        if there and self._read == index - 1:
            branches, logits = _grown(self._branches, self._pasts[index])
            passes, is_prefill = branches.passes, False
        else:
            branches, logits, passes = self._read_from_prompt(index)
            is_prefill = True
        self._branches, self._read = branches, index
        self._logits.keep(index, logits)
        self._unpaid = _Cost(passes, is_prefill, (time.perf_counter() - start) * 1e3)
        return logits

    def _read_from_prompt(self, index: int) -> tuple[Branches, np.ndarray, int]:
        """Read the beams before a step again, in the original passes, so with the same bits."""
        branches, logits = Branches.prefilled(self.model, self.prompt_ids, _REMEDY)
        self._check_memory()
        passes = branches.passes
        for place, past in enumerate(self._pasts[1 : index + 1], 1):
            branches, logits = _grown(branches, past)
            passes += branches.passes
            if index > 1:
                this_job().told("Reading the beams again", place, index)
        return branches, logits, passes

    def _check_memory(self) -> None:
        """Raise `OutOfMemoryError` if the caches of all beams exceed the device's budget."""
        formula, limit = self.model.cache_formula, budget_of(self.model.device).limit
        if formula is None:
            return
        # Old and new caches exist side by side while the next beams are chosen.
        each = 2 * formula.bytes_at(len(self.prompt_ids) + self._most, GROWN)
        if each * self.settings.width > limit:
            raise OutOfMemoryError(
                "width {width} with {most:,} new tokens needs {each:,.0f} MiB for its "
                "caches, but only {limit:,.0f} MiB are available; use a width of at most "
                "{value}, or fewer tokens.",
                (
                    self.settings.width,
                    self._most,
                    each * self.settings.width / 2**20,
                    limit / 2**20,
                    max(1, limit // each),
                ),
            )

    def _choose(self, past: Past, logits: np.ndarray, index: int) -> list[Choice | None]:
        """Return the choice for every group; None for groups that have ended."""
        choices: list[Choice | None] = []
        taken: list[int] = []
        refusals: list[NoCandidatesError] = []
        first_row = first_place = 0
        scores_of_prompt = None if index else self._scores(EMPTY, logits[0])
        for group in past.groups:
            if group.reason is not None:
                choices.append(None)
                continue
            rows = [scores_of_prompt]
            if index:
                own = logits[first_row : first_row + len(group.live)]
                rows = [self._scores(*one) for one in zip(group.live, own, strict=True)]
            count = self.settings.considered(len(self.model.eos_ids))
            nodes = best_continuations(
                group.live,
                rows,
                count,
                penalties(taken, self.settings),
                self._spelling,
                first_row,
            )
            choice = choose(
                group,
                nodes,
                self.settings,
                most=self._most,
                at_most=self._at_most,
                step=index,
                first_place=first_place,
            )
            choices.append(choice)
            taken += choice.taken
            first_row += len(group.live) if index else 0
            first_place += len(nodes)
            refusals += [row.refusal for row in rows if row.refusal is not None]
        groups = past.after(choices).groups
        if refusals and not any(group.live or group.pool for group in groups):
            raise refusals[0]  # no text has ended, and none can continue
        return choices

    def _scores(self, node: Node, logits: np.ndarray) -> Scores:
        """Return the scores of the tokens after one beam, given the beam's own text."""
        context = Context(
            np.array([*self.prompt_ids, *node.token_ids], np.int64),
            len(self.prompt_ids),
            self.model.eos_ids,
            states=node.memory,
            device=self.model.device,
            places=self.model.places,
        )
        is_greedy = self.settings.width == 1
        return Scores(logits, self.settings.samplers, context, edits_logits=is_greedy)

    def _ranked(self, groups: Sequence[Group], has_ended: bool) -> list[Hypothesis]:
        found = [
            self._hypothesis(entry.node, place, is_finished=True)
            for place, group in enumerate(groups)
            for entry in group.pool
        ]
        if not has_ended or not found:
            found += [
                self._hypothesis(node, place, is_finished=False)
                for place, group in enumerate(groups)
                for node in group.live
            ]
        return sorted(found, key=lambda one: -one.score)

    def _hypothesis(self, node: Node, group: int, *, is_finished: bool) -> Hypothesis:
        score = self.settings.score(node.ranked_by, max(1, node.length))
        return Hypothesis(node.text, node.token_ids, node.total, score, is_finished, group)

    # --- rewinding, forking, repeating ------------------------------------------------------------

    def _rewind(self, length: int) -> None:
        del self.steps[length:], self._pasts[length + 1 :]
        self._logits.rewind(length)
        if self._read > length:
            self._branches = self._unpaid = None

    def _begun_anew(self) -> BeamSearch:
        return BeamSearch(
            self.model, self.prompt_ids, self.settings, stop_strings=self.stop_strings
        )

    def _take_past(self, other: Any) -> None:
        super()._take_past(other)
        self._pasts = list(other._pasts)
        self._logits = other._logits.fork()
        self._branches = other._branches.fork() if other._branches is not None else None
        self._read, self._unpaid = other._read, other._unpaid

    @classmethod
    def of_trace(cls, trace: Trace, model: LanguageModel) -> Self:
        """Begin a search with the prompt and settings of a trace; see `Generation`."""
        settings = BeamSettings.from_dict(trace.settings_at(0))
        return cls(model, trace.prompt_ids, settings, stop_strings=trace.stop_strings)

    def repeat(self, trace: Trace) -> BeamStep:
        """Repeat a trace's next step; the settings are the same for all steps."""
        return self.step()


def _grown(branches: Branches, past: Past) -> tuple[Branches, np.ndarray]:
    """Return the beams before a step and their logits, grown from the previous step's beams."""
    live = past.live
    return branches.grown([node.row for node in live], [node.token_id for node in live])
