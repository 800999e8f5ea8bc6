"""From logits to a drawn token: settings, the ordered chain, the distribution, the draw.

    >>> settings = SamplingSettings(temperature=0.7, top_p=0.9)
    >>> distribution = shape(logits, settings)          # logits: (vocab,) float32
    >>> [(stage.name, stage.survivors) for stage in distribution.stages]
    [('temperature', 16384), ('top_p', 7)]
    >>> distribution.sample(u=0.5871)
    6342

The arithmetic is exact over the full vocabulary (see `engine.ranking`). It equals the processors of
transformers, row for row, except where float32 rounding in *their* running sum decides on a token
at the edge of a nucleus, or where scores are equal (`TopP` says what happens then). With
`parity=True` their processors run instead, and `torch.multinomial` draws, so that a run repeats
`model.generate` token for token.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engine.errors import SettingError
from engine.ranking import RankedRow, Survivors
from engine.stages import (
    DEFAULT_ORDER,
    NO_CONTEXT,
    STAGES,
    Context,
    CutStage,
    MinP,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopP,
)

__all__ = [
    "DEFAULT_ORDER",
    "STAGES",
    "Candidate",
    "Context",
    "Distribution",
    "Drawn",
    "MinP",
    "RepetitionPenalty",
    "SamplingSettings",
    "Stage",
    "StageResult",
    "Temperature",
    "TopK",
    "TopP",
    "draw",
    "shape",
]

MAX_SEED = 2**63 - 1


@dataclass(frozen=True, init=False)
class SamplingSettings:
    """How the next token is chosen: an ordered chain of stages, a seed, and the kind of draw.

    By keyword, in the order of transformers; a value that switches a stage off leaves it out:

        SamplingSettings(temperature=0.7, top_k=0, top_p=0.9, min_p=0.0, repetition_penalty=1.0)

    or as a chain in an order of one's own, which nothing re-sorts:

        SamplingSettings(chain=[TopP(0.9), Temperature(0.7)])

    Every stage's setting can be read as an attribute, its off value where the stage is not in the
    chain (`settings.top_p`).

    Attributes:
        chain: the stages that are on, in the order they apply.
        seed: start of the random stream; None lets the decoder choose one, which it records.
        parity: run transformers' own processors and `torch.multinomial`, to repeat `generate`.

    Raises:
        SettingError: a value outside its range, or an unknown setting.
    """

    chain: tuple[Stage, ...]
    seed: int | None
    parity: bool

    def __init__(
        self,
        *,
        chain: Iterable[Stage] | None = None,
        seed: int | None = 0,
        parity: bool = False,
        **settings: float | None,
    ) -> None:
        for name in settings:
            if name not in STAGES:
                known = ", ".join(STAGES)
                raise SettingError(name, settings[name], "is not a setting", f"known are {known}")
        if chain is None:
            chain = [
                _stage(kind, settings[kind.setting])
                for kind in DEFAULT_ORDER
                if not _is_off(kind, settings.get(kind.setting))
            ]
        elif settings:
            name = next(iter(settings))
            remedy = "put the stage into the chain instead"
            raise SettingError(name, settings[name], "cannot be given beside a chain", remedy)
        if isinstance(chain, Stage):
            remedy = "put it into a list: chain=[TopP(0.9)]"
            raise SettingError("chain", chain, "must be a list of stages", remedy)
        chain = tuple(chain)
        _check_chain(chain, parity)
        object.__setattr__(self, "chain", chain)
        object.__setattr__(self, "seed", _checked_seed(seed))
        object.__setattr__(self, "parity", bool(parity))

    def __getattr__(self, name: str) -> float:
        # Only called for names that are no fields: the settings of the stages.
        if name in STAGES:
            stage = next((stage for stage in self.chain if stage.setting == name), None)
            return STAGES[name].off if stage is None else stage.value
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def is_greedy(self) -> bool:
        """Whether the chain holds temperature 0, so that no draw takes place."""
        return any(isinstance(stage, Temperature) and stage.is_greedy for stage in self.chain)

    def replace(self, **changes: object) -> SamplingSettings:
        """A copy with some settings changed; stages keep their place in the chain.

        A stage that was off is put where the default order has it.
        """
        seed = changes.pop("seed", self.seed)
        parity = changes.pop("parity", self.parity)
        if "chain" in changes:
            return SamplingSettings(seed=seed, parity=parity, **changes)
        chain = list(self.chain)
        for name, value in changes.items():
            if name not in STAGES:
                known = ", ".join(STAGES)
                raise SettingError(name, value, "is not a setting", f"known are {known}")
            kind = STAGES[name]
            place = next((i for i, stage in enumerate(chain) if stage.setting == name), None)
            if place is not None:
                del chain[place]
            else:
                later = DEFAULT_ORDER[DEFAULT_ORDER.index(kind) + 1 :]
                found = (i for i, stage in enumerate(chain) if isinstance(stage, later))
                place = next(found, len(chain))
            if not _is_off(kind, value):
                chain.insert(place, _stage(kind, value))
        return SamplingSettings(chain=chain, seed=seed, parity=parity)

    def check_vocabulary(self, vocab_size: int) -> None:
        """Raise `SettingError` where a stage makes no sense for a vocabulary of this size."""
        for stage in self.chain:
            stage.check_vocabulary(vocab_size)

    def to_dict(self) -> dict:
        """Plain values, for a trace or a share link."""
        chain = [[stage.setting, stage.to_dict()] for stage in self.chain]
        return {"chain": chain, "seed": self.seed, "parity": self.parity}

    @classmethod
    def from_dict(cls, data: dict) -> SamplingSettings:
        """The inverse of `to_dict`; raises `SettingError` on anything out of range."""
        remedy = "give them as `to_dict` does"
        if not isinstance(data, dict) or not isinstance(data.get("chain"), (list, tuple)):
            raise SettingError("settings", data, "must hold a chain", remedy)
        parity = data.get("parity", False)
        if not isinstance(parity, bool):
            raise SettingError("parity", parity, "must be true or false", remedy)
        chain = []
        for entry in data["chain"]:
            if not isinstance(entry, (list, tuple)) or len(entry) != 2:
                raise SettingError("chain", entry, "must hold pairs of name and value", remedy)
            name, values = entry
            if not isinstance(name, str) or name not in STAGES:
                known = ", ".join(STAGES)
                raise SettingError(str(name), values, "is not a setting", f"known are {known}")
            if not isinstance(values, dict):
                raise SettingError(name, values, "must be given by its fields", remedy)
            try:
                chain.append(STAGES[name](**values))
            except TypeError as error:
                raise SettingError(name, values, "has other fields", remedy) from error
        return cls(chain=chain, seed=data.get("seed"), parity=parity)


def _stage(kind: type[Stage], value: object) -> Stage:
    """A setting's value as a stage; a stage that takes more than a number may be given itself."""
    return value if isinstance(value, kind) else kind(value)


