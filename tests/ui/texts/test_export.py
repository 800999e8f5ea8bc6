"""The settings as code: a chat message reaches every program in the same form as on the page."""

import contextlib
from unittest import mock

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.engine.export.reading import parameters, prompt_of, unescaped
from tests.engine.model.test_chat import PLAIN, WITH_START, tokenizer
from ui.texts.export import settings_as_code

# Like SmolLM2's, which writes no start of text and has its own system message.
WITH_SYSTEM = (
    "{% for message in messages %}{% if loop.first and messages[0].role != 'system' %}"
    "<|user|>Be kind.<|end|>{% endif %}"
    "{{ '<|user|>' if message.role == 'system' else '<|reply|>' }}"
    "{{ message.content }}<|end|>{% endfor %}<|reply|>"
)
SYSTEM = {"role": "system", "content": "Be kind."}


@pytest.mark.parametrize("message", ["Hi", "it's 🙂 <|end|> {{ 7 * 7 }}"])
@pytest.mark.parametrize(
    ("template", "adds_start", "before"),
    [(WITH_START, True, []), (PLAIN, True, []), (WITH_SYSTEM, False, [SYSTEM])],
    ids=["start of text", "none", "system message"],
)
def test_exported_code_formats_chat_like_the_page(template, adds_start, before, message):
    words = tokenizer(template, adds_start=adds_start)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    config = LlamaConfig(
        vocab_size=260, num_attention_heads=2, eos_token_id=257, initializer_range=0.4, **small
    )
    hf = LlamaForCausalLM(config).eval()
    model = LanguageModel(hf, words, source="owner/chat")
    chosen = SamplingSettings(temperature=0.9, seed=5, parity=True)
    found = {
        snippet.target: snippet
        for snippet in settings_as_code(
            model,
            chosen,
            message,
            chat=True,
            max_tokens=8,
            stop_strings=(),
            negative_prompt="Bye",
            guidance_scale=2.0,
        )
    }
    ids, negative = model.vocabulary.chat_ids(message), model.vocabulary.chat_ids("Bye")
    decoder = Decoder(model, ids, chosen, negative_prompt=negative, guidance_scale=2.0)
    list(decoder.run(8))

    names: dict[str, object] = {}
    with (
        contextlib.redirect_stdout(None),
        mock.patch.object(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: hf),
        mock.patch.object(AutoTokenizer, "from_pretrained", lambda *_: words),
    ):
        exec(found.pop("transformers").code, names)
    assert (names["prompt_ids"].tolist(), names["negative_ids"].tolist()) == ([ids], [negative])
    assert names["new_ids"].tolist() == decoder.token_ids

    line = parameters(found["llama.cpp command line"])
    assert line["--override-kv"] == ["tokenizer.ggml.add_bos_token=bool:false"]
    assert unescaped(line["--prompt"][0]) == model.vocabulary.chat(message)
    assert prompt_of(found.pop("vLLM")) == {"prompt_token_ids": ids}
    for target in ("vLLM server", "llama.cpp server"):
        assert prompt_of(found[target]) == ids
    messages = [*before, {"role": "user", "content": message}]
    for target in ("Ollama", "OpenAI-style API (Python)", "OpenAI-style API (curl)"):
        assert prompt_of(found[target]) == messages
    assert "/api/chat" in found["Ollama"].code and "raw" not in found["Ollama"].code
    assert all("prompt" in dict(found[target].differs) for target in found if "vLLM" not in target)
