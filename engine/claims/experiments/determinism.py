"""Determinism is a setting, not a guarantee: the same steps, computed in other ways.

A text is written greedily. Its steps are then computed again in the same way, in a batch, without
the cache, and in another dtype, always after the tokens of the first text, so that every difference
is one of computing alone. Sums of floating-point numbers depend on their order (Goldberg 1991).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from engine.claims.experiment import Experiment, checked_prompts, checked_range
from engine.claims.uncertainty import counted, share
from engine.claims.verdict import ABOVE, AT_MOST, Check, noted
from engine.errors import msg
from engine.measure.pace import Pace
from engine.measure.passes import timed_read, timed_step
from engine.model import LanguageModel
from engine.model.loading.memory import free_bytes
from engine.runner.scheduler import SCHEDULER, Kind
from engine.values import Amount, Name, Row, Text, Whole

MOST_TOKENS = 256
MOST_BATCH = 64
ROW_SHARE = 0.15  # of a step's time that each further row of a batch adds, about
TWICE = 2  # every way is computed so often
Rows = list[np.ndarray]  # of each step, (vocab,) float32 logits


@dataclass(frozen=True)
class Compared:
    """A text whose steps were computed in another way, twice.

    Attributes:
        prompt: what the text goes on from.
        way: how its steps were computed.
        again: largest difference of a logit between both times; the first text is computed twice as
            well, and counts with every way.
        steps: of each step, the largest difference of a logit from the first text's.
        first: steps before the first one with another likeliest token; None without one.
        plain, other: labels of the two tokens there; empty without one.
    """

    prompt: Text
    way: Name
    again: Amount
    steps: Row[Amount]
    first: Whole | None
    plain: Name
    other: Name


@dataclass(frozen=True)
class Determinism:
    """Texts of some prompts, computed in several ways.

    Attributes:
        compared: text by text, each in all ways.
        left_out: why the other dtype could not be tried; empty where it was.
    """

    compared: Row[Compared]
    left_out: Name

    @property
    def ways(self) -> list[str]:
        """The ways, in the order in which they were tried."""
        return list(dict.fromkeys(one.way for one in self.compared))

    def of_way(self, way: str) -> list[Compared]:
        """The texts computed this way."""
        return [one for one in self.compared if one.way == way]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        checks = []
        for way in self.ways:
            texts = self.of_way(way)
            count = sum(len(one.steps) for one in texts)
            again = counted(max(one.again for one in texts), count)
            differs = counted(_most(texts), count)
            checks.append(Check("again", again, AT_MOST, 0.0, way))
            checks.append(Check("logits", differs, ABOVE, 0.0, way))
            checks.append(noted("tokens", share([one.first is not None for one in texts]), way))
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


class DeterminismExperiment(Experiment[Determinism]):
    """Writes a text after each prompt greedily, and computes its steps in other ways.

    Args:
        model: what writes.
        prompts: what the texts go on from.
        tokens: of each text.
        batch: rows of the batch; all of them hold the same text.

    Raises:
        PromptError, SettingError: prompts or settings out of range.
    """

    noun = "prompt"

    def __init__(
        self, model: LanguageModel, prompts: Sequence[str], tokens: int = 16, batch: int = 8
    ) -> None:
        checked_range(msg("Tokens"), tokens, 1, MOST_TOKENS)
        checked_range(msg("Batch"), batch, 2, MOST_BATCH)
        self._prompts = checked_prompts(model, prompts, tokens)
        super().__init__([1.0] * len(prompts))
        self._model, self._tokens, self._batch = model, tokens, batch
        self._compared: list[list[Compared]] = []

    @cached_property
    def _left_out(self) -> str:
        return _why_no_copy(self._model)

    @cached_property
    def _ways(self) -> dict[str, Callable[[list[int], list[int]], Rows]]:
        """By name, what computes the steps of a text after a prompt."""
        model, batch = self._model, self._batch
        ways = {
            f"in a batch of {batch}": lambda *ids: _in_batch(model, batch, *ids),
            "without the cache": lambda *ids: _uncached(model, *ids),
        }
        if not self._left_out:
            dtype = _other_dtype(model)
            twin = _copy(model, dtype)
            name = f"in {str(dtype).removeprefix('torch.')}"
            ways[name] = lambda *ids: _cached(twin, *ids)[0]
        return ways

    def _measure(self, part: int) -> None:
        prompt = self._prompts[part]
        ids = self._model.vocabulary.encode(prompt)
        plain, text = _cached(self._model, ids, None, self._tokens)
        again = max(_apart(plain, _cached(self._model, ids, text)[0]))
        found = []
        for way, compute in self._ways.items():
            rows, others = (compute(ids, text) for _ in range(TWICE))
            repeated = max(again, *_apart(rows, others))
            found.append(self._compare(prompt, way, repeated, plain, rows))
        self._compared[part:] = [found]

    def _compare(self, prompt: str, way: str, again: float, plain: Rows, rows: Rows) -> Compared:
        label = self._model.vocabulary.label
        pairs = [(int(a.argmax()), int(b.argmax())) for a, b in zip(plain, rows, strict=True)]
        first = next((n for n, (one, other) in enumerate(pairs) if one != other), None)
        tokens = ("", "") if first is None else [label(token)[:200] for token in pairs[first]]
        return Compared(prompt, way, again, tuple(_apart(plain, rows)), first, *tokens)

    @property
    def result(self) -> Determinism | None:
        found = tuple(one for texts in self._compared for one in texts)
        return Determinism(found, self._left_out) if found else None

    def seconds(self, pace: Pace) -> float:
        rows = TWICE * (2 + ROW_SHARE * (self._batch - 1))  # of the batch, and the other dtype
        reads = TWICE * self._tokens * pace.read_seconds(self._tokens)
        return (pace.step_seconds(self._tokens) * (TWICE + rows) + reads) * len(self._prompts)


def _apart(one: Rows, other: Rows) -> list[float]:
    """Of each step, the largest difference of a logit; two that are infinite do not differ."""
    with np.errstate(invalid="ignore"):
        return [
            float(np.where(a == b, 0.0, np.abs(a - b)).max())
            for a, b in zip(one, other, strict=True)
        ]


# --- ways to compute the steps of a text after a prompt -------------------------------------------


def _cached(
    model: LanguageModel, prompt: list[int], text: list[int] | None, tokens: int = 0
) -> tuple[Rows, list[int]]:
    """One text, with the cache; where there is no text yet, the likeliest tokens make it."""
    read = timed_read(model, prompt)
    rows, written = [read.logits], []
    for n in range((len(text) if text is not None else tokens) - 1):
        written.append(int(rows[-1].argmax()) if text is None else text[n])
        logits, _ = timed_step(model, written[-1], read.cache, len(prompt) + n)
        rows.append(logits)
    return rows, [*written, int(rows[-1].argmax())]


def _uncached(model: LanguageModel, prompt: list[int], text: list[int]) -> Rows:
    """Every step reads the whole text again."""
    return [timed_read(model, prompt + text[:n]).logits for n in range(len(text))]


def _in_batch(model: LanguageModel, batch: int, prompt: list[int], text: list[int]) -> Rows:
    """The first row of a batch that holds the same text in every row."""
    cache, rows, position = model.new_cache(), [], 0
    for ids in (prompt, *([token] for token in text[:-1])):
        with (
            SCHEDULER.turn(Kind.BATCH),
            model.naming_memory(
                msg("with {batch:,} texts at once", batch), msg("use a smaller batch")
            ),
        ):
            logits, _ = model.forward_rows([ids] * batch, cache, position)
        rows.append(logits[0])
        position += len(ids)
    return rows


# --- the model in another dtype -------------------------------------------------------------------


def _other_dtype(model: LanguageModel) -> torch.dtype:
    return torch.bfloat16 if model.dtype == torch.float32 else torch.float32


def _why_no_copy(model: LanguageModel) -> str:
    """Why there can be no copy in another dtype; empty where there can."""
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
