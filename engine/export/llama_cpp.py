"""llama.cpp: its server's own ``/completion``, and the command-line program.

Names, defaults and order as in version 0.7.0 (build 11669, 2026; `common/sampling.cpp`). The order
of its samplers is a setting, so the app's is written out (``samplers``), and samplers that are not
in it do not run: none of its defaults (temperature 0.8, top-k 40, top-p 0.95, min-p 0.05) remains.
Three things are fixed: the logit bias comes first, the three penalties are one sampler, and
Mirostat replaces all samplers except the temperature.
"""

from __future__ import annotations

import json
import re

from engine.errors import msg
from engine.export.table import (
    BANNED,
    COUNTS_PROMPT,
    SAME_IDS,
    WHOLE_TEXT,
    Biases,
    ChatPrompt,
    Entry,
    Remark,
    Request,
    Snippet,
    Translation,
    absent,
    bans,
    biases,
    look_back,
    order_remarks,
    penalty,
    same,
    translate,
)
from engine.export.writing import curl, seed_of_32_bits, shell_command
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Stage

SERVER_NAME = msg("llama.cpp server")
CLI_NAME = msg("llama.cpp command line")
_NONE = msg("has no such sampler")


def _dry(stage: Stage) -> dict[str, object]:
    return {
        "dry_multiplier": stage.multiplier,
        "dry_base": stage.base,
        "dry_allowed_length": stage.allowed_length,
        "dry_penalty_last_n": stage.last_n if stage.last_n >= 0 else WHOLE_TEXT,
    }


def _dynamic_temperature(stage: Stage) -> dict[str, object]:
    return {
        "temperature": (stage.low + stage.high) / 2,
        "dynatemp_range": (stage.high - stage.low) / 2,
        "dynatemp_exponent": stage.exponent,
    }


def _top_k(stage: Stage) -> str:
    return msg("keeps exactly k tokens; ours also keeps all tied with the k-th")


def _gbnf(source: str) -> str:
    """Return choices as a llama.cpp grammar."""
    return "root ::= " + " | ".join(f'"{_quoted(choice)}"' for choice in json.loads(source))


def _quoted(text: str) -> str:
    marks = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(marks.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in text)


def _slashed(regex: str) -> str:
    """Escape a regular expression to fit between slashes, on one line."""
    return re.sub(r"\\.|/|\n", lambda m: {"/": "\\/", "\n": "\\n"}.get(m[0], m[0]), regex)


_REDRAWS = msg("draws without it first, and again with it if that token would break it")
_NEEDS_BUILD = msg("needs a build with LLAMA_LLGUIDANCE for this")


def _constraint(stage: Stage) -> dict[str, object]:
    if stage.language == "json_schema":
        return {"json_schema": json.loads(stage.source)}
    if stage.language == "choices":
        return {"grammar": _gbnf(stage.source)}
    if stage.language == "regex":
        return {"grammar": f"%llguidance {{}}\nstart: /{_slashed(stage.source)}/"}
    return {"grammar": f"%llguidance {{}}\n{stage.source}"}


def _constraint_differs(stage: Stage) -> str:
    is_plain = stage.language in ("choices", "json_schema")
    return _REDRAWS if is_plain else msg("{redraws}; {needs_build}", (_REDRAWS, _NEEDS_BUILD))


TABLE: dict[str, Entry] = {
    "logit_bias": biases("logit_bias"),
    "repetition_penalty": penalty("repeat_penalty"),
    "presence_penalty": penalty("presence_penalty", COUNTS_PROMPT),
    "frequency_penalty": penalty("frequency_penalty", COUNTS_PROMPT),
    "dry": Entry(
        ("dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n"),
        _dry,
        differs=lambda stage: msg(
            "sequence breakers are strings there, not token ids, so its own are used: a line "
            "break, a colon, a quotation mark and an asterisk"
        ),
    ),
    "banned": bans("logit_bias", msg("written as a bias of minus infinity")),
    "min_new_tokens": absent(msg("cannot rule out the end of the text for only the first tokens")),
    "constraint": Entry(("grammar", "json_schema"), _constraint, differs=_constraint_differs),
    "temperature": same("temperature"),
    "dynamic_temperature": Entry(
        ("temperature", "dynatemp_range", "dynatemp_exponent"), _dynamic_temperature
    ),
    "top_k": Entry(("top_k",), lambda stage: {"top_k": stage.value}, differs=_top_k),
    "top_p": same("top_p"),
    "min_p": same("min_p"),
    "typical_p": same("typical_p"),
    "top_n_sigma": same("top_n_sigma"),
    "tail_free": absent(msg("was removed from it in 2024")),
    "xtc": Entry(
        ("xtc_threshold", "xtc_probability"),
        lambda stage: {
            "xtc_threshold": stage.threshold,
            "xtc_probability": stage.probability,
        },
        differs=lambda stage: msg(
            "removes the end of the text and line breaks too; ours leaves a step unchanged "
            "if it would remove them"
        ),
    ),
    "mirostat": Entry(
        ("mirostat", "mirostat_tau", "mirostat_eta"),
        lambda stage: {"mirostat": 2, "mirostat_tau": stage.tau, "mirostat_eta": stage.eta},
        differs=lambda stage: msg(
            "measures a token's surprisal after its cut; ours does so before it"
        ),
    ),
}

