"""Hugging Face transformers: `generate`, as in version 5.23.

Its processors run in a fixed order (`GenerationMixin._get_logits_processor`), the one that the
app's default order follows. Settings that a request leaves open come from the checkpoint's
generation_config.json, which may contain any setting, so the code gives the model an empty one.
Then only defaults remain, all of which are "off" except top-k 50.
"""

from __future__ import annotations

from engine.errors import msg
from engine.export.table import (
    SAME_IDS,
    ChatPrompt,
    Entry,
    Remark,
    Request,
    Snippet,
    absent,
    bias_of,
    order_remarks,
    same,
    sequences_of,
    translate,
)
from engine.export.writing import python_call, python_literal
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Stage

NAME = "transformers"
_NONE = msg("is not in transformers; pass a LogitsProcessor of your own in logits_processor=[...]")


def _sequence_bias(stage: Stage) -> dict[str, object]:
    return {"sequence_bias": {(token_id,): bias for token_id, bias in bias_of(stage).items()}}


TABLE: dict[str, Entry] = {
    "logit_bias": Entry(("sequence_bias",), _sequence_bias, differs=lambda stage: SAME_IDS),
    "repetition_penalty": same("repetition_penalty"),
    "no_repeat_ngram": same("no_repeat_ngram_size"),
    "banned": Entry(
        ("bad_words_ids",),
        lambda stage: {"bad_words_ids": [list(sequence) for sequence in sequences_of(stage)]},
        differs=lambda stage: SAME_IDS,
    ),
    "min_new_tokens": same("min_new_tokens"),
    "constraint": absent(
        msg(
            "is not in transformers; pass the masks of llguidance or another library as "
            "prefix_allowed_tokens_fn or in logits_processor=[...]"
        )
    ),
    "temperature": same("temperature"),
    "top_h": same("top_h"),
    "top_k": same("top_k"),
    "top_p": same("top_p"),
    "min_p": same("min_p"),
    "typical_p": same("typical_p"),
    "epsilon_cutoff": same("epsilon_cutoff"),
    "eta_cutoff": same("eta_cutoff"),
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


def _what_runs(settings: SamplingSettings) -> tuple[list[Stage], list[Remark]]:
    """Return the stages that `generate` runs, and remarks on the others.

    Without sampling, it runs none of the warpers and warns about their settings.
    """
    chain = list(settings.chain)
    if not settings.is_greedy:
        return chain, []
    greedy = next(i for i, stage in enumerate(chain) if stage.setting == "temperature")
    matters = [stage for stage in chain[:greedy] if stage.setting == "typical_p"]
    why = msg("runs only when sampling, so not at temperature 0; here it may drop the best token")
    runs = [stage for stage in chain if stage.setting not in WARPERS or stage is chain[greedy]]
    return runs, [(stage.setting, why) for stage in matters]


# Since version 5 the search is not part of the package; generate fetches it.
_SEARCH = {
    "custom_generate": "transformers-community/contrastive-search",
    "trust_remote_code": True,
}


def _ends(request: Request) -> str:
    if request.eos_ids is None:
        return "model.generation_config.eos_token_id"
    return python_literal(list(request.eos_ids) or None)


def _read(name: str, prompt: str | ChatPrompt) -> list[str]:
    """Return the lines of code that make token ids of a prompt."""
    if isinstance(prompt, str):
        return [f'{name} = tokenizer({python_literal(prompt)}, return_tensors="pt").input_ids']
    ids = python_literal(list(prompt.token_ids))
    return [
        "# A message in the chat template; for another one see tokenizer.apply_chat_template.",
        f"{name} = torch.tensor([{ids}])",
    ]


def snippet(request: Request) -> Snippet:
    """Write Python that loads the model, generates and prints.

    With parity settings and the app's dtype for the model, its tokens are exactly the app's,
    whatever the checkpoint's own settings are.
    """
    settings = request.settings
    chain, not_run = _what_runs(settings)
    result = translate(chain, TABLE, _NONE)
    result.lacking += not_run
    differs = [*result.differs, *order_remarks(result.written, ORDER, NAME)]
    parameters = result.parameters
    if settings.is_greedy:
        parameters = {name: v for name, v in parameters.items() if name != "temperature"}
    off = {} if settings.is_greedy else {"top_k": 0}
    keywords = {"max_new_tokens": request.max_tokens, "do_sample": not settings.is_greedy}
    keywords |= off | parameters
    if request.stop_strings:
        keywords["stop_strings"] = list(request.stop_strings)
    arguments = ["prompt_ids", "attention_mask=torch.ones_like(prompt_ids)"]
    if request.stop_strings:
        arguments.append("tokenizer=tokenizer")
    if request.negative_prompt is not None:
        arguments.append("negative_prompt_ids=negative_ids")
        keywords["guidance_scale"] = request.guidance_scale
    if request.contrastive is not None:
        k, alpha = request.contrastive
        stops = {name: v for name, v in keywords.items() if name == "stop_strings"}
        keywords = {"max_new_tokens": request.max_tokens, "do_sample": False, **_SEARCH, **stops}
        keywords |= parameters | {"top_k": k, "penalty_alpha": alpha}
        remark = msg("comes from the hub there, as code that is run here")
        differs = [("contrastive search", remark), *differs]
    lines = [
        "import torch",
        "from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig",
        "",
        f"name = {python_literal(request.model)}",
        "tokenizer = AutoTokenizer.from_pretrained(name)",
        "model = AutoModelForCausalLM.from_pretrained("
        f"name, dtype={python_literal(request.dtype)})",
        "# Whatever the checkpoint's generation_config.json holds would act too.",
        f"model.generation_config = GenerationConfig(eos_token_id={_ends(request)})",
        *_read("prompt_ids", request.prompt),
    ]
    if request.negative_prompt is not None:
        lines += _read("negative_ids", request.negative_prompt)
    if settings.seed is not None and not settings.is_greedy and request.contrastive is None:
        lines.append(f"torch.manual_seed({settings.seed})")
        if not settings.parity:
            remark = msg(
                "transformers draws with torch.multinomial, so the same seed draws different "
                "tokens; in Python, SamplingSettings(parity=True) makes the engine draw the "
                "same way"
            )
            differs.append(("seed", remark))
    lines += [
        f"output = {python_call('model.generate', arguments, keywords)}",
        "new_ids = output[0, prompt_ids.shape[1] :]",
        "print(tokenizer.decode(new_ids, skip_special_tokens=True))",
    ]
    code = "\n".join(lines) + "\n"
    return Snippet(NAME, "python", code, tuple(result.lacking), tuple(differs))
