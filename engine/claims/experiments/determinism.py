"""Determinism is a setting, not a guarantee: the same steps, computed in different ways.

A text is written greedily. Its steps are then computed again in the same way, in a batch, without
the cache, and in another dtype. They always follow the tokens of the first text, so every
difference comes from the computation alone. Sums of floating-point numbers depend on their order
(Goldberg 1991).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from engine.claims import inputs
from engine.claims.claim import Chart, Claim, Series, Table, Token
from engine.claims.experiment import Experiment, checked_prompts
from engine.claims.inputs import Whole
from engine.claims.uncertainty import counted, share
from engine.claims.verdict import ABOVE, AT_MOST, Check, noted
from engine.errors import msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.model.loading.memory import free_bytes
from engine.runner.runner import open_sequence
from engine.values import Amount, Name, Row, Text
from engine.values import Whole as Count

ROW_SHARE = 0.15  # rough share of a step's time that each further row of a batch adds
TWICE = 2  # number of times that every way is computed
Rows = list[np.ndarray]  # (vocab,) float32 logits of each step


@dataclass(frozen=True)
class Compared:
    """A text whose steps were computed in a different way, twice.

    Attributes:
        prompt: the prompt that the text continues.
        way: the way in which its steps were computed.
        again: largest difference in a logit between the two runs. The first text is also computed
            twice, and counts with every way.
        steps: largest difference in a logit from the first text, at each step.
        first: number of steps before the likeliest token first differs; None if it never does.
        plain, other: labels of the two tokens at that step; empty if they never differ.
    """

    prompt: Text
    way: Name
    again: Amount
    steps: Row[Amount]
    first: Count | None
    plain: Name
    other: Name


@dataclass(frozen=True)
class Determinism:
    """Texts for several prompts, computed in several ways.

    Attributes:
        compared: the comparisons, text by text, each in all ways.
        left_out: why the other dtype could not be tried; empty if it was.
    """

    compared: Row[Compared]
    left_out: Name

    @property
    def ways(self) -> list[str]:
        """The ways, in the order in which they were tried."""
        return list(dict.fromkeys(one.way for one in self.compared))

    def of_way(self, way: str) -> list[Compared]:
        """Return the texts computed this way."""
        return [one for one in self.compared if one.way == way]

    @staticmethod
    def name(way: str) -> str:
        """Return the display name of a way; saved files keep the English one."""
        kind, _, value = way.rpartition(" ")
        names = {
            "in a batch of": msg("in a batch of {count}", value),
            "without the": msg("without the cache"),
            "in": msg("in {dtype}", value),
        }
        return names.get(kind, way)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        for way in self.ways:
            texts, part = self.of_way(way), self.name(way)
            count = sum(len(one.steps) for one in texts)
            again = counted(max(one.again for one in texts), count)
            differs = counted(_most(texts), count)
            checks.append(Check("again", again, AT_MOST, 0.0, part))
            checks.append(Check("logits", differs, ABOVE, 0.0, part))
            checks.append(noted("tokens", share([one.first is not None for one in texts]), part))
        changed = {one.prompt for one in self.compared if one.first is not None}
        prompts = dict.fromkeys(one.prompt for one in self.compared)
        steps = sum(len(one.steps) for one in self.compared)
        return (
            *checks,
            noted("any", share([prompt in changed for prompt in prompts])),
            noted("most", counted(_most(self.compared), steps)),
        )


def _most(texts: Sequence[Compared]) -> float:
    return max((step for one in texts for step in one.steps), default=0.0)


def determinism(
    model: LanguageModel, prompts: Sequence[str], tokens: int, batch: int
) -> Experiment[Determinism]:
    """Write a text after each prompt greedily, and compute its steps in different ways.

    All rows of the batch contain the same text.
    """
    label, left_out = model.vocabulary.label, cache(lambda: _why_no_copy(model))

    @cache
    def ways() -> dict[str, Callable[[list[int], list[int]], Rows]]:
        """Map each way's name to the function that computes the steps of a text after a prompt."""
        found = {
            f"in a batch of {batch}": lambda *ids: _in_batch(model, batch, *ids),
            "without the cache": lambda *ids: _uncached(model, *ids),
        }
        if not left_out():
            dtype = _other_dtype(model)
            twin = _copy(model, dtype)
            name = f"in {str(dtype).removeprefix('torch.')}"
            found[name] = lambda *ids: _cached(twin, *ids)[0]
        return found

    def look(prompt: str) -> list[Compared]:
        ids = model.vocabulary.encode(prompt)
        plain, text = _cached(model, ids, None, tokens)
        once = max(_apart(plain, _cached(model, ids, text)[0]))
        found = []
        for way, compute in ways().items():
            rows, others = (compute(ids, text) for _ in range(TWICE))
            again, steps = max(once, *_apart(rows, others)), tuple(_apart(plain, rows))
            pairs = [(int(a.argmax()), int(b.argmax())) for a, b in zip(plain, rows, strict=True)]
            first = next((n for n, (one, other) in enumerate(pairs) if one != other), None)
            names = ("", "") if first is None else [label(token)[:200] for token in pairs[first]]
            found.append(Compared(prompt, way, again, steps, first, *names))
        return found

    def seconds(pace: Pace) -> float:
        rows = TWICE * (2 + ROW_SHARE * (batch - 1))  # of the batch, and the other dtype
        reads = TWICE * tokens * pace.read_seconds(tokens)
        return (pace.step_seconds(tokens) * (TWICE + rows) + reads) * len(prompts)

    return Experiment(
        checked_prompts(model, prompts, tokens),
        look,
        lambda found: Determinism(found, left_out()),
        seconds,
        "prompt",
    )


