"""Measures an exported folder as its users load it: bits per byte, facts, samples.

Weights are the bfloat16 ones of the folder; arithmetic is float32, so that ranks do not hang on
rounding.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from models.training.corpus import HELD_OUT
from models.training.facts import CAPITALS, FACTS
from models.training.tokenizer import END_OF_TEXT_ID, token_bytes

HELD_OUT_DOCUMENTS = 40  # of each validation shard, evenly spread
LATE = 256  # positions from here on are met only in the long windows of training

TEMPERATURE, TOP_P, SAMPLE_TOKENS = 0.7, 0.9, 100
SAMPLES = {  # prompt -> seeds: the first ones, so nothing is picked
    "Once upon a time": (0, 1, 2),
    "The capital of France is": (0,),
    "The sun is": (0,),
    "Question: What is the opposite of hot?\nAnswer:": (0,),
    "Here is a list of five fruits:\n\n": (0,),
}


@dataclass(frozen=True)
class Recall:
    """How many facts of a list are known; all numbers are counts.

    Attributes:
        asked: length of the list.
        first: the answer's first token is the most probable one.
        first_five: it is among the five most probable ones.
        spelled: every token of the answer is the most probable one after those before it.
        missed: prompts whose answer does not come first, with the token that does.
    """

    asked: int
    first: int
    first_five: int
    spelled: int
    missed: dict[str, str]


@dataclass(frozen=True)
class LoadedModel:
    """An exported folder in memory."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast

    @classmethod
    def from_folder(cls, folder: Path) -> "LoadedModel":
        model = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32
        )
        return cls(model.eval(), AutoTokenizer.from_pretrained(folder, local_files_only=True))

    def encode(self, text: str, end_of_text: bool) -> Tensor:
        """Ids (1, tokens), with or without a leading end-of-text token."""
        ids = self.tokenizer(text).input_ids
        return torch.tensor([[END_OF_TEXT_ID, *ids] if end_of_text else ids])


@torch.inference_mode()
def evaluate(folder: Path, tokens: Mapping[str, np.ndarray]) -> dict:
    """Print the report on the model in `folder` and return it.

    Args:
        tokens: token files by shard name; those named `valid_*` are used.
    """
    loaded = LoadedModel.from_folder(folder)
    report: dict = {"held_out_bits_per_byte": held_out_bits(loaded, tokens)}
    print(f"\n{'held out':<24}{'early':>8}{'late':>8}{'all':>8}   bits per byte")
    for shard, bits in report["held_out_bits_per_byte"].items():
        print(f"{shard:<24}{bits['early']:8.3f}{bits['late']:8.3f}{bits['all']:8.3f}")

    lists = {
        "capitals": {f"The capital of {land} is": city for land, city in CAPITALS.items()},
        "facts": FACTS,
    }
    report["recall"] = {}
    print(f"\n{'known':<36}{'asked':>6}{'first':>7}{'in five':>9}{'spelled':>9}")
    for end_of_text in (True, False):
        for name, questions in lists.items():
            label = f"{name}, {'with' if end_of_text else 'without'} end-of-text"
            known = recall(loaded, questions, end_of_text)
            report["recall"][label] = asdict(known)
            print(f"{label:<36}{known.asked:6}{known.first:7}{known.first_five:9}{known.spelled:9}")

    report["france"] = {}
    print()
    for end_of_text in (True, False):
        label = "with end-of-text" if end_of_text else "without end-of-text"
        top = most_probable(loaded, "The capital of France is", end_of_text)
        report["france"][label] = top
        print(f"The capital of France is ... {label}:", *(f"{t!r} {p:.3f}" for t, p in top))

    report["samples"] = []
    for prompt, seeds in SAMPLES.items():
        for seed in seeds:
            text = sample(loaded, prompt, seed)
            report["samples"].append({"prompt": prompt, "seed": seed, "text": text})
            print(f"\n--- {prompt!r}, seed {seed}\n{text}")
    return report


