"""vLLM, as in version 0.32: the Python class, and the OpenAI-style server it comes with.

Order (`vllm.v1.sample.sampler.Sampler`): banned words, minimum of tokens, logit bias, repetition,
frequency and presence penalty, temperature, min-p, then top-k and top-p. A `SamplingParams` starts
with everything off. The server instead fills settings that a request leaves open from the
checkpoint's generation_config.json (unless started with ``--generation-config vllm``). So the five
settings that it reads there are always written.
Constraints ("structured outputs") are a mask on the logits, before all samplers.
"""

from __future__ import annotations

import json
import math

from engine.errors import msg
from engine.export.table import (
    BANNED,
    Biases,
    Entry,
    Remark,
    Request,
    Snippet,
    Translation,
    bans,
    biases,
    constraints,
    order_remarks,
    same,
    translate,
    within,
)
from engine.export.writing import python_call, python_literal
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Stage

NAME = "vLLM"
SERVER_NAME = msg("vLLM server")
_NONE = msg("is not in vLLM; it would need a custom logits processor (--logits-processors)")
_LOWEST_TEMPERATURE = 0.01
_LARGEST_BIAS = 100.0  # in the server, as in OpenAI's API


def _temperature(stage: Stage) -> str | None:
    if 0 < stage.value < _LOWEST_TEMPERATURE:
        return msg(
            "vLLM raises temperatures between 0 and {lowest_temperature:g} to that",
            _LOWEST_TEMPERATURE,
        )
    return None


def _constraint(stage: Stage) -> str:
    if stage.language == "lark":
        return msg(
            "depends on the backend there; start vLLM with the guidance backend for a Lark grammar"
        )
    return msg(
        "whitespace between parts of JSON, and what a schema may contain, depend on the backend"
    )


TABLE: dict[str, Entry] = {
    "logit_bias": biases("logit_bias"),
    "repetition_penalty": same("repetition_penalty"),
    "presence_penalty": within("presence_penalty", -2.0, 2.0),
    "frequency_penalty": within("frequency_penalty", -2.0, 2.0),
    "banned": bans("logit_bias", msg("written as a bias of minus infinity")),
    "min_new_tokens": same("min_tokens"),
    "constraint": constraints(
        "structured_outputs",
        {
            "choices": lambda source: {"choice": json.loads(source)},
            "regex": lambda source: {"regex": source},
            "json_schema": lambda source: {"json": json.loads(source)},
            "lark": lambda source: {"grammar": source},
        },
        _NONE,
        _constraint,
    ),
    "temperature": Entry(
        ("temperature",), lambda stage: {"temperature": stage.value}, differs=_temperature
    ),
    "top_k": same("top_k"),
    "top_p": same("top_p"),
    "min_p": same("min_p"),
}
SERVER_TABLE = TABLE | {
    "logit_bias": biases("logit_bias", _LARGEST_BIAS),
    "banned": bans(
        "logit_bias",
        msg("written as a bias of -{largest_bias:g}, the lowest allowed", _LARGEST_BIAS),
    ),
}

ORDER = (
    "constraint",
    "min_new_tokens",
    "logit_bias",
    "banned",
    "repetition_penalty",
    "frequency_penalty",
    "presence_penalty",
    "temperature",
    "min_p",
    "top_k",
    "top_p",
)
# Settings that the server would otherwise take from the checkpoint.
SERVER_OFF = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
}
# Parameters that OpenAI's client lacks, and passes on unchanged.
EXTRA_BODY = ("top_k", "min_p", "repetition_penalty", "min_tokens", "structured_outputs")


def _with_bans(parameters: dict[str, object], ban: float) -> dict[str, object]:
    bias: Biases = parameters.get("logit_bias", {})
    if not bias:
        return parameters
    return parameters | {"logit_bias": {t: ban if b is BANNED else b for t, b in bias.items()}}


