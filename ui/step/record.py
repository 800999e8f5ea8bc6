"""The record of a text in a session: a trace for each branch, and the state of the screen.

    {"run": "3f0c...", "when": 1764000000.0, "current": 1, "index": null, "proposing": false,
     "beginning": {"prompt": ..., "chat": false, "negative_prompt": null, "scale": 1.0,
                   "strategy": null},
     "order": ["temperature", ...], "settings": {"chain": [...], "seed": 0, "parity": false},
     "max_tokens": 64, "read_only": "",
     "branches": [{"number": 1, "parent": null, "departs_at": 0, "trace": {...}}]}

The branch on screen comes first. The other traces keep only their differences from its own. They
are brief (see `engine.trace.Trace.to_dict`): the texts are made again, and come out the same on the
same machine with the same versions. The trace of a read-only text is complete.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct, structs

from engine import replay as made_again
from engine.decoding import FactDifference, begin, changed_facts
from engine.errors import CancelledError, DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.text import checked_max_new_tokens
from engine.trace import MOST_TOKENS, Trace
from engine.values import Name, Positive, Real, Whole
from ui.step.recorded import RecordedText
from ui.step.text_on_screen import Branch, ShownText
from ui.texts.settings import shown_samplers
from ui.texts.texts import Beginning, Text
from ui.visits.records import BrokenRecord, read
from ui.words.labels import tokens_text
from ui.words.language import marked, say

MOST_BRANCHES = 50


# --- to a record ----------------------------------------------------------------------------------


def text_record(text: ShownText, order: tuple[str, ...]) -> dict[str, Any]:
    """Return the text on screen as plain values."""
    branches = sorted(text.branches.values(), key=lambda branch: branch.number != text.current)
    is_brief = not text.read_only  # no model could compute its figures again
    traces = [branch.decoder.outline().to_dict(brief=is_brief) for branch in branches]
    for trace in traces[1:]:
        for name in [name for name in trace if trace[name] == traces[0].get(name)]:
            del trace[name]
    return {
        "run": text.run,
        "when": time.time(),
        "beginning": asdict(text.beginning),
        "order": list(order),
        "settings": text.settings.to_dict(),
        "max_tokens": text.max_tokens,
        "thinking_budget": text.thinking_budget,
        "current": text.current,
        "index": text.inspected,
        "proposing": text.proposing,
        "read_only": text.read_only,
        "branches": [
            {
                "number": branch.number,
                "parent": branch.parent,
                "departs_at": branch.departs_at,
                "trace": trace,
            }
            for branch, trace in zip(branches, traces, strict=True)
        ],
    }


def token_counts(record: dict[str, Any]) -> list[int]:
    """Return the number of generated tokens of each branch, the branch on screen first."""
    branches = record["branches"]
    steps = [branch["trace"].get("steps", branches[0]["trace"]["steps"]) for branch in branches]
    return [len(each["tokens"] if isinstance(each, dict) else each) for each in steps]


# --- from a record --------------------------------------------------------------------------------


class BranchRecord(Struct, frozen=True):
    """One branch of a record; see the module."""

    number: Whole
    parent: Whole | None
    departs_at: Whole
    trace: dict[str, Any]


class TextRecord(Struct, frozen=True, dict=True):
    """A text before it is made again; see the module."""

    run: Name
    when: Real
    beginning: Beginning
    order: Annotated[tuple[Name, ...], Meta(max_length=200)]
    settings: dict[str, Any]
    max_tokens: Whole
    current: Whole
    index: Whole | None
    proposing: bool
    read_only: Name
    branches: Annotated[tuple[BranchRecord, ...], Meta(min_length=1, max_length=MOST_BRANCHES)]
    thinking_budget: Positive | None = None

    @classmethod
    def parse(cls, data: Any) -> TextRecord:
        """Parse a record from the content of a file.

        Raises:
            BrokenRecord: not in the shape of `text_record`, or with a value that is refused today.
        """
        record = read(data, cls)
        numbers = [branch.number for branch in record.branches]
        if numbers[0] != record.current or len(set(numbers)) < len(numbers):
            raise BrokenRecord("It lacks the branch on screen, or has one twice.")
        try:
            checked_max_new_tokens(record.max_tokens)
            if not {stage.setting for stage in record.sampling.chain} <= set(record.order):
                record = structs.replace(record, order=shown_samplers(record.sampling))
            tokens = sum(len(trace.steps) for trace in record.traces.values())
        except DecodingError as error:
            raise BrokenRecord(f"A value in it is refused: {error}") from error
        if tokens > MOST_TOKENS:
            raise BrokenRecord(f"It has more than {MOST_TOKENS:,} tokens.")
        return record

    @cached_property
    def sampling(self) -> SamplingSettings:
        """The settings in force."""
        return SamplingSettings.from_dict(self.settings)

    @cached_property
    def traces(self) -> dict[int, Trace]:
        """The traces of all branches, that of the branch on screen first."""
        first = self.branches[0].trace
        return {each.number: Trace.from_dict(first | each.trace) for each in self.branches}

    @property
    def trace(self) -> Trace:
        """The trace of the branch on screen."""
        return self.traces[self.current]

    @property
    def model(self) -> tuple[str, str | None]:
        """The source and revision of its model."""
        return self.trace.model.get("source", ""), self.trace.model.get("revision")


# --- making it again ------------------------------------------------------------------------------


class Replayed(NamedTuple):
    """A text generated again.

    Attributes:
        branches: by number; without those that came after an interruption.
        sentence: how it compares with the record; empty if there were no tokens.
        is_whole: whether it was made without interruption.
        is_same: whether all tokens equal those of the record.
    """

    branches: dict[int, Branch]
    sentence: str = ""
    is_whole: bool = True
    is_same: bool = True


def replay(
    record: TextRecord,
    model: LanguageModel,
    told: Callable[[str, int, int], None] = lambda what, done, total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Replayed:
    """Generate every branch of a record again; shared steps are computed once.

    Args:
        record: the text.
        model: the model that wrote it.
        told: called with a description of the work, the tokens done, and their total.
        should_stop: called before every token; if it returns True, the tokens made so far are kept.

    Raises:
        DecodingError: the model cannot make it again, or a step fails.
    """
    if record.read_only:
        text = RecordedText(record.trace, record.read_only)
        return Replayed({record.current: Branch(record.current, text)})
    # The branch on screen first, so that it exists whatever happens; then the others in the order
    # of their making.
    first, *others = record.branches
    waiting = [first, *sorted(others, key=lambda branch: branch.number)]
    traces = [record.traces[branch.number] for branch in waiting]
    shared = [_shared(trace, traces[:place]) for place, trace in enumerate(traces)]
    total = sum(len(trace.steps) for trace in traces) - sum(length for length, _ in shared)
    made: list[Branch] = []
    done, differs, is_whole = 0, None, True
    what = say("Generating your text again")
    for branch, trace, (length, twin) in zip(waiting, traces, shared, strict=True):
        if should_stop() and made:
            is_whole = False
            break
        text = _forked(made[twin].decoder, length, trace) if length else begin(trace, model)
        made.append(Branch(branch.number, text, branch.parent, branch.departs_at))
        before = done - length

        def progress(steps: int, _: int, before: int = before) -> None:
            told(what, before + steps, total)

        kept = {"text": text, "to_end": True, "progress": progress, "should_stop": should_stop}
        try:
            found = made_again(trace, model, **kept)
        except CancelledError:  # cancelled while its pass waited for its turn
            is_whole = False
        else:
            is_whole = not found.stopped
            differs = found.token_at if branch is first else differs
        done = before + len(text.steps)
        if branch is not first:
            text.release_rows()
        if not is_whole:
            break
    branches = {branch.number: branch for branch in sorted(made, key=lambda each: each.number)}
    for branch in made:
        branch.parent = branch.parent if branch.parent in branches else None
    reached = len(made[0].decoder.steps)
    sentence = _sentence(record.trace, model, reached, differs, is_whole)
    return Replayed(branches, sentence, is_whole, differs is None)


def _shared(trace: Trace, made: list[Trace]) -> tuple[int, int]:
    """Return how many leading steps a trace shares with the closest earlier one, and its index."""
    lengths = [trace.shared_with(other) for other in made]
    length = max(lengths, default=0)
    return length, lengths.index(length) if length else 0


def _forked(twin: Text, length: int, trace: Trace) -> Text:
    text = twin.fork()
    text.rewind(min(length, len(text.steps)))
    text.stop_strings = trace.stop_strings
    return text


# --- sentences ------------------------------------------------------------------------------------


def again(count: int) -> str:
    """Return a sentence saying that a text of `count` tokens came out as it was."""
    tokens = tokens_text(count)
    return say("Your text of {tokens} was generated again; all tokens are the same.", tokens=tokens)


def _sentence(
    trace: Trace, model: LanguageModel, reached: int, differs: int | None, is_whole: bool
) -> str:
    count = len(trace.steps)
    if not count:
        return ""
    tokens = tokens_text(count)
    if not is_whole and reached < count:
        return say(
            "Your text of {tokens} was being generated again, and you cancelled it after "
            "{reached}; the whole text is among your earlier texts.",
            tokens=tokens,
            reached=f"{reached:,}",
        )
    if differs is None:
        return again(count)
    return say(
        "Your text of {tokens} was generated again; from token {place} on it differs, "
        "because {reason}.",
        tokens=tokens,
        place=f"{differs + 1:,}",
        reason=_reason(changed_facts(trace, model)),
    )


def _reason(facts: tuple[FactDifference, ...]) -> str:
    """Return the difference since the text was first made, as half a sentence."""
    changed = {fact.name.partition(".")[0]: fact for fact in facts}
    for name, reason in _REASONS.items():
        if name in changed:
            return say(reason).format(was=changed[name].recorded, now=changed[name].now)
    return say("the model's weights have changed, or an older version of this app wrote it")


_REASONS = {
    "parameters": marked("the model has different weights now"),
    "weights_hash": marked("the model has different weights now"),
    "device": marked("the model ran on {was} then and runs on {now} now"),
    "dtype": marked("the model computed in {was} then and in {now} now"),
    "torch": marked("PyTorch was {was} then and is {now} now"),
    "transformers": marked("transformers was {was} then and is {now} now"),
    "kernels": marked("this computer adds numbers in a different order from the one that wrote it"),
}
