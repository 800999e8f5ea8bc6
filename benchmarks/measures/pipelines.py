"""Cost of shaping and draw alone, against transformers' processors on the same row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from transformers import LogitsProcessorList

from benchmarks.measures.models import COMMON, FLAT_SPREAD, LOGIT_SPREAD, SETTINGS, Effort
from benchmarks.report import Goal, Report, at_least
from benchmarks.timing import Case, in_turns, ratio
from engine.sampling import Context, Dry, DynamicTemperature, Mirostat, SamplingSettings, Xtc, shape
from engine.trace import StageSummary

EVERY = SamplingSettings(
    logit_bias={5: 1.0, 900: -2.0},
    repetition_penalty=1.1,
    presence_penalty=0.2,
    frequency_penalty=0.2,
    dry=Dry(),
    no_repeat_ngram=3,
    banned=[[7], [1, 2, 3]],
    min_new_tokens=8,
    temperature=0.9,
    dynamic_temperature=DynamicTemperature(0.8, 1.2),
    top_h=0.95,
    top_k=50,
    top_p=0.95,
    min_p=0.01,
    typical_p=0.95,
    epsilon_cutoff=3e-4,
    eta_cutoff=3e-4,
    top_n_sigma=3.0,
    tail_free=0.98,
    xtc=Xtc(),
    mirostat=Mirostat(),
)
THEIRS = "every stage that transformers has"
SHARP_GAIN, FLAT_GAIN = at_least(10.0), at_least(4.0)  # for a large vocabulary
PIPELINES = {
    COMMON: SETTINGS[COMMON],
    "T 0.8, top-p 0.9": SamplingSettings(temperature=0.8, top_p=0.9),
    "T 1.5, min-p 0.05": SamplingSettings(temperature=1.5, min_p=0.05),
    "T 1, nothing cut": SamplingSettings(),
    THEIRS: SamplingSettings(chain=[stage for stage in EVERY.chain if stage.in_transformers]),
    "every stage": EVERY,
}
VOCABULARIES = (16_384, 49_152, 151_936)


def shape_and_record(row: np.ndarray, settings: SamplingSettings, context: Context, u: float):
    """Do the work of `Decoder.step` between forward pass and append, with all its figures."""
    distribution = shape(row, settings, context)
    stages = tuple(
        StageSummary(stage.name, stage.survivors, stage.mass_removed)
        for stage in distribution.stages
    )
    entropy = distribution.entropy_bits
    drawn = distribution.draw(u)
    raw = distribution.raw
    figures = (
        raw.rank(drawn.token_id),
        float(row[drawn.token_id]),
        raw.logprob(drawn.token_id),
        raw.entropy_bits,
    )
    return drawn, distribution.survivors, entropy, stages, figures


def measure_pipelines(report: Report, effort: Effort) -> None:
    """Measure our recorded shaping and draw against transformers' processors without a record."""
    report.section("shaping and draw")
    report.note(
        "transformers' processors, softmax and multinomial, recording nothing, in units of our "
        "stages and draw with every figure that a step records; caches are warm here"
    )
    turns = 1 if effort.quick else 8 * effort.rounds
    generator = np.random.default_rng(0)
    lines = []
    for vocab in VOCABULARIES:
        noise = generator.standard_normal(vocab).astype(np.float32)
        ids = generator.integers(0, vocab, 128)
        rows = {"sharp": noise * np.float32(LOGIT_SPREAD), "flat": noise * np.float32(FLAT_SPREAD)}
        for kind, row in rows.items():
            for name, settings in PIPELINES.items():
                title = f"V={vocab:,} {kind}, {name}"
                goal = None
                if vocab == VOCABULARIES[-1]:
                    goal = _goal(kind, name, settings)
                measured = _measure_pipeline(report, title, row, settings, ids, turns, goal)
                lines.append((title, *measured))
    report.table(("one row of logits, chain", "ours, ms", "transformers, ms", "ratio"), lines)


def _goal(kind: str, name: str, settings: SamplingSettings) -> Goal | None:
    """Return the goal for a chain, None if it has none.

    On sharp rows, a chain of two or more stages has one if transformers has every stage too. On
    flat rows, only `THEIRS` has one.
    """
    if kind == "flat":
        return FLAT_GAIN if name == THEIRS else None
    is_like_for_like = all(stage.in_transformers for stage in settings.chain)
    return SHARP_GAIN if len(settings.chain) > 1 and is_like_for_like else None


def _measure_pipeline(
    report: Report,
    title: str,
    row: np.ndarray,
    settings: SamplingSettings,
    ids: np.ndarray,
    turns: int,
    goal: Goal | None,
) -> tuple[float, float, float]:
    """Return our and their milliseconds, and the ratio of theirs to ours."""
    context = Context(ids, len(ids))
    # Of "every stage", theirs runs only those that transformers has.
    processors = LogitsProcessorList(
        stage.processor(context) for stage in settings.chain if stage.in_transformers
    )
    input_ids, scores = torch.from_numpy(ids)[None], torch.from_numpy(row)[None]
    generator = torch.Generator().manual_seed(0)
    uniform = np.random.default_rng(0)

    def theirs() -> int:
        probs = torch.softmax(processors(input_ids, scores), dim=-1)
        return int(torch.multinomial(probs, 1, generator=generator))

    def ours() -> int:
        return shape_and_record(row, settings, context, uniform.random())[0].token_id

    @contextmanager
    def plain() -> Iterator[None]:
        with torch.inference_mode():
            yield

    times = in_turns(
        {"theirs": Case(theirs, plain), "ours": Case(ours)}, turns, warm_up=min(turns, 2)
    )
    gain = ratio(times["theirs"], times["ours"])
    left = shape(row, settings, context).survivors
    report.add(
        title,
        gain.value,
        "x",
        goal=goal,
        detail=(
            f"{gain.words}; theirs {times['theirs'].ms:.3f}, ours {times['ours'].ms:.3f} ms; "
            f"{left:,} left, {times['ours'].page_faults:.0f} page faults"
        ),
        wall_ratio=gain.wall,
        cpu_ratio=gain.cpu,
        theirs=times["theirs"].to_dict(),
        ours=times["ours"].to_dict(),
        survivors=left,
    )
    # The clock that `gain` uses.
    clock = "cpu_ms" if gain.busy else "ms"
    return getattr(times["ours"], clock), getattr(times["theirs"], clock), gain.value
