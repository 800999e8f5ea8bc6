"""Tables of the diffusion model's texts with few and with many steps."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.decoder import Decoder
from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.model import DiffusionModel, continuation, load_diffusion_model
from engine.model.diffusion_model import MASK_SIGN
from engine.sampling import SamplingSettings
from models.training.evaluation import diffusion
from models.training.evaluation.loading import Target
from models.training.evaluation.markdown import code, counted, heading, table

SAMPLE_PROMPT, SAMPLE_STEPS, SAMPLE_SEEDS = "Once upon a time, there was a", (1, 8, 32), range(2)


def diffusion_table(folder: Path, target: Target, stories: np.ndarray) -> dict:
    """Report gaps and passages against steps, next to the target and the stories themselves."""
    model = load_diffusion_model(folder, device="cpu")
    gaps = diffusion.held_out_gaps(stories)
    passages = diffusion.held_out_passages(stories)
    by_steps = diffusion.quality_by_steps(model, target.score, gaps, passages)
    rows: dict = {counted(steps, "step"): quality for steps, quality in by_steps.items()}
    rows["target, left to right"] = _left_to_right(target, gaps, passages)
    hidden = [passage.hidden for passage in passages]
    rows["the stories themselves"] = diffusion.Quality(
        None,
        diffusion.bits_per_token(target.score, passages, hidden),
        diffusion.repeated_pairs(hidden),
    )
    filled = f"{len(gaps)} gaps of {diffusion.GAP} tokens at temperature 0"
    written = f"{len(passages)} passages of {diffusion.PASSAGE} tokens"
    print(heading(f"Diffusion: {filled}, {written} at {diffusion.PASSAGE_TEMPERATURE}"))
    head = (
        "",
        "gap tokens recovered, %",
        "bits per token of passages, under the target",
        "repeated 2-grams of passages",
    )
    shown = [
        (
            name,
            None if quality.recovered is None else 100 * quality.recovered,
            quality.bits_per_token,
            quality.repeated_pairs,
        )
        for name, quality in rows.items()
    ]
    print(table(head, shown, digits=2))
    print(
        "\nGaps are in the middle of held-out story beginnings; the target fills them without "
        "seeing what follows. Passages go on from their first tokens. Few bits per token mean "
        "fluent or dull: repetition is easy to predict."
    )
    return {"quality": rows, "samples": _samples(model, gaps[:2])}


def _left_to_right(
    target: Target, gaps: Sequence[diffusion.Gap], passages: Sequence[diffusion.Gap]
) -> diffusion.Quality:
    """Compute the same for the target, which does not see the text after a gap."""

    def write(gap: diffusion.Gap, settings: SamplingSettings) -> list[int]:
        decoder = Decoder(target.model, gap.ids[: gap.start], settings)
        return [decoder.step().token_id for _ in gap.hidden]

    greedy = SamplingSettings(temperature=0.0)
    drawn = SamplingSettings(temperature=diffusion.PASSAGE_TEMPERATURE)
    texts = [write(gap, drawn.replace(seed=seed)) for seed, gap in enumerate(passages)]
    return diffusion.Quality(
        diffusion.recovered(gaps, [write(gap, greedy) for gap in gaps]),
        diffusion.bits_per_token(target.score, passages, texts),
        diffusion.repeated_pairs(texts),
    )


def _samples(model: DiffusionModel, gaps: Sequence[diffusion.Gap]) -> list[dict]:
    """Report the first gaps, filled at once and token by token, and passages after a prompt."""
    report = []
    rows = []
    for number, gap in enumerate(gaps, 1):
        around = [model.text(ids) for ids in (gap.ids[: gap.start], gap.ids[gap.end :])]
        print(f"\nGap {number}: {code(around[0] + MASK_SIGN * diffusion.GAP + around[1])}")
        rows.append((f"gap {number}", "hidden", code(model.text(gap.hidden))))
        for steps in (1, diffusion.GAP):
            filling = diffusion.fill(model, gap, steps=steps, temperature=0.0, seed=0)
            rows.append((f"gap {number}", counted(steps, "step"), code(model.text(filling))))
            report.append({"gap": number, "steps": steps, "text": model.text(filling)})
    canvas = continuation(model, SAMPLE_PROMPT, diffusion.PASSAGE)
    for seed in SAMPLE_SEEDS:
        for steps in SAMPLE_STEPS:
            settings = DiffusionSettings(
                steps=steps, temperature=diffusion.PASSAGE_TEMPERATURE, seed=seed
            )
            decoder = DiffusionDecoder(model, canvas, settings)
            for _ in decoder.run():
                pass
            rows.append((f"passage, seed {seed}", counted(steps, "step"), code(decoder.text)))
            report.append({"seed": seed, "steps": steps, "text": decoder.text})
    print()
    print(table(("", "", "text"), rows))
    return report
