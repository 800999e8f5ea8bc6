"""JSON needs its constraint: an object is written under one, and from the middle on without it.

The model continues from the right token there, or from a wrong one: the likeliest of those that the
constraint refuses. Both together tell what the missing constraint does, and what the wrong token
adds to that. Parsers that share nothing with the constraint judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.claims.experiment import Experiment, checked_prompts, checked_range
from engine.claims.uncertainty import mean, share
from engine.claims.verdict import ABOVE, Check, noted
from engine.decoder import Decoder
from engine.errors import SettingError, msg
from engine.measure.pace import Pace
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.stages import Constraint
from engine.study.constraint import figures_at
from engine.study.verdict import verdict
from engine.study.wrong_token import FURTHER, without_constraint
from engine.values import Name, Row, Text, Whole

KEPT, FREE, WRONG = "kept", "free", "wrong"
WAYS = (KEPT, FREE, WRONG)
UNDER, WITHOUT = "under the constraint", "without it"  # the parts of the experiment
HALF = 0.5
MOST_RUNS, MOST_TOKENS = 64, 256
_USUAL_TOKENS = 32  # of an object, for the estimate


@dataclass(frozen=True)
class Judged:
    """A text, and what a parser says.

    Attributes:
        way: one of `WAYS`.
        text: up to the end of its first object.
        is_valid: whether it is an object that the schema describes.
        problem: what the parser says is wrong.
    """

    way: Name
    text: Text
    is_valid: bool
    problem: Name


@dataclass(frozen=True)
class JsonRun:
    """An object, and how the model continues it without the constraint.

    Attributes:
        seed: of the draws.
        index: the first step without the constraint.
        right, wrong: labels of the object's token there, and of the wrong one.
        texts: one a way.
    """

    seed: Whole
    index: Whole
    right: Name
    wrong: Name
    texts: Row[Judged]

    def is_valid(self, way: str) -> bool:
        """Whether the text of a way is valid."""
        return next(text.is_valid for text in self.texts if text.way == way)


@dataclass(frozen=True)
class BrokenJson:
    """Some runs."""

    runs: Row[JsonRun]

    def broken(self, way: str) -> list[bool]:
        """Of each run, whether the text of a way is not valid."""
        return [not run.is_valid(way) for run in self.runs]

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        pairs = zip(self.broken(WRONG), self.broken(FREE), strict=True)
        added = mean([float(wrong) - float(right) for wrong, right in pairs])
        kept = share([not broken for broken in self.broken(KEPT)])
        return (
            Check("kept", kept, ABOVE, HALF, UNDER),
            Check("free", share(self.broken(FREE)), ABOVE, HALF, WITHOUT),
            noted("wrong", share(self.broken(WRONG)), WITHOUT),
            noted("added", added, WITHOUT),
        )


class BrokenJsonExperiment(Experiment[BrokenJson]):
    """Writes objects under a constraint, and from one token on without it.

    Args:
        model: what writes.
        prompt: what the objects follow.
        schema: of the objects, as JSON schema.
        runs: objects, each with a seed of its own.
        place: where the constraint ends, as a share of the object.

    Raises:
        PromptError, SettingError: prompt, schema or settings out of range.
    """

    noun = "object"

    def __init__(
        self,
        model: LanguageModel,
        prompt: str,
        schema: str | Mapping[str, Any],
        runs: int = 8,
        place: float = 0.5,
    ) -> None:
        checked_range(msg("Objects"), runs, 1, MOST_RUNS)
        self._place = checked_range(msg("Place"), place, 0.0, 0.99)
        checked_prompts(model, [prompt], _USUAL_TOKENS + FURTHER)
        super().__init__([1.0] * runs)
        self._model, self._prompt = model, prompt
        self._constraint = Constraint("json_schema", schema)
        self._runs: list[JsonRun] = []

    def _measure(self, part: int) -> None:
        settings = SamplingSettings(constraint=self._constraint, seed=part)
        text = Decoder(self._model, self._prompt, settings)
        for _ in text.run(MOST_TOKENS):
            if verdict(self._constraint, text.text).is_valid is not False:
                break  # it is whole; a model without an end of the text could not go on
        ids = [step.token_id for step in text.steps if not step.is_special]
        index = int(self._place * len(ids))
        wrong = self._wrong(text, index)
        texts = {
            KEPT: text.text,
            FREE: without_constraint(text, index, ids[index]).text,
            WRONG: without_constraint(text, index, wrong).text,
        }
        text.release_cache()
        label = self._model.vocabulary.label
        judged = tuple(self._judged(way, own) for way, own in texts.items())
        names = label(ids[index])[:200], label(wrong)[:200]
        self._runs[part:] = [JsonRun(part, index, *names, judged)]

    def _wrong(self, text: Decoder, index: int) -> int:
        """The likeliest token that the constraint refuses in a step, and that has bytes."""
        vocabulary = self._model.vocabulary
        wanted = figures_at(text, index).wanted
        for one in wanted:
            if not vocabulary.is_special(one.token_id) and vocabulary.token_bytes(one.token_id):
                return one.token_id
        remedy = msg("use a schema that leaves less free")
        raise SettingError(msg("Schema"), msg("this one"), "refuses no token at this place", remedy)

    def _judged(self, way: str, text: str) -> Judged:
        text = first_object(text)
        said = verdict(self._constraint, text)
        if said.is_valid is None:
            problem = msg("gives a text that cannot be judged: {problem}", said.problem)
            raise SettingError(msg("Schema"), msg("this one"), problem, "leave that out of it")
        problem = said.problem if len(said.problem) <= 1000 else said.problem[:1000]
        return Judged(way, text, said.is_valid, problem)

    @property
    def result(self) -> BrokenJson | None:
        return BrokenJson(tuple(self._runs)) if self._runs else None

    def seconds(self, pace: Pace) -> float:
        return pace.step_seconds(_USUAL_TOKENS + 2 * FURTHER) * self.parts


def first_object(text: str) -> str:
    """A text up to the end of the JSON value that it begins with; all of it where it has none."""
    start = len(text) - len(text.lstrip())
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError, ValueError):
        return text
    return text[:end]
