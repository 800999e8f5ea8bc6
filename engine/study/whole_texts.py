"""All texts that a small constraint allows: how likely each is, how often masking draws it.

Step-by-step masking renormalises over the allowed tokens in each step. It ignores how likely the
text is to end well from there. So it draws a text x with probability

    q(x) = product over the steps of p(token) / Z,    Z = the allowed probability of the step

and not with the model's own probability among the allowed texts,

    p(x | allowed) = p(x) / sum of p over all allowed texts

Park et al. 2024 (arXiv:2405.21047). For a small constraint both can be computed. The walk follows
every path of tokens that spells an allowed text, with the end-of-text token after it. It expands
the likeliest beginnings under p and under q in turn. So a walk that is cut short has found the
texts that matter most, and has a bound on the missing share.
"""

from __future__ import annotations

import heapq
import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.checks import at_least_one
from engine.decoding.inputs import checked_settings
from engine.decoding.prompt import encode_prompt
from engine.errors import SettingError, msg
from engine.model import LanguageModel
from engine.model.vocabulary import readable
from engine.runner.runner import open_sequence
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Constraint

MOST_PASSES = 2000
MOST_TOKENS = 64
ENOUGH = 1e-4  # the share of either distribution that may be missing at the end of a walk
_MOST_CHILDREN = 2000  # continuations of one beginning that are remembered individually


@dataclass(frozen=True)
class WholeText:
    """A text that the constraint allows.

    Attributes:
        text: its bytes as text, those outside a whole character as ``<0xE2>``.
        paths: number of token paths found that spell it.
        probability: p(x), the model's own probability of the text and its end, over all paths.
        conditional: p(x | allowed), its share among the texts found.
        masked: q(x), the probability that step-by-step masking draws it.
    """

    text: str
    paths: int
    probability: float
    conditional: float
    masked: float


@dataclass(frozen=True)
class WholeTexts:
    """All texts that a walk has found.

    Attributes:
        texts: the most likely first.
        paths: number of token paths that spell them.
        passes: number of forward passes.
        mass: the model's probability of all texts found together.
        missing: upper bound on the probability of allowed texts that were not found.
        masked_missing: the probability that masking draws a text that was not found.
        total_variation: half the sum of |q - p(. | allowed)| over the texts found, 0 to 1.
        kl_bits: sum of q log2(q / p(. | allowed)) over the texts found.
        is_exact: whether nothing is missing.
    """

    texts: tuple[WholeText, ...]
    paths: int
    passes: int
    mass: float
    missing: float
    masked_missing: float
    total_variation: float
    kl_bits: float
    is_exact: bool


@dataclass(frozen=True)
class WalkProgress:
    """Progress of the walk.

    Attributes:
        passes, passes_at_most: forward passes made, and the most allowed.
        paths: paths found.
        mass, missing: as in `WholeTexts`.
    """

    passes: int
    passes_at_most: int
    paths: int
    mass: float
    missing: float


@dataclass(frozen=True)
class _Beginning:
    ids: tuple[int, ...]
    logprob: float  # ln p
    masked: float  # ln q


@dataclass
class _Found:
    paths: int = 0
    probability: float = 0.0
    masked: float = 0.0