def _is_off(kind: type[Stage], value: object) -> bool:
    # 0.0 == 0 == False, but a person who writes False for a number should hear of it.
    return value is None or (value == kind.off and not isinstance(value, bool))


def _check_chain(chain: tuple[Stage, ...], parity: bool) -> None:
    names = []
    for stage in chain:
        if not isinstance(stage, Stage):
            raise SettingError("chain", stage, "must hold stages", "use for example TopP(0.9)")
        if stage.setting in names:
            remedy = "keep one of them"
            raise SettingError("chain", stage.setting, "holds a stage twice", remedy)
        names.append(stage.setting)
    order = [kind.setting for kind in DEFAULT_ORDER if kind.setting in names]
    if parity and names != order:
        remedy = f"order it as {', '.join(order)}, or switch parity off"
        raise SettingError("chain", names, "is not in transformers' order, as parity needs", remedy)


def _checked_seed(seed: object) -> int | None:
    if seed is None:
        return None
    remedy = f"use a whole number from 0 to {MAX_SEED:,}, or None for a fresh one"
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise SettingError("seed", seed, "must be a whole number", remedy)
    if not 0 <= seed <= MAX_SEED:
        raise SettingError("seed", seed, "is out of range", remedy)
    return int(seed)


class StageResult:
    """What one stage of the chain did to the row.

    Attributes:
        stage: the stage.
        before, after: the tokens in the race before and after it.
    """

    def __init__(self, stage: Stage, before: Survivors, after: Survivors) -> None:
        self.stage = stage
        self.before = before
        self.after = after

    def __repr__(self) -> str:
        removed = f"mass_removed={self.mass_removed:.4g}"
        return f"StageResult({self.name}, survivors={self.survivors:,}, {removed})"

    @property
    def name(self) -> str:
        """The stage's setting, e.g. ``top_p``."""
        return self.stage.name

    @property
    def survivors(self) -> int:
        """How many tokens are left after this stage."""
        return self.after.count

    @cached_property
    def mass_removed(self) -> float:
        """Share of the probability that the tokens removed here held just before, 0 to 1."""
        before, after = self.before, self.after
        if after.count == before.count:
            return 0.0
        if after.row is before.row:
            return max(0.0, 1.0 - after.mass / before.mass)
        return float(_probs(before)[~self.kept].sum())

    @property
    def kept(self) -> np.ndarray:
        """(vocab,) bool, True for every token left after this stage."""
        return self.after.scores > -np.inf

    @property
    def probs(self) -> np.ndarray:
        """(vocab,) float64 distribution right after this stage, renormalised."""
        return _probs(self.after)

    @property
    def entropy_bits(self) -> float:
        """Shannon entropy in bits of the distribution right after this stage."""
        return _entropy_bits(self.after)


