"""A complete trace: the parts common to all strategies, and conversion to and from a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic

from msgspec import Meta, Raw, Struct, to_builtins

from engine.errors import TraceError, msg
from engine.trace import files
from engine.trace.steps import BriefStep, BriefSteps, Guidance, StopString, taken
from engine.trace.strategies import STRATEGIES
from engine.trace.strategy import Strategy, TraceStep
from engine.values import (
    ChatMessage,
    Entry,
    Name,
    NoJson,
    Number,
    Positive,
    Row,
    Text,
    TokenBytes,
    Whole,
    Wrong,
    convert,
    decode,
    plain,
    short,
)

if TYPE_CHECKING:
    import pandas

FORMAT = "decoding-trace"
VERSION = 3
READABLE = (2, VERSION)  # version 2 has no leading tokens

Size = Annotated[int, Meta(ge=1, le=2**31)]
Fact = Annotated[str, Meta(max_length=10_000)] | Number | bool | None
Facts = dict[Name, Fact | dict[Name, Fact | dict[Name, Fact]]]


@dataclass(frozen=True)
class Trace:
    """Complete record of one decoding run.

    Attributes:
        model: facts about the model: name, source, revision, dtype, device, vocab_size, parameters,
            tokenizer_hash, versions of torch and transformers; on a CPU its kernels, threads and
            instructions (see `engine.model.LanguageModel.facts`).
        prompt_ids: token ids of the prompt; for a diffusion model, the canvas with its masks.
        prompt: the prompt as text.
        settings: (first step, settings as plain values), in order; each applies until the next.
        stop_strings: texts that end generation.
        steps: all steps, of the strategy's own step class.
        guidance: the guidance of the run; None without guidance.
        strategy: how tokens were chosen: a name in `STRATEGIES`, such as ``sampling`` or
            ``contrastive``; ``guidance`` is sampling under guidance.
        messages: the conversation in `prompt_ids`, if a chat template laid one out.
        prompt_passes: tokens of each pass in which the prompt was read, if parts of it were in the
            cache of an earlier text; empty if it was read as usual.
        tokens: bytes of every token that the trace mentions, or a special token's name, so that it
            can be read without its model. Empty for strategies whose steps contain them, and in
            older files.
    """

    model: dict[str, Any]
    prompt_ids: tuple[int, ...]
    prompt: str
    settings: tuple[tuple[int, dict[str, Any]], ...] = ()
    stop_strings: tuple[str, ...] = ()
    steps: tuple[TraceStep, ...] = ()
    guidance: Guidance | None = None
    strategy: str = "sampling"
    messages: tuple[ChatMessage, ...] = ()
    prompt_passes: tuple[int, ...] = ()
    tokens: dict[int, bytes] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The generated text; for a diffusion model, the canvas."""
        return self._strategy.text(self.prompt, self.steps)

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens; for a diffusion model, the canvas."""
        return self._strategy.token_ids(self.prompt_ids, self.steps)

    @property
    def stop_reason(self) -> str | None:
        """Reason that generation stopped, None if it has not."""
        return self._strategy.stop_reason(self.steps)

    @property
    def _strategy(self) -> Strategy:
        return STRATEGIES[self.strategy]

    def tokens_of(self, step: TraceStep) -> list[int]:
        """Return the ids that one step generated; for a diffusion model, the canvas."""
        return self._strategy.token_ids(self.prompt_ids, [step])

    def settings_at(self, index: int) -> dict[str, Any]:
        """Return the settings that applied to a step, as plain values.

        Raises:
            TraceError: a hand-made trace without settings for this step.
        """
        for first, values in reversed(self.settings):
            if first <= index:
                return values
        raise TraceError(
            "The trace has no settings for step {index:,}; add those it began with.", index
        )

    def guidance_scale_at(self, index: int) -> float | None:
        """Return the guidance scale of a step, or of the next one; None without guidance."""
        if index < len(self.steps):
            return self.steps[index].guidance_scale
        return self.guidance.scale if self.guidance else None

    @property
    def is_brief(self) -> bool:
        """True if its steps have no figures."""
        return isinstance(next(iter(self.steps), None), BriefStep)

    def shared_with(self, other: Trace) -> int:
        """Count the leading steps that both traces share: same tokens, same settings."""
        if self.prompt_ids != other.prompt_ids:
            return 0
        most = min(len(self.steps), len(other.steps))
        return next((index for index in range(most) if self._at(index) != other._at(index)), most)

    def _at(self, index: int) -> tuple[Any, ...]:
        """Return the parts of a step that `shared_with` compares."""
        return *taken(self.steps[index]), self.settings_at(index)

    def to_frame(self) -> pandas.DataFrame:
        """Return one row per step; under masked diffusion one per step and predicted mask.

        ``logprob`` is the model's own, before any setting; ``probability`` is that in the draw,
        after all settings. A stage adds ``survivors_after_`` and ``mass_removed_by_`` columns.
        """
        import pandas as pd

        rows = [row for step in self.steps for row in step.rows()]
        return pd.DataFrame(rows, columns=None if rows else self._strategy.step.columns())

    def to_json(self) -> str:
        """Return the trace as JSON text, as `save` writes it.

        Raises:
            TraceError: a value that JSON cannot represent, such as NaN.
        """
        return files.as_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str | bytes, most: files.Most | None = None) -> Trace:
        """Return the trace in a JSON text; the inverse of `to_json`.

        Args:
            text: the text of a file.
            most: limits on its contents; None for those that apply to every file.

        Raises:
            TraceError: not a trace, an unsupported version, or a value that is missing, of a wrong
                type or out of range.
        """
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        files.check(data, most)
        try:
            strategy = _strategy(data)
            file = decode(data, _File[strategy.step])
            if isinstance(file.steps, BriefSteps):
                file.steps = _brief(file.steps, strategy)
            _check(file, strategy)
        except NoJson as error:
            raise TraceError(
                "The trace is not valid JSON ({reason}); save it again.", str(error)
            ) from error
        except Wrong as wrong:
            raise damaged(wrong) from wrong.__cause__
        parts = cls.__dataclass_fields__
        return cls(**{name: getattr(file, name) for name in parts})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Trace:
        """Rebuild a trace from the result of `to_dict`; raises the same errors as `from_json`."""
        return cls.from_json(files.as_json(values))

    def to_dict(self, *, brief: bool = False) -> dict[str, Any]:
        """Return plain values, as written to a JSON file.

        Args:
            brief: leave out the figures of the steps, each of which must be one token. The rest is
                just enough to generate the text again. A trace read from it has neither text nor
                table.
        """
        header = {
            "format": FORMAT,
            "version": VERSION,
            "strategy": self.strategy,
            "model": self.model,
            "prompt": self.prompt,
            "prompt_ids": list(self.prompt_ids),
            "settings": [[first, values] for first, values in self.settings],
            "stop_strings": list(self.stop_strings),
        }
        for name in ("messages", "prompt_passes"):
            if getattr(self, name):
                header[name] = list(getattr(self, name))
        if self.guidance is not None:
            header["guidance"] = plain(self.guidance)
        if self.tokens and not brief:
            header["tokens"] = {str(token): spelled.hex() for token, spelled in self.tokens.items()}
        if brief or self.is_brief:
            return header | {"steps": to_builtins(BriefSteps.of(self.steps))}
        return header | {"steps": plain(self.steps)}

    def save(self, path: str | Path) -> Path:
        """Write the trace as a ``.json`` file; an existing file is replaced atomically.

        Raises:
            TraceError: a wrong file extension, a trace above the limits, or a file that cannot be
                written.
        """
        return files.write(Path(path), self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace saved by `save`.

        Raises:
            TraceError: not a trace, a damaged one, or one above 64 MiB.
        """
        return cls.from_json(files.read(Path(path)))