class Walk:
    """A walk over all texts that a constraint allows, at temperature 1 without other samplers.

    Args:
        model: the model; it needs a tokenizer and an end-of-text token.
        prompt: text, or token ids.
        constraint: the constraint on the texts.
        most_passes: maximum number of forward passes.
        most_tokens: maximum number of tokens in a path, not counting the end.
        enough: the walk ends once no larger share of either distribution is missing; at 0, only
            once it has followed every path.

    Raises:
        PromptError, TokenizerError: the prompt does not fit the model.
        SettingError: the constraint does not fit, the model has no end-of-text token, or a limit
            is out of range.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: str | Sequence[int],
        constraint: Constraint,
        *,
        most_passes: int = MOST_PASSES,
        most_tokens: int = MOST_TOKENS,
        enough: float = ENOUGH,
    ) -> None:
        self._ids = encode_prompt(model, prompt)
        checked_settings(SamplingSettings(chain=[constraint]), model)
        if not model.eos_ids:
            remedy = msg("choose a model that can end a text")
            raise SettingError("model", model.name, "has no end-of-text token", remedy)
        self._model = model
        self._constraint = constraint
        self._most_passes = at_least_one("most_passes", most_passes)
        self._most_tokens = at_least_one("most_tokens", most_tokens)
        room = (model.context_length or math.inf) - len(self._ids)
        self._most_tokens = int(min(self._most_tokens, room - 1))
        self._enough = enough
        self._runner = open_sequence(model)
        self._read: list[int] = []  # tokens after the prompt that the runner has read
        self._open: dict[int, _Beginning] = {}
        self._number = itertools.count()
        # Numbers of open beginnings by each probability; one that is done stays in the other heap.
        self._by_p: list[tuple[float, int]] = []
        self._by_q: list[tuple[float, int]] = []
        self._open_p = self._open_q = self._mass = 0.0  # running sums, approximate
        self._found: dict[bytes, _Found] = {}
        self._passes = self._paths = 0
        self._lost = self._masked_lost = 0.0  # of beginnings that were not remembered
        self._put(_Beginning((), 0.0, 0.0))

    def run(self, cancel: threading.Event | None = None) -> Iterator[WalkProgress]:
        """Continue the walk; yields after every forward pass.

        Closing the iterator or setting `cancel` ends it. The results so far stay, and another `run`
        continues from them.

        Raises:
            DecodingError: a forward pass failed, or the constraint could not be followed.
        """
        while self._open and self._passes < self._most_passes and not self._is_enough:
            if cancel is not None and cancel.is_set():
                return
            number = self._likeliest(self._by_q if self._passes % 2 else self._by_p)
            beginning = self._open[number]
            row = self._logprobs(list(beginning.ids))  # if this fails, nothing is lost
            del self._open[number]
            self._open_p -= math.exp(beginning.logprob)
            self._open_q -= math.exp(beginning.masked)
            self._expand(beginning, row)
            self._passes += 1
            missing = max(0.0, self._open_p) + self._lost
            yield WalkProgress(self._passes, self._most_passes, self._paths, self._mass, missing)

    @property
    def _is_enough(self) -> bool:
        """True if hardly any probability remains to be found."""
        return self._enough > 0 and (
            self._open_p + self._lost <= self._enough * self._mass
            and self._open_q + self._masked_lost <= self._enough
        )

    def _put(self, beginning: _Beginning) -> None:
        number = next(self._number)
        self._open[number] = beginning
        heapq.heappush(self._by_p, (-beginning.logprob, number))
        heapq.heappush(self._by_q, (-beginning.masked, number))
        self._open_p += math.exp(beginning.logprob)
        self._open_q += math.exp(beginning.masked)

    def _likeliest(self, heap: list[tuple[float, int]]) -> int:
        """Return the number of the open beginning that comes first in a heap."""
        while heap[0][1] not in self._open:
            heapq.heappop(heap)
        return heap[0][1]

    @property
    def result(self) -> WholeTexts:
        """The texts found so far."""
        mass = math.fsum(found.probability for found in self._found.values())
        open_mass = math.fsum(math.exp(each.logprob) for each in self._open.values())
        open_masked = math.fsum(math.exp(each.masked) for each in self._open.values())
        texts = [
            WholeText(
                readable(data),
                found.paths,
                found.probability,
                found.probability / mass if mass else 0.0,
                found.masked,
            )
            for data, found in self._found.items()
        ]
        texts.sort(key=lambda each: (-each.probability, each.text))
        distance = math.fsum(abs(each.masked - each.conditional) for each in texts)
        return WholeTexts(
            tuple(texts),
            self._paths,
            self._passes,
            mass,
            open_mass + self._lost,
            open_masked + self._masked_lost,
            distance / 2,
            math.fsum(
                each.masked * math.log2(each.masked / each.conditional)
                for each in texts
                if each.masked > 0 and each.conditional > 0
            ),
            not self._open and self._lost == self._masked_lost == 0.0,
        )

    def _logprobs(self, ids: list[int]) -> np.ndarray:
        """Compute the log-probabilities after these tokens, in nats: (vocab,) float64."""
        common = 0
        while common < min(len(ids) - 1, len(self._read)) and ids[common] == self._read[common]:
            common += 1
        start = len(self._ids) + common if ids else 0
        if self._runner.positions > start:
            self._runner.truncate(start)
        wanted = [*self._ids, *ids][self._runner.positions :]
        self._read = ids[:common]
        row = self._runner.extend(wanted).forward.logits.astype(np.float64)
        self._read = ids
        highest = row.max()
        return row - (highest + math.log(float(np.exp(row - highest).sum())))

    def _expand(self, beginning: _Beginning, row: np.ndarray) -> None:
        """Extend a beginning by one token, in every allowed way."""
        ids, masked = beginning.ids, beginning.masked
        places, eos_ids = self._model.places, self._model.eos_ids
        place = places.at(self._constraint.language, self._constraint.source, ids)
        allowed = np.flatnonzero(place.allowed & (row > -np.inf))
        if not allowed.size:
            self._masked_lost += math.exp(masked)  # the tokens here lead nowhere
            return
        own = row[allowed]
        highest = own.max()
        log_mass = highest + math.log(float(np.exp(own - highest).sum()))
        order = np.argsort(-own, kind="stable")
        kept = 0
        for token_id, logprob in zip(allowed[order].tolist(), own[order].tolist(), strict=True):
            p, q = logprob + beginning.logprob, masked + logprob - log_mass
            if token_id in eos_ids:
                tokens = map(self._model.vocabulary.token_bytes, ids)
                found = self._found.setdefault(b"".join(tokens), _Found())
                found.paths += 1
                found.probability += math.exp(p)
                found.masked += math.exp(q)
                self._mass += math.exp(p)
                self._paths += 1
            elif len(ids) < self._most_tokens and kept < _MOST_CHILDREN:
                kept += 1
                self._put(_Beginning((*ids, token_id), p, q))
            else:
                self._lost += math.exp(p)
                self._masked_lost += math.exp(q)
