"""Code for every target: `snippets`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.decoding.guidance import UNGUIDED, checked_scale
from engine.errors import SettingError, msg
from engine.export import llama_cpp, ollama, openai, transformers, vllm
from engine.export.table import ChatPrompt, Request, Snippet
from engine.sampling import SamplingSettings
from engine.text import stopping

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
# Features that only transformers has.
_NO_GUIDANCE = (
    "guidance",
    msg("is not available there: the negative prompt is left out, so the text will differ"),
)
_NO_SEARCH = (msg("contrastive search"), msg("is not available there: this code samples instead"))


def snippets(
    settings: SamplingSettings,
    prompt: str | ChatPrompt,
    *,
    model: str,
    max_tokens: int,
    stop_strings: str | Sequence[str] = (),
    eos_ids: Sequence[int] | None = None,
    dtype: str = "auto",
    negative_prompt: str | ChatPrompt | None = None,
    guidance_scale: float = UNGUIDED,
    contrastive: tuple[int, float] | None = None,
) -> list[Snippet]:
    """Return the code for every target, in the order of the page.

    Only settings that are on are written, and those that a target would switch on by default.

    Args:
        settings: how tokens are chosen.
        prompt: text to continue, or a message in a chat template.
        model: its name, folder or hub id, as the target expects it; services never get a folder.
        max_tokens: maximum number of tokens to generate, at least 1.
        stop_strings: strings that end generation.
        eos_ids: tokens that end the text; None for those that `generate` finds by itself.
        dtype: dtype of the weights, e.g. ``float32``; ``auto`` leaves it to the checkpoint. For the
            app's own tokens in parity mode it must be the dtype that the app uses.
        negative_prompt: prompt that classifier-free guidance steers away from; None without it.
        guidance_scale: its strength; 1 switches it off.
        contrastive: top_k and penalty_alpha, to search instead of sampling. Of `settings`, only the
            edits of single tokens then have an effect and are written.

    Raises:
        SettingError: a prompt that is not text, a model name that is empty or has invisible
            characters, no tokens to generate, an empty stop string, or a scale out of range.
    """
    if not isinstance(prompt, (str, ChatPrompt)):
        raise SettingError("prompt", prompt, "must be text", "decode token ids first")
    if not isinstance(model, str) or not model or not model.isprintable():
        remedy = msg("use a folder or a hub id, for example gpt2")
        raise SettingError("model", model, "must be a name of visible characters", remedy)
    max_tokens = stopping.checked_max_new_tokens(max_tokens)
    if max_tokens < 1:
        raise SettingError("max_tokens", max_tokens, "must be at least 1", "use for example 64")
    folder = os.path.expanduser(model)
    is_folder = os.path.isdir(folder)
    is_guided = negative_prompt is not None and checked_scale(guidance_scale) != UNGUIDED
    request = Request(
        settings=settings if contrastive is None else SamplingSettings(chain=settings.edits),
        prompt=prompt,
        model=folder if is_folder else model,
        is_folder=is_folder,
        max_tokens=max_tokens,
        eos_ids=None if eos_ids is None else tuple(eos_ids),
        stop_strings=stopping.checked_stop_strings(stop_strings),
        dtype=dtype,
        negative_prompt=negative_prompt if is_guided else None,
        guidance_scale=guidance_scale,
        contrastive=contrastive,
    )
    lacking = (*([_NO_GUIDANCE] if is_guided else []), *([_NO_SEARCH] if contrastive else []))
    written = [target(request) for target in _TARGETS]
    return [
        snippet
        if snippet.target == transformers.NAME
        else replace(snippet, lacking=(*lacking, *snippet.lacking))
        for snippet in written
    ]
