"""One transformers architecture for every kind of cache layer and of refusal.

`python -m tests.engine.model.architectures` prints the whole table.
"""

import pytest
import transformers

from engine.errors import NotAModelError
from engine.model import LanguageModel
from tests.engine.model import small_configs
from tests.engine.model.architectures import EQUAL, PAGE, checked

# By their contents: an encoder-decoder's decoder, windows, chunks, indexers, states of two kinds,
# states and attention in one layer, also with a window, layers without a cache, compressed keys.
KINDS = {
    "bart": "together",
    "gpt_oss": "together",
    "llama4_text": "together",
    "deepseek_v32": "together",
    "qwen4_exp_text": "one by one",
    "lfm2_moe": "one by one",
    "zamba2": "one by one",
    "zaya": "one by one",
    "nemotron_h": "one by one",
    "deepseek_v4": "one by one",
    "minimax_m3_vl_text": "one by one",
}
SHORT = ("bart", "llama4_text", "deepseek_v4")
REFUSED = {
    "minimax": "cache of its own",
    "recurrent_gemma": "keeps its state inside the model, not in a cache",
    "openai-gpt": "stores nothing in the cache",
    "prophetnet": "cannot run step by step",
}


@pytest.mark.parametrize(
    "model_type",
    [pytest.param(name, marks=() if name in SHORT else pytest.mark.long) for name in KINDS],
)
def test_supported_architecture_matches_generate_and_its_reruns(model_type):
    outcome = checked(model_type)
    assert (outcome.result, outcome.reason) == (EQUAL, "")
    batch = "together" if outcome.rows > 1 else "one by one"
    assert batch == KINDS[model_type]


@pytest.mark.parametrize("model_type", REFUSED)
def test_unsupported_architecture_is_refused_with_a_reason(model_type):
    with pytest.raises(NotAModelError, match=REFUSED[model_type]) as refusal:
        LanguageModel(small_configs.build(model_type))
    assert str(refusal.value).endswith("choose another architecture.")


def test_page_lists_every_transformers_architecture():
    page = PAGE.read_text("utf-8")
    assert f"transformers {transformers.__version__}" in page
    missing = [name for name in small_configs.MODEL_TYPES if f"| {name} |" not in page]
    assert not missing, "run python -m tests.engine.model.architectures --write"
    assert "0 WRONG" in page
