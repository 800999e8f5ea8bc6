"""Recall of facts by a model, and its uncertainty about the next token."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from models.training.evaluation.facts import Answers
from models.training.evaluation.loading import Encoder, Scorer, log_softmax
from models.training.tokenizer import END_OF_TEXT_ID


@dataclass(frozen=True)
class Recall:
    """Recall of a list of facts; all numbers are counts.

    Attributes:
        asked: length of the list.
        first: the first token of an accepted answer is the most probable one.
        first_five: that token is among the five most probable ones.
        spelled: every token of an accepted answer is the most probable one after its predecessors.
        missed: prompts whose answer is not first -> the token that is.
    """

    asked: int
    first: int
    first_five: int
    spelled: int
    missed: dict[str, int]


def recall(score: Scorer, encode: Encoder, questions: Answers, *, end_of_text: bool) -> Recall:
    """Ask for every answer, given as the words after a space.

    Args:
        score: a causal model.
        end_of_text: whether to put the end-of-text token before the prompt.
    """
    first = first_five = spelled = 0
    missed = {}
    for prompt, answers in questions.items():
        prompt_ids = prompt_tokens(encode, prompt, end_of_text)
        candidates = [list(encode(f" {answer}")) for answer in answers]
        rows = [
            score([*prompt_ids, *answer])[len(prompt_ids) - 1 : -1]  # one for each answer token
            for answer in candidates
        ]
        leading = np.argsort(-rows[0][0], kind="stable")[:5].tolist()
        beginnings = {answer[0] for answer in candidates}
        first += leading[0] in beginnings
        first_five += not beginnings.isdisjoint(leading)
        spelled += any(
            row.argmax(-1).tolist() == answer for row, answer in zip(rows, candidates, strict=True)
        )
        if leading[0] not in beginnings:
            missed[prompt] = leading[0]
    return Recall(len(questions), first, first_five, spelled, missed)


def prompt_tokens(encode: Encoder, prompt: str, end_of_text: bool) -> list[int]:
    """Encode a prompt, with or without a leading end-of-text token."""
    return [END_OF_TEXT_ID, *encode(prompt)] if end_of_text else list(encode(prompt))


@dataclass(frozen=True)
class Entropies:
    """Shannon entropies in bits of the next token after each prompt of a list, temperature 1."""

    bits: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the prompts."""
        return sum(self.bits) / len(self.bits)

    @property
    def lowest(self) -> float:
        """Entropy of the most certain prompt."""
        return min(self.bits)

    @property
    def highest(self) -> float:
        """Entropy of the least certain prompt."""
        return max(self.bits)


def entropies(score: Scorer, prompts: Iterable[Sequence[int]]) -> Entropies:
    """Compute the entropy at the end of each prompt, given as token ids."""
    return Entropies(tuple(entropy_bits(score(ids)[-1]) for ids in prompts))


def entropy_bits(logits: np.ndarray) -> float:
    """Compute the Shannon entropy in bits of the softmax of one row of logits."""
    logprobs = log_softmax(logits.astype(np.float64))
    probs = np.exp(logprobs)
    return float(-(probs[probs > 0] * logprobs[probs > 0]).sum() / np.log(2))


def most_probable(score: Scorer, ids: Sequence[int], count: int = 5) -> list[tuple[int, float]]:
    """Return the most probable next tokens with their probabilities at temperature 1."""
    logprobs = log_softmax(score(ids)[-1])
    leading = np.argsort(-logprobs, kind="stable")[:count]
    return [(int(token_id), float(np.exp(logprobs[token_id]))) for token_id in leading]
