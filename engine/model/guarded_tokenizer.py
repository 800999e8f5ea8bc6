"""Third-party tokenizers, read and run in processes with limits on time and memory.

A few bytes of a ``tokenizer.json`` can make a text a billion times as long, or make a regular
expression try every way to match it. While a large file is parsed, no other thread of this process
runs. So a second process reads the files and returns the tokens and the settings. Each tokenizer
runs in a process of its own, so that a bad one keeps only its own visitors waiting.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

import msgspec
from tokenizers import AddedToken, Encoding

from engine.errors import Message, PanicError, TokenizerError, msg
from engine.guarded import Child, EndedError, TooLargeError, TooLongError
from engine.guarded.cutting import Part
from engine.making import KINDS, Making

if TYPE_CHECKING:
    from tokenizers.processors import PostProcessor
    from transformers import PreTrainedTokenizerBase

# Processor time to read the smallest file, and for each MB. The largest file in use takes 3 s.
READ_SECONDS, READ_SECONDS_PER_MB = 3.0, 0.3
# Processor time to tokenize the shortest text, and for each MB. Tokenizers in use take 1 s per MB.
CUT_SECONDS, CUT_SECONDS_PER_MB = 2.0, 8.0
MEGABYTES = 1_024
# Most characters of a token, which is copied whole each time it occurs in a text.
LONGEST_TOKEN = 2_000
# Most bytes of a tokenizer without its tokens, mainly its chat template; unpickled at once.
MOST_OF_REST = 1_000_000
_READ, _CUT = msg("to read"), msg("to split this text")
_CHECK_FILE = msg("check its tokenizer.json, or choose another model")
_CHANGE_TEXT = msg("change the text, or choose another model")

_reading = Child("engine.guarded.loading", READ_SECONDS, MEGABYTES)


def read(folder: Path, size: int, most: int) -> tuple[PreTrainedTokenizerBase | None, int, int]:
    """Read the tokenizer of a folder in another process.

    Args:
        folder: the folder of the model.
        size: bytes of its text files.
        most: a tokenizer whose highest id is this or more is not built.

    Returns:
        The tokenizer, which runs in its own process; its number of entries; and its highest id.
        None instead of the tokenizer if that id is too high, or if transformers runs it in Python.

    Raises:
        TokenizerError: it cannot be read, exceeds its limit of time or memory, decodes a token to
            far too much text, or has a token that is too long.
        CancelledError: the caller has given up.
    """
    seconds = READ_SECONDS + READ_SECONDS_PER_MB * size / 1e6
    request = {"kind": "read", "folder": str(folder), "most": most}
    answer, data = _asked(_reading, folder.name, _READ, _CHECK_FILE, seconds, request)
    if "error" in answer or "panic" in answer:
        reason = answer.get("error") or PanicError(answer["panic"])
        raise no_tokenizer(folder.name, reason)
    if answer["longest"] > LONGEST_TOKEN:
        raise TokenizerError(
            "A token of {name} has {longest:,} characters, and at most {most:,} are "
            "accepted; {remedy}.",
            (folder.name, answer["longest"], LONGEST_TOKEN, _CHECK_FILE),
        )
    tokenizer = _made(folder.name, answer, data) if "lengths" in answer else None
    return tokenizer, answer["entries"], answer["highest"]


def no_tokenizer(name: str, reason: object) -> TokenizerError:
    """Return the error for a folder whose tokenizer cannot be read."""
    return TokenizerError(
        "{name} has no tokenizer that can be read ({error}); add its "
        "tokenizer.json and tokenizer_config.json.",
        (name, reason),
    )


def _made(name: str, told: dict, data: bytes) -> PreTrainedTokenizerBase:
    """Build a tokenizer from another process' description; see `engine.guarded.loading`."""
    parts, start = [], 0
    for length in told["lengths"]:
        parts.append(data[start : start + length])
        start += length
    pieces, added, rest, whole = parts
    if len(rest) > MOST_OF_REST:
        raise TokenizerError(
            "The tokenizer of {name} has {size:,.1f} MB of settings besides its tokens, and "
            "at most {most:,.0f} MB is accepted; {remedy}.",
            (name, len(rest) / 1e6, MOST_OF_REST / 1e6, _CHECK_FILE),
        )
    # Pickled by this program in the other process, so that no file decides what is unpickled.
    tokenizer, settings = pickle.loads(rest)
    tokens = {number: _added(*fields) for number, *fields in _entries(added)}
    guarded = GuardedTokenizer(name, whole, told, list(_entries(pieces)), tokens, settings)
    tokenizer._tokenizer = guarded
    tokenizer._encode_without_added_tokens = guarded.plain
    return tokenizer


