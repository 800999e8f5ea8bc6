"""JSON needs a constraint: an object is written under one, and without it from the middle on.

From there, the model continues after the right token or after a wrong one, the likeliest token that
the constraint refuses. The two cases separate the effect of the missing constraint from that of the
wrong token. Parsers that share no code with the constraint judge the texts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from engine.claims.claim import Claim, Table, Token
from engine.claims.experiment import Experiment, checked_prompts
from engine.claims.inputs import Real, Text, Whole
from engine.claims.uncertainty import mean, share
from engine.claims.verdict import ABOVE, Check, noted
from engine.decoder import Decoder
from engine.errors import SettingError, msg
from engine.grammar import PERSON, PERSON_PROMPT
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Constraint
from engine.study.constraint import FURTHER, figures_at, without_constraint
from engine.study.validity import judge
from engine.values import Name, Row
from engine.values import Text as LongText
from engine.values import Whole as Count

KEPT, FREE, WRONG = "kept", "free", "wrong"
WAYS = {
    KEPT: msg("constraint to the end"),
    FREE: msg("right token, then no constraint"),
    WRONG: msg("wrong token, then no constraint"),
}
UNDER, WITHOUT = msg("under the constraint"), msg("without it")  # parts of the experiment
HALF = 0.5
MOST_TOKENS = 256
_USUAL_TOKENS = 32  # per object, for the estimate


@dataclass(frozen=True)
class Judged:
    """A text, and a parser's judgement.

    Attributes:
        way: one of `WAYS`.
        text: text up to the end of its first object.
        is_valid: whether it is an object that matches the schema.
        problem: the parser's complaint.
    """

    way: Name
    text: LongText
    is_valid: bool
    problem: Name


@dataclass(frozen=True)
class JsonRun:
    """An object, and its continuations without the constraint.

    Attributes:
        seed: seed of the draws.
        index: the first step without the constraint.
        right, wrong: labels of the object's token at that step, and of the wrong one.
        texts: one text per way.
    """

    seed: Count
    index: Count
    right: Name
    wrong: Name
    texts: Row[Judged]


@dataclass(frozen=True)
class BrokenJson:
    """The runs of an experiment."""

    runs: Row[JsonRun]

    def broken(self, way: str) -> list[bool]:
        """Return, for each run, whether the text written this way is invalid."""
        return [not one.is_valid for run in self.runs for one in run.texts if one.way == way]

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


def broken_json(
    model: LanguageModel, prompt: str, source: str, runs: int, place: float
) -> Experiment[BrokenJson]:
    """Write objects under a constraint, and without it after a share `place` of each."""
    checked_prompts(model, [prompt], _USUAL_TOKENS + FURTHER)
    constraint, label = Constraint("json_schema", source), model.vocabulary.label

    def look(seed: int) -> list[JsonRun]:
        text = Decoder(model, prompt, SamplingSettings(constraint=constraint, seed=seed))
        for _ in text.run(MOST_TOKENS):
            if judge(constraint, text.text).is_valid is not False:
                break  # it is complete; a model without an end-of-text token could not stop
        ids = [step.token_id for step in text.steps if not step.is_special]
        index = int(place * len(ids))
        wrong = _wrong(text, index)
        texts = {
            KEPT: text.text,
            FREE: without_constraint(text, index, ids[index]).text,
            WRONG: without_constraint(text, index, wrong).text,
        }
        text.release_cache()
        judged = tuple(_judged(constraint, way, own) for way, own in texts.items())
        return [JsonRun(seed, index, label(ids[index])[:200], label(wrong)[:200], judged)]

    tokens = _USUAL_TOKENS + 2 * FURTHER
    return Experiment(
        range(runs), look, BrokenJson, lambda pace: pace.step_seconds(tokens) * runs, "object"
    )


def _wrong(text: Decoder, index: int) -> int:
    """Return the likeliest ordinary token that the constraint refuses at a step."""
    vocabulary = text.model.vocabulary
    for one in figures_at(text, index).wanted:
        if not vocabulary.is_special(one.token_id) and vocabulary.token_bytes(one.token_id):
            return one.token_id
    remedy = msg("use a stricter schema")
    raise SettingError(msg("Schema"), msg("this one"), "refuses no token at this place", remedy)


def _judged(constraint: Constraint, way: str, text: str) -> Judged:
    text = first_object(text)
    said = judge(constraint, text)
    if said.is_valid is None:
        problem = msg("gives a text that cannot be judged: {problem}", said.problem)
        raise SettingError(msg("Schema"), msg("this one"), problem, "leave that part out")
    problem = said.problem if len(said.problem) <= 1000 else said.problem[:1000]
    return Judged(way, text, said.is_valid, problem)


def first_object(text: str) -> str:
    """Return the text up to the end of its leading JSON value; all of it if there is none."""
    start = len(text) - len(text.lstrip())
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError, ValueError):
        return text
    return text[:end]


PLACE = Real(
    "place",
    msg("End of the constraint"),
    0.5,
    msg("Share of the object that is written before the constraint is gone."),
    low=0.0,
    high=0.99,
)
CLAIM = Claim(
    "broken_json",
    BrokenJson,
    (
        Text("prompt", msg("Prompt"), PERSON_PROMPT, height=80),
        Text("source", msg("JSON schema"), PERSON),
        Whole("runs", msg("Objects"), 8, low=1, high=64),
        PLACE,
    ),
    broken_json,
    Table(
        msg("Texts"),
        lambda result: [(run, text) for run in result.runs for text in run.texts],
        {
            msg("seed"): lambda run, text: run.seed,
            msg("way"): lambda run, text: WAYS[text.way],
            msg("right token"): lambda run, text: Token(run.right),
            msg("wrong token"): lambda run, text: Token(run.wrong),
            msg("is valid"): lambda run, text: msg("yes") if text.is_valid else msg("no"),
            msg("problem"): lambda run, text: msg(text.problem),
            msg("text"): lambda run, text: text.text,
        },
        about=msg("Broken: it does not parse, or the schema does not allow it."),
    ),
)
