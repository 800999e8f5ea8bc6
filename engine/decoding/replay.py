"""Replay a trace on a model, and find the first difference.

    >>> found = replay(Trace.load("run.json"), model)
    >>> found.identical, found.sentence

The text is generated from the recorded prompt, settings, seeds, forced tokens, stop strings and
guidance. Every figure of every step is compared bit for bit, except the cost of a step. With the
same model, versions, kernels and device they are all equal. Otherwise logits differ in their last
digits, and sooner or later a token differs too.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import reduce
from pkgutil import resolve_name
from typing import Any

from engine.backend import ServerModel
from engine.decoding.generation import Generation
from engine.errors import Message, TraceError, msg
from engine.model import LanguageModel
from engine.model.diffusion_model import DiffusionModel
from engine.text import stopping
from engine.trace import Trace
from engine.trace.strategies import STRATEGIES
from engine.values import costs

# Facts that say where a model came from, not what it computes.
_ONLY_NAMES = ("name", "source")


@dataclass(frozen=True)
class Difference:
    """One figure of a step that came out differently.

    Attributes:
        what: its name, as in ``logit``, ``stages[1].survivors`` or ``candidates[0].penalty``.
        recorded: the trace's.
        repeated: the repeated text's.
        by: distance between the numbers; None for token ids and values that are not numbers.
    """

    what: str
    recorded: Any
    repeated: Any
    by: float | None


@dataclass(frozen=True)
class FactDifference:
    """A fact about the model, versions or device that differs from the recorded one.

    Attributes:
        name: the fact, as in ``torch`` or ``kernels.instructions``.
        recorded: the trace's.
        now: the model's; None if it no longer has the fact.
    """

    name: str
    recorded: Any
    now: Any


@dataclass(frozen=True)
class Replay:
    """Result of replaying a trace.

    Attributes:
        steps: number of steps in the trace.
        repeated: number of steps repeated: all, or those up to the first different token.
        first: the first step with any difference, or None.
        differences: the differences in that step.
        token_at: the first step with a different token, or None.
        facts: differences in model, versions and device; if empty, the text must be the same.
        stopped: whether `should_stop` ended it early.
        is_server: whether the model is on a server, which may round the same text differently.
    """

    steps: int
    repeated: int
    first: int | None
    differences: tuple[Difference, ...]
    token_at: int | None
    facts: tuple[FactDifference, ...]
    stopped: bool
    is_server: bool = False

    @property
    def identical(self) -> bool:
        """Return whether every step was repeated and all its figures are equal."""
        return self.first is None and self.repeated == self.steps

    @property
    def sentence(self) -> str:
        """The outcome in words: identical, or where it first differs, by how much and why.

        Steps count from 0, as in the trace.
        """
        return " ".join(self.sentences(0))

    def sentences(self, start: int) -> tuple[Message, ...]:
        """Return the outcome as separate sentences, with `start` as the first step's number."""
        if self.first is None:
            if not self.stopped:
                return (msg("The text is identical in all {steps}.", _counted(self.steps)),)
            reached = _counted(self.repeated), self.steps
            return (msg("Stopped after {reached} of {steps:,}, all identical.", reached),)
        found = self.differences[0]
        values = self.first + start, found.what, _shown(found.recorded), _shown(found.repeated)
        sentence = msg(
            "Step {step:,} is the first to differ: {what} was {recorded} and is now {repeated}.",
            values,
        )
        if found.by is not None:
            sentence = msg(
                "Step {step:,} is the first to differ: {what} was {recorded} and is now "
                "{repeated} ({by} apart).",
                (*values, f"{found.by:.3g}"),
            )
        said = [sentence]
        if self.token_at is None and self.stopped:
            said.append(msg("The tokens are the same, as far as the text was generated again."))
        elif self.token_at is None:
            said.append(msg("The tokens are the same to the end."))
        elif self.token_at > self.first:
            said.append(msg("The tokens differ from step {step:,} onwards.", self.token_at + start))
        return (*said, self._reason)

    @property
    def _reason(self) -> Message:
        if not self.facts and self.is_server:
            return msg(
                "A server rounds the same text differently if it computes other texts at the same "
                "time, or reads more of this one at once."
            )
        if not self.facts:
            return msg(
                "Model, versions and device are as recorded, so either the file or the "
                "weights were changed."
            )
        values = [(each.name, _shown(each.recorded), _shown(each.now)) for each in self.facts]
        changes = [msg("{fact} was {recorded} and is now {now}", each) for each in values[:3]]
        told = reduce(lambda one, two: msg("{one}; {two}", (one, two)), changes)
        if len(self.facts) > 3:
            told = msg("{changes}, and {count} more facts differ", (told, len(self.facts) - 3))
        return msg("A possible reason: {changes}.", told)