def _entries(lines: bytes) -> Iterator[Any]:
    for line in lines.splitlines():
        yield from json.loads(line)


def _added(
    content: str, single_word: bool, lstrip: bool, rstrip: bool, normalized: bool, special: bool
) -> AddedToken:
    places = {"single_word": single_word, "lstrip": lstrip, "rstrip": rstrip}
    return AddedToken(content, **places, normalized=normalized, special=special)


def guard(tokenizer: PreTrainedTokenizerBase, folder: Path, size: int) -> None:
    """Move the work of a tokenizer that transformers runs in Python to another process.

    Args:
        tokenizer: the tokenizer read from the folder.
        folder, size: as in `read`.
    """
    take = {"kind": "take", "folder": str(folder)}
    process = _Process(tokenizer, "engine.guarded.loading", folder.name, take, size)
    tokenizer.tokenize = partial(_tokenize, process)


def _tokenize(process: _Process, text: str, **options: object) -> list[str]:
    return json.loads(process.cut({"kind": "tokenize", "options": options}, text))


class _Process:
    """A child process that runs one tokenizer and ends when its owner is collected.

    Args:
        owner: the tokenizer's counterpart in this process.
        module: the module that runs in the child.
        name: the model's name, for errors.
        take: the request that hands the tokenizer over.
        size: bytes that the child reads for it.
        whole: the data of that request.
    """

    def __init__(
        self, owner: object, module: str, name: str, take: dict, size: int, whole: bytes = b""
    ) -> None:
        self.child = Child(module, CUT_SECONDS, MEGABYTES)
        self._name, self._size = name, size
        self._needed = {"take": (take, whole), "tables": ({"kind": "tables"}, b"")}
        finalize(owner, self.child.end)

    def take(self, request: dict) -> None:
        """Hand the tokenizer over by `request` from now on; ends the child if that is new."""
        with self.child.lock:
            last, whole = self._needed["take"]
            if request != last:
                self._needed["take"] = request, whole
                self.child.end()

    def cut(self, request: dict, text: str) -> bytes:
        """Return the process' answer to a request about a text.

        Raises:
            TokenizerError: the text exceeds a limit of time or memory, or cannot be tokenized.
            PanicError: the library panics on the text.
            CancelledError: the caller has given up.
        """
        data = text.encode("utf-8", "surrogatepass")
        seconds = CUT_SECONDS + CUT_SECONDS_PER_MB * len(data) / 1e6
        ask = partial(_asked, self.child, self._name)
        with self.child.lock:
            answer, made = ask(_CUT, _CHANGE_TEXT, seconds, request, data)
            while "needs" in answer:
                most = READ_SECONDS + READ_SECONDS_PER_MB * self._size / 1e6
                ask(_READ, _CHECK_FILE, most, *self._needed[answer["needs"]])
                answer, made = ask(_CUT, _CHANGE_TEXT, seconds, request, data)
        if "panic" in answer:
            raise PanicError(answer["panic"])
        if "error" in answer:
            raise TokenizerError(
                "The tokenizer of {name} cannot split this text ({error}); {remedy}.",
                (self._name, answer["error"], _CHANGE_TEXT),
            )
        return made


