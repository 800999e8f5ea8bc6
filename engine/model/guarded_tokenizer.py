"""Tokenizers of other people: read and run in processes with limits of time and memory.

A few bytes of a ``tokenizer.json`` can make a text a billion times as long, or have an expression
try all ways to match it. So another process reads the file first; and a text is cut by a process
that has the tokenizer to itself, so that a bad one keeps only its own visitors waiting. What is
then done here has been done there before, or takes no longer than the text is long.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

from tokenizers import Encoding, Tokenizer

from engine.errors import Message, PanicError, TokenizerError, msg
from engine.guarded import Child, EndedError, TooLargeError, TooLongError
from engine.guarded.cutting import Part, stages

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Of processor time: to read the smallest file, and for each MB. The largest in use takes 3 s.
READ_SECONDS, READ_SECONDS_PER_MB = 3.0, 0.3
# To cut the shortest text, and for each MB. Tokenizers in use take 1 s for a MB.
CUT_SECONDS, CUT_SECONDS_PER_MB = 2.0, 8.0
MEGABYTES = 1_024
# Characters of a token. Each time that a text has one, it is copied whole.
LONGEST_TOKEN = 2_000
_READ, _CUT = msg("to be read"), msg("to cut this text")
_CHECK_FILE = msg("check its tokenizer.json, or choose another model")
_CHANGE_TEXT = msg("change the text, or choose another model")

_reading = Child("engine.guarded.loading", READ_SECONDS, MEGABYTES)


def try_to_read(folder: Path, size: int) -> None:
    """Read the tokenizer of a folder in another process.

    Args:
        folder: the folder of the model.
        size: bytes of its text files.

    Raises:
        TokenizerError: it cannot be read, takes more time or memory than it may, makes far more of
            a token than it is, or has one that is too long.
        CancelledError: the asker has given up.
    """
    seconds = READ_SECONDS + READ_SECONDS_PER_MB * size / 1e6
    request = {"kind": "read", "folder": str(folder)}
    answer, _ = _asked(_reading, folder.name, _READ, _CHECK_FILE, seconds, request)
    if "error" in answer or "panic" in answer:
        reason = answer.get("error") or PanicError(answer["panic"])
        raise no_tokenizer(folder.name, reason)
    if answer["longest"] > LONGEST_TOKEN:
        raise TokenizerError(
            "A token of {name} has {longest:,} characters, and at most {most:,} are taken in; "
            "{remedy}.",
            (folder.name, answer["longest"], LONGEST_TOKEN, _CHECK_FILE),
        )


def no_tokenizer(name: str, reason: object) -> TokenizerError:
    """The error for a folder whose tokenizer cannot be read."""
    return TokenizerError(
        "{name} has no tokenizer that can be read ({error}); add its "
        "tokenizer.json and tokenizer_config.json.",
        (name, reason),
    )


def guard(tokenizer: PreTrainedTokenizerBase, folder: Path, size: int) -> None:
    """Have a tokenizer cut texts in another process.

    Args:
        tokenizer: has been read from the folder.
        folder, size: as `try_to_read` has them.
    """
    if getattr(tokenizer, "backend_tokenizer", None) is not None:
        guarded = tokenizer._tokenizer = GuardedTokenizer(tokenizer.backend_tokenizer, folder.name)
        tokenizer._encode_without_added_tokens = guarded.plain
    else:
        take = {"kind": "take", "folder": str(folder)}
        process = _Process(
            tokenizer, "engine.guarded.loading", folder.name, lambda: (take, b"", size)
        )
        tokenizer.tokenize = partial(_tokenize, process)


def _tokenize(process: _Process, text: str, **options: object) -> list[str]:
    return json.loads(process.cut({"kind": "tokenize", "options": options}, text))


class _Process:
    """The process that has a tokenizer to itself; it ends with its owner.

    Args:
        owner: the tokenizer here.
        module: what runs in it.
        name: the model's, for errors.
        taken: the request that hands the tokenizer over, its data, and the bytes that are read.
    """

    def __init__(
        self, owner: object, module: str, name: str, taken: Callable[[], tuple[dict, bytes, int]]
    ) -> None:
        self.child = Child(module, CUT_SECONDS, MEGABYTES)
        self._name, self._taken = name, taken
        finalize(owner, self.child.end)

    def cut(self, request: dict, text: str) -> bytes:
        """Return the answer of the process for a text.

        Raises:
            TokenizerError: it takes more time or memory than it may, or cannot be cut.
            PanicError: the library gives up on it.
            CancelledError: the asker has given up.
        """
        data = text.encode("utf-8", "surrogatepass")
        seconds = CUT_SECONDS + CUT_SECONDS_PER_MB * len(data) / 1e6
        ask = partial(_asked, self.child, self._name)
        with self.child.lock:
            answer, made = ask(_CUT, _CHANGE_TEXT, seconds, request, data)
            if "needs" in answer:
                take, whole, size = self._taken()
                most = READ_SECONDS + READ_SECONDS_PER_MB * size / 1e6
                ask(_READ, _CHECK_FILE, most, take, whole)
                answer, made = ask(_CUT, _CHANGE_TEXT, seconds, request, data)
        if "panic" in answer:
            raise PanicError(answer["panic"])
        if "error" in answer:
            raise TokenizerError(
                "The tokenizer of {name} cannot cut this text ({error}); {remedy}.",
                (self._name, answer["error"], _CHANGE_TEXT),
            )
        return made


class GuardedTokenizer:
    """A tokenizer of the library ``tokenizers`` that cuts texts in a process of its own.

    All else is done here by the tokenizer itself.

    Args:
        tokenizer: the tokenizer.
        name: the model's, for errors.
    """

    def __init__(self, tokenizer: Tokenizer, name: str) -> None:
        process = _Process(self, "engine.guarded.cutting", name, partial(_whole, tokenizer))
        vars(self).update(_tokenizer=tokenizer, _name=name, _process=process)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._tokenizer, name, value)

    def __deepcopy__(self, memo: dict) -> GuardedTokenizer:
        return GuardedTokenizer(deepcopy(self._tokenizer, memo), self._name)

    def encode_batch(
        self,
        input: Sequence[str],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Texts as tokens; raises what `_Process.cut` does."""
        if is_pretokenized:
            raise NotImplementedError("texts only, not words")
        request = {
            "kind": "encode",
            "special": add_special_tokens,
            "as_text": self._tokenizer.encode_special_tokens,
        }
        return [_encoding(self._process.cut(request, text)) for text in input]

    def plain(self, text: str) -> list[int]:
        """Token ids of a text in which no added token counts; raises what `_Process.cut` does."""
        return json.loads(self._process.cut({"kind": "plain"}, text))

    def stages(
        self, text: str, segments: Sequence[Sequence[int]]
    ) -> tuple[list[list[str]], list[Part]]:
        """The stages of the tokenizer, one by one; see `engine.guarded.cutting.stages`."""
        steps, parts = json.loads(self._process.cut({"kind": "stages", "segments": segments}, text))
        return steps, parts