SAMPLERS = {
    "repetition_penalty": "penalties",
    "presence_penalty": "penalties",
    "frequency_penalty": "penalties",
    "dry": "dry",
    "temperature": "temperature",
    "dynamic_temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "typical_p": "typ_p",
    "top_n_sigma": "top_n_sigma",
    "xtc": "xtc",
}
_ALWAYS_FIRST = ("constraint", "logit_bias", "banned")
_BESIDE_MIROSTAT = (*_ALWAYS_FIRST, "temperature", "mirostat")
_PENALTIES = ("repetition_penalty", "frequency_penalty", "presence_penalty")

# The server's parameters as flags. `logit_bias`, `samplers` and `stop` are written separately.
FLAGS = {
    "temperature": "--temp",
    "dynatemp_range": "--dynatemp-range",
    "dynatemp_exponent": "--dynatemp-exp",
    "top_k": "--top-k",
    "top_p": "--top-p",
    "min_p": "--min-p",
    "typical_p": "--typical",
    "top_n_sigma": "--top-nsigma",
    "xtc_threshold": "--xtc-threshold",
    "xtc_probability": "--xtc-probability",
    "repeat_penalty": "--repeat-penalty",
    "presence_penalty": "--presence-penalty",
    "frequency_penalty": "--frequency-penalty",
    "repeat_last_n": "--repeat-last-n",
    "dry_multiplier": "--dry-multiplier",
    "dry_base": "--dry-base",
    "dry_allowed_length": "--dry-allowed-length",
    "dry_penalty_last_n": "--dry-penalty-last-n",
    "mirostat": "--mirostat",
    "mirostat_tau": "--mirostat-ent",
    "mirostat_eta": "--mirostat-lr",
    "seed": "--seed",
    "grammar": "--grammar",
    "json_schema": "--json-schema",
}


def _chain(chain: tuple[Stage, ...]) -> tuple[list[Stage], list[Remark]]:
    """Return the stages that can be written together, and why the others cannot."""
    names = [stage.setting for stage in chain]
    out: dict[str, str] = {}
    if "temperature" in names and "dynamic_temperature" in names:
        greedy = any(stage.setting == "temperature" and stage.value == 0 for stage in chain)
        loser = "dynamic_temperature" if greedy else "temperature"
        out[loser] = msg("only one of temperature and dynamic_temperature can be on there")
    if "mirostat" in names:
        why = msg("does not run with Mirostat there")
        out |= {name: why for name in names if name not in _BESIDE_MIROSTAT}
    has = {name for name, entry in TABLE.items() if not entry.lacking}
    written = [s for s in chain if s.setting not in out.keys() & has]
    lacking = [(n, why) for n, why in out.items() if n in has]
    return written, lacking