def replay(
    trace: Trace,
    model: LanguageModel | DiffusionModel,
    *,
    text: Generation | None = None,
    to_end: bool = False,
    progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Replay:
    """Repeat the text of a trace and compare it step by step.

    It ends at the first different token, after which nothing can be compared. The text's next step
    then uses the last settings of the trace.

    Args:
        trace: a trace of any strategy.
        model: the model that the trace names, or one with the same tokenizer.
        text: generation that takes the steps, as `begin` returns it, or with some steps already
            taken; None if it is not needed afterwards.
        to_end: take as many steps as the trace has, even after a different token.
        progress: called with the number of steps done and the total.
        should_stop: called before every step; True ends the replay with the steps so far.

    Raises:
        TraceError: the model has a different vocabulary or tokenizer, or cannot run the strategy.
        DecodingError: as in `Generation.step`, such as for a prompt beyond this model's context.
    """
    total = len(trace.steps)
    facts = changed_facts(trace, model)
    if text is None:
        text = begin(trace, model)
    check_model(trace, text.model)
    first, differences, token_at, stopped = None, (), None, False
    done = len(text.steps)
    if progress is not None:
        progress(done, total)
    for recorded in trace.steps[done:]:
        if should_stop is not None and should_stop():
            stopped = True
            break
        repeated = text.repeat(trace)
        found = tuple(_differences(trace, recorded, repeated)) if first is None else ()
        done += 1
        if found and first is None:
            first, differences = recorded.index, found
        if progress is not None:
            progress(done, total)
        if token_at is None and trace.tokens_of(recorded) != trace.tokens_of(repeated):
            token_at = recorded.index
            if not to_end:
                break
    text.follow(trace, total)
    is_server = isinstance(model, ServerModel)
    return Replay(total, done, first, differences, token_at, facts, stopped, is_server)


def changed_facts(
    trace: Trace, model: LanguageModel | DiffusionModel
) -> tuple[FactDifference, ...]:
    """Return the recorded facts about model, versions and device that differ for this model.

    Facts that the trace lacks, as an older one may, are left out.
    """
    recorded, now = dict(_flat(trace.model)), dict(_flat(model.facts))
    if isinstance(model, DiffusionModel):
        now["mask_id"] = model.mask_id
    return tuple(
        FactDifference(name, value, now.get(name))
        for name, value in recorded.items()
        if name not in _ONLY_NAMES and value != now.get(name)
    )


def begin(trace: Trace, model: LanguageModel | DiffusionModel) -> Generation:
    """Begin a generation with the prompt and settings of a trace; `repeat` takes its steps.

    Raises:
        TraceError: the model has a different vocabulary or tokenizer, or cannot run the strategy.
        DecodingError: the prompt or the settings do not fit the model.
    """
    check_model(trace, model)
    return resolve_name(STRATEGIES[trace.strategy].decoder).of_trace(trace, model)


def check_model(trace: Trace, model: LanguageModel | DiffusionModel) -> None:
    """Raise `TraceError` if a model cannot repeat a trace, whatever its settings."""
    remedy = msg("load the model that the trace names, {get}", _shown(trace.model.get("name")))
    if isinstance(model, DiffusionModel) != (trace.strategy == "diffusion"):
        kind = (
            msg("diffusion model")
            if trace.strategy == "diffusion"
            else msg("causal language model")
        )
        raise TraceError(
            "A trace of the strategy {strategy} needs a {kind}, and {name} is not one; {remedy}.",
            (trace.strategy, kind, model.name, remedy),
        )
    size = trace.model["vocab_size"]
    if size != model.vocab_size:
        raise TraceError(
            "The trace was made with a vocabulary of {size:,} tokens, and {name} has "
            "{vocab_size:,}; {remedy}.",
            (size, model.name, model.vocab_size, remedy),
        )
    if trace.model.get("tokenizer_hash", model.tokenizer_hash) != model.tokenizer_hash:
        raise TraceError(
            "The trace was made with a different tokenizer from that of {name}, so its token "
            "ids stand for different tokens; {remedy}.",
            (model.name, remedy),
        )


def is_same_model(trace: Trace, model: LanguageModel) -> bool:
    """Return True unless the trace names different weights or a different tokenizer.

    Weights are compared by their hash, and only if the dtype is the same.
    """
    told = ["architecture", "parameters", "vocab_size", "tokenizer_hash"]
    if trace.model.get("dtype") == model.facts.get("dtype"):
        told.append("weights_hash")
    return all(
        trace.model[name] == model.facts.get(name)
        for name in told
        if trace.model.get(name) is not None
    )


def _flat(facts: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and values of facts, nested ones as ``outer.inner``."""
    for name, value in facts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _differences(trace: Trace, recorded: Any, repeated: Any) -> Iterator[Difference]:
    """Yield the figures of a step that differ, except its cost."""
    for item in fields(recorded):
        one, other = getattr(recorded, item.name), getattr(repeated, item.name, None)
        is_unknown = item.default is not MISSING and one == item.default  # in older files
        if item.name in costs(type(recorded)) or is_unknown:
            continue
        ends_by_string = item.name in ("stop_reason", "stop_string") and hasattr(
            recorded, "stop_string"
        )
        if ends_by_string and _ends_otherwise(
            trace, recorded.stop_reason, recorded.stop_string, repeated.stop_reason
        ):
            continue
        yield from _compared(item.name, one, other)


def _ends_otherwise(
    trace: Trace, recorded: str | None, string: str | None, repeated: str | None
) -> bool:
    """Return whether two steps end differently by a rule that a trace does not record per step.

    Such rules are a token limit, and stop strings that were added or removed later.
    """
    if recorded == stopping.MAX_TOKENS:
        return repeated is None
    if recorded == stopping.STOP_STRING:
        return string not in trace.stop_strings
    return recorded is None and repeated == stopping.STOP_STRING


def _compared(what: str, recorded: Any, repeated: Any) -> Iterator[Difference]:
    if is_dataclass(recorded) and is_dataclass(repeated):
        for item in fields(recorded):
            one, other = getattr(recorded, item.name), getattr(repeated, item.name)
            yield from _compared(f"{what}.{item.name}", one, other)
    elif isinstance(recorded, (tuple, array)) and isinstance(repeated, (tuple, array)):
        if len(recorded) != len(repeated):
            yield Difference(f"number of {what}", len(recorded), len(repeated), None)
            return
        for place, (one, other) in enumerate(zip(recorded, repeated, strict=True)):
            yield from _compared(f"{what}[{place}]", one, other)
    elif recorded != repeated and not _is_rounding(what, recorded, repeated):
        yield Difference(what, recorded, repeated, _apart(what, recorded, repeated))


def _is_rounding(what: str, recorded: Any, repeated: Any) -> bool:
    """Return whether two figures differ only by rounding, as in versions that sum differently.

    Logits come from the model, without any sum of the app's own, so they must be equal.
    """
    if what == "logit" or not (isinstance(recorded, float) and isinstance(repeated, float)):
        return False
    return math.isclose(recorded, repeated, rel_tol=1e-9, abs_tol=1e-12)


def _apart(what: str, recorded: Any, repeated: Any) -> float | None:
    numbers = all(type(value) in (int, float) for value in (recorded, repeated))
    lists_ids = what.startswith(("ids_", "predicted", "token_ids"))
    is_id = lists_ids or what.rpartition(".")[2] == "token_id"
    return abs(recorded - repeated) if numbers and not is_id else None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _counted(steps: int) -> Message:
    return msg("{count:,} step", steps) if steps == 1 else msg("{count:,} steps", steps)
