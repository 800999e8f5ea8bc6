"""The whole of a trace: what every strategy has in common, and the checks of a loaded one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import TraceError, msg
from engine.trace import files
from engine.trace.steps import LONGEST_STOP_STRING, Guidance
from engine.trace.strategies import STRATEGIES
from engine.trace.strategy import Strategy, TraceStep
from engine.trace.values import (
    LARGEST,
    Kind,
    Limits,
    OneOf,
    Real,
    Record,
    Row,
    Text,
    Token,
    Whole,
    Wrong,
    plain,
    refusal,
    refuse_unknown,
    shown,
)

if TYPE_CHECKING:
    import pandas

FORMAT = "decoding-trace"
VERSION = 2
LARGEST_VOCABULARY = 2**31
_MOST_FACTS = 100
_DEEPEST_FACT = 3
_LONGEST_FACT = 10_000
_FACTS: dict[str, Kind] = {
    "vocab_size": Whole(1, LARGEST_VOCABULARY),
    "input_size": Whole(1, LARGEST_VOCABULARY),
    "parameters": Whole(),
    **{name: Text(_LONGEST_FACT) for name in ("name", "source", "device", "dtype", "torch")},
}
_MOST_STOP_STRINGS = 10_000


@dataclass(frozen=True)
class Trace:
    """A whole run.

    Attributes:
        model: what was stepped: name, source, revision, dtype, device, vocab_size, parameters,
            tokenizer_hash, versions of torch and transformers; on a CPU its kernels, threads and
            instructions (see `engine.model.LanguageModel.facts`).
        prompt_ids: token ids of the prompt; of a diffusion model, the canvas with its masks.
        prompt: the prompt as text.
        settings: (first step, settings as plain values), in order; each holds until the next.
        stop_strings: texts that end generation.
        steps: every step, of the strategy's own kind.
        guidance: what guided it; None without guidance.
        strategy: how tokens were chosen: a name in `STRATEGIES`, such as ``sampling`` or
            ``contrastive``; ``guidance`` is sampling under guidance.
    """

    model: dict[str, Any]
    prompt_ids: tuple[int, ...]
    prompt: str
    settings: tuple[tuple[int, dict[str, Any]], ...] = ()
    stop_strings: tuple[str, ...] = ()
    steps: tuple[TraceStep, ...] = ()
    guidance: Guidance | None = None
    strategy: str = "sampling"

    @property
    def text(self) -> str:
        """The generated text; of a diffusion model, the canvas."""
        return self._strategy.text(self.prompt, self.steps)

    @property
    def token_ids(self) -> list[int]:
        """Ids of the generated tokens; of a diffusion model, the canvas."""
        return self._strategy.token_ids(self.prompt_ids, self.steps)

    @property
    def stop_reason(self) -> str | None:
        """Why generation ended, None where it did not."""
        return self._strategy.stop_reason(self.steps)

    @property
    def _strategy(self) -> Strategy:
        return STRATEGIES[self.strategy]

    def tokens_of(self, step: TraceStep) -> list[int]:
        """Ids of the tokens that one step wrote; of a diffusion model, the canvas."""
        return self._strategy.token_ids(self.prompt_ids, [step])

    def settings_at(self, index: int) -> dict[str, Any]:
        """The settings, as plain values, that a step was taken with.

        Raises:
            TraceError: a trace made by hand that has none for it.
        """
        for first, values in reversed(self.settings):
            if first <= index:
                return values
        raise TraceError(
            "The trace has no settings for step {index:,}; give those it began with.", index
        )

    def to_frame(self) -> pandas.DataFrame:
        """One row per step; under masked diffusion one per step and predicted mask.

        ``logprob`` is the model's own, before any setting, and ``probability`` that of the draw,
        after all of them. A stage adds ``survivors_after_`` and ``mass_removed_by_`` columns.
        """
        import pandas as pd

        rows = [row for step in self.steps for row in step.rows()]
        return pd.DataFrame(rows, columns=None if rows else self._strategy.step.columns())

    def to_json(self) -> str:
        """The text of a JSON file; `save` writes the same.

        Raises:
            TraceError: a value that no file can keep, such as NaN.
        """
        return files.as_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str, most: files.Most | None = None) -> Trace:
        """The inverse of `to_json`.

        Args:
            text: the text of a file.
            most: what it may hold; None for as much as any file.

        Raises:
            TraceError: as `load`.
        """
        return cls.from_dict(files.from_json(text.encode("utf-8", "replace"), most))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
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
        if self.guidance is not None:
            header["guidance"] = plain(self.guidance)
        return header | {"steps": [step.to_dict() for step in self.steps]}

    @classmethod
    def from_dict(cls, data: Any) -> Trace:
        """Return the trace of plain values, as `to_dict` gives them.

        Raises:
            TraceError: not a trace, one of another version, or a value that is missing, of a wrong
                type, out of range or at odds with another.
        """
        if type(data) is not dict or data.get("format") != FORMAT:
            raise TraceError("This is no decoding trace; choose a file saved by this app.")
        version = data.get("version")
        if type(version) is not int or version != VERSION:
            raise TraceError(
                "This trace has format version {version}, this app reads {version2}; "
                "update the app or save the trace again.",
                (shown(version), VERSION),
            )
        try:
            return cls._checked(data)
        except Wrong as wrong:
            raise refusal(wrong, _step_named(wrong)) from wrong.__cause__

    @classmethod
    def _checked(cls, data: dict[str, Any]) -> Trace:
        refuse_unknown(data, ("format", "version", *cls.__dataclass_fields__))
        limits = _limits(_part(data, "model"))
        name = OneOf(tuple(STRATEGIES)).read
        strategy_name = _within("strategy", name, _part(data, "strategy"), limits)
        strategy = STRATEGIES[strategy_name]
        if ("guidance" in data) != (strategy_name == "guidance"):
            raise Wrong("does not fit the strategy {strategy_name}", strategy_name).within(
                "guidance"
            )
        ids = Row(Token(is_input=True))
        values = {
            "prompt": Text(),
            "prompt_ids": ids,
            "stop_strings": Row(Text(LONGEST_STOP_STRING), most=_MOST_STOP_STRINGS),
        } | ({"guidance": Record(Guidance)} if "guidance" in data else {})
        header = {
            part: _within(part, kind.read, _part(data, part), limits)
            for part, kind in values.items()
        }
        if not header["prompt_ids"]:
            raise Wrong("must hold at least one token").within("prompt_ids")
        steps = _steps(strategy, _part(data, "steps"), limits)
        runs, settings = _settings(strategy, _part(data, "settings"), limits, len(steps))
        try:
            strategy.check(header["prompt_ids"], steps, settings)
        except Wrong as wrong:
            raise wrong.within("steps") from None
        return cls(
            model=data["model"], strategy=strategy_name, steps=steps, settings=runs, **header
        )

    def save(self, path: str | Path) -> Path:
        """Write the trace as a ``.json`` file; an existing file is replaced at once.

        Raises:
            TraceError: another ending, more than a file may hold, or the file cannot be written.
        """
        return files.write(Path(path), self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a trace saved by `save`.

        Raises:
            TraceError: not a trace, a damaged one, or one above 64 MiB.
        """
        return cls.from_dict(files.read(Path(path)))


