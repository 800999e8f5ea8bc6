"""Chat templates: how a message to a chat model is laid out, rendered in a process of its own.

What a person types stays text. Only the template writes control tokens such as an end of turn.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from transformers.utils.chat_template_utils import encode_marked_chat, mark_control_tokens

from engine.errors import PromptError, TokenizerError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Of processor time, for one template. Templates in use take milliseconds.
SECONDS = 2.0
_MEGABYTES = 512
# Of wall time, on a machine that has much else to do: until the process has started, and for one
# template.
_START_SECONDS = 60.0
_WALL_SECONDS = 20.0

_PROBE = "7d1f0c5e system message 93ab26"
_OTHERWISE = "start from plain text, or choose another model"


def has_chat_template(tokenizer: PreTrainedTokenizerBase | None) -> bool:
    """Whether the tokenizer says how a message to the model is laid out."""
    template = getattr(tokenizer, "chat_template", None)
    return bool(template.get("default") if isinstance(template, dict) else template)


def prepare() -> None:
    """Start what rendering needs, in the background: it takes a second or two."""
    _PROCESS.prepare()


def render(
    tokenizer: PreTrainedTokenizerBase, message: str, most_bytes: int, system: str | None = None
) -> str:
    """A user's message in the template, up to where the model answers.

    A system message comes before it, if one is given.

    Raises:
        PromptError: it is longer than `most_bytes`.
        TokenizerError: the template fails, makes nothing of the message, or takes too much time or
            memory.
    """
    special = {name: _plain(token) for name, token in tokenizer.special_tokens_map.items()}
    answer = _PROCESS.ask(
        {
            "template": tokenizer.get_chat_template(),
            "messages": _messages(message, system),
            "special_tokens": special,
            "most_bytes": most_bytes,
        }
    )
    if "error" in answer:
        reason = answer["error"].strip().rstrip(".")[:160]
        raise TokenizerError(f"The chat template of this model failed ({reason}); {_OTHERWISE}.")
    if "size" in answer:
        raise PromptError(
            f"The chat template makes {answer['size']:,} bytes of this message, more than the "
            f"{most_bytes:,} that are taken in; shorten it."
        )
    if not answer["text"]:
        raise TokenizerError(
            f"The chat template of this model makes nothing of this message; {_OTHERWISE}."
        )
    return answer["text"]


def messages(
    tokenizer: PreTrainedTokenizerBase, message: str, most_bytes: int
) -> list[dict[str, str]]:
    """A user's message, behind the system message that the template writes by itself, if it does.

    Found by what another system message takes the place of.

    Raises:
        PromptError, TokenizerError: as in `render`.
    """
    text = render(tokenizer, message, most_bytes)
    with contextlib.suppress(TokenizerError):  # a template for users and assistants only
        before, _, after = render(tokenizer, message, most_bytes, _PROBE).partition(_PROBE)
        system = text.removeprefix(before).removesuffix(after)
        if system and render(tokenizer, message, most_bytes, system) == text:
            return _messages(message, system)
    return _messages(message)


def _messages(message: str, system: str | None = None) -> list[dict[str, str]]:
    first = [] if system is None else [{"role": "system", "content": system}]
    return [*first, {"role": "user", "content": message}]


def encode(tokenizer: PreTrainedTokenizerBase, message: str, most_bytes: int) -> list[int]:
    """Token ids of `render`, with control tokens in the message encoded as the text they are.

    The message's control tokens are marked before it is rendered, and encoded by themselves
    without the tokenizer's added tokens, as `apply_chat_template(sanitize_control_tokens=True)`
    does.

    Raises:
        PromptError: as in `render`.
        TokenizerError: as in `render`, or the tokenizer makes a control token of plain text.
    """
    longest_first = sorted(_control_tokens(tokenizer), key=len, reverse=True)
    # (?!) is never found
    pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
    marked = mark_control_tokens(message, pattern)
    text = render(tokenizer, marked, most_bytes)
    try:
        # Tokenizers refuse a lone surrogate, which is no character.
        return encode_marked_chat(tokenizer, text.encode("utf-8", "replace").decode("utf-8"))
    except ValueError as error:
        raise TokenizerError(
            f"This message holds a control token that cannot be taken as text ({error}); leave it "
            "out of the message."
        ) from error


def _control_tokens(tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """Special tokens, and other added tokens that the template writes, but not white space."""
    template = tokenizer.get_chat_template()
    named = set(getattr(tokenizer, "chat_control_tokens", None) or ())
    return {
        token.content
        for token in tokenizer.added_tokens_decoder.values()
        if token.special
        or token.content in named
        or (token.content in template and not token.content.isspace())
    }


def _plain(token: object) -> object:
    return [str(part) for part in token] if isinstance(token, (list, tuple)) else str(token)


class _TemplateProcess:
    """The process that renders, started when it is first needed and again after it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._is_ready = False
        atexit.register(self._end)

    def ask(self, request: dict) -> dict:
        """The answer to one request (see `template_process`).

        Raises:
            TokenizerError: none comes, because the template takes too long, or for another reason.
        """
        with self._lock:
            try:
                return self._exchange(json.dumps(request), _WALL_SECONDS)
            except _TooLongError as error:
                self._end()
                raise TokenizerError(
                    f"The chat template of this model takes longer than {SECONDS:g} seconds; "
                    f"{_OTHERWISE}."
                ) from error
            except OSError as error:
                self._end()
                raise TokenizerError(
                    f"The chat template of this model cannot be rendered ({error}); {_OTHERWISE}."
                ) from error
            except BaseException:
                self._end()  # or the answer to this request would be taken for the next one's
                raise

    def prepare(self) -> None:
        """Start the process and do not wait for it, so that the first message finds it ready."""
        # Where it cannot be started, that is said once a template is to be rendered.
        with self._lock, contextlib.suppress(OSError):
            self._running()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process, self._is_ready = _started(), False
        return self._process

    def _exchange(self, line: str, seconds: float) -> dict:
        process = self._running()
        if not self._is_ready:
            _read_line(process, _START_SECONDS)
            self._is_ready = True
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return json.loads(_read_line(process, seconds))

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        process.stdout.close()
        with contextlib.suppress(OSError):  # a rest that it did not read
            process.stdin.close()


class _TooLongError(Exception):
    """The process ended because its time was over."""


def _started() -> subprocess.Popen[str]:
    script = str(Path(__file__).with_name("template_process.py"))
    return subprocess.Popen(
        # -P: the folder of the script is no place to import from.
        [sys.executable, "-P", script, str(SECONDS), str(_MEGABYTES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )


def _read_line(process: subprocess.Popen[str], seconds: float) -> str:
    """One line, within a time; `_TooLongError` or `OSError` where the process ends instead."""
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        process.kill()

    alarm = threading.Timer(seconds, end)
    alarm.daemon = True
    alarm.start()
    try:
        line = process.stdout.readline()
    finally:
        alarm.cancel()
    if line:
        return line
    code = process.wait()
    if is_late.is_set() or code == -getattr(signal, "SIGPROF", 0):
        raise _TooLongError
    raise OSError(f"its process ended with code {code}")


_PROCESS = _TemplateProcess()
