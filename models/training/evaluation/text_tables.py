"""Tables of the target's texts: repetition, recitation, draft acceptance, samples."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from models.training.evaluation import acceptance, recitation
from models.training.evaluation.generation import (
    OTHER_PROMPTS,
    STORY_PROMPTS,
    Continuation,
    continuation,
    continuations,
)
from models.training.evaluation.loading import (
    Scorer,
    Target,
    documents,
    evenly,
    load_for_scoring,
    scorer,
)
from models.training.evaluation.markdown import code, heading, quotation, table
from models.training.evaluation.repetition import ends_in_loop, repeated_share
from models.training.own_texts import SEED
from models.training.own_texts.tales import tales

NUCLEUS = SamplingSettings(temperature=0.7, top_p=0.9)
SAMPLE_TOKENS = 100
SAMPLES = {  # prompt -> seeds: the first ones, so nothing is selected
    "Once upon a time": range(10),
    "The capital of France is": range(1),
    "Question: What is the opposite of hot?\nAnswer:": range(1),
}

CONTINUATION_TOKENS = 128
TEXTS = {  # settings and seeds with which all prompts are continued
    "greedy": (SamplingSettings(temperature=0.0), range(1)),
    "temperature 0.7, top-p 0.9": (NUCLEUS, range(2)),
    "temperature 0.7": (SamplingSettings(temperature=0.7), range(1)),
    "temperature 1": (SamplingSettings(), range(2)),
}
RECITED = ("temperature 0.7, top-p 0.9", "temperature 1")
UNREAD_SEED = SEED + 1  # of tales that training has not read
REPEATED = ("greedy", "temperature 0.7, top-p 0.9")
ACCEPTED = {0.0: "greedy", 0.7: "temperature 0.7", 1.0: "temperature 1"}

Texts = Mapping[str, Sequence[Continuation]]  # by the names of `TEXTS`


def write_texts(model: LanguageModel) -> dict[str, list[Continuation]]:
    """Continue every prompt in every way of `TEXTS`."""
    return {
        name: continuations(
            model, (*STORY_PROMPTS, *OTHER_PROMPTS), settings, seeds, CONTINUATION_TOKENS
        )
        for name, (settings, seeds) in TEXTS.items()
    }


def repetition_table(texts: Mapping[str, Sequence[Continuation]]) -> dict:
    """Report repeated 4-grams and loops."""
    report = {}
    for name in REPEATED:
        ids = [text.ids for text in texts[name]]
        report[name] = {
            "texts": len(ids),
            "tokens": sum(map(len, ids)),
            "repeated_4_grams": float(np.mean([repeated_share(row, 4) for row in ids])),
            "end_in_a_loop": sum(map(ends_in_loop, ids)),
            "ended": sum(text.ended for text in texts[name]),
        }
    print(heading(f"Repetition in texts of at most {CONTINUATION_TOKENS} tokens"))
    head = ("", "texts", "tokens", "repeated 4-grams", "end in a loop", "came to an end")
    print(table(head, [(name, *row.values()) for name, row in report.items()]))
    return report


def recitation_table(
    target: Target,
    texts: Mapping[str, Sequence[Continuation]],
    training: Mapping[str, np.ndarray],
    stories: np.ndarray | None,
) -> dict:
    """Report how much the model's texts share with training, next to other people's texts."""
    index = recitation.NGramIndex(list(training.values()))
    groups = {
        f"{kind}, {name}": [
            text.ids for text in texts[name] if (text.prompt in STORY_PROMPTS) == story
        ]
        for kind, story in (("stories", True), ("other texts", False))
        for name in RECITED
    }
    count = len(groups[f"stories, {RECITED[0]}"])
    if stories is not None:
        long = [row for row in documents(stories) if len(row) > CONTINUATION_TOKENS]
        groups["held-out stories"] = [
            tuple(row[1 : CONTINUATION_TOKENS + 1].tolist()) for row in evenly(long, count)
        ]
    groups["new tales from our plots"] = [
        tuple(target.encode(text)[:CONTINUATION_TOKENS]) for text in tales(count, UNREAD_SEED)
    ]
    report = {name: recitation.recitation(index, ids) for name, ids in groups.items()}
    n, total = recitation.N, sum(map(len, training.values()))
    print(heading(f"{n}-grams of tokens that stand in the {total:,} training tokens"))
    head = ("", "texts", f"{n}-grams", "in training, %", "longest run, tokens")
    rows = [
        (name, len(groups[name]), found.grams, 100 * found.share, found.longest)
        for name, found in report.items()
    ]
    print(table(head, rows, digits=1))
    print(
        "\nHeld-out stories show the base rate: common phrases, and passages that two books share. "
        "New tales show it for our plots, which say the same sentences of other people."
    )
    plain = {}
    for name, found in report.items():
        run = "".join(map(target.label, found.longest_run))
        print(f"\nLongest run, {name}: {code(run)}")
        plain[name] = {**asdict(found), "share": found.share, "longest_run": run}
    return plain


def acceptance_table(
    folder: Path, target: Scorer, texts: Mapping[str, Sequence[Continuation]]
) -> dict:
    """Report how often the target accepts the draft's proposals, at several temperatures."""
    draft = scorer(load_for_scoring(folder))
    report = {}
    for temperature, name in ACCEPTED.items():
        probabilities, shares = [], []
        for text in texts[name]:
            if not text.ids:
                continue
            ids = [*text.prompt_ids, *text.ids][:-1]
            first = len(text.prompt_ids) - 1
            rows = draft(ids)[first:], target(ids)[first:]
            probabilities.append(acceptance.acceptance_probability(*rows, temperature))
            shares.append(acceptance.accepted_share(*rows, text.ids, temperature))
        passes = acceptance.walk(shares)
        report[str(temperature)] = {
            "positions": sum(map(len, probabilities)),
            "acceptance": float(np.concatenate(probabilities).mean()),
            "tokens_per_pass": passes.tokens_per_pass,
            "reached": passes.reached,
        }
    print(heading("Draft and target: probability that a proposed token is accepted"))
    proposals = acceptance.PROPOSALS
    head = (
        "temperature",
        "positions",
        "acceptance",
        *(f"first {n} of {proposals} accepted" for n in range(1, proposals + 1)),
        "tokens per target pass",
    )
    rows = [
        (key, row["positions"], row["acceptance"], *row["reached"], row["tokens_per_pass"])
        for key, row in report.items()
    ]
    print(table(head, rows))
    print(
        "\nMeasured on texts that the target wrote at that temperature (arXiv:2211.17192). Passes "
        "are walked through text by text, so acceptances need not be independent."
    )
    return report


def samples(model: LanguageModel) -> list[dict]:
    """Show texts as in the app: its engine, its dtype, no end-of-text token before them."""
    settings = f"temperature {NUCLEUS.temperature}, top-p {NUCLEUS.top_p}"
    print(heading(f"Samples: {settings}, at most {SAMPLE_TOKENS} tokens, first seeds"))
    print("Written by the app's own engine (`engine.decoder.Decoder`), as the app shows them.")
    report = []
    for prompt, seeds in SAMPLES.items():
        for seed in seeds:
            text = continuation(model, prompt, NUCLEUS.replace(seed=seed), SAMPLE_TOKENS)
            print(f"\nSeed {seed}:\n\n{quotation(prompt, text.text)}")
            report.append({"prompt": prompt, "seed": seed, "text": text.text})
    return report
