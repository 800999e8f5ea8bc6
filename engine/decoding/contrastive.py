"""Contrastive search: likely tokens whose hidden state does not repeat the text so far.

    >>> search = ContrastiveSearch(model, "The capital of France is", top_k=4, penalty_alpha=0.6)
    >>> step = search.step()
    >>> step.candidates[step.chosen].penalty

Each step takes the `top_k` most likely tokens and runs the model over all of them at once, each as
the next token. A candidate's degeneration penalty is the largest cosine similarity of its hidden
state (last layer) to those of the text before it, prompt included. The candidate with the best

    score = (1 - penalty_alpha) * probability - penalty_alpha * penalty

is appended (Su et al. 2022, "A Contrastive Framework for Neural Text Generation",
arXiv:2202.06417). Samplers such as a constraint shape the distribution that candidates come from.
They may change from step to step. Nothing is random. The pass that scores the candidates has
already read the winner, so after the prefill, a step costs one pass over `top_k` tokens.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from engine.backend import require
from engine.cache_formula import CacheFormula
from engine.checks import at_least_one
from engine.decoding import inputs
from engine.decoding.one_text import Autoregressive
from engine.decoding.prompt import encode_prompt
from engine.decoding.row_file import RowFile, StoredRow
from engine.decoding.shaping import shaped
from engine.errors import ContextFullError, LogitsError, NoCandidatesError, SettingError, msg
from engine.model import LanguageModel
from engine.model.vocabulary import ChatIds
from engine.runner.batch_runner import rows_at_once
from engine.runner.budget import MemoryBudget, budget_of
from engine.runner.job import this_job
from engine.runner.runner import Runner, open_sequence
from engine.runner.turns import short_turn
from engine.sampling import SamplingSettings, without_draw
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import Context, Stage
from engine.text import stopping
from engine.trace import ContrastiveCandidate, ContrastiveStep, Trace

MOST_CANDIDATES = 64  # per step; the paper uses 4 to 10
_REMEDY = msg("use a smaller top_k, a shorter prompt or a smaller model")
ROWS_PER_PASS = 32  # candidates run at once: each needs a copy of the text's cache


class _Proposal(NamedTuple):
    """The most likely tokens after a text, before their hidden states are known.

    Attributes:
        row: the logits, from which other samplers can make a new proposal.
        samplers: the samplers that made this proposal.
        before: the samplers' memory before it.
        tokens: (id, probability after the samplers) of each.
        entropy_bits: entropy of the model's whole distribution.
        states: the samplers' memory after each token, by token id.
        refusal: why the samplers leave no token; empty if they leave some.
    """

    row: StoredRow
    samplers: SamplingSettings
    before: Mapping[str, object]
    tokens: list[tuple[int, float]]
    entropy_bits: float
    states: Mapping[int, Mapping[str, object]]
    refusal: str = ""


class _Best(NamedTuple):
    """The best candidate that has been run so far."""

    place: int  # among all candidates
    score: float
    logits: np.ndarray  # (vocab,) float32, after it
    direction: torch.Tensor  # (d_model,) float32, unit vector
    runner: Runner  # the text with it, as one row of its pass
    row: int


class _Directions:
    """Unit vectors of a text's hidden states, by position; float32, on the model's device.

    They count towards the device's budget but are never released, as every step needs them all.
    """

    def __init__(self, budget: MemoryBudget, vectors: torch.Tensor | None = None) -> None:
        self._budget = budget
        self._vectors = vectors  # (capacity, d_model); grows by doubling
        self._count()

    def keep(self, vectors: torch.Tensor, start: int) -> None:
        """Store (positions, d_model) vectors, from position `start` of the text on."""
        end = start + len(vectors)
        with short_turn():
            if self._vectors is None or end > len(self._vectors):
                grown = vectors.new_empty((2 * end, vectors.shape[-1]))
                if start:
                    grown[:start] = self._vectors[:start]
                self._vectors = grown
                self._count()
            self._vectors[start:end] = vectors

    def before(self, end: int) -> torch.Tensor:
        """Return the vectors of the first `end` positions: (end, d_model)."""
        return self._vectors[:end]

    def fork(self) -> _Directions:
        """Return an independent copy."""
        with short_turn():
            vectors = None if self._vectors is None else self._vectors.clone()
        return _Directions(self._budget, vectors)

    def release(self) -> bool:
        """Release nothing; see `engine.runner.budget.Holder`."""
        return False

    def _count(self) -> None:
        if self._vectors is not None:
            self._budget.used(self, self._vectors.nbytes)


class ContrastiveSearch(Autoregressive[ContrastiveStep]):
    """One text being generated by contrastive search on a shared model.

    Args:
        model: the model; decoders and other searches may use it at the same time.
        prompt: text, or token ids.
        top_k: number of candidates in a step; the paper uses 4 to 10. 1 is greedy decoding.
        penalty_alpha: weight of the penalty against the probability, 0 to 1; the paper uses 0.6.
            0 is greedy decoding.
        stop_strings: strings that end generation; one may begin and end inside tokens.
        chain: samplers, such as a `Constraint`, in the order in which they apply. None may be
            random.

    Attributes:
        prompt_ids: token ids of the prompt.
        top_k: as given.
        steps: the steps so far; read-only.

    Raises:
        PromptError: an empty prompt, one longer than the context, or ids outside the vocabulary.
        TokenizerError: a text for a model without a tokenizer.
        SettingError: `top_k` or `penalty_alpha` out of range, an empty stop string, or a chain that
            draws or does not fit the model.

    May be used from any thread, one call at a time; further calls wait.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: str | Sequence[int],
        top_k: int = 4,
        penalty_alpha: float = 0.6,
        *,
        stop_strings: str | Sequence[str] = (),
        chain: Sequence[Stage] = (),
    ) -> None:
        require(model, msg("Contrastive search"), "hidden", "full_row")
        self.top_k = _checked_top_k(top_k, model.vocab_size)
        self._penalty_alpha = checked_alpha(penalty_alpha)
        stop_strings = stopping.checked_stop_strings(stop_strings)
        self._samplers = _checked_samplers(chain, model)
        super().__init__(model, encode_prompt(model, prompt), stop_strings)
        self._samplers_of: list[SamplingSettings] = []  # by step
        self._rows: RowFile | None = None
        self._proposals: list[_Proposal] = []  # by step, and for the next; empty before the prefill
        self._directions = _Directions(budget_of(model.device))
        self._runner = open_sequence(model, _REMEDY)

    @property
    def chain(self) -> tuple[Stage, ...]:
        """The samplers; a change applies to later tokens."""
        return self._samplers.chain

    @chain.setter
    def chain(self, chain: Sequence[Stage]) -> None:
        samplers = _checked_samplers(chain, self.model)
        with self._lock:
            self._samplers = samplers

    @property
    def settings_by_step(self) -> list[tuple[int, SamplingSettings]]:
        """Settings as (first step, settings), in order; each applies until the next.

        The last ones are the current settings.
        """
        of_steps = [*self._samplers_of, self._samplers]
        return [
            (index, samplers)
            for index, samplers in enumerate(of_steps)
            if index == 0 or samplers != of_steps[index - 1]
        ]

    @property
    def penalty_alpha(self) -> float:
        """Weight of the penalty; a change applies to later tokens."""
        return self._penalty_alpha

    @penalty_alpha.setter
    def penalty_alpha(self, penalty_alpha: float) -> None:
        self._penalty_alpha = checked_alpha(penalty_alpha)

    @property
    def cache_formula(self) -> CacheFormula | None:
        """Formula for the cache's size; None before the prefill, and for other kinds of cache."""
        return self._runner.formula

    def step(self) -> ContrastiveStep:
        """Generate one token: run all candidates, score, choose, append.

        The first call also reads the prompt. Only the end of the context is final.

        Raises:
            ContextFullError: the context has no position left.
            NoCandidatesError: the samplers leave no token, as bans can; the text so far stays.
            ModelError: the model does not give its hidden states.
            OutOfMemoryError: the device is out of memory; the text so far stays.
            RecordError: the logits cannot be written to a temporary file.
        """
        return super().step()

    def outline(self) -> Trace:
        """See `Autoregressive`."""
        with self._lock:
            alphas = [*(step.penalty_alpha for step in self.steps), self._penalty_alpha]
            used = list(zip(alphas, [*self._samplers_of, self._samplers], strict=True))
            return Trace(
                model=self.model.facts,
                prompt_ids=tuple(self.prompt_ids),
                prompt=self._prompt_text(),
                settings=tuple(
                    (index, self._plain_settings(alpha, samplers))
                    for index, (alpha, samplers) in enumerate(used)
                    if index == 0 or used[index] != used[index - 1]
                ),
                stop_strings=self.stop_strings,
                steps=tuple(self.steps),
                strategy="contrastive",
                messages=self.messages,
            )

    def _plain_settings(self, alpha: float, samplers: SamplingSettings) -> dict[str, Any]:
        chain = samplers.to_dict()["chain"]
        return {"top_k": self.top_k, "penalty_alpha": alpha, "chain": chain}

    def release_cache(self) -> bool:
        """Free the cache, which is rebuilt when needed; returns False if it is in use."""
        return self._runner.release()

    # The parts of a step.

    def _step(self, limit: int | None) -> ContrastiveStep:
        self._check_room()
        total = self._sequence.ids.size
        switch = self.model.reads_again_after
        if switch is not None and len(self.prompt_ids) <= switch <= total:
            # The states of the text so far would come from a different reading.
            raise ContextFullError(
                "{name} would read its whole text again after {switch:,} tokens, "
                "so contrastive search ends there; start from a longer prompt, or sample.",
                (self.model.name, switch),
            )
        start = time.perf_counter()
        before = self._runner.restore() if self._proposals else self._read_prompt()
        proposal = self._proposals[len(self.steps)]
        if proposal.samplers != self._samplers:
            proposal = self._proposed_anew(proposal)
        if proposal.refusal:
            raise NoCandidatesError(proposal.refusal)
        running = time.perf_counter()
        candidates, best, passes = self._run_candidates(proposal)
        scoring = time.perf_counter()
        token_id = proposal.tokens[best.place][0]
        ids = np.append(self._sequence.ids, token_id)
        row = StoredRow(self._own_file(), best.logits)
        following = self._propose(row, best.logits, ids, proposal.states[token_id])
        runner = best.runner
        runner.select([best.row])
        self._directions.keep(best.direction[None], total)
        scored = time.perf_counter()
        added = self._addition(token_id, limit)
        step = ContrastiveStep(
            index=len(self.steps),
            token_id=token_id,
            **added.figures,
            candidates=candidates,
            chosen=best.place,
            penalty_alpha=self._penalty_alpha,
            model_entropy_bits=proposal.entropy_bits,
            is_prefill=bool(before),
            cache_positions=total + 1,
            cache_bytes=runner.usage.logical,
            cache_bytes_held=runner.usage.held,
            passes=len(before) + passes,
            prefill_ms=(running - start) * 1e3 if before else 0.0,
            forward_ms=(scoring - running) * 1e3,
            score_ms=(scored - scoring) * 1e3,
            total_ms=(time.perf_counter() - start) * 1e3,
        )
        # The step exists: all state that records it changes together.
        self._runner = runner
        self._proposals.append(following)
        self._samplers_of.append(proposal.samplers)
        self._sequence.append(token_id, added.piece)
        self.steps.append(step)
        return step

    def _read_prompt(self) -> tuple[int, ...]:
        """Read the prompt and record the most likely tokens after it; returns the passes."""
        runner = open_sequence(self.model, _REMEDY)
        chunks = runner.chunks(len(self.prompt_ids))
        for tokens in chunks:
            start = runner.positions
            logits, directions = self._forward([self.prompt_ids[start : start + tokens]], runner)
            self._directions.keep(directions[0], start)
            if len(chunks) > 1:
                this_job().told("Reading the prompt", runner.positions, len(self.prompt_ids))
        row = StoredRow(self._own_file(), logits[0])
        self._proposals.append(self._propose(row, logits[0], self._sequence.ids, {}))
        self._runner = runner
        return chunks

    def _forward(self, rows: list[list[int]], runner: Runner) -> tuple[np.ndarray, torch.Tensor]:
        """Return logits (rows, vocab) and last-layer unit vectors (rows, tokens, d_model)."""
        logits, states = runner.read_rows(rows, hidden_states=True, tries=2)
        states = states[:, -len(rows[0]) :]  # they cover the whole text if it was read again
        with short_turn():
            return logits, torch.nn.functional.normalize(states.to(torch.float32), dim=-1)

    def _own_file(self) -> RowFile:
        if self._rows is None:
            self._rows = RowFile()
        return self._rows

    def _proposed_anew(self, proposal: _Proposal) -> _Proposal:
        """Replace a proposal made by other samplers with one made by the current samplers."""
        logits = proposal.row.row(self.model)
        anew = self._propose(proposal.row, logits, self._sequence.ids, proposal.before)
        self._proposals[len(self.steps)] = anew
        return anew

    def _propose(
        self, row: StoredRow, logits: np.ndarray, ids: np.ndarray, states: Mapping[str, object]
    ) -> _Proposal:
        """Return the `top_k` most likely tokens; raises `LogitsError` without a distribution.

        Args:
            row: the logits as stored.
            logits: (vocab,) the logits after the text.
            ids: (positions,) the text.
            states: the samplers' memory of the text.
        """
        samplers = self._samplers
        context = Context(
            ids,
            len(self.prompt_ids),
            self.model.eos_ids,
            states=states,
            device=self.model.device,
            places=self.model.places,
        )
        try:
            made = shaped(logits, samplers, context)
        except NoCandidatesError as error:  # it belongs to the next step: this one is complete
            return _Proposal(row, samplers, states, [], 0.0, {}, error.message)
        left = RankedRow(made.final_scores) if made.stages else made.raw
        left.sort_to_depth(self.top_k)
        ids, probs = left.ids.tolist(), (left.weights / left.total).tolist()
        tokens = list(zip(ids, probs, strict=True))[: self.top_k]
        after = {token_id: made.states_after(token_id) for token_id, _ in tokens}
        return _Proposal(row, samplers, states, tokens, made.raw.entropy_bits, after)

    def _run_candidates(
        self, proposal: _Proposal
    ) -> tuple[tuple[ContrastiveCandidate, ...], _Best, int]:
        """Run each candidate as the next token; returns all, the best, and the number of passes.

        `_runner` is unchanged. Recurrent states cannot be copied row by row, so each candidate of
        such a model takes its own pass.
        """
        at_once = 1
        if self._runner.can_select:
            at_once = min(ROWS_PER_PASS, rows_at_once([self._runner]))
        candidates: list[ContrastiveCandidate] = []
        best: _Best | None = None
        starts = range(0, len(proposal.tokens), at_once)
        for start in starts:
            tokens = proposal.tokens[start : start + at_once]
            runner = self._runner.fork()
            runner.select([0] * len(tokens))
            logits, directions = self._forward([[token_id] for token_id, _ in tokens], runner)
            for row, candidate in enumerate(self._scored(tokens, directions[:, 0])):
                if best is None or candidate.score > best.score:
                    place, direction = start + row, directions[row, 0]
                    best = _Best(place, candidate.score, logits[row], direction, runner, row)
                candidates.append(candidate)
            if len(starts) > 1:
                this_job().told("Trying the candidates", len(candidates), len(proposal.tokens))
        return tuple(candidates), best, len(starts)

    def _scored(
        self, tokens: list[tuple[int, float]], directions: torch.Tensor
    ) -> list[ContrastiveCandidate]:
        with short_turn():
            before = self._directions.before(self._sequence.ids.size)
            cosines = directions @ before.T  # (candidates, positions)
            penalties, nearest = (figures.tolist() for figures in cosines.max(-1))
        if not np.isfinite(penalties).all():
            raise LogitsError(
                "The model returned hidden states that are not finite, so similarities have no "
                "value; load it in another dtype (float32 instead of float16) or check its weights."
            )
        alpha = self._penalty_alpha
        candidates = []
        for (token_id, probability), cosine, place in zip(tokens, penalties, nearest, strict=True):
            penalty = min(1.0, cosine)  # rounding
            score = (1 - alpha) * probability - alpha * penalty
            candidates.append(ContrastiveCandidate(token_id, probability, penalty, place, score))
        return candidates

    # Rewinding, forking, repeating.

    def _rewind(self, length: int) -> None:
        self._runner.truncate(len(self.prompt_ids) + length)
        self._sequence.rewind(length)
        del self.steps[length:], self._samplers_of[length:], self._proposals[length + 1 :]

    def _begun_anew(self) -> ContrastiveSearch:
        return ContrastiveSearch(
            self.model,
            self.prompt_ids,
            self.top_k,
            self._penalty_alpha,
            stop_strings=self._stop_strings,
            chain=self.chain,
        )

    def _take_past(self, other: Any) -> None:
        super()._take_past(other)
        self._proposals = list(other._proposals)
        self._samplers_of = list(other._samplers_of)
        self._rows = other._rows
        self._directions = other._directions.fork()
        self._runner = other._runner.fork()

    @classmethod
    def of_trace(cls, trace: Trace, model: LanguageModel) -> Self:
        """Begin a search with the prompt and settings of a trace; see `Generation`."""
        given = dict(trace.settings_at(0))
        given["chain"] = _chain_of(given)
        prompt = ChatIds(trace.prompt_ids, trace.messages)
        return cls(model, prompt, **given, stop_strings=trace.stop_strings)

    def repeat(self, trace: Trace) -> ContrastiveStep:
        """Repeat a trace's next step; see `Generation`."""
        self.follow(trace, len(self.steps))
        return self.step()

    def follow(self, trace: Trace, index: int) -> None:
        """Apply a trace's settings to the next step; see `Generation`."""
        settings = trace.settings_at(index)
        self.penalty_alpha, self.chain = settings["penalty_alpha"], _chain_of(settings)