class GuardedTokenizer:
    """Stand-in for a tokenizer of the library ``tokenizers`` that runs in a separate process.

    It has those parts of the library's class that transformers uses.

    Args:
        name: the model's name, for errors.
        whole: its ``tokenizer.json``, which that process reads.
        told: its numbers of entries and its hash.
        pieces: its tokens in the order of their ids; None for an id that it lacks.
        added: its added tokens, by their ids.
        settings: the other attributes except the hash.

    Attributes:
        hash: SHA-256 of `whole`.
        described: see `engine.guarded.cutting.described`.
        decoder: turns pieces into text.
        encode_special_tokens: whether control tokens in a text are encoded as text.
        post_processor: adds tokens before and after those of a text; some tokenizers change it.
    """

    # No other attribute can be set, since a change would not reach the other process.
    __slots__ = (
        *("__weakref__", "_added", "_ids", "_pieces", "_post_processor", "_process", "_sizes"),
        *("decoder", "described", "encode_special_tokens", "hash"),
    )
    truncation = padding = None  # texts are never truncated

    def __init__(
        self,
        name: str,
        whole: bytes,
        told: dict,
        pieces: list[str | None],
        added: dict[int, AddedToken],
        settings: dict[str, Any],
    ) -> None:
        self._post_processor = settings.pop("post_processor")
        for setting, value in settings.items():
            setattr(self, setting, value)
        self.hash, self._sizes = told["hash"], (told["entries_of_model"], told["entries"])
        self._pieces, self._added = pieces, added
        ids = {piece: number for number, piece in enumerate(pieces) if piece is not None}
        self._ids = ids | {one.content: number for number, one in added.items()}
        take = {"kind": "take"}
        self._process = _Process(self, "engine.guarded.cutting", name, take, len(whole), whole)

    @property
    def post_processor(self) -> PostProcessor | None:
        return self._post_processor

    @post_processor.setter
    def post_processor(self, value: PostProcessor) -> None:
        self._post_processor = value
        self._process.take({"kind": "take", "post_processor": pickle.dumps(value).hex()})

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of each piece, always including the added tokens."""
        return dict(self._ids)

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return self._sizes[with_added_tokens]

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        return dict(self._added)

    def id_to_token(self, id: int) -> str | None:
        return self._pieces[id] if 0 <= id < len(self._pieces) else None

    def token_to_id(self, token: str) -> int | None:
        return self._ids.get(token)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text that tokens spell."""
        left_out = {number for number, one in self._added.items() if one.special}
        kept = [one for one in ids if not (skip_special_tokens and one in left_out)]
        pieces = [piece for piece in map(self.id_to_token, kept) if piece is not None]
        return " ".join(pieces) if self.decoder is None else self.decoder.decode(pieces)

    def encode_batch(
        self,
        input: Sequence[str],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """Encode texts; raises the same as `_Process.cut`."""
        if is_pretokenized:
            raise NotImplementedError("texts only, not words")
        request = {
            "kind": "encode",
            "special": add_special_tokens,
            "as_text": self.encode_special_tokens,
        }
        return [_encoding(self._process.cut(request, text)) for text in input]

    def plain(self, text: str) -> list[int]:
        """Return the token ids of a text, with added tokens as text; raises as `_Process.cut`."""
        return json.loads(self._process.cut({"kind": "plain"}, text))

    def stages(
        self, text: str, segments: Sequence[Sequence[int]]
    ) -> tuple[list[list[str]], list[Part]]:
        """Run the tokenizer's stages one by one; see `engine.guarded.cutting.stages`."""
        steps, parts = json.loads(self._process.cut({"kind": "stages", "segments": segments}, text))
        return steps, parts

    def makings(self, pre_tokens: Sequence[str]) -> list[Making]:
        """Return how each pre-token is split into tokens, for kinds in `KINDS`; raises as `cut`."""
        _, history = KINDS[self.described["kind"]]
        made = self._process.cut({"kind": "makings"}, json.dumps(pre_tokens))
        return msgspec.json.decode(made, type=list[history])


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
    """Return a child's answer; raises `TokenizerError` if it exceeds a limit or fails."""
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
            "The tokenizer of {name} turns {given:,} characters into {grown:,} characters or "
            "tokens; {remedy}.",
            (name, given, grown, remedy),
        )
    return answer, made