def _translation(request: Request, target: str) -> Translation:
    """Return the parameters under the server's names, with samplers in the visitor's order."""
    chain, lacking = _chain(request.settings.chain)
    result = translate(chain, TABLE, _NONE)
    result.lacking += lacking
    written = [stage.setting for stage in result.written]
    theirs = [name for name in _ALWAYS_FIRST if name in written]
    if "mirostat" in written:
        result.add({"temperature": result.parameters.get("temperature", 1.0)})  # else 0.8
        theirs += ["temperature", "mirostat"]
    else:
        samplers = list(dict.fromkeys(SAMPLERS[n] for n in written if n in SAMPLERS))
        if not samplers:  # one that does nothing, as an empty list could mean "the default"
            samplers = ["temperature"]
            result.add({"temperature": 1.0})
        result.add({"samplers": samplers})
        for sampler in samplers:
            # Within the one sampler for penalties, repetition comes first.
            inside = _PENALTIES if sampler == "penalties" else written
            theirs += [n for n in inside if n in written and SAMPLERS.get(n) == sampler]
    result.differs += order_remarks(result.written, theirs, target)
    result.differs += look_back(result.parameters)
    seed = request.settings.seed
    if seed is not None and not request.settings.is_greedy:
        seed, remark = seed_of_32_bits(seed)
        result.add({"seed": seed})
        result.differs.append(("seed", remark))
    remark = msg("llama.cpp reads GGUF files; its convert_hf_to_gguf.py converts a model to one")
    result.differs.append(("model", remark))
    return result


def server_parameters(settings: SamplingSettings) -> dict[str, object]:
    """Return settings as parameters of a request to the server, without those that it lacks."""
    request = Request(settings, prompt="", model="", max_tokens=1)
    return _for_server(_translation(request, SERVER_NAME))


def _for_server(result: Translation) -> dict[str, object]:
    """Return parameters as JSON values."""
    bias: Biases | None = result.parameters.get("logit_bias")
    if bias is None:
        return result.parameters
    pairs = [[t, False if b is BANNED else b] for t, b in bias.items()]
    return result.parameters | {"logit_bias": pairs}


def server_snippet(request: Request) -> Snippet:
    """Write a curl command that asks a running server (``llama-server -m MODEL.gguf``)."""
    result = _translation(request, SERVER_NAME)
    body = {"prompt": request.text_or_ids, "n_predict": request.max_tokens, **_for_server(result)}
    if request.stop_strings:
        body["stop"] = list(request.stop_strings)
    if isinstance(request.prompt, ChatPrompt):
        result.differs.append(("prompt", SAME_IDS))
    code = curl("http://localhost:8080/completion", body) + "\n"
    return Snippet(SERVER_NAME, "bash", code, tuple(result.lacking), tuple(result.differs))


def cli_snippet(request: Request) -> Snippet:
    """Write a command that runs ``llama-completion``, the program for raw text."""
    result = _translation(request, CLI_NAME)
    parameters = dict(result.parameters)
    bias: Biases = parameters.pop("logit_bias", {})
    samplers = parameters.pop("samplers", None)
    file = request.model if request.model.endswith(".gguf") else f"{request.model}.gguf"
    flags: list[tuple[str, str | None]] = [
        ("--model", file),
        ("--no-conversation", None),
        ("--escape", None),
    ]
    if isinstance(request.prompt, ChatPrompt):
        # The template writes the start of text itself, if there should be one.
        flags.append(("--override-kv", "tokenizer.ggml.add_bos_token=bool:false"))
        remark = msg("is text there; control tokens typed in the message are read as such")
        result.differs.append(("prompt", remark))
        text = request.prompt.text
    else:
        text = request.prompt
    flags += [("--prompt", escaped(text)), ("--predict", str(request.max_tokens))]
    if samplers is not None:
        flags.append(("--samplers", ";".join(samplers)))
    schema = parameters.pop("json_schema", None)
    flags += [(FLAGS[name], str(value)) for name, value in parameters.items()]
    if schema is not None:
        flags.append((FLAGS["json_schema"], json.dumps(schema)))
    flags += [
        ("--logit-bias", f"{token_id}-inf" if b is BANNED else f"{token_id}{b:+}")
        for token_id, b in bias.items()
    ]
    flags += [("--reverse-prompt", escaped(string)) for string in request.stop_strings]
    remark = msg("before December 2025 llama-completion was called llama-cli")
    differs = (*result.differs, ("program", remark))
    code = shell_command("llama-completion", flags) + "\n"
    return Snippet(CLI_NAME, "bash", code, tuple(result.lacking), differs)


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "'": "\\x27"}


def escaped(text: str) -> str:
    r"""Escape a text onto one line, in the form that ``--escape`` decodes.

    Control characters are not safe in a terminal even between quotes, so invisible characters are
    written as their UTF-8 bytes, for example ``\x1b``.
    """

    def bytewise(character: str) -> str:
        return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))

    return "".join(_ESCAPES.get(c) or (c if c.isprintable() else bytewise(c)) for c in text)