def _whole(tokenizer: Tokenizer) -> tuple[dict, bytes, int]:
    data = tokenizer.to_str().encode()
    return {"kind": "take"}, data, len(data)


def stages_of(
    backend: Tokenizer | GuardedTokenizer, text: str, segments: Sequence[Sequence[int]]
) -> tuple[list[list[str]], list[Part]]:
    """The stages of a tokenizer, one by one; see `engine.guarded.cutting.stages`."""
    if isinstance(backend, GuardedTokenizer):
        return backend.stages(text, segments)
    return stages(backend, text, segments)


def _encoding(state: bytes) -> Encoding:
    made = Encoding()
    made.__setstate__(state)
    return made


def _asked(
    child: Child,
    name: str,
    to_do: Message,
    remedy: Message,
    seconds: float,
    request: dict,
    data: bytes = b"",
) -> tuple[dict, bytes]:
    """The answer of a child; `TokenizerError` if it went too far, or made too much of a text."""
    try:
        answer, made = child.ask(request, data, seconds)
    except TooLongError as error:
        raise TokenizerError(
            "The tokenizer of {name} takes more than {seconds:.0f} seconds of processor time "
            "{to_do}; {remedy}.",
            (name, seconds, to_do, remedy),
        ) from error
    except TooLargeError as error:
        raise TokenizerError(
            "The tokenizer of {name} takes more than {megabytes:,} MB of memory {to_do}; {remedy}.",
            (name, MEGABYTES, to_do, remedy),
        ) from error
    except EndedError as error:
        raise TokenizerError(
            "The tokenizer of {name} cannot be used ({error}); {remedy}.", (name, error, remedy)
        ) from error
    if "grown" in answer:
        given, grown = answer["grown"]
        raise TokenizerError(
            "The tokenizer of {name} makes {grown:,} characters or tokens of {given:,}; {remedy}.",
            (name, grown, given, remedy),
        )
    return answer, made