def _chain_of(settings: Mapping[str, Any]) -> tuple[Stage, ...]:
    """Return the samplers in a trace's settings."""
    return SamplingSettings.from_dict({"chain": settings.get("chain", [])}).chain


def _checked_samplers(chain: Sequence[Stage], model: LanguageModel) -> SamplingSettings:
    return inputs.checked_settings(without_draw(chain, msg("contrastive search")), model)


def _checked_top_k(top_k: object, vocab_size: int) -> int:
    top_k = at_least_one("top_k", top_k)
    most = min(MOST_CANDIDATES, vocab_size)
    if top_k > most:
        remedy = msg("use 1 to {most}; 4 to 10 are usual", most)
        raise SettingError("top_k", top_k, msg("must be at most {most}", most), remedy)
    return top_k


def checked_alpha(alpha: object) -> float:
    """Return the penalty's weight as a plain number; raises `SettingError` outside 0 to 1."""
    remedy = msg("use 0 to 1; 0 is greedy decoding, 0.6 is usual")
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float, np.number)):
        raise SettingError("penalty_alpha", alpha, "must be a number", remedy)
    if not 0 <= alpha <= 1:  # NaN fails this too
        raise SettingError("penalty_alpha", alpha, "must be from 0 to 1", remedy)
    return float(alpha)
