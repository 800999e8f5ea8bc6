"""Speed-up of speculative decoding, measured against plain decoding.

    >>> trial = SpeedTrial(model, "Once upon a time", draft, settings)
    >>> for done, total in trial: ...
    >>> trial.result().at(4).waterfall.measured

Plain decoding and every draft length take turns within one run, on the same prompt, settings and
seeds. So other load on the machine affects them all alike. Times are wall time without the prefill.
If a case had three turns or more, its slowest is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from engine.checks import at_least_one
from engine.decoding.decoder import Decoder
from engine.decoding.speculative import SpeculativeDecoder
from engine.errors import SettingError, msg
from engine.model import LanguageModel
from engine.sampling.speculation import SpeculativeSettings
from engine.study.acceptance import Acceptance, expected_speedup, expected_tokens
from engine.trace import Step
from engine.trace.speculative import SpeculativeStep

LENGTHS = tuple(range(1, 9))
LEAST_TOKENS = 2  # the first comes from the prefill


@dataclass(frozen=True)
class PlainCost:
    """Total wall time of plain decoding, in milliseconds.

    Attributes:
        tokens: number of tokens, except those that came from a prefill.
        pass_ms: one-token passes of the target.
        shape_ms: the chain and the draw.
        other_ms: the rest.
    """

    tokens: int
    pass_ms: float
    shape_ms: float
    other_ms: float

    @classmethod
    def of(cls, steps: Sequence[Step]) -> PlainCost:
        """Sum the cost of a text's steps, without the prefill."""
        steps = [step for step in steps if not step.is_prefill]
        passes = sum(step.forward_ms for step in steps)
        shape = sum(step.shape_ms + step.draw_ms for step in steps)
        return cls(len(steps), passes, shape, sum(s.total_ms for s in steps) - passes - shape)

    @property
    def ms_per_token(self) -> float:
        """Total time per token."""
        return (self.pass_ms + self.shape_ms + self.other_ms) / self.tokens


@dataclass(frozen=True)
class RoundCost:
    """Total wall time of several rounds, in milliseconds.

    Attributes:
        tokens, rounds: tokens that the rounds appended, and number of rounds.
        proposals: tokens proposed.
        draft_ms: passes of the draft, or searches for a match.
        target_ms: verification passes of the target.
        shape_ms: chains, draws and verdicts, of both models.
        other_ms: the rest, without any prefill.
    """

    tokens: int
    rounds: int
    proposals: int
    draft_ms: float
    target_ms: float
    shape_ms: float
    other_ms: float

    @classmethod
    def of(cls, steps: Iterable[SpeculativeStep]) -> RoundCost:
        """Sum the cost of several rounds."""
        steps = list(steps)
        return cls(
            tokens=sum(len(step.token_ids) for step in steps),
            rounds=len(steps),
            proposals=sum(len(step.proposed) for step in steps),
            draft_ms=sum(step.draft_ms for step in steps),
            target_ms=sum(step.target_ms for step in steps),
            shape_ms=sum(step.shape_ms for step in steps),
            other_ms=sum(step.other_ms for step in steps),
        )

    @property
    def total_ms(self) -> float:
        """Total time."""
        return self.draft_ms + self.target_ms + self.shape_ms + self.other_ms

    @property
    def ms_per_token(self) -> float:
        """Total time per token."""
        return self.total_ms / self.tokens


@dataclass(frozen=True)
class Loss:
    """One step of a waterfall: the change in speed-up that one cause makes.

    Attributes:
        name: a key of `LOSSES`.
        before, after: the speed-up without and with it. It is a gain if `after` is higher.
    """

    name: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """Change in the speed-up; negative for a loss."""
        return self.after - self.before


LOSSES = {
    "drafting": "the draft's own passes",
    "verification": "a pass over g + 1 tokens is dearer than one over a single token",
    "acceptance": "acceptance is not the same at every position, and limits cut rounds short",
    "shaping": "chains, draws and verdicts for both models",
    "bookkeeping": "caches, records and stop rules",
}


