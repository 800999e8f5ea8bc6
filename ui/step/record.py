"""What a session keeps of a text: a trace for each branch, and what the page had on screen.

    {"run": "3f0c...", "when": 1764000000.0, "current": 1, "index": null, "proposing": false,
     "beginning": {"prompt": ..., "chat": false, "negative_prompt": null, "scale": 1.0,
                   "strategy": null},
     "order": ["temperature", ...], "settings": {"chain": [...], "seed": 0, "parity": false},
     "max_tokens": 64, "read_only": "",
     "branches": [{"number": 1, "parent": null, "departs_at": 0, "trace": {...}}]}

The branch on screen comes first; of the other traces only what differs from its own is kept. They
are brief (see `engine.trace.Trace.to_dict`): the texts are made again, and on the same machine,
with the same versions, they come out the same. The trace of a text that is read-only is whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from engine.decoding.replay import FactDifference, begin, changed_facts
from engine.decoding.replay import replay as made_again
from engine.errors import CancelledError, DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.text import stopping
from engine.trace import Trace
from engine.trace.brief import MOST_TOKENS
from engine.values import Name, Real, Whole
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
    """What is on screen, as plain values."""
    numbers = sorted(text.branches, key=lambda number: number != text.current)
    is_brief = not text.read_only  # no model would make its figures again
    traces = [text.branches[number].decoder.outline().to_dict(brief=is_brief) for number in numbers]
    return {
        "run": text.run,
        "when": time.time(),
        "beginning": asdict(text.beginning),
        "order": list(order),
        "settings": text.settings.to_dict(),
        "max_tokens": text.max_tokens,
        "current": text.current,
        "index": text.inspected,
        "proposing": text.proposing,
        "read_only": text.read_only,
        "branches": [
            {
                "number": number,
                "parent": text.branches[number].parent,
                "departs_at": text.branches[number].departs_at,
                "trace": trace if trace is traces[0] else _difference(trace, traces[0]),
            }
            for number, trace in zip(numbers, traces, strict=True)
        ],
    }


def _difference(trace: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in trace.items() if value != first.get(name)}


def token_counts(record: dict[str, Any]) -> list[int]:
    """Generated tokens of each branch, that on screen first."""
    branches = record["branches"]
    steps = [branch["trace"].get("steps", branches[0]["trace"]["steps"]) for branch in branches]
    return [len(each["tokens"]) for each in steps]


# --- from a record --------------------------------------------------------------------------------


class _KeptBranch(Struct):
    number: Whole
    parent: Whole | None
    departs_at: Whole
    trace: dict[str, Any]


class _Kept(Struct):
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
    branches: Annotated[list[_KeptBranch], Meta(max_length=MOST_BRANCHES)]


@dataclass(frozen=True)
class BranchRecord:
    """One branch of a record; see the module."""

    number: int
    parent: int | None
    departs_at: int
    trace: Trace


@dataclass(frozen=True)
class TextRecord:
    """A text before it is made again; see the module."""

    run: str
    when: float
    beginning: Beginning
    order: tuple[str, ...]
    settings: SamplingSettings
    max_tokens: int
    current: int
    index: int | None
    proposing: bool
    read_only: str
    branches: tuple[BranchRecord, ...]

    @classmethod
    def parse(cls, data: Any) -> TextRecord:
        """The record in what a file held.

        Raises:
            BrokenRecord: another shape than `text_record` gives, or a value that is refused today.
        """
        kept = read(data, _Kept)
        numbers = [branch.number for branch in kept.branches]
        if numbers[:1] != [kept.current] or len(set(numbers)) < len(numbers):
            raise BrokenRecord("It lacks the branch on screen, or has one twice.")
        try:
            settings = SamplingSettings.from_dict(kept.settings)
            max_tokens = stopping.checked_max_new_tokens(kept.max_tokens)
            first = kept.branches[0].trace
            branches = tuple(
                BranchRecord(
                    branch.number,
                    branch.parent,
                    branch.departs_at,
                    Trace.from_dict(first | branch.trace),
                )
                for branch in kept.branches
            )
        except DecodingError as error:
            raise BrokenRecord(f"A value in it is refused: {error}") from error
        if sum(len(branch.trace.steps) for branch in branches) > MOST_TOKENS:
            raise BrokenRecord(f"It has more than {MOST_TOKENS:,} tokens.")
        order = kept.order
        if not {stage.setting for stage in settings.chain} <= set(order):
            order = shown_samplers(settings)
        return cls(
            run=kept.run,
            when=kept.when,
            beginning=kept.beginning,
            order=order,
            settings=settings,
            max_tokens=max_tokens,
            current=kept.current,
            index=kept.index,
            proposing=kept.proposing,
            read_only=kept.read_only,
            branches=branches,
        )

    @property
    def trace(self) -> Trace:
        """That of the branch that was on screen."""
        return self.branches[0].trace

    @property
    def source(self) -> str:
        """The source that its model was loaded from."""
        return self.trace.model.get("source", "")

    @property
    def revision(self) -> str | None:
        """The revision of its model."""
        return self.trace.model.get("revision")


# --- making it again ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replayed:
    """A text made again.

    Attributes:
        branches: by number; without those that came after an interruption.
        current: the branch to show.
        sentence: how it compares with the record; empty where there was no token.
        is_whole: whether it was not interrupted.
        is_same: whether all tokens are those of the record.
    """

    branches: dict[int, Branch]
    current: int
    sentence: str
    is_whole: bool
    is_same: bool


def replay(
    record: TextRecord,
    model: LanguageModel,
    told: Callable[[str, int, int], None] = lambda what, done, total: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Replayed:
    """Make every branch of a record again; what two share is computed once.

    Args:
        record: the text.
        model: that which wrote it.
        told: what happens, how many tokens are done, and of how many.
        should_stop: asked before every token; what is there then is kept.

    Raises:
        DecodingError: the model cannot make it again, or a step fails.
    """
    if record.read_only:
        text = RecordedText(record.trace, record.read_only)
        return Replayed(
            {record.current: Branch(record.current, text)}, record.current, "", True, True
        )
    # That on screen first, so that it is there whatever happens; then in the order of their making.
    waiting = sorted(record.branches, key=lambda each: (each.number != record.current, each.number))
    twins = [_twin(waiting[:place], branch) for place, branch in enumerate(waiting)]
    total = sum(
        len(branch.trace.steps) - length for branch, (_, length) in zip(waiting, twins, strict=True)
    )
    made: dict[int, Branch] = {}
    done, differs, is_whole = 0, None, True
    what = say("Generating your text again")
    for branch, (twin, length) in zip(waiting, twins, strict=True):
        if should_stop() and made:
            is_whole = False
            break
        text = begin(branch.trace, model) if twin is None else _forked(made[twin], length, branch)
        made[branch.number] = Branch(branch.number, text, branch.parent, branch.departs_at)
        before = done - length

        def progress(steps: int, _: int, before: int = before) -> None:
            told(what, before + steps, total)

        try:
            found = made_again(
                branch.trace,
                model,
                text=text,
                to_end=True,
                progress=progress,
                should_stop=should_stop,
            )
        except CancelledError:  # while its pass waited for its turn
            is_whole = False
        else:
            is_whole = not found.stopped
            if branch.number == record.current:
                differs = found.token_at
        done = before + len(text.steps)
        if branch.number != record.current:
            text.release_rows()
        if not is_whole:
            break
    for branch in made.values():
        branch.parent = branch.parent if branch.parent in made else None
    current = made[record.current].decoder
    sentence = _sentence(record.trace, model, len(current.steps), differs, is_whole)
    branches = dict(sorted(made.items()))
    return Replayed(branches, record.current, sentence, is_whole, differs is None)


def _twin(made: list[BranchRecord], branch: BranchRecord) -> tuple[int | None, int]:
    """The number of a branch that another can be forked from, and at which length."""
    shared = [(branch.trace.shared_with(other.trace), other.number) for other in made]
    length, number = max(shared, default=(0, None), key=lambda each: each[0])
    return (number, length) if length else (None, 0)


def _forked(twin: Branch, length: int, branch: BranchRecord) -> Text:
    text = twin.decoder.fork()
    text.rewind(min(length, len(text.steps)))
    text.stop_strings = branch.trace.stop_strings
    return text


# --- what is said of it ---------------------------------------------------------------------------


def again(count: int) -> str:
    """What is said of a text of so many tokens that came out as it was."""
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
    """What is another than when the text was first made, as half a sentence."""
    changed = {fact.name.partition(".")[0]: fact for fact in facts}
    for name, reason in _REASONS.items():
        if name in changed:
            return say(reason).format(was=changed[name].recorded, now=changed[name].now)
    return say("the model's weights are others now, or an older version of this app wrote it")


_REASONS = {
    "parameters": marked("the model has other weights now"),
    "weights_hash": marked("the model has other weights now"),
    "device": marked("the model ran on {was} then and runs on {now} now"),
    "dtype": marked("the model computed in {was} then and in {now} now"),
    "torch": marked("PyTorch was {was} then and is {now} now"),
    "transformers": marked("transformers was {was} then and is {now} now"),
    "kernels": marked("this computer adds in another order than the one that wrote it"),
}
