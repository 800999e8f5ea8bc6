"""Texts as records: what one is made of, and how it is made again.

A text follows from its model, prompt, settings, seeds and the tokens that a person forced. So a
record holds these, and the tokens to check them against; the text itself is generated again, by the
engine, step by step. On the same machine, with the same versions, it comes out the same.

    {"run": "3f0c...", "model": {...}, "when": 1764000000.0,
     "beginning": {"prompt": ..., "chat": false, "negative_prompt": null, "scale": 1.0,
                   "strategy": null},
     "order": ["temperature", ...], "settings": {"chain": [...], "seed": 0, "parity": false},
     "limits": {"max_tokens": 64, "stop_strings": []},
     "current": 1, "index": null, "proposing": false, "strength": 1.0,
     "branches": [{"number": 1, "parent": null, "departs_at": 0, "tokens": [...], "forced": [3],
                   "settings": [[0, {...}]], "strengths": [[0, 1.5]]}]}

`settings` (in a search only the samplers that it takes) and `strengths` (the scale of guidance, or
alpha of a search) are run lengths: from which step on which one held. `strength` is that of the
step to come.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from engine.decoding.contrastive import ContrastiveSearch
from engine.errors import CancelledError, DecodingError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.text import stopping
from engine.values import Name, Real, Whole
from ui.step.text_on_screen import Branch, ShownText
from ui.texts.settings import shown_samplers
from ui.texts.texts import Beginning, Text, new_text
from ui.visits.records import BrokenRecord, Choice, read
from ui.words.labels import tokens_text
from ui.words.language import marked, say

MOST_BRANCHES = 50
MOST_TOKENS = 200_000  # of all branches of a record
Tokens = Annotated[tuple[Whole, ...], Meta(max_length=MOST_TOKENS)]

FACTS = (  # of a model, on which the last digits of its logits depend
    "architecture",
    "parameters",
    "vocab_size",
    "device",
    "dtype",
    "tokenizer_hash",
    "torch",
    "transformers",
    "kernels",
)


# --- to a record ----------------------------------------------------------------------------------


def text_record(text: ShownText, order: tuple[str, ...]) -> dict[str, Any]:
    """What is on screen, as plain values."""
    model = text.model
    facts = model.facts
    return {
        "run": text.run,
        "model": {
            "name": model.name,
            "source": model.source,
            "revision": model.revision,
            **{name: facts.get(name) for name in FACTS},
        },
        "when": time.time(),
        "beginning": asdict(text.beginning),
        "order": list(order),
        "settings": text.settings.to_dict(),
        "limits": {
            "max_tokens": text.max_tokens,
            "stop_strings": list(text.decoder.stop_strings),
        },
        "current": text.current,
        "strength": text.guidance_scale if text.strategy is None else text.strategy.penalty_alpha,
        "index": text.inspected,
        "proposing": text.proposing,
        "branches": [_branch_record(branch) for branch in text.branches.values()],
    }


def _branch_record(branch: Branch) -> dict[str, Any]:
    text = branch.decoder
    if isinstance(text, ContrastiveSearch):
        forced = []
        strengths = [step.penalty_alpha for step in text.steps]
    else:
        forced = [step.index for step in text.steps if step.forced]
        guided = text.guidance is not None
        strengths = [step.guidance_scale for step in text.steps] if guided else []
    return {
        "number": branch.number,
        "parent": branch.parent,
        "departs_at": branch.departs_at,
        "tokens": text.token_ids,
        "forced": forced,
        "settings": [[first, chosen.to_dict()] for first, chosen in text.settings_by_step],
        "strengths": _run_lengths(strengths),
    }


def _run_lengths(values: list[float]) -> list[list[float]]:
    """[index, value] wherever it changes."""
    return [
        [index, value]
        for index, value in enumerate(values)
        if not index or value != values[index - 1]
    ]


# --- from a record --------------------------------------------------------------------------------


@dataclass(frozen=True)
class BranchRecord:
    """One branch of a record; see the module."""

    number: int
    parent: int | None
    departs_at: int
    tokens: tuple[int, ...]
    forced: frozenset[int]
    settings: tuple[tuple[int, SamplingSettings], ...]
    strengths: tuple[tuple[int, float], ...]

    def at(self, index: int) -> tuple[Any, ...]:
        """All that decides on a step, to be compared with that of another branch."""
        return (
            self.tokens[index],
            index in self.forced,
            _held(self.settings, index),
            _held(self.strengths, index),
        )

    def shared_with(self, other: BranchRecord) -> int:
        """How many leading steps both have."""
        most = min(len(self.tokens), len(other.tokens))
        return next((i for i in range(most) if self.at(i) != other.at(i)), most)


def _held(runs: tuple[tuple[int, Any], ...], index: int) -> Any:
    """What held at a step, None where nothing did."""
    return next((value for first, value in reversed(runs) if first <= index), None)


class _KeptModel(Choice, frozen=True, kw_only=True):
    name: Name


class _KeptLimits(Struct):
    max_tokens: Whole
    stop_strings: Annotated[list[Name], Meta(max_length=32)]


class _KeptBranch(Struct):
    number: Whole
    parent: Whole | None
    departs_at: Whole
    tokens: Tokens
    forced: frozenset[Whole]
    settings: tuple[tuple[Whole, dict[str, Any]], ...]
    strengths: tuple[tuple[Whole, Real], ...]


class _Kept(Struct):
    run: Name
    model: _KeptModel
    when: Real
    beginning: Beginning
    order: Annotated[tuple[Name, ...], Meta(max_length=200)]
    settings: dict[str, Any]
    limits: _KeptLimits
    current: Whole
    strength: Real
    index: Whole | None
    proposing: bool
    branches: Annotated[list[_KeptBranch], Meta(max_length=MOST_BRANCHES)]


@dataclass(frozen=True)
class TextRecord:
    """A text before it is made again; see the module.

    Attributes:
        facts: of the model that wrote it, as it was then.
    """

    run: str
    source: str
    revision: str | None
    model_name: str
    facts: dict[str, Any]
    when: float
    beginning: Beginning
    order: tuple[str, ...]
    settings: SamplingSettings
    max_tokens: int
    stop_strings: tuple[str, ...]
    current: int
    strength: float
    index: int | None
    proposing: bool
    branches: tuple[BranchRecord, ...]

    @classmethod
    def parse(cls, data: Any) -> TextRecord:
        """The record in what a file held.

        Raises:
            BrokenRecord: another shape than `text_record` gives, or a value that is refused today.
        """
        kept = read(data, _Kept)
        numbers = [branch.number for branch in kept.branches]
        if kept.current not in numbers or len(set(numbers)) < len(numbers):
            raise BrokenRecord("It lacks the branch on screen, or has one twice.")
        if sum(len(branch.tokens) for branch in kept.branches) > MOST_TOKENS:
            raise BrokenRecord(f"It has more than {MOST_TOKENS:,} tokens.")
        try:
            settings = SamplingSettings.from_dict(kept.settings)
            branches = tuple(map(_branch, kept.branches))
            max_tokens = stopping.checked_max_new_tokens(kept.limits.max_tokens)
            stop_strings = stopping.checked_stop_strings(kept.limits.stop_strings)
        except DecodingError as error:
            raise BrokenRecord(f"A setting in it is refused: {error}") from error
        order = kept.order
        if not {stage.setting for stage in settings.chain} <= set(order):
            order = shown_samplers(settings)
        return cls(
            run=kept.run,
            source=kept.model.source,
            revision=kept.model.revision,
            model_name=kept.model.name,
            facts={name: data["model"].get(name) for name in FACTS},
            when=kept.when,
            beginning=kept.beginning,
            order=order,
            settings=settings,
            max_tokens=max_tokens,
            stop_strings=stop_strings,
            current=kept.current,
            strength=kept.strength,
            index=kept.index,
            proposing=kept.proposing,
            branches=branches,
        )

    @property
    def tokens(self) -> int:
        """Generated tokens of the branch that was on screen."""
        return len(next(b for b in self.branches if b.number == self.current).tokens)


def _branch(kept: _KeptBranch) -> BranchRecord:
    return BranchRecord(
        number=kept.number,
        parent=kept.parent,
        departs_at=kept.departs_at,
        tokens=kept.tokens,
        forced=kept.forced,
        settings=tuple(
            (first, SamplingSettings.from_dict(values)) for first, values in kept.settings
        ),
        strengths=kept.strengths,
    )


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
    """Generate every branch of a record again.

    Args:
        record: the text.
        model: that which wrote it.
        told: what happens, how many tokens are done, and of how many.
        should_stop: asked before every token; what is there then is kept.

    Raises:
        DecodingError: not even the prompt can be read, or a step fails.
    """
    # That on screen first, so that it is there whatever happens; then in the order of their making.
    waiting = sorted(record.branches, key=lambda each: (each.number != record.current, each.number))
    made: dict[int, tuple[BranchRecord, Text]] = {}
    shared = _shared(waiting)
    total = sum(
        len(branch.tokens) - length for branch, (_, length) in zip(waiting, shared, strict=True)
    )
    done, differs, is_whole = 0, None, True
    what = say("Generating your text again")
    for branch, (twin, length) in zip(waiting, shared, strict=True):
        if should_stop() and made:
            is_whole = False
            break
        text = _begun(record, branch, model, made.get(twin), length)
        made[branch.number] = branch, text
        for index in range(length, len(branch.tokens)):
            if should_stop():
                is_whole = False
                break
            told(what, done, total)
            try:
                token_id = _step(text, branch, index)
            except CancelledError:  # while its pass waited for its turn
                is_whole = False
                break
            if token_id != branch.tokens[index] and branch.number == record.current:
                differs = index if differs is None else differs
            done += 1
        _make_ready(text, record, branch)
        if branch.number != record.current:
            text.release_rows()
        if not is_whole:
            break
    branches = {
        number: Branch(
            number,
            text,
            branch.parent if branch.parent in made else None,
            branch.departs_at,
        )
        for number, (branch, text) in sorted(made.items())
    }
    reached = len(branches[record.current].decoder.steps)
    sentence = _sentence(record, model, reached, differs, is_whole)
    return Replayed(branches, record.current, sentence, is_whole, differs is None)


def _shared(branches: list[BranchRecord]) -> list[tuple[int | None, int]]:
    """For each branch an earlier one that it can be forked from, and at which length."""
    found: list[tuple[int | None, int]] = []
    for place, branch in enumerate(branches):
        twins = [(branch.shared_with(other), other.number) for other in branches[:place]]
        length, number = max(twins, default=(0, None), key=lambda twin: twin[0])
        found.append((number, length) if length else (None, 0))
    return found


def _begun(
    record: TextRecord,
    branch: BranchRecord,
    model: LanguageModel,
    twin: tuple[BranchRecord, Text] | None,
    length: int,
) -> Text:
    if twin is not None:
        text = twin[1].fork()
        text.rewind(min(length, len(text.steps)))
        return text
    settings = _settings_at(record, branch, 0)
    return new_text(model, record.beginning, settings, record.stop_strings)


def _settings_at(record: TextRecord, branch: BranchRecord, index: int) -> SamplingSettings:
    """What held at a step; a search of an earlier version took no samplers and recorded none."""
    before = SamplingSettings() if record.beginning.strategy else record.settings
    return _held(branch.settings, index) or before


def _make_ready(text: Text, record: TextRecord, branch: BranchRecord) -> None:
    """What the next step will be taken with."""
    settings = _settings_at(record, branch, len(branch.tokens))
    if isinstance(text, ContrastiveSearch):
        text.chain = settings.edits
        text.penalty_alpha = record.strength
        return
    text.settings = settings
    if text.guidance is not None:
        text.guidance_scale = record.strength


def _step(text: Text, branch: BranchRecord, index: int) -> int:
    strength, settings = _held(branch.strengths, index), _held(branch.settings, index)
    if isinstance(text, ContrastiveSearch):
        text.penalty_alpha = strength
        text.chain = settings.edits if settings else ()
        return text.step().token_id
    if settings is not None:
        text.settings = settings
    if strength is not None and text.guidance is not None:
        text.guidance_scale = strength
    return text.step(branch.tokens[index] if index in branch.forced else None).token_id


# --- what is said of it ---------------------------------------------------------------------------


def again(count: int) -> str:
    """What is said of a text of so many tokens that came out as it was."""
    tokens = tokens_text(count)
    return say("Your text of {tokens} was generated again; all tokens are the same.", tokens=tokens)


def _sentence(
    record: TextRecord, model: LanguageModel, reached: int, differs: int | None, is_whole: bool
) -> str:
    count = record.tokens
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
        reason=_reason(record, model),
    )


def _reason(record: TextRecord, model: LanguageModel) -> str:
    """What is another than when the text was first made, as half a sentence."""
    now = model.facts
    was = record.facts
    for name, reason in _REASONS.items():
        if was.get(name) is not None and was[name] != now.get(name):
            return say(reason).format(was=was[name], now=now.get(name))
    return say("the model's weights are others now, or an older version of this app wrote it")


_REASONS = {
    "tokenizer_hash": marked("the model has another tokenizer now"),
    "parameters": marked("the model has other weights now"),
    "device": marked("the model ran on {was} then and runs on {now} now"),
    "dtype": marked("the model computed in {was} then and in {now} now"),
    "torch": marked("PyTorch was {was} then and is {now} now"),
    "transformers": marked("transformers was {was} then and is {now} now"),
    "kernels": marked("this computer adds in another order than the one that wrote it"),
}
