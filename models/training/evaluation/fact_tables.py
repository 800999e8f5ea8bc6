"""Tables of the target's knowledge: facts, their wordings, and the model's certainty."""

from collections.abc import Collection, Mapping
from dataclasses import asdict

import numpy as np

from models.training.evaluation import recall
from models.training.evaluation.facts import CAPITALS, CAPITALS_OTHERWISE, FACTS, OPEN, Answers
from models.training.evaluation.loading import Target
from models.training.evaluation.markdown import code, heading, table
from models.training.evaluation.verbatim import occurrences, token_pieces
from models.training.tokenizer import END_OF_TEXT


def _questions() -> dict[str, Answers]:
    """Return all lists of questions by name."""
    return {"capitals": CAPITALS, "capitals, other wording": CAPITALS_OTHERWISE, **FACTS}


def facts_table(target: Target) -> dict:
    """Report the known facts, with and without a leading end-of-text token."""
    report = {
        name: {
            key: recall.recall(target.score, target.encode, questions, end_of_text=end_of_text)
            for key, end_of_text in (("with", True), ("without", False))
        }
        for name, questions in _questions().items()
    }
    print(heading(f"Facts, with a leading {code(END_OF_TEXT)} and without"))
    counts = ("first", "first_five", "spelled")
    words = ("first token", "in five", "whole answer")
    head = ("facts", "asked", *(f"{key}: {word}" for key in ("with", "without") for word in words))
    rows = [
        (name, known["with"].asked, *(getattr(known[key], c) for key in known for c in counts))
        for name, known in report.items()
    ]
    others = [row[1:] for row in rows if row[0] in FACTS]
    rows.append(("all but capitals", *map(int, np.sum(others, axis=0))))
    print(table(head, rows))
    print(
        "\nCounts of prompts: the answer's first token is the most probable one, is among the "
        "first five, and every token of the answer comes first in its turn."
    )

    top = {}
    print(heading("The most probable tokens after `The capital of France is`"))
    for key, end_of_text in (("with", True), ("without", False)):
        ids = recall.prompt_tokens(target.encode, "The capital of France is", end_of_text)
        top[key] = [
            (target.label(token_id), p) for token_id, p in recall.most_probable(target.score, ids)
        ]
    shown = [
        (f"{key} {code(END_OF_TEXT)}", *(f"{code(label)} {p:.3f}" for label, p in row))
        for key, row in top.items()
    ]
    print(table(("", "1", "2", "3", "4", "5"), shown))

    plain: dict = {"most_probable": top, "recall": {}}
    for name, known in report.items():
        plain["recall"][name] = {key: asdict(row) for key, row in known.items()}
        for row in plain["recall"][name].values():
            row["missed"] = {prompt: target.label(i) for prompt, i in row["missed"].items()}
    return plain


def verbatim_table(target: Target, training: Mapping[str, np.ndarray]) -> dict:
    """Report the prompts that occur word for word in the training texts."""
    lists = {"capitals": list(CAPITALS), "capitals, other wording": list(CAPITALS_OTHERWISE)}
    lists["other facts"] = [prompt for prompts in FACTS.values() for prompt in prompts]
    prompts = [prompt for names in lists.values() for prompt in names]
    counts = occurrences(prompts, training, token_pieces(target.model.vocabulary))
    print(heading("Prompts that stand word for word in a training file"))
    report = {}
    rows = []
    for name, names in lists.items():
        here = {prompt: counts[prompt] for prompt in names if counts[prompt]}
        report[name] = here
        rows.append((name, len(names), len(here), float(np.mean([counts[p] for p in names]))))
    print(table(("prompts", "number", "in training", "times each, mean"), rows, digits=1))
    found = [prompt for name in list(lists)[1:] for prompt in report[name]]
    if found:
        print(f"\nWorded as in training, so they prove less: {', '.join(map(code, found))}.")
    return report


def entropy_table(target: Target, missed: Collection[str]) -> dict:
    """Report the entropy of the next token, at facts and at open points.

    Args:
        missed: prompts whose answer is not the most probable token; an unknown fact is an open
            point to the model.
    """
    facts = [prompt for prompts in FACTS.values() for prompt in prompts]
    lists = {
        "capitals": list(CAPITALS),
        "other facts, answered": [prompt for prompt in facts if prompt not in missed],
        "other facts, missed": [prompt for prompt in facts if prompt in missed],
        "open points": list(OPEN),
    }
    lists = {name: prompts for name, prompts in lists.items() if prompts}
    report = {
        name: recall.entropies(target.score, map(target.encode, prompts))
        for name, prompts in lists.items()
    }
    print(heading("Entropy of the next token, bits at temperature 1"))
    head = ("after", "prompts", "mean", "median", "lowest", "highest")
    rows = [
        (name, len(e.bits), e.mean, float(np.median(e.bits)), e.lowest, e.highest)
        for name, e in report.items()
    ]
    print(table(head, rows, digits=2))
    return {
        name: {"prompts": dict(zip(lists[name], e.bits, strict=True)), "mean": e.mean}
        for name, e in report.items()
    }