@dataclass(frozen=True)
class Waterfall:
    """Waterfall from tokens per round to the measured speed-up; the losses add up exactly.

    Attributes:
        tokens: expected tokens of a round: the speed-up if drafting and verifying were free.
        paper: the paper's formula, E / (g c + 1).
        formula: with the measured cost of verification, E / (g c + v).
        measured: plain decoding's time per token / that of speculative decoding.
        losses: in order, from `tokens` down to `measured`.
        draft_cost, verify_cost: c and v.
    """

    tokens: float
    paper: float
    formula: float
    measured: float
    losses: tuple[Loss, ...]
    draft_cost: float
    verify_cost: float

    @classmethod
    def of(cls, rate: float, length: float, plain: PlainCost, rounds: RoundCost) -> Waterfall:
        """Build the levels, each replacing one assumption of the formula with a measurement.

        Args:
            rate: acceptance rate.
            length: tokens that a round should propose; the mean if that varies.
            plain, rounds: measured in turns.
        """
        one_pass = plain.pass_ms / plain.tokens
        draft_cost = rounds.draft_ms / max(1, rounds.proposals) / one_pass
        verify_cost = rounds.target_ms / rounds.rounds / one_pass
        per_round = rounds.tokens / rounds.rounds
        models = (rounds.draft_ms + rounds.target_ms) / rounds.rounds
        shaped = models + rounds.shape_ms / rounds.rounds
        levels = (
            expected_tokens(rate, length),
            expected_speedup(rate, length, draft_cost),
            expected_speedup(rate, length, draft_cost, verify_cost),
            per_round * one_pass / models,
            per_round * (one_pass + plain.shape_ms / plain.tokens) / shaped,
            plain.ms_per_token / rounds.ms_per_token,
        )
        names = zip(LOSSES, levels[:-1], levels[1:], strict=True)
        losses = tuple(Loss(name, before, after) for name, before, after in names)
        return cls(*levels[:3], levels[-1], losses, draft_cost, verify_cost)

    @property
    def largest(self) -> Loss:
        """The step that lowers the speed-up most."""
        return min(self.losses, key=lambda loss: loss.change)


@dataclass(frozen=True)
class SpeedPoint:
    """Figures of one draft length.

    Attributes:
        length: tokens that a round should propose, g.
        acceptance: counts over the turns kept.
        cost: time of those turns.
        waterfall: from the formula down to the measured speed-up.
        predicted: E / (g c + v) with the acceptance rate of all lengths together, and the costs of
            draft and verification at this one.
        by_turn: the measured speed-up of each turn, to show how much they vary.
    """

    length: int
    acceptance: Acceptance
    cost: RoundCost
    waterfall: Waterfall
    predicted: float
    by_turn: tuple[float, ...]

    @property
    def measured(self) -> float:
        """The measured speed-up; below 1 means slower than plain decoding."""
        return self.waterfall.measured


@dataclass(frozen=True)
class SpeedCurve:
    """Speed-up by draft length.

    Attributes:
        plain: cost of plain decoding.
        points: by draft length, ascending.
        rate: acceptance rate over all lengths.
        text_invalid: whether acceptance was forced.
    """

    plain: PlainCost
    points: tuple[SpeedPoint, ...]
    rate: float
    text_invalid: bool

    def at(self, length: int) -> SpeedPoint:
        """Return the measured point nearest to a draft length."""
        return min(self.points, key=lambda point: abs(point.length - length))

    @property
    def best(self) -> SpeedPoint:
        """The point with the largest measured speed-up."""
        return max(self.points, key=lambda point: point.measured)


