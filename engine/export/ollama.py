"""Ollama: ``/api/generate`` and ``/api/chat``, as in late 2026.

Since June 2026, GGUF models run on llama.cpp's server, in its default order of samplers, which a
request cannot change. Before that, some models ran on Ollama's own engine, which applied penalties,
top-k, temperature, top-p and min-p; most of its versions ignored the penalties. Ollama's defaults
are not "off" (temperature 0.8, top-k 40, top-p 0.9, until August 2026 a repeat penalty of 1.1), so
these settings are always written.
"""

from __future__ import annotations

import json

from engine.errors import msg
from engine.export.table import (
    COUNTS_PROMPT,
    TEMPLATE_THERE,
    ChatPrompt,
    Entry,
    Request,
    Snippet,
    absent,
    constraints,
    look_back,
    order_remarks,
    penalty,
    same,
    translate,
)
from engine.export.writing import curl, seed_of_32_bits

NAME = "Ollama"
_NONE = msg("has no such option")
_IGNORED = msg("versions before June 2026 ignore it for models on their own engine")

TABLE: dict[str, Entry] = {
    "repetition_penalty": penalty("repeat_penalty", _IGNORED),
    "presence_penalty": penalty(
        "presence_penalty", msg("{counts_prompt}; {ignored}", (COUNTS_PROMPT, _IGNORED))
    ),
    "frequency_penalty": penalty(
        "frequency_penalty", msg("{counts_prompt}; {ignored}", (COUNTS_PROMPT, _IGNORED))
    ),
    "constraint": constraints(
        "format",
        {"json_schema": json.loads},
        msg("takes JSON schemas only"),
        lambda stage: msg("silently ignores parts of a schema that its grammar lacks"),
    ),
    "temperature": same("temperature"),
    "top_k": same("top_k", msg("keeps exactly k tokens; ours also keeps all tied with the k-th")),
    "top_p": same("top_p"),
    "min_p": same("min_p"),
    "typical_p": same("typical_p"),
    "tail_free": absent(msg("recent versions no longer have it")),
    "mirostat": absent(msg("recent versions no longer have it")),
}
ORDER = (
    "constraint",
    "repetition_penalty",
    "frequency_penalty",
    "presence_penalty",
    "top_k",
    "typical_p",
    "top_p",
    "min_p",
    "temperature",
)
OFF = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0}


def snippet(request: Request) -> Snippet:
    """Write a curl command that asks Ollama to answer a chat, or to continue a ``raw`` prompt.

    Chat messages go into Ollama's own template. It accepts no token ids, and may put a
    start-of-text token in front of a rendered template, which already has one.
    """
    settings = request.settings
    result = translate(settings.chain, TABLE, _NONE)
    differs = [*result.differs, *order_remarks(result.written, ORDER, NAME)]
    differs += look_back(result.parameters)
    options = OFF | result.parameters | {"num_predict": request.max_tokens}
    if settings.seed is not None and not settings.is_greedy:
        options["seed"], remark = seed_of_32_bits(settings.seed)
        differs.append(("seed", remark))
    if request.stop_strings:
        options["stop"] = list(request.stop_strings)
    differs.append(
        ("model", msg("Ollama uses its own model names, or one created with a Modelfile"))
    )
    differs += request.model_remarks()
    if isinstance(request.prompt, ChatPrompt):
        path, asked = "chat", {"messages": request.messages}
        differs.append(("prompt", TEMPLATE_THERE))
    else:
        path, asked = "generate", {"prompt": request.prompt, "raw": True}
    schema = {"format": options.pop("format")} if "format" in options else {}
    body = {
        "model": request.served_model,
        **asked,
        "stream": False,
        **schema,
        "options": options,
    }
    code = curl(f"http://localhost:11434/api/{path}", body) + "\n"
    return Snippet(NAME, "bash", code, tuple(result.lacking), tuple(differs))
