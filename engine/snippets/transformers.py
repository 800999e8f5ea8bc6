"""Hugging Face transformers: `generate`, as in version 5.23.

Its processors run in a fixed order (`GenerationMixin._get_logits_processor`), the one that our
default order follows. What a request leaves open is filled in from the checkpoint's
generation_config.json and then by defaults, of which top-k 50 is not "off"; so the four that
checkpoints usually set are always written.
"""

from __future__ import annotations

from engine.sampling import Stage
from engine.snippets.table import (
    SAME_IDS,
    Entry,
    Request,
    Snippet,
    absent,
    bias_of,
    order_remarks,
    same,
    sequences_of,
    translate,
)
from engine.snippets.writing import python_call, python_literal

NAME = "transformers"
_NONE = "has none built in; pass a LogitsProcessor of your own to generate(logits_processor=[...])"


def _sequence_bias(stage: Stage) -> dict[str, object]:
    return {"sequence_bias": {(token_id,): bias for token_id, bias in bias_of(stage).items()}}


TABLE: dict[str, Entry] = {
    "logit_bias": Entry(("sequence_bias",), _sequence_bias, differs=lambda stage: SAME_IDS),
    "repetition_penalty": same("repetition_penalty"),
    "presence_penalty": absent(_NONE),
    "frequency_penalty": absent(_NONE),
    "dry": absent(_NONE),
    "no_repeat_ngram": same("no_repeat_ngram_size"),
    "banned": Entry(
        ("bad_words_ids",),
        lambda stage: {"bad_words_ids": [list(sequence) for sequence in sequences_of(stage)]},
        differs=lambda stage: SAME_IDS,
    ),
    "min_new_tokens": same("min_new_tokens"),
    "temperature": same("temperature"),
    "dynamic_temperature": absent(_NONE),
    "top_h": same("top_h"),
    "top_k": same("top_k"),
    "top_p": same("top_p"),
    "min_p": same("min_p"),
    "typical_p": same("typical_p"),
    "epsilon_cutoff": same("epsilon_cutoff"),
    "eta_cutoff": same("eta_cutoff"),
    "top_n_sigma": absent(_NONE),
    "tail_free": absent(_NONE),
    "xtc": absent(_NONE),
    "mirostat": absent(_NONE),
}

PROCESSORS = ("logit_bias", "repetition_penalty", "no_repeat_ngram", "banned", "min_new_tokens")
WARPERS = (
    "temperature",
    "top_h",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "epsilon_cutoff",
    "eta_cutoff",
)
ORDER = (*PROCESSORS, *WARPERS)
OFF = {"repetition_penalty": 1.0, "temperature": 1.0, "top_k": 0, "top_p": 1.0}


def snippet(request: Request) -> Snippet:
    """Load the model, generate, print.

    With parity settings and the dtype that the app runs the model in, the tokens are the app's,
    one by one.
    """
    settings = request.settings
    result = translate(settings.chain, TABLE)
    differs = [*result.differs, *order_remarks(result.written, ORDER, NAME)]
    parameters = result.parameters
    if settings.is_greedy:
        # Without sampling, none of the later processors runs, and generate warns of their settings.
        later = {name for setting in WARPERS for name in TABLE[setting].names}
        parameters = {name: value for name, value in parameters.items() if name not in later}
        off = {name: value for name, value in OFF.items() if name not in later}
    else:
        off = OFF
    keywords = {"max_new_tokens": request.max_tokens, "do_sample": not settings.is_greedy}
    keywords |= off | parameters
    if request.stop_strings:
        keywords["stop_strings"] = list(request.stop_strings)
    arguments = ["inputs.input_ids", "attention_mask=inputs.attention_mask"]
    if request.stop_strings:
        arguments.append("tokenizer=tokenizer")
    lines = [
        "import torch",
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        "",
        f"name = {python_literal(request.model)}",
        "tokenizer = AutoTokenizer.from_pretrained(name)",
        "model = AutoModelForCausalLM.from_pretrained("
        f"name, dtype={python_literal(request.dtype)})",
        f'inputs = tokenizer({python_literal(request.prompt)}, return_tensors="pt")',
    ]
    if settings.seed is not None and not settings.is_greedy:
        lines.append(f"torch.manual_seed({settings.seed})")
        if not settings.parity:
            remark = "transformers draws by torch.multinomial: other tokens, except in parity mode"
            differs.append(("seed", remark))
    lines += [
        f"output = {python_call('model.generate', arguments, keywords)}",
        "new_ids = output[0, inputs.input_ids.shape[1] :]",
        "print(tokenizer.decode(new_ids, skip_special_tokens=True))",
    ]
    code = "\n".join(lines) + "\n"
    return Snippet(NAME, "python", code, tuple(result.lacking), tuple(differs))