def _part(data: dict[str, Any], name: str) -> Any:
    if name not in data:
        raise Wrong("is missing").within(name)
    return data[name]


def _within(name: str, read: Any, value: Any, limits: Limits) -> Any:
    try:
        return read(value, limits)
    except Wrong as wrong:
        raise wrong.within(name) from wrong.__cause__


def _step_named(wrong: Wrong) -> str:
    """``step 12`` out of the place of something in a step, which is left without it."""
    if wrong.place[:1] == ["steps"] and len(wrong.place) > 1:
        step = msg("step {place:,}", wrong.place[1])
        del wrong.place[:2]
        return step
    return ""


def _limits(model: Any) -> Limits:
    """What ranges depend on, out of the facts of the model, all of which are checked."""
    try:
        if type(model) is not dict:
            raise Wrong("must be an object, got {model}", shown(model))
        _check_fact(model, 0)
        free = Limits(1, 1)
        for name, kind in _FACTS.items():
            if name in model:
                _within(name, kind.read, model[name], free)
        size = _part(model, "vocab_size")
    except Wrong as wrong:
        raise wrong.within("model") from wrong.__cause__
    return Limits(size, model.get("input_size", size))


def _check_fact(value: Any, depth: int) -> None:
    """Raise `Wrong` for a fact that is no plain value of a sensible size."""
    if type(value) is dict and depth < _DEEPEST_FACT:
        if len(value) > _MOST_FACTS:
            raise Wrong(
                "must hold at most {most_facts} facts, got {value:,}", (_MOST_FACTS, len(value))
            )
        for name, fact in value.items():
            if type(name) is not str or len(name) > _MOST_FACTS:
                raise Wrong("has a fact with the name {name}, which is none", shown(name))
            try:
                Text(_MOST_FACTS).read(name, Limits(1, 1))
                _check_fact(fact, depth + 1)
            except Wrong as wrong:
                raise wrong.within(name) from wrong.__cause__
    elif type(value) is str:
        Text(_LONGEST_FACT).read(value, Limits(1, 1))
    elif type(value) is float:
        Real().read(value, Limits(1, 1))
    elif type(value) is int:
        Whole(-LARGEST).read(value, Limits(1, 1))
    elif value is not None and type(value) is not bool:
        raise Wrong("must be text, a number, true, false or nothing, got {value}", shown(value))


def _steps(strategy: Strategy, data: Any, limits: Limits) -> tuple[TraceStep, ...]:
    steps = _within("steps", Row(Record(strategy.step), most=files.MAX_STEPS).read, data, limits)
    for place, step in enumerate(steps):
        if step.index != place:
            problem = msg("must be {place:,}, got {index}", (place, shown(step.index)))
            raise Wrong(problem).within("index").within(place).within("steps")
    return steps


def _settings(
    strategy: Strategy, data: Any, limits: Limits, steps: int
) -> tuple[tuple[tuple[int, dict[str, Any]], ...], list[Any]]:
    """The settings of the trace, and for every step those that it was taken with."""
    if type(data) is not list or not data:
        raise Wrong("must be a list with an entry for step 0, got {data}", shown(data)).within(
            "settings"
        )
    runs: list[tuple[int, dict[str, Any]]] = []
    parsed: list[Any] = []
    for place, entry in enumerate(data):
        try:
            if type(entry) is not list or len(entry) != 2 or type(entry[1]) is not dict:
                raise Wrong("must be a step and its settings, got {entry}", shown(entry))
            first, values = entry
            least = runs[-1][0] + 1 if runs else 0
            most = steps if runs else 0
            if type(first) is not int or not least <= first <= most:
                raise Wrong(
                    "must begin at a step from {least:,} to {most:,}, got {first}",
                    (least, most, shown(first)),
                )
            parsed.append(strategy.settings(values, limits))
        except Wrong as wrong:
            raise wrong.within(place).within("settings") from wrong.__cause__
        runs.append((first, values))
    ends = [first for first, _ in runs[1:]] + [steps]
    by_step = [
        used
        for (first, _), end, used in zip(runs, ends, parsed, strict=True)
        for _ in range(first, end)
    ]
    return tuple(runs), by_step