class _Head(Struct):
    format: Raw = Raw()
    version: Raw = Raw(b"null")
    strategy: Raw = Raw(b"null")


class _File(Struct, Generic[Entry], forbid_unknown_fields=True):
    format: str
    version: int
    strategy: str
    model: Facts
    prompt: Text
    prompt_ids: Annotated[tuple[Whole, ...], Meta(min_length=1)]
    settings: Annotated[tuple[tuple[Whole, dict[str, Any]], ...], Meta(min_length=1)]
    stop_strings: Row[StopString]
    steps: Annotated[tuple[Entry, ...], Meta(max_length=files.MAX_STEPS)] | BriefSteps
    guidance: Guidance | None = None
    messages: Row[ChatMessage] = ()
    prompt_passes: Row[Positive] = ()
    tokens: dict[Whole, TokenBytes] = {}


class _KnownFacts(Struct):
    vocab_size: Size
    input_size: Size | None = None
    parameters: Whole = 0
    name: str = ""
    source: str = ""
    revision: str | None = None
    device: str = ""
    dtype: str = ""
    torch: str = ""


def _strategy(data: bytes) -> Strategy:
    """Return the strategy that a file names, if it is a trace of a readable version."""
    try:
        head = decode(data, _Head)
    except Wrong:
        head = _Head()
    if bytes(head.format) != f'"{FORMAT}"'.encode():
        raise TraceError("This is not a decoding trace; choose a file saved by this app.")
    if bytes(head.version) not in (str(version).encode() for version in READABLE):
        raise TraceError(
            "This trace has format version {version}, this app reads {version2}; "
            "update the app or save the trace again.",
            (_shown(head.version), VERSION),
        )
    names = {f'"{name}"'.encode(): strategy for name, strategy in STRATEGIES.items()}
    if bytes(head.strategy) not in names:
        wanted = msg("one of {values}", ", ".join(STRATEGIES))
        problem = msg("must be {wanted}, got {value}", (wanted, _shown(head.strategy)))
        raise Wrong("strategy", problem)
    return names[bytes(head.strategy)]


