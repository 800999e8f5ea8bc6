"""Failures that the user can act on.

Every expected failure of the engine is one of these. The message, in one or two sentences, names
the given value, the problem and the remedy. A page shows it unchanged.

    DecodingError
    ├── SettingError            a setting outside its range (also a ValueError)
    ├── PromptError             an empty prompt, or one longer than the context
    ├── ModelError              the model cannot be loaded
    │   ├── ModelNotFoundError      no such folder, no such hub id, or the hub cannot be reached
    │   ├── NotAModelError          a folder or repository without a causal language model
    │   ├── WeightsError            weights that are truncated, unreadable or incomplete
    │   ├── UnsafeWeightsError      pickled weights only
    │   ├── RemoteCodeError         the model needs Python code of its own
    │   └── TokenizerError          the tokenizer is missing or does not fit the model
    ├── CapabilityError         the model, or its server, lacks a needed capability
    ├── ServerError             a server that cannot be reached, or an unusable answer
    │   ├── RejectedError           it does not know the path, or refuses the values of a request
    │   └── ModelChangedError       it has another model than when it was connected
    ├── LogitsError             the model returned NaN or infinite logits
    ├── NoCandidatesError       every token was removed before the draw
    ├── ContextFullError        the model's context has no position left
    ├── OutOfMemoryError        the device ran out of memory in a forward pass
    ├── RecordError             past logits cannot be stored (a full disk)
    ├── CancelledError          work that is no longer wanted
    ├── PanicError              a library written in Rust panicked
    ├── TraceError              a file that is not a trace, or a damaged one
    └── MeasurementError        a file that is not a measurement, or a damaged one
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from numbers import Number
from string import Formatter
from typing import Any


class Message(str):
    """A sentence in English, or a part of one, with its template and values.

        msg("use a whole number from {least:,} to {most:,}", (1, 1_024))

    The string is the English text. A page can show the template in a different language, with the
    same values. A value may be a message too. Joined or shortened, a message becomes plain text
    without a template.

    Args:
        template: the text with a named placeholder for each value; the id of its translations.
        values: values in the order of the placeholders; as with ``%``, a single one needs no tuple.

    Attributes:
        template: as given.
        values: values by the names of their placeholders.
    """

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, values: object = ()) -> Message:
        given = values if isinstance(values, tuple) else (values,)
        if isinstance(template, Message) and not given:
            return template
        names = _places(template) if given else ()
        named = {name: _plain(value) for name, value in zip(names, given, strict=True)}
        message = super().__new__(cls, template.format(**named) if given else template)
        message.template, message.values = template, named
        return message

    def __reduce__(self):
        return Message, (self.template, tuple(self.values.values()))


msg = Message  # a short name, as it marks every template for the translation files


@cache
def _places(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def _plain(value: object) -> object:
    if isinstance(value, DecodingError):
        return value.message
    return value if isinstance(value, str | Number) else str(value)


class DecodingError(Exception):
    """Base of every expected failure; the message is meant for the person using the app.

    Args:
        template, values: those of its `Message`; or a finished `Message` alone.
    """

    def __init__(self, template: str, values: object = ()) -> None:
        super().__init__(Message(template, values))

    @property
    def message(self) -> Message:
        """The message text, with its template and values."""
        return self.args[0]


class SettingError(DecodingError, ValueError):
    """A setting outside its range.

    Attributes:
        setting: name of the setting, as in `SamplingSettings`.
        value: the given value.
        problem: why it is refused: "must be at most 64"; a `Message`.
        remedy: how to fix it: "use 1 to 64"; a `Message`.
    """

    def __init__(self, setting: str, value: object, problem: str, remedy: str) -> None:
        self.setting = setting
        self.value = value
        self.problem = Message(problem)
        self.remedy = Message(remedy)
        template = msg("{setting} {problem}, got {value}; {remedy}.")
        shown = shown_value(value)
        super().__init__(template, (setting, self.problem, shown, self.remedy))

    def __reduce__(self):
        # The default would call __init__ with the finished message alone.
        return SettingError, (self.setting, self.value, self.problem, self.remedy)


def shown_value(value: object) -> str:
    """Return a value as shown in a message, in at most 80 characters."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > 96:  # Python refuses to print more than 4,300 digits
            digits = round(value.bit_length() * 0.30103)
            return msg("a number of about {bit_length:,} digits", digits)
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float) and value.is_integer() and 10_000 <= abs(value) < 2**53:
        return f"{value:,.0f}"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


class PromptError(DecodingError):
    """The prompt is empty, too large, or longer than the model's context."""


class ModelError(DecodingError):
    """The model cannot be loaded."""


class ModelNotFoundError(ModelError):
    """No such folder, no such hub id or revision, or the hub cannot be reached."""


class NotAModelError(ModelError):
    """The folder or repository has no causal language model that transformers supports."""


class WeightsError(ModelError):
    """The weights are truncated, unreadable, or do not fit the architecture."""


class UnsafeWeightsError(ModelError):
    """The weights come only as pickle files, which can run code when they are opened."""


class RemoteCodeError(ModelError):
    """The model needs Python code that is shipped with its weights."""


class TokenizerError(ModelError):
    """The tokenizer is missing or does not fit the model."""


class CapabilityError(DecodingError):
    """The model, or the server that runs it, lacks a needed capability."""


class ServerError(DecodingError):
    """A server cannot be reached, refuses a request, or gives an unusable answer."""


class RejectedError(ServerError):
    """A server does not know a path, or refuses the values of a request."""


class ModelChangedError(ServerError):
    """A server has another model than at connection, so its tokens may be different ones."""


class LogitsError(DecodingError):
    """The model returned logits that are not numbers, so no distribution exists."""


class NoCandidatesError(DecodingError):
    """Every token was removed before the draw.

    Attributes:
        stages: `StageResult` of each stage of the chain, up to the one that removed the last token;
            empty if the model itself leaves none.
    """

    stages: Sequence[Any] = ()


class ContextFullError(DecodingError):
    """The model's context has no position left for another token."""


class OutOfMemoryError(DecodingError):
    """The device ran out of memory during a forward pass; nothing generated was lost."""


class RecordError(DecodingError):
    """The logits of a step cannot be stored; nothing generated was lost."""


class CancelledError(DecodingError):
    """Work was cancelled; nothing generated was lost."""


class PanicError(DecodingError):
    """A library written in Rust panicked on its input.

    Args:
        reason: the library's message.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(
            msg(
                "The tokenizer, or another library, gave up on what it was given ({reason}); "
                "change the text, or choose another model.",
                " ".join(reason.split())[:160],
            )
        )

    def __reduce__(self):
        return PanicError, (self.message.values["reason"],)


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Turn a panic in a Rust library into a `PanicError`; also usable as a decorator.

    A panic is not an `Exception`, so handlers for that do not catch it. Each library has its own
    class for it, which cannot be imported.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise PanicError(str(error)) from error


class TraceError(DecodingError):
    """The file is not a trace, is damaged, or was written by a newer version."""


class MeasurementError(DecodingError):
    """The file is not a measurement, is damaged, or was written by a newer version."""