def _apart(one: Rows, other: Rows) -> list[float]:
    """Return the largest difference in a logit at each step; equal infinities do not differ."""
    with np.errstate(invalid="ignore"):
        return [
            float(np.where(a == b, 0.0, np.abs(a - b)).max())
            for a, b in zip(one, other, strict=True)
        ]


# --- ways to compute the steps of a text after a prompt -------------------------------------------


def _cached(
    model: LanguageModel, prompt: list[int], text: list[int] | None, tokens: int = 0
) -> tuple[Rows, list[int]]:
    """Compute a text's steps with the cache; if `text` is None, decode it greedily."""
    sequence, written = open_sequence(model), []
    rows = [sequence.extend(prompt).forward.logits]
    for n in range((len(text) if text is not None else tokens) - 1):
        written.append(int(rows[-1].argmax()) if text is None else text[n])
        rows.append(sequence.extend(written[-1:]).forward.logits)
    return rows, [*written, int(rows[-1].argmax())]


def _uncached(model: LanguageModel, prompt: list[int], text: list[int]) -> Rows:
    """Compute every step by reading the whole text again."""
    return [open_sequence(model).extend(prompt + text[:n]).forward.logits for n in range(len(text))]


def _in_batch(model: LanguageModel, batch: int, prompt: list[int], text: list[int]) -> Rows:
    """Compute the steps in a batch with the same text in every row; returns its first row."""
    sequence = open_sequence(model, msg("use a smaller batch"))
    sequence.select([0] * batch)
    inputs = (prompt, *([token] for token in text[:-1]))
    return [sequence.read_rows([ids] * batch)[0][0] for ids in inputs]


# --- the model in another dtype -------------------------------------------------------------------


def _other_dtype(model: LanguageModel) -> torch.dtype:
    return torch.bfloat16 if model.dtype == torch.float32 else torch.float32


def _why_no_copy(model: LanguageModel) -> str:
    """Return the reason the model cannot be copied to the other dtype; empty if it can."""
    if getattr(model.hf.config, "quantization_config", None) is not None:
        return f"The weights of {model.name} are quantised: they have no copy in another dtype."
    needed, free = model.parameters * _other_dtype(model).itemsize, free_bytes(model.device)
    if free is not None and needed > free:
        return (
            f"A copy of {model.name} in another dtype takes {needed / 2**30:,.1f} GiB, and "
            f"{free / 2**30:,.1f} GiB are free: other dtypes were not tried."
        )
    return ""


def _copy(model: LanguageModel, dtype: torch.dtype) -> LanguageModel:
    config = copy.deepcopy(model.hf.config)
    attention = model.config._attn_implementation
    hf = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=attention)
    hf.load_state_dict(model.hf.state_dict())
    return LanguageModel(hf.to(model.device), model.tokenizer, name=model.name)


def _differences(result: Determinism) -> Chart:
    """Chart, for each way, the largest difference in a logit at each step over all texts."""
    series = []
    for way in result.ways:
        columns = zip(*(one.steps for one in result.of_way(way)), strict=True)
        # A logarithmic axis cannot show 0.
        points = [(n, max(column) or None) for n, column in enumerate(columns, start=1)]
        series.append(Series(result.name(way), points))
    return Chart(
        "differences",
        msg("Differences from the first text"),
        msg("The largest of all texts, in powers of ten. A difference of 0 has no dot."),
        msg("step"),
        msg("logit difference"),
        series,
        logs="y",
    )


CLAIM = Claim(
    "determinism",
    Determinism,
    (
        inputs.prompts(inputs.STORY_PROMPTS),
        inputs.tokens(16, 1, 256),
        Whole("batch", msg("Batch"), 8, msg("Rows, all with the same text."), low=2, high=64),
    ),
    determinism,
    Table(
        msg("Texts"),
        lambda result: result.compared,
        {
            msg("prompt"): lambda one: one.prompt,
            msg("way"): lambda one: Determinism.name(one.way),
            msg("largest difference"): lambda one: max(one.steps),
            msg("first differing token"): lambda one: None if one.first is None else one.first + 1,
            msg("first text"): lambda one: "" if one.first is None else Token(one.plain),
            msg("this way"): lambda one: "" if one.first is None else Token(one.other),
        },
    ),
    charts=lambda result: (_differences(result),),
    notice=lambda result: result.left_out,
)
