"""The same settings give different texts; the same seed gives the same text."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from engine.claims import inputs
from engine.claims.claim import Claim, Table
from engine.claims.experiment import Experiment, checked_prompts, writing_seconds
from engine.claims.inputs import Numbers, Whole
from engine.claims.uncertainty import counted, share
from engine.claims.verdict import ABOVE, AT_LEAST, Check
from engine.decoding.batch import Batch, BatchText, Row
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.values import Amount, Text
from engine.values import Row as Values
from engine.values import Whole as Count

PROMPTS = """Once upon a time
The capital of France is
Yesterday I met a"""
HALF = 0.5


@dataclass(frozen=True)
class Runs:
    """Texts for one prompt at one temperature.

    Attributes:
        prompt: the prompt that the texts continue.
        temperature: temperature of the draws.
        unseeded: texts, each with a fresh seed.
        seed: seed of the other texts.
        seeded: texts with that seed, each written separately.
        tokens: total number of tokens.
    """

    prompt: Text
    temperature: Amount
    unseeded: Values[Text]
    seed: Count
    seeded: Values[Text]
    tokens: Count


@dataclass(frozen=True)
class SameSeed:
    """Texts for several prompts at several temperatures."""

    runs: Values[Runs]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        for temperature in sorted({run.temperature for run in self.runs}):
            part = msg("T = {t}", f"{temperature:g}")
            runs = [run for run in self.runs if run.temperature == temperature]
            # Every text except the first of its prompt.
            other = [text != run.unseeded[0] for run in runs for text in run.unseeded[1:]]
            same = [text == run.seeded[0] for run in runs for text in run.seeded[1:]]
            checks.append(Check("other", share(other), ABOVE, HALF, part))
            equal = counted(sum(same) / len(same), len(same))
            checks.append(Check("same", equal, AT_LEAST, 1.0, part))
        return tuple(checks)


def same_seed(
    model: LanguageModel,
    prompts: Sequence[str],
    temperatures: Sequence[float],
    runs: int,
    tokens: int,
    seed: int,
) -> Experiment[SameSeed]:
    """Continue each prompt several times with fresh seeds, and several times with `seed`."""
    checked_prompts(model, prompts, tokens)
    settings = [SamplingSettings(temperature=t, seed=seed) for t in temperatures]
    parts = [(prompt, one) for one in settings for prompt in prompts]

    def look(part: tuple[str, SamplingSettings]) -> list[Runs]:
        prompt, chosen = part
        fresh = [chosen.replace(seed=secrets.randbits(32)) for _ in range(runs)]
        unseeded = written(prompt, fresh)
        # A separate batch each: in one batch they would be a single computation.
        seeded = [text for _ in range(runs) for text in written(prompt, [chosen])]
        texts = [tuple(text.text for text in kind) for kind in (unseeded, seeded)]
        count = sum(len(text.records) for text in (*unseeded, *seeded))
        return [Runs(prompt, float(chosen.temperature), texts[0], chosen.seed, texts[1], count)]

    def written(prompt: str, chosen: Sequence[SamplingSettings]) -> list[BatchText]:
        batch = Batch(model, [Row(prompt, one, tokens) for one in chosen])
        for _ in batch.run():
            pass
        for text in batch.texts:
            if text.error is not None:
                raise text.error
        return list(batch.texts)

    def seconds(pace: Pace) -> float:
        alone = writing_seconds(pace, tokens) * runs
        return (alone + writing_seconds(pace, tokens, runs)) * len(parts)

    return Experiment(parts, look, SameSeed, seconds, "prompt")


def _texts(result: SameSeed) -> list[tuple[Runs, str, str]]:
    return [
        (run, kind, text)
        for run in result.runs
        for kind, texts in ((msg("fresh"), run.unseeded), (str(run.seed), run.seeded))
        for text in texts
    ]


CLAIM = Claim(
    "same_seed",
    SameSeed,
    (
        inputs.prompts(PROMPTS, height=100),
        Numbers("temperatures", msg("Temperatures"), "0, 0.8"),
        Whole("runs", msg("Texts per kind"), 4, low=2, high=32),
        inputs.tokens(20, 1, 512),
        Whole("seed", msg("The same seed"), 1),
    ),
    same_seed,
    Table(
        msg("Texts"),
        _texts,
        {
            msg("prompt"): lambda run, kind, text: run.prompt,
            msg("temperature"): lambda run, kind, text: run.temperature,
            msg("seed"): lambda run, kind, text: kind,
            msg("text"): lambda run, kind, text: text,
        },
        texts=1,
    ),
)
