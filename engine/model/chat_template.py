"""Chat templates, which lay out a message for a chat model, rendered in a separate process.

Typed text stays text. Only the template writes control tokens such as an end of turn.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformers.utils.chat_template_utils import encode_marked_chat, mark_control_tokens

from engine.errors import PromptError, TokenizerError, msg
from engine.guarded import Child, EndedError, TooLargeError, TooLongError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Processor time for one template. Templates in use take milliseconds.
SECONDS = 2.0
_MEGABYTES = 512

_PROBE = "7d1f0c5e system message 93ab26"
_OTHERWISE = msg("start from plain text, or choose another model")


def has_chat_template(tokenizer: PreTrainedTokenizerBase | None) -> bool:
    """Return whether the tokenizer has a chat template."""
    template = getattr(tokenizer, "chat_template", None)
    return bool(template.get("default") if isinstance(template, dict) else template)


def prepare() -> None:
    """Start the rendering process in the background, which takes a second or two."""
    _CHILD.prepare()


def render(
    tokenizer: PreTrainedTokenizerBase, turns: Sequence[dict[str, str]], most_bytes: int
) -> str:
    """Return a conversation in the chat template, up to the start of the model's answer.

    Raises:
        PromptError: the text is longer than `most_bytes`.
        TokenizerError: the template fails, renders nothing, or takes too much time or memory.
    """
    special = {name: _plain(token) for name, token in tokenizer.special_tokens_map.items()}
    request = {
        "template": tokenizer.get_chat_template(),
        "messages": list(turns),
        "special_tokens": special,
        "most_bytes": most_bytes,
    }
    try:
        answer, _ = _CHILD.ask(request, seconds=SECONDS)
    except TooLongError as error:
        raise TokenizerError(
            "The chat template of this model takes longer than {seconds:g} seconds; {otherwise}.",
            (SECONDS, _OTHERWISE),
        ) from error
    except TooLargeError as error:
        raise TokenizerError(
            "The chat template of this model takes more than {megabytes:,} MB of memory; "
            "{otherwise}.",
            (_MEGABYTES, _OTHERWISE),
        ) from error
    except EndedError as error:
        raise TokenizerError(
            "The chat template of this model cannot be rendered ({error}); {otherwise}.",
            (error, _OTHERWISE),
        ) from error
    if "error" in answer:
        reason = answer["error"].strip().rstrip(".")[:160]
        raise TokenizerError(
            "The chat template of this model failed ({reason}); {otherwise}.", (reason, _OTHERWISE)
        )
    if "size" in answer:
        raise PromptError(
            "The chat template turns this message into {answer:,} bytes, more than the "
            "{most_bytes:,} accepted; shorten it.",
            (answer["size"], most_bytes),
        )
    if not answer["text"]:
        raise TokenizerError(
            "The chat template of this model produces nothing from this message; {otherwise}.",
            _OTHERWISE,
        )
    return answer["text"]


def messages(
    tokenizer: PreTrainedTokenizerBase, turns: list[dict[str, str]], most_bytes: int
) -> list[dict[str, str]]:
    """Return a conversation, preceded by the template's default system message if it has one.

    The default is found as the text that a different system message replaces.

    Raises:
        PromptError, TokenizerError: as in `render`.
    """
    if turns[0]["role"] == "system":
        return turns

    def after(system: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": system}, *turns]

    text = render(tokenizer, turns, most_bytes)
    with contextlib.suppress(TokenizerError):  # a template for users and assistants only
        start, _, end = render(tokenizer, after(_PROBE), most_bytes).partition(_PROBE)
        system = text.removeprefix(start).removesuffix(end)
        if system and render(tokenizer, after(system), most_bytes) == text:
            return after(system)
    return turns


def encode(
    tokenizer: PreTrainedTokenizerBase, turns: Sequence[dict[str, str]], most_bytes: int
) -> list[int]:
    """Return the token ids of `render`, with control tokens in the messages as plain text.

    The messages' control tokens are marked before they are rendered, and encoded by themselves
    without the tokenizer's added tokens, as `apply_chat_template(sanitize_control_tokens=True)`
    does.

    Raises:
        PromptError: as in `render`.
        TokenizerError: as in `render`, or the tokenizer turns plain text into a control token.
    """
    longest_first = sorted(_control_tokens(tokenizer), key=len, reverse=True)
    # (?!) never matches
    pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
    marked = [turn | {"content": mark_control_tokens(turn["content"], pattern)} for turn in turns]
    try:
        text = render(tokenizer, marked, most_bytes)
    except TokenizerError as error:
        if _takes_only_others(tokenizer, marked, most_bytes):
            raise TokenizerError(
                "The chat template of this model takes no system prompt; leave the system prompt "
                "empty."
            ) from error
        raise
    try:
        # Tokenizers refuse a lone surrogate, which is not a character.
        return encode_marked_chat(tokenizer, text.encode("utf-8", "replace").decode("utf-8"))
    except ValueError as error:
        raise TokenizerError(
            "This message contains a control token that cannot be taken as text ({error}); leave "
            "it out of the message.",
            error,
        ) from error


def _takes_only_others(
    tokenizer: PreTrainedTokenizerBase, turns: Sequence[dict[str, str]], most_bytes: int
) -> bool:
    """Return whether a refused conversation is accepted without its system prompt."""
    others = [turn for turn in turns if turn["role"] != "system"]
    if len(others) == len(turns) or not others:
        return False
    try:
        render(tokenizer, others, most_bytes)
    except TokenizerError:
        return False
    return True


def _control_tokens(tokenizer: PreTrainedTokenizerBase) -> set[str]:
    """Return special tokens, and added tokens that the template writes, except white space."""
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


_CHILD = Child("engine.guarded.templates", SECONDS, _MEGABYTES)