def _probs(survivors: Survivors) -> np.ndarray:
    row = survivors.row
    if survivors.is_cut:
        probs = np.zeros(row.scores.size)
        weights = survivors.weights
        probs[survivors.ids] = weights / weights.sum()
        return probs
    weights = np.exp(row.scores.astype(np.float64) - row.highest)
    return weights / weights.sum()


def _entropy_bits(survivors: Survivors) -> float:
    if not survivors.is_cut:
        return survivors.row.entropy_bits
    probs = survivors.weights / survivors.mass
    probs = probs[probs > 0]
    return max(0.0, float(-(probs * np.log2(probs)).sum()))


class Drawn(NamedTuple):
    """A drawn token: its id and its final probability."""

    token_id: int
    probability: float


class Candidate(NamedTuple):
    """One line of the candidates table.

    Attributes:
        rank: 1 for the highest score just before the first cut (by default, after penalties and
            temperature).
        token_id: the token.
        logit: raw logit, as the model gave it.
        prob: probability there.
        cumulative: sum of `prob` down to and including this rank.
        removed_by: name of the stage that removed it, None for a survivor.
        final_prob: probability in the draw, 0 for a removed token.
    """

    rank: int
    token_id: int
    logit: float
    prob: float
    cumulative: float
    removed_by: str | None
    final_prob: float


