"""Opening of a trace on the step page: its model generates the text again, or it is only read.

Only a trace that the page could have written itself is opened. `replay` generates any other one
again in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from engine.decoding import UNGUIDED, begin, is_same_model
from engine.errors import CancelledError, DecodingError, TraceError
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from engine.trace import Trace
from ui.step.recorded import RecordedText
from ui.texts.limits import checked_stops
from ui.texts.settings import parse_settings, plain_settings, shown_samplers
from ui.texts.texts import Beginning, Contrastive, Text, check_prompt
from ui.texts.traces import REMEDY, made_again, trace_of
from ui.words.language import marked, say

OPENS = ("sampling", "guidance", "contrastive")
_USUAL_SCALE = 1.5  # initial guidance scale, if the trace ends without guidance

ModelOf = Callable[[str | None, str | None], LanguageModel]


class Opened(NamedTuple):
    """The outcome of opening a trace.

    Attributes:
        text: its text, with the steps that were made again, ready for the next one.
        beginning: the beginning that the page would use for it.
        settings: the settings of the next step.
        said: a sentence on whether the steps are those of the trace.
    """

    text: Text | RecordedText
    beginning: Beginning
    settings: SamplingSettings
    said: str


def opened(data: str, model_of: ModelOf) -> Opened:
    """Generate the text of a trace again, and report progress to the job of this thread.

    If no model here has the weights and the tokenizer that made it, the file alone is read.

    Args:
        data: the text of its file.
        model_of: returns the model of a source and a revision, if this visitor may load it;
            without a source, the one in use.

    Raises:
        TraceError: not a trace, or one that this page cannot show.
        CancelledError: the job was cancelled.
        DecodingError: errors of beginning and stepping.
    """
    trace = trace_of(data, OPENS)
    settings = _last_settings(trace)
    checked_stops(trace.stop_strings)
    model, sentence = _model(trace, model_of)
    if model is None:
        text = RecordedText(trace, sentence)
        return Opened(text, _beginning(trace, None), settings, "")
    found = replayed(trace, model)
    return found._replace(said=f"{sentence} {found.said}".strip())


def replayed(trace: Trace, model: LanguageModel) -> Opened:
    """Generate a trace's text again with a model; raises as `opened` does."""
    beginning, text = _beginning(trace, model), begin(trace, model)
    said = made_again(trace, text)
    return Opened(text, beginning, _last_settings(trace), said)


def _model(trace: Trace, model_of: ModelOf) -> tuple[LanguageModel | None, str]:
    """Return the model to generate a trace again with, and a sentence if it is not the one named.

    The named model may be a folder on another computer, or a hub repository that was never fetched.
    Then the model in use takes its place, unless the trace's facts on weights and tokenizer
    contradict that. All figures are compared later. Without a model, return None and the reason.
    """
    source, revision = (trace.model.get(name) for name in ("source", "revision"))
    named = {"source": str(source)[:80]}
    try:
        model = model_of(source, revision)
    except CancelledError:
        raise
    except DecodingError:
        used = model_of(None, None)
        if not is_same_model(trace, used) or "tokenizer_hash" not in trace.model:
            return None, say(
                "This text is read-only, as the model that wrote it, {source}, cannot be "
                "loaded here; choose one with the same weights and tokenizer to generate the "
                "text again.",
                **named,
            )
        return used, say(
            "The model that the trace names, {source}, cannot be loaded here; {used}, with "
            "the same tokenizer and number of parameters, was used to generate the text "
            "again.",
            **named,
            used=used.name,
        )
    if is_same_model(trace, model):
        return model, ""
    return None, say(
        "This text is read-only, as {source} has different weights or a different tokenizer "
        "here; choose a model with the same ones to generate the text again.",
        **named,
    )


def _last_settings(trace: Trace) -> SamplingSettings:
    """Return the settings of the next step; raises `TraceError` if this page lacks some of them."""
    found = [
        SamplingSettings.from_dict({"chain": [], "seed": 0, **values})
        for _, values in trace.settings
    ] or [SamplingSettings()]
    if any(settings.parity for settings in found):
        raise TraceError(
            say(
                "The trace was made in parity mode, which no page supports; {remedy}.",
                remedy=say(REMEDY),
            )
        )
    if trace.strategy == "contrastive":
        for stage in (stage for settings in found for stage in settings.chain):
            if stage.kind != "edit":
                raise TraceError(
                    say(
                        "The trace has {setting}, and a contrastive search on this page takes only "
                        "samplers that edit single tokens; {remedy}.",
                        setting=stage.setting,
                        remedy=say(REMEDY),
                    )
                )
    last = found[-1]
    parse_settings(plain_settings(last, shown_samplers(last)))  # as the page will send them
    return last


def _beginning(trace: Trace, model: LanguageModel | None) -> Beginning:
    """Return the beginning of the text; raises `PromptError` for more than the page may hold."""
    guidance, strategy, scale, negative = trace.guidance, None, UNGUIDED, None
    if trace.strategy == "contrastive":
        values = trace.settings[-1][1]
        strategy = Contrastive(values["top_k"], values["penalty_alpha"])
    if guidance is not None:
        scale = guidance.scale if guidance.scale != UNGUIDED else _USUAL_SCALE
        negative = _typed(guidance.negative_prompt, guidance.negative_prompt_ids, model)
    *before, last = trace.messages or ({"role": "", "content": ""},)
    if last["role"] == "user":
        check_prompt("prompt", "".join(each["content"] for each in trace.messages))
        return Beginning(last["content"], True, negative, scale, strategy, tuple(before))
    prompt = _typed(trace.prompt, trace.prompt_ids, model)
    check_prompt("prompt", prompt)
    check_prompt(marked("negative prompt"), negative or "")
    return Beginning(prompt, False, negative, scale, strategy)


def _typed(prompt: str, token_ids: tuple[int, ...], model: LanguageModel | None) -> str:
    """Return a prompt as text, without special tokens if encoding adds them."""
    if model is None:
        return prompt
    vocabulary = model.vocabulary
    if vocabulary.known and tuple(vocabulary.encode(prompt)) == token_ids:
        return prompt
    shown = (token_id for token_id in token_ids if not vocabulary.is_special(token_id))
    return b"".join(map(vocabulary.token_bytes, shown)).decode("utf-8", "replace")