class SpeedTrial:
    """Plain decoding and several draft lengths in turns; iterate to run them.

    Args:
        model: the target.
        prompt: text, or token ids.
        draft: the draft model, None for prompt lookup.
        settings: for both; the trial sets `draft_length`, `adaptive` and `max_new_tokens` itself.
        lengths: draft lengths.
        tokens: maximum number of tokens per text.
        turns: how often each case runs; the seed is one higher each time.

    Attributes:
        done: number of texts generated. Iterating again continues from here.

    Raises:
        SettingError: a setting out of range, or a draft that does not fit.
        PromptError: a prompt that does not fit.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompt: str | Sequence[int],
        draft: LanguageModel | None,
        settings: SpeculativeSettings,
        *,
        lengths: Sequence[int] = LENGTHS,
        tokens: int = 48,
        turns: int = 3,
    ) -> None:
        if at_least_one("tokens", tokens) < LEAST_TOKENS:
            problem = msg("must be at least 2, as the first comes from the prefill")
            raise SettingError("tokens", tokens, problem, "use 2 or more")
        self._settings = settings.replace(adaptive=False, max_new_tokens=int(tokens))
        self._tokens = int(tokens)
        self._turns = at_least_one("turns", turns)
        self._lengths = tuple(self._settings.replace(draft_length=g).draft_length for g in lengths)
        if not self._lengths:
            raise SettingError("lengths", lengths, "names no draft length", "name at least one")
        self._text = SpeculativeDecoder(model, prompt, draft, self._settings)
        self._model = model
        self.done = 0
        self._cases = [(0, self._lengths[-1]), *_in_turns(self._turns, [None, *self._lengths])]
        self._plain: list[list[Step]] = []
        self._rounds: dict[int, list[list[SpeculativeStep]]] = {g: [] for g in self._lengths}

    @property
    def total(self) -> int:
        """Number of texts to generate; the first is a warm-up and does not count."""
        return len(self._cases)

    @property
    def is_done(self) -> bool:
        """True once all texts have been generated."""
        return self.done == self.total

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Generate the remaining texts; yields how many are done, and the total."""
        while not self.is_done:
            turn, length = self._cases[self.done]
            if length is None:
                steps, kept = self._decode(turn), self._plain
            else:
                steps, kept = self._speculate(length, turn), self._rounds[length]
            if self.done:
                kept.append(steps)
            self.done += 1
            yield self.done, self.total

    def _of_turn(self, turn: int) -> SpeculativeSettings:
        sampling = self._text.settings.sampling
        return self._settings.replace(sampling=sampling.replace(seed=sampling.seed + turn))

    def _decode(self, turn: int) -> list[Step]:
        text = self._text
        plain = Decoder(text.model, text.prompt_ids, self._of_turn(turn).sampling)
        return list(plain.run(self._tokens))

    def _speculate(self, length: int, turn: int) -> list[SpeculativeStep]:
        text = self._text
        settings = self._of_turn(turn).replace(draft_length=length)
        rounds = SpeculativeDecoder(text.model, text.prompt_ids, text.draft, settings)
        return list(rounds.run())

    def result(self) -> SpeedCurve:
        """Return the figures, once all texts are generated.

        Raises:
            SettingError: a text ended with its first token, so there is nothing to measure.
        """
        plain = _but_the_slowest([(PlainCost.of(steps), steps) for steps in self._plain if steps])
        plain = [(cost, steps) for cost, steps in plain if cost.tokens]
        if not plain:
            remedy = msg("use another prompt or seed")
            raise SettingError(
                "prompt", msg("this one"), "leads to a text of only one token", remedy
            )
        base = _sum(PlainCost, [cost for cost, _ in plain])
        kept = {
            length: _but_the_slowest([(RoundCost.of(steps), steps) for steps in texts])
            for length, texts in self._rounds.items()
        }
        every = [step for texts in kept.values() for _, steps in texts for step in steps]
        rate = Acceptance.of(every).rate or 0.0
        points = []
        for length, texts in sorted(kept.items()):
            acceptance = Acceptance.of(step for _, steps in texts for step in steps)
            cost = _sum(RoundCost, [cost for cost, _ in texts])
            waterfall = Waterfall.of(acceptance.rate or 0.0, length, base, cost)
            costs = waterfall.draft_cost, waterfall.verify_cost
            predicted = expected_speedup(rate, length, *costs)
            by_turn = self._by_turn(length)
            points.append(SpeedPoint(length, acceptance, cost, waterfall, predicted, by_turn))
        return SpeedCurve(base, tuple(points), rate, self._settings.text_invalid)

    def _by_turn(self, length: int) -> tuple[float, ...]:
        """Return the speed-up of each turn that has one, including the slowest turn."""
        pairs = zip(self._plain, self._rounds[length], strict=True)
        costs = [(PlainCost.of(plain), RoundCost.of(rounds)) for plain, rounds in pairs]
        return tuple(
            plain.ms_per_token / cost.ms_per_token for plain, cost in costs if plain.tokens
        )


def _in_turns(turns: int, cases: list) -> Iterator[tuple[int, int | None]]:
    """Yield pairs of turn and case: each case once a turn, in an order that rotates by turn."""
    for turn in range(turns):
        shift = turn % len(cases)
        yield from ((turn, case) for case in cases[shift:] + cases[:shift])


def _but_the_slowest(texts: list[tuple]) -> list[tuple]:
    """Return the texts without the slowest per token; all of them if there are fewer than three."""
    if len(texts) < 3:
        return texts
    slowest = max(texts, key=lambda text: text[0].ms_per_token if text[0].tokens else 0.0)
    return [text for text in texts if text is not slowest]


def _sum(kind: type, costs: Sequence) -> object:
    return kind(*(sum(getattr(cost, item.name) for cost in costs) for item in fields(kind)))