def held_out_bits(
    loaded: LoadedModel, tokens: Mapping[str, np.ndarray]
) -> dict[str, dict[str, float]]:
    """Bits per byte of every validation shard: at early and late positions, and at all.

    Each document is read from its end-of-text token up to the longest context of the model.
    """
    sizes = token_bytes(loaded.tokenizer)
    longest = loaded.model.config.max_position_embeddings
    table = {}
    for shard, row in tokens.items():
        if not shard.startswith(HELD_OUT):
            continue
        starts = np.flatnonzero(row == END_OF_TEXT_ID)
        ends = np.append(starts[1:], len(row))
        nats, counts = np.zeros(longest), np.zeros(longest)
        chosen = np.linspace(0, len(starts) - 1, HELD_OUT_DOCUMENTS).astype(int)
        for start, end in zip(starts[chosen], ends[chosen], strict=True):
            ids = torch.from_numpy(row[start : min(end, start + longest + 1)].astype(np.int64))
            logits = loaded.model(ids[None, :-1]).logits[0]
            losses = torch.nn.functional.cross_entropy(logits, ids[1:], reduction="none")
            nats[: len(losses)] += losses.numpy()
            counts[: len(losses)] += sizes[ids[1:].numpy()]
        parts = {"early": slice(LATE), "late": slice(LATE, None), "all": slice(None)}
        table[shard.removeprefix(HELD_OUT)] = {
            part: round(float(nats[where].sum() / math.log(2) / counts[where].sum()), 4)
            for part, where in parts.items()
        }
    return table


def recall(loaded: LoadedModel, questions: Mapping[str, str], end_of_text: bool) -> Recall:
    """Ask for every answer, given as the words after a space."""
    first = first_five = spelled = 0
    missed = {}
    for prompt, answer in questions.items():
        ids = loaded.encode(prompt, end_of_text)
        answer_ids = torch.tensor(loaded.tokenizer(" " + answer).input_ids)
        logits = loaded.model(torch.cat([ids, answer_ids[None]], dim=1)).logits[0]
        logits = logits[ids.shape[1] - 1 : -1]  # one row for each token of the answer
        ranking = logits[0].topk(5).indices
        first += bool(ranking[0] == answer_ids[0])
        first_five += bool((ranking == answer_ids[0]).any())
        spelled += bool((logits.argmax(-1) == answer_ids).all())
        if ranking[0] != answer_ids[0]:
            missed[prompt] = loaded.tokenizer.decode([int(ranking[0])])
    return Recall(len(questions), first, first_five, spelled, missed)


def most_probable(
    loaded: LoadedModel, prompt: str, end_of_text: bool, count: int = 5
) -> list[tuple[str, float]]:
    """The most probable next tokens with their probabilities at temperature 1."""
    top = loaded.model(loaded.encode(prompt, end_of_text)).logits[0, -1].softmax(-1).topk(count)
    return [
        (loaded.tokenizer.decode([index]), round(probability, 4))
        for index, probability in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]


def sample(loaded: LoadedModel, prompt: str, seed: int) -> str:
    """The prompt and up to `SAMPLE_TOKENS` more, by nucleus sampling (Holtzman et al. 2020)."""
    generator = torch.Generator().manual_seed(seed)
    ids = new = loaded.encode(prompt, end_of_text=True)
    cache = None
    for _ in range(SAMPLE_TOKENS):
        output = loaded.model(new, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        probs, order = (output.logits[0, -1] / TEMPERATURE).softmax(-1).sort(descending=True)
        probs[probs.cumsum(-1) - probs >= TOP_P] = 0  # a token stays if those above it lack TOP_P
        new = order[torch.multinomial(probs, 1, generator=generator)][None]
        if new.item() == END_OF_TEXT_ID:
            break
        ids = torch.cat([ids, new], dim=1)
    return loaded.tokenizer.decode(ids[0, 1:])
