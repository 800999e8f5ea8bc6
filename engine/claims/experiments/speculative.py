"""Speculative decoding is two to three times as fast: measured against plain decoding, in turns.

After each prompt, plain decoding and every draft length write a text with the same settings and
seed. They run one after the other, then once more in reverse order. Their processor time
excludes the first step or round, which reads the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any

from engine.claims import inputs
from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, checked_prompts, steady
from engine.claims.inputs import Choice, Real, Wholes
from engine.claims.uncertainty import ratio
from engine.claims.verdict import AT_LEAST, Check, noted
from engine.decoding.decoder import Decoder
from engine.decoding.speculative import ITSELF, LOOKUP, PROPOSERS, SpeculativeDecoder
from engine.errors import SettingError, msg
from engine.measure.pace import Pace
from engine.measure.reference import Reference
from engine.model import BUNDLED_DRAFT, LanguageModel
from engine.runner.turns import processor_clock
from engine.sampling import SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.study.acceptance import Acceptance
from engine.values import Amount, Positive, Row, Text, Whole

PROMPTS = """Once upon a time, there was a little
The old house stood
The most important thing is
In the middle of the forest
The history of
I would like to"""
TURNS = 2  # for every case after a prompt, the second in reverse order
WARM_TOKENS = 8


@dataclass(frozen=True)
class Sped:
    """Figures of one draft length after one prompt.

    Attributes:
        prompt: the prompt.
        length: number of tokens that a round should propose.
        accepted, looked_at: proposals that the target accepted, and those that it examined.
        tokens, rounds: tokens written, and the rounds for them, without the first round.
        cost: time of a round / time of a step of plain decoding.
    """

    prompt: Text
    length: Positive
    accepted: Whole
    looked_at: Whole
    tokens: Positive
    rounds: Positive
    cost: Amount

    @property
    def speedup(self) -> float:
        """Time per token of plain decoding / of speculative decoding."""
        return self.tokens / self.rounds / self.cost


@dataclass(frozen=True)
class Speedups:
    """Speed-ups after several prompts, by draft length.

    Attributes:
        trials: by prompt and draft length.
        bound: the speed-up that the claim promises.
        has_draft: whether a draft model proposed; otherwise prompt lookup did.
        reference_ms: time of the reference product before each turn.
    """

    trials: Row[Sped]
    bound: Amount
    has_draft: bool
    reference_ms: Row[Amount]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        for length in sorted({trial.length for trial in self.trials}):
            part = f"g = {length}"
            trials = [trial for trial in self.trials if trial.length == length]
            accepted = ratio([(one.accepted, one.looked_at) for one in trials])
            # Over all prompts together, so that a round's tokens over its cost are the speed-up.
            speedup = ratio([(one.tokens, one.rounds * one.cost) for one in trials])
            checks += [
                Check("speedup", speedup, AT_LEAST, self.bound, part),
                noted("accepted", accepted, part),
                noted("per_pass", ratio([(one.tokens, one.rounds) for one in trials]), part),
                noted("cost", ratio([(o.rounds * o.cost, o.rounds) for o in trials]), part),
            ]
        return (*checks, steady(self.reference_ms))


def speculative(
    model: LanguageModel,
    prompts: Sequence[str],
    proposer: str,
    lengths: Sequence[int],
    tokens: int,
    temperature: float,
    bound: float,
    load: Callable[[str], LanguageModel],
) -> Experiment[Speedups]:
    """Time plain and speculative decoding after each prompt.

    The first trial loads the draft; if its tokenizer differs, prompt lookup proposes instead.
    """
    sampling, clock = SamplingSettings(temperature=temperature), processor_clock(model)
    cases = [None, *(SpeculativeSettings(sampling, each).draft_length for each in lengths)]
    reference = Reference(model, clock)

    @cache
    def draft() -> LanguageModel | None:
        """Load the draft, None for prompt lookup, and run the slow first passes of all cases."""
        found = None if proposer == LOOKUP else model if proposer == ITSELF else load(proposer)
        if found is not None and not found.vocabulary.has_tokens_of(model.vocabulary):
            found = None
        for case in cases:
            timed(found, prompts[0], case, WARM_TOKENS)
        return found

    def look(prompt: str) -> list[tuple[list[float], list[Sped]]]:
        own, references = draft(), []
        times: dict[int | None, list[float]] = {case: [] for case in cases}
        steps: dict[int | None, list] = {case: [] for case in cases}
        for turn in range(TURNS):
            references.append(reference.ms())
            for case in cases[:: -1 if turn % 2 else 1]:
                for step, seconds in timed(own, prompt, case, tokens)[1:]:
                    steps[case].append(step)
                    times[case].append(seconds)
        if not all(steps.values()):
            remedy = msg("use another prompt")
            raise SettingError(
                msg("Prompt"), prompt, "leads to a text that ends within the first round", remedy
            )
        mean = {case: sum(each) / len(each) for case, each in times.items()}
        return [(references, [_sped(prompt, g, steps[g], mean[g] / mean[None]) for g in cases[1:]])]

    def timed(
        own: LanguageModel | None, prompt: str, length: int | None, most: int
    ) -> list[tuple[Any, float]]:
        """Return the steps of plain decoding, or the rounds of a draft length, with their times."""
        if length is None:
            steps = Decoder(model, prompt, sampling).run(most)
        else:
            settings = SpeculativeSettings(sampling, length, max_new_tokens=most)
            steps = SpeculativeDecoder(model, prompt, own, settings).run()
        found, start = [], clock()
        for step in steps:
            found.append((step, clock() - start))
            start = clock()
        return found

    def judged(found: tuple[tuple[list[float], list[Sped]], ...]) -> Speedups:
        references, trials = (tuple(chain.from_iterable(one)) for one in zip(*found, strict=True))
        return Speedups(trials, bound, draft() is not None, references)

    def seconds(pace: Pace) -> float:
        return pace.step_seconds(tokens) * TURNS * len(cases) * len(prompts)

    return Experiment(checked_prompts(model, prompts, tokens), look, judged, seconds, "prompt")


def _sped(prompt: str, length: int, rounds: Sequence, cost: float) -> Sped:
    counts = Acceptance.of(rounds)
    accepted, looked_at = sum(counts.accepted), sum(counts.looked_at)
    return Sped(prompt, length, accepted, looked_at, counts.tokens, counts.rounds, cost)


def _accepted(one: Sped) -> float | None:
    return one.accepted / one.looked_at if one.looked_at else None


NOTICE = msg("Prompt lookup proposed. A draft model must have the target’s tokenizer.")
CLAIM = Claim(
    "speculative",
    Speedups,
    (
        inputs.prompts(PROMPTS),
        Choice("proposer", msg("Proposer"), BUNDLED_DRAFT, names=PROPOSERS),
        Wholes("lengths", msg("Draft lengths"), "2, 4, 8", most=8),
        inputs.tokens(32, 8, 256),
        Real("temperature", msg("Temperature"), 0.0),
        Real("bound", msg("Speed-up that the claim promises"), 2.0, low=1.0, high=100.0, step=0.5),
    ),
    speculative,
    Table(
        msg("Trials"),
        lambda result: result.trials,
        {
            msg("prompt"): lambda one: one.prompt,
            msg("draft length"): lambda one: one.length,
            msg("acceptance rate"): _accepted,
            msg("tokens per round"): lambda one: one.tokens / one.rounds,
            msg("time of a round, plain steps"): lambda one: one.cost,
            msg("speed-up"): lambda one: one.speedup,
        },
        is_open=True,
    ),
    notice=lambda result: "" if result.has_draft else NOTICE,
    loads=True,
)
