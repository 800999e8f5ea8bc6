"""Chat completions as OpenAI defines them, and as many other services and servers copy them.

Follows OpenAI's published API reference (``POST /v1/chat/completions``, 2026). All samplers are off
unless requested. Their order is not published. The usual one is assumed: bias, penalties,
temperature, top-p. Reasoning models refuse most of these settings, and max_tokens, which
max_completion_tokens has replaced; vLLM and llama.cpp accept both.
"""

from __future__ import annotations

import json

from engine.errors import msg
from engine.export.table import (
    BANNED,
    TEMPLATE_THERE,
    Biases,
    ChatPrompt,
    Entry,
    Remark,
    Request,
    Snippet,
    absent,
    bans,
    biases,
    constraints,
    order_remarks,
    same,
    translate,
    within,
)
from engine.export.writing import curl, python_call

PYTHON_NAME = msg("OpenAI-style API (Python)")
CURL_NAME = msg("OpenAI-style API (curl)")
_NONE = msg("is not part of this API")
_LARGEST_BIAS = 100.0
_MOST_STOP_STRINGS = 4


def _response_format(schema: object) -> dict[str, object]:
    named = {"name": "answer", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


TABLE: dict[str, Entry] = {
    "logit_bias": biases("logit_bias", _LARGEST_BIAS),
    "repetition_penalty": absent(msg("{none}; presence_penalty and frequency_penalty are", _NONE)),
    "presence_penalty": within("presence_penalty", -2.0, 2.0),
    "frequency_penalty": within("frequency_penalty", -2.0, 2.0),
    "banned": bans(
        "logit_bias",
        msg("written as a bias of -{largest_bias:g}, the lowest allowed", _LARGEST_BIAS),
    ),
    "constraint": constraints(
        "response_format",
        {"json_schema": lambda source: _response_format(json.loads(source))},
        msg("{none}, which takes JSON schemas only", _NONE),
        lambda stage: msg(
            "the service decides what a schema may contain; OpenAI wants every property "
            "required and additionalProperties false"
        ),
    ),
    "temperature": within("temperature", 0.0, 2.0),
    "top_p": same("top_p"),
}
ORDER = (
    "constraint",
    "logit_bias",
    "banned",
    "presence_penalty",
    "frequency_penalty",
    "temperature",
    "top_p",
)


def _body(request: Request, target: str) -> tuple[dict[str, object], list[Remark], list[Remark]]:
    """Return the request's parameters, and the remarks on lacking and on differing settings."""
    settings = request.settings
    result = translate(settings.chain, TABLE, _NONE)
    swaps = order_remarks(result.written, ORDER, target, published=False)
    differs = [*result.differs, *swaps]
    lacking = list(result.lacking)
    body: dict[str, object] = {
        "model": request.served_model,
        "messages": request.messages,
        "max_completion_tokens": request.max_tokens,
        **result.parameters,
    }
    if "logit_bias" in body:  # JSON keys cannot be numbers
        bias: Biases = body["logit_bias"]
        ban = -_LARGEST_BIAS
        body["logit_bias"] = {str(t): ban if b is BANNED else b for t, b in bias.items()}
    if settings.seed is not None and not settings.is_greedy:
        body["seed"] = settings.seed
        remark = msg("is best-effort only there, and yields other random numbers than here")
        differs.append(("seed", remark))
    if request.stop_strings:
        body["stop"] = list(request.stop_strings[:_MOST_STOP_STRINGS])
        if len(request.stop_strings) > _MOST_STOP_STRINGS:
            lacking.append(
                (
                    "stop_strings",
                    msg("at most {most_stop_strings} are allowed there", _MOST_STOP_STRINGS),
                )
            )
    plain = msg("becomes a message in a chat template there; here it is the beginning of the text")
    is_chat = isinstance(request.prompt, ChatPrompt)
    differs.append(("prompt", TEMPLATE_THERE if is_chat else plain))
    remark = msg(
        "is called max_completion_tokens by OpenAI, vLLM and llama.cpp; others may know only "
        "max_tokens"
    )
    differs.append(("max_tokens", remark))
    differs += request.model_remarks()
    return body, lacking, differs


def python_snippet(request: Request) -> Snippet:
    """Write Python that sends the request by OpenAI's client; the key is in the environment."""
    body, lacking, differs = _body(request, PYTHON_NAME)
    lines = [
        "from openai import OpenAI",
        "",
        "client = OpenAI()  # for another service: OpenAI(base_url=..., api_key=...)",
        f"completion = {python_call('client.chat.completions.create', [], body)}",
        "print(completion.choices[0].message.content)",
    ]
    code = "\n".join(lines) + "\n"
    return Snippet(PYTHON_NAME, "python", code, tuple(lacking), tuple(differs))


def curl_snippet(request: Request) -> Snippet:
    """Write a curl command that sends the same request."""
    body, lacking, differs = _body(request, CURL_NAME)
    code = curl("https://api.openai.com/v1/chat/completions", body, key="OPENAI_API_KEY") + "\n"
    return Snippet(CURL_NAME, "bash", code, tuple(lacking), tuple(differs))
