"""The current settings as code for other engines: what to copy, and what it will not do there.

    >>> settings = SamplingSettings(temperature=0.7, top_p=0.9)
    >>> first = snippets(settings, "Hello", model="gpt2", max_tokens=64)[0]
    >>> first.target, first.lacking
    ('transformers', ())

One module per target holds its table: the name of each of our settings there, or why it has none
(`engine.snippets.table`). To add a setting, add it to `table.SETTINGS` and to every table; the
tests name each that lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine import stopping
from engine.errors import SettingError
from engine.sampling import SamplingSettings
from engine.snippets import llama_cpp, ollama, openai, transformers, vllm
from engine.snippets.table import Request, Snippet

__all__ = ["Request", "Snippet", "snippets"]

_TARGETS: tuple[Callable[[Request], Snippet], ...] = (
    transformers.snippet,
    vllm.snippet,
    vllm.server_snippet,
    llama_cpp.server_snippet,
    llama_cpp.cli_snippet,
    ollama.snippet,
    openai.python_snippet,
    openai.curl_snippet,
)


def snippets(
    settings: SamplingSettings,
    prompt: str,
    *,
    model: str,
    max_tokens: int,
    stop_strings: str | Sequence[str] = (),
    dtype: str = "auto",
) -> list[Snippet]:
    """Code for every target, in the order of the page.

    Only settings that are on are written, and those that a target would switch on by itself.

    Args:
        settings: how tokens are chosen.
        prompt: text to go on from.
        model: its name, folder or hub id, as the target knows it.
        max_tokens: most tokens to generate, at least 1.
        stop_strings: texts that end generation.
        dtype: what the weights are stored in, e.g. ``float32``; ``auto`` leaves it to the
            checkpoint. For the app's own tokens in parity mode it must be what the app uses.

    Raises:
        SettingError: a prompt that is no text, a model without a name or with invisible characters
            in it, no tokens to generate, or an empty stop string.
    """
    if not isinstance(prompt, str):
        raise SettingError("prompt", prompt, "must be text", "decode token ids first")
    if not isinstance(model, str) or not model or not model.isprintable():
        remedy = "use a folder or a hub id, for example gpt2"
        raise SettingError("model", model, "must be a name of visible characters", remedy)
    max_tokens = stopping.checked_max_new_tokens(max_tokens)
    if max_tokens < 1:
        raise SettingError("max_tokens", max_tokens, "must be at least 1", "use for example 64")
    request = Request(
        settings=settings,
        prompt=prompt,
        model=model,
        max_tokens=max_tokens,
        stop_strings=stopping.checked_stop_strings(stop_strings),
        dtype=dtype,
    )
    return [target(request) for target in _TARGETS]
