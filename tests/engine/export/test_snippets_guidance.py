"""Guidance in snippets: transformers gives the app's tokens; all others say they lack it."""

import contextlib
import io

import pytest

from engine.decoder import Decoder
from engine.errors import SettingError
from engine.model import load_model
from engine.model.loading.checkpoint import BUNDLED_FOLDER
from engine.sampling import SamplingSettings
from tests.engine.export.reading import parameters, written

PROMPT, NEGATIVE = "Once upon a time, a sad little", 'A "happy" story.\nThe happy'
GREEDY = SamplingSettings(temperature=0)


def test_transformers_snippet_gives_the_app_tokens():
    model = load_model(dtype="float32", device="cpu")
    code = written(
        GREEDY,
        PROMPT,
        model=str(BUNDLED_FOLDER),
        max_tokens=24,
        dtype="float32",
        negative_prompt=NEGATIVE,
        guidance_scale=1.8,
    )["transformers"].code
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, names)
    decoder = Decoder(model, PROMPT, GREEDY, negative_prompt=NEGATIVE, guidance_scale=1.8)
    list(decoder.run(24))
    assert names["new_ids"].tolist() == decoder.token_ids
    alone = Decoder(model, PROMPT, GREEDY)
    list(alone.run(24))
    assert alone.token_ids != decoder.token_ids, "guidance changed nothing, so this proves little"


def test_guidance_is_written_only_for_transformers():
    for target, snippet in written([], negative_prompt=NEGATIVE, guidance_scale=2.5).items():
        told = [text for setting, text in snippet.lacking if setting == "guidance"]
        if target == "transformers":
            assert parameters(snippet)["guidance_scale"] == 2.5
            assert not told
        else:
            assert "happy" not in snippet.code
            assert len(told) == 1, f"{target} leaves guidance out in silence"


@pytest.mark.parametrize("more", [{}, {"negative_prompt": NEGATIVE, "guidance_scale": 1.0}])
def test_disabled_guidance_is_not_mentioned(more):
    assert written([], **more) == written([])


def test_a_scale_out_of_range_is_refused():
    with pytest.raises(SettingError, match="guidance_scale must be from 0 to 100, got -1"):
        written([], negative_prompt=NEGATIVE, guidance_scale=-1)


def test_contrastive_search_is_written_only_for_transformers():
    chain = SamplingSettings(temperature=0.7, top_p=0.9, seed=3)
    more = {"contrastive": (5, 0.4), "stop_strings": ["\n"]}
    for target, snippet in written(chain, **more).items():
        told = [text for setting, text in snippet.lacking if setting == "contrastive search"]
        if target == "transformers":
            asked = parameters(snippet)
            assert (asked["top_k"], asked["penalty_alpha"]) == (5, 0.4)
            assert asked["custom_generate"] == "transformers-community/contrastive-search"
            assert asked["stop_strings"] == ["\n"]
            assert asked["do_sample"] is False
            assert not {"temperature", "top_p", "guidance_scale"} & set(asked)
            assert "manual_seed" not in snippet.code
        else:
            assert len(told) == 1, f"{target} samples in silence"
            assert "0.7" not in snippet.code, "a setting that has no effect is written"