def _least_tokens(result: Translation, request: Request) -> None:
    """Limit the minimum number of tokens to the maximum, as vLLM requires."""
    least = result.parameters.get("min_tokens", 0)
    if least > request.max_tokens:
        result.parameters["min_tokens"] = request.max_tokens
        why = msg(
            "is {least:,} here; vLLM allows no more than max_tokens, {max_tokens:,}",
            (least, request.max_tokens),
        )
        result.differs.append(("min_new_tokens", why))


def _common(request: Request) -> tuple[dict[str, object], list[Remark]]:
    """Return the parameters that are not stages, and remarks on them."""
    keywords: dict[str, object] = {"max_tokens": request.max_tokens}
    if request.stop_strings:
        keywords["stop"] = list(request.stop_strings)
    if request.settings.seed is None or request.settings.is_greedy:
        return keywords, []
    remark = msg(
        "the same seed gives different random numbers in another engine, so different tokens"
    )
    return keywords | {"seed": request.settings.seed}, [("seed", remark)]


def snippet(request: Request) -> Snippet:
    """Write Python that loads the model, generates and prints."""
    result = translate(request.settings.chain, TABLE, _NONE)
    _least_tokens(result, request)
    common, remarks = _common(request)
    parameters = common | _with_bans(result.parameters, -math.inf)
    constraint = parameters.pop("structured_outputs", None)
    prompt = request.text_or_ids
    if isinstance(prompt, list):
        prompt = {"prompt_token_ids": prompt}
    lines = ["from vllm import LLM, SamplingParams"]
    arguments = []
    if constraint is not None:
        made = python_call("StructuredOutputsParams", [], constraint)
        lines += ["from vllm.sampling_params import StructuredOutputsParams", ""]
        lines.append(f"constraint = {made}")
        arguments.append("structured_outputs=constraint")
    lines += [
        "",
        f"llm = LLM(model={python_literal(request.model)}, dtype={python_literal(request.dtype)})",
        f"params = {python_call('SamplingParams', arguments, parameters)}",
        f"outputs = llm.generate([{python_literal(prompt)}], params)",
        "print(outputs[0].outputs[0].text)",
    ]
    differs = (*result.differs, *order_remarks(result.written, ORDER, NAME), *remarks)
    return Snippet(NAME, "python", "\n".join(lines) + "\n", tuple(result.lacking), differs)


def server_parameters(settings: SamplingSettings) -> dict[str, object]:
    """Return settings as parameters of a request to the server, without those that it lacks."""
    return _for_server(translate(settings.chain, SERVER_TABLE, _NONE))


def _for_server(result: Translation) -> dict[str, object]:
    """Return parameters as JSON values, with those that switch off what is not set."""
    parameters = SERVER_OFF | _with_bans(result.parameters, -_LARGEST_BIAS)
    if "logit_bias" in parameters:  # JSON keys cannot be numbers
        parameters["logit_bias"] = {str(t): b for t, b in parameters["logit_bias"].items()}
    return parameters


def server_snippet(request: Request) -> Snippet:
    """Write Python that asks a running server (``vllm serve MODEL``) through OpenAI's client."""
    result = translate(request.settings.chain, SERVER_TABLE, _NONE)
    _least_tokens(result, request)
    common, remarks = _common(request)
    parameters = _for_server(result)
    extra = {name: parameters.pop(name) for name in EXTRA_BODY if name in parameters}
    asked = {"model": request.served_model, "prompt": request.text_or_ids}
    keywords = asked | common | parameters
    lines = [
        "from openai import OpenAI",
        "",
        'client = OpenAI(base_url="http://localhost:8000/v1", api_key="EMPTY")',
        "completion = "
        + python_call("client.completions.create", [], keywords | {"extra_body": extra}),
        "print(completion.choices[0].text)",
    ]
    swaps = order_remarks(result.written, ORDER, SERVER_NAME)
    differs = (*result.differs, *swaps, *remarks, *request.model_remarks())
    return Snippet(SERVER_NAME, "python", "\n".join(lines) + "\n", tuple(result.lacking), differs)