def _brief(steps: BriefSteps, strategy: Strategy) -> tuple[BriefStep, ...]:
    if not hasattr(strategy.step, "token_id"):
        raise Wrong("steps", msg("must be a list, as a step consists of more than a token"))
    return steps.steps()


def _shown(value: Raw) -> str:
    return short(bytes(value)[:200].decode("utf-8", "replace"))


def _check(file: _File, strategy: Strategy) -> None:
    """Raise `Wrong` for values out of range: token ids, step numbers, guidance, settings."""
    if (file.guidance is not None) != (file.strategy == "guidance"):
        problem = msg("does not fit the strategy {strategy_name}", file.strategy)
        raise Wrong("guidance", problem)
    facts = _within("model", convert, file.model, _KnownFacts)
    input_size = facts.input_size or facts.vocab_size
    negative = file.guidance.negative_prompt_ids if file.guidance else ()
    named = ("prompt_ids", file.prompt_ids), ("guidance.negative_prompt_ids", negative)
    for name, ids in (*named, ("tokens", file.tokens)):
        _check_ids(name, ids, input_size)
    if sum(file.prompt_passes) > len(file.prompt_ids):
        raise Wrong("prompt_passes", msg("must have at most the tokens of the prompt"))
    size = input_size if strategy.fills else facts.vocab_size
    for place, step in enumerate(file.steps):
        if step.index != place:
            problem = msg("must be {place:,}, got {index}", (place, step.index))
            raise Wrong(f"steps[{place}].index", problem)
        _check_ids(f"steps[{place}]", step.ids, size)
    for place, (_, settings) in enumerate(file.settings):
        _within(f"settings[{place}]", strategy.check, settings, facts.vocab_size)


def _check_ids(place: str, ids: Iterable[int], size: int) -> None:
    largest = max(ids, default=0)
    if largest >= size:
        wanted = msg("token ids from 0 to {size:,}", size - 1)
        raise Wrong(place, msg("must contain {wanted}, got {value:,}", (wanted, largest)))


def _within(place: str, check: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a check; put `place` before the place that its error names."""
    try:
        return check(*given)
    except Wrong as wrong:
        raise Wrong(f"{place}.{wrong.place}".rstrip("."), wrong.problem) from wrong.__cause__


def damaged(wrong: Wrong) -> TraceError:
    """Return the error for a damaged trace, with a message of at most 500 characters."""
    remedy = msg("save the trace again or choose another file")
    place, inner = "", wrong.place
    if step := re.match(r"steps\[(\d+)\]\.?", inner):
        place, inner = msg("step {place:,}", int(step[1])), inner[step.end() :]
    problem = wrong.problem if len(wrong.problem) <= 200 else short(wrong.problem, 200)
    if place and inner:
        template = msg("The trace is damaged at {place}: {inner} {problem}; {remedy}.")
        return TraceError(template, (place, inner, problem, remedy))
    if place:
        template = msg("The trace is damaged at {place}: {problem}; {remedy}.")
        return TraceError(template, (place, problem, remedy))
    if inner:
        template = msg("The trace is damaged: {inner} {problem}; {remedy}.")
        return TraceError(template, (inner, problem, remedy))
    return TraceError("The trace is damaged: {problem}; {remedy}.", (problem, remedy))