class Distribution:
    """What a chain made of one row of logits.

    Attributes:
        logits: (vocab,) float32 raw logits.
        stages: one `StageResult` per stage, in order.
    """

    def __init__(self, raw: RankedRow, stages: Sequence[StageResult]) -> None:
        self._raw = raw
        self.logits = raw.scores
        self.stages = tuple(stages)
        self._start = stages[0].before if stages else Survivors(raw)
        self._final = stages[-1].after if stages else self._start

    @property
    def raw(self) -> RankedRow:
        """The raw logits with their ranking, softmax and entropy (temperature 1, nothing cut)."""
        return self._raw

    @property
    def survivors(self) -> int:
        """How many tokens can still be drawn."""
        return self._final.count

    @property
    def final_scores(self) -> np.ndarray:
        """(vocab,) float32 scores at the end of the chain, removed tokens at -inf."""
        return self._final.scores

    @cached_property
    def probs(self) -> np.ndarray:
        """(vocab,) float64 final probabilities, 0 for removed tokens, sum 1."""
        return _probs(self._final)

    @property
    def tempered(self) -> Survivors:
        """The tokens after the temperature stage or, without one, just before the first cut."""
        shaped = self._start
        cut_seen = False
        for result in self.stages:
            if isinstance(result.stage, Temperature):
                return result.after
            cut_seen = cut_seen or isinstance(result.stage, CutStage)
            if not cut_seen:
                shaped = result.after
        return shaped

    @property
    def before_cuts(self) -> Survivors:
        """The tokens just before the first stage that cuts: the ranking `candidates` is in.

        Greedy is such a cut, so at temperature 0 these are the model's own odds after penalties.
        """
        for result in self.stages:
            cuts = isinstance(result.stage, CutStage) or (
                isinstance(result.stage, Temperature) and result.stage.is_greedy
            )
            if cuts:
                return result.before
        return self._final

    @property
    def entropy_bits(self) -> float:
        """Shannon entropy in bits after the temperature (0 when greedy): how torn the draw is."""
        return _entropy_bits(self.tempered)

    @property
    def final_entropy_bits(self) -> float:
        """Shannon entropy in bits of the distribution that is drawn from, after all cuts."""
        return _entropy_bits(self._final)

    def draw(self, u: float) -> Drawn:
        """The token at `u` on the cumulative distribution, in rank order from the most likely.

        Args:
            u: uniform number, 0 <= u < 1.
        """
        final = self._final
        place = final.rank_at(u)
        probability = float(final.row.weights[place]) / final.mass
        return Drawn(int(final.row.ids[place]), probability)

    def sample(self, u: float) -> int:
        """Id of the token that `u` draws."""
        return self.draw(u).token_id

    def probability(self, token_id: int) -> float:
        """Final probability of one token, 0 where it was removed."""
        final = self._final
        if final.is_cut:
            place = np.flatnonzero(final.ids == token_id)
            return float(final.weights[place[0]]) / final.mass if place.size else 0.0
        return math.exp(final.row.logprob(token_id))

    def removed_by(self, token_id: int) -> str | None:
        """Name of the stage that removed a token, None where it survived."""
        for result in self.stages:
            if result.before.scores[token_id] > -np.inf >= result.after.scores[token_id]:
                return result.name
        return None

    def candidates(self, count: int) -> list[Candidate]:
        """The `count` leading tokens in rank order, removed ones included in their place."""
        start = self.before_cuts
        row = start.row
        row.sort_to_depth(count)
        ids = row.ids[:count]
        removed: dict[int, str] = {}
        for result in self.stages:
            if result.survivors < result.before.count:
                out = ids[~(result.after.scores[ids] > -np.inf)]
                for token_id in out.tolist():
                    removed.setdefault(token_id, result.name)
        final_probs = self.probs[ids]
        probs = row.weights[:count] / start.mass
        cumulative = row.cumulative[:count] / start.mass
        return [
            Candidate(
                rank=place + 1,
                token_id=token_id,
                logit=float(self.logits[token_id]),
                prob=float(probs[place]),
                cumulative=float(cumulative[place]),
                removed_by=removed.get(token_id),
                final_prob=float(final_probs[place]),
            )
            for place, token_id in enumerate(ids.tolist())
        ]


def shape(
    logits: np.ndarray, settings: SamplingSettings, context: Context = NO_CONTEXT
) -> Distribution:
    """Run the chain of `settings` over one row of logits.

    Args:
        logits: (vocab,) float32; not modified.
        settings: the chain.
        context: the tokens so far, which penalties look at.

    Raises:
        LogitsError: NaN or +inf among the logits.
        NoCandidatesError: every token is at -inf.
    """
    raw = RankedRow(np.asarray(logits, np.float32))
    survivors = Survivors(raw)
    after_stage = _transformers_stages(raw, settings, context) if settings.parity else None
    results = []
    for stage in settings.chain:
        after = next(after_stage) if after_stage else stage.apply(survivors, context)
        results.append(StageResult(stage, survivors, after))
        survivors = after
    return Distribution(raw, results)


def _transformers_stages(raw: RankedRow, settings: SamplingSettings, context: Context):
    """Yield the survivors after each stage, as transformers' own processors leave them."""
    import torch  # only parity mode needs it here

    scores = torch.tensor(raw.scores)[None]  # (1, vocab)
    token_ids = torch.from_numpy(context.token_ids)[None]  # (1, positions)
    for stage in settings.chain:
        scores = stage.processor()(token_ids, scores)
        yield Survivors(RankedRow(scores[0].numpy()))


def draw(probs: np.ndarray, u: float) -> int:
    """Id of the token at `u` on the cumulative sum of `probs`, most likely first.

    Equal probabilities are ordered by id, lower first. This is the definition; `Distribution.draw`
    gives the same token without sorting the whole vocabulary.

    Args:
        probs: (vocab,) probabilities; their sum is taken as 1.
        u: uniform number, 0 <= u < 1.
    """
    order = np.lexsort((np.arange(probs.size), -probs))
    order = order[probs[order] > 0]
    cumulative = np.cumsum(probs[order], dtype=np.float64)
    place = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
    return int(order[min(place, order.size - 1)])
