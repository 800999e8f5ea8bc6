"""Snippets for other engines: complete tables, documented names, values, and true remarks."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import GenerationConfig

from engine.errors import NoCandidatesError, SettingError
from engine.export import llama_cpp, ollama, openai, transformers, vllm
from engine.export.table import Effect, swap_effect
from engine.sampling import STAGES, SamplingSettings, shape
from engine.sampling.samplers import Context, Stage, Temperature, TopP
from tests.engine.export.reading import parameters, unescaped, written
from tests.samplers import EXAMPLES, example

TABLES = {
    "transformers": transformers.TABLE,
    "vLLM": vllm.TABLE,
    "vLLM server": vllm.SERVER_TABLE,
    "llama.cpp server": llama_cpp.TABLE,
    "llama.cpp command line": llama_cpp.TABLE,
    "Ollama": ollama.TABLE,
    "OpenAI-style API (Python)": openai.TABLE,
    "OpenAI-style API (curl)": openai.TABLE,
}

# Parameters as documented: https://docs.vllm.ai (SamplingParams, OpenAI-compatible server; 0.32),
# `llama-completion --help` and the README of llama.cpp's server (0.7.0, 2026), Ollama's docs/api.md
# and docs/modelfile.mdx (2026), OpenAI's API reference of chat completions (2026).
VLLM = (
    "n presence_penalty frequency_penalty repetition_penalty temperature top_p top_k min_p seed"
    " stop stop_token_ids ignore_eos max_tokens min_tokens logprobs prompt_logprobs logit_bias"
    " allowed_token_ids bad_words structured_outputs"
)
DOCUMENTED = {
    "transformers": "input_ids attention_mask tokenizer " + " ".join(GenerationConfig().to_dict()),
    "vLLM": VLLM,
    "vLLM server": "model prompt " + VLLM,
    "llama.cpp server": "prompt n_predict temperature dynatemp_range dynatemp_exponent top_k top_p"
    " min_p typical_p repeat_penalty repeat_last_n presence_penalty frequency_penalty"
    " dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers"
    " xtc_probability xtc_threshold top_n_sigma mirostat mirostat_tau mirostat_eta seed stop"
    " logit_bias samplers grammar json_schema n_probs min_keep ignore_eos stream cache_prompt",
    "llama.cpp command line": "--model --prompt --predict --no-conversation --escape --samplers"
    " --seed --temp --dynatemp-range --dynatemp-exp --top-k --top-p --min-p --top-nsigma"
    " --xtc-probability --xtc-threshold --typical --repeat-last-n --repeat-penalty"
    " --presence-penalty --frequency-penalty --dry-multiplier --dry-base --dry-allowed-length"
    " --dry-penalty-last-n --mirostat --mirostat-ent --mirostat-lr --logit-bias --reverse-prompt"
    " --grammar --json-schema --override-kv",
    "Ollama": "model prompt messages raw stream format options num_keep seed num_predict top_k"
    " top_p min_p typical_p repeat_last_n temperature repeat_penalty presence_penalty"
    " frequency_penalty penalize_newline stop num_ctx",
    "OpenAI-style API (Python)": "model messages max_tokens max_completion_tokens temperature top_p"
    " presence_penalty frequency_penalty logit_bias seed stop n logprobs top_logprobs stream"
    " response_format",
}
DOCUMENTED["OpenAI-style API (curl)"] = DOCUMENTED["OpenAI-style API (Python)"]
LLAMA_SAMPLERS = {
    *("dry", "top_k", "top_p", "top_n_sigma", "typ_p", "min_p", "temperature", "xtc", "infill"),
    *("penalties", "adaptive_p"),
}


class TestTables:
    @pytest.mark.parametrize("target", TABLES)
    def test_an_entry_has_documented_names_or_a_reason(self, target):
        documented = set(DOCUMENTED[target.replace("command line", "server")].split())
        assert set(TABLES[target]) <= set(STAGES)
        for setting, entry in TABLES[target].items():
            assert bool(entry.names) != bool(entry.lacking), f"{setting}: a name or a reason"
            assert set(entry.names) <= documented, f"{target} documents no {entry.names}"

    def test_order_lists_every_supported_setting(self):
        for module in (transformers, vllm, ollama, openai):
            has = {setting for setting, entry in module.TABLE.items() if not entry.lacking}
            assert len(set(module.ORDER)) == len(module.ORDER)
            assert set(module.ORDER) == has, module.__name__
        has = {setting for setting, entry in llama_cpp.TABLE.items() if not entry.lacking}
        assert set(llama_cpp.SAMPLERS) | {"constraint", "logit_bias", "banned", "mirostat"} == has
        assert set(llama_cpp.SAMPLERS.values()) <= LLAMA_SAMPLERS
        names = {name for entry in llama_cpp.TABLE.values() for name in entry.names}
        assert names - {"logit_bias"} <= set(llama_cpp.FLAGS), "no flag of the command line"

    @pytest.mark.parametrize("target", TABLES)
    def test_setting_is_written_or_reported_as_lacking(self, target):
        without = parameters(written([])[target])
        for setting in STAGES:
            entry = TABLES[target].get(setting)
            snippet = written([example(setting)])[target]
            if entry is None or entry.lacking:
                ((name, why),) = snippet.lacking
                assert name == setting and why == (entry.lacking if entry else why) != ""
                assert parameters(snippet) == without, setting
            else:
                assert parameters(snippet) != without, f"{setting}: written, yet nothing changed"

    @pytest.mark.parametrize("target", TABLES)
    def test_all_settings_together_use_documented_names_only(self, target):
        for left_out in ("mirostat", "dynamic_temperature", "temperature"):
            chain = [example(name) for name in STAGES if name != left_out]
            snippet = written(chain, stop_strings=("\n", "END"))[target]
            asked = set(parameters(snippet))
            assert asked <= set(DOCUMENTED[target].split()), "a name that nothing documents"


class TestValues:
    def test_empty_chain_is_pure_sampling_everywhere(self):
        found = {target: parameters(snippet) for target, snippet in written([]).items()}
        assert found["transformers"] == {
            "max_new_tokens": 32,
            "do_sample": True,
            "top_k": 0,
        }
        assert found["vLLM"] == {"max_tokens": 32, "seed": 0}
        server = found["vLLM server"]
        assert (server["top_k"], server["min_p"], server["repetition_penalty"]) == (0, 0.0, 1.0)
        assert found["llama.cpp server"]["samplers"] == ["temperature"]
        assert found["llama.cpp server"]["temperature"] == 1.0
        assert found["llama.cpp command line"]["--samplers"] == ["temperature"]
        off = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0}
        assert off.items() <= found["Ollama"].items()
        assert "temperature" not in found["OpenAI-style API (curl)"]

    def test_greedy_is_written_for_each_target(self):
        all_ = written(SamplingSettings(temperature=0, top_p=0.9, repetition_penalty=1.2, seed=3))
        found = {target: parameters(snippet) for target, snippet in all_.items()}
        assert found["transformers"] == {
            "max_new_tokens": 32,
            "do_sample": False,
            "repetition_penalty": 1.2,
        }
        assert found["llama.cpp command line"]["--temp"] == ["0.0"]
        for target in set(TABLES) - {"transformers", "llama.cpp command line"}:
            assert found[target]["temperature"] == 0, f"{target} would sample"
        for target, snippet in all_.items():
            assert "seed" not in snippet.code, f"{target}: nothing is drawn, so no seed is needed"

    def test_greedy_transformers_reports_typical_p_as_lacking(self):
        typical = example("typical_p", 0.3)
        before = written([typical, example("temperature", 0)])["transformers"]
        assert "typical_p" in dict(before.lacking)
        assert "typical_p" not in before.code and not before.differs
        after = written([example("temperature", 0), typical])["transformers"]
        assert not after.lacking, "behind temperature 0 it changes nothing here either"
        sampled = written([typical, example("temperature", 0.5)])["transformers"]
        assert not sampled.lacking and parameters(sampled)["typical_p"] == 0.3

    @pytest.mark.parametrize("target", ["vLLM", "vLLM server"])
    def test_vllm_min_tokens_never_exceeds_max_tokens(self, target):
        found = written(SamplingSettings(min_new_tokens=5), max_tokens=3)[target]
        assert parameters(found)["min_tokens"] == 3
        assert "min_new_tokens" in dict(found.differs)
        fitting = written(SamplingSettings(min_new_tokens=3), max_tokens=3)[target]
        assert "min_new_tokens" not in dict(fitting.differs)

    def test_a_seed_is_written_with_a_remark(self):
        for target, snippet in written(SamplingSettings(seed=12)).items():
            assert "12" in snippet.code
            assert "seed" in dict(snippet.differs), f"{target} promises our tokens"
        for snippet in written(SamplingSettings(seed=None)).values():
            assert "seed" not in snippet.code and "seed" not in dict(snippet.differs)
        assert not written(SamplingSettings(seed=3, parity=True))["transformers"].differs

    @pytest.mark.parametrize("seed", [0, 2**32 - 2, 2**32 - 1, 2**63 - 1])
    def test_seed_fits_into_32_bits_when_required(self, seed):
        found = written(SamplingSettings(seed=seed))
        for target in ("llama.cpp server", "Ollama"):
            sent = parameters(found[target])["seed"]
            assert 0 <= sent < 2**32 - 1, "2**32 - 1 means a random one"
            assert sent == seed or "32 bits" in dict(found[target].differs)["seed"]

    def test_penalties_and_dry_see_the_whole_text(self):
        longest = 1_000_000  # tokens in today's longest contexts
        for name in ("repetition_penalty", "presence_penalty", "frequency_penalty"):
            found = written([example(name)])
            assert int(parameters(found["llama.cpp command line"])["--repeat-last-n"][0]) >= longest
            for target in ("llama.cpp server", "Ollama"):
                assert parameters(found[target])["repeat_last_n"] >= longest
                assert "repeat_last_n" in dict(found[target].differs)
            assert name == "frequency_penalty" or name in dict(found["Ollama"].differs)
        found = written([example("dry", 0.8, 1.75, 2, -1, ())])["llama.cpp server"]
        assert parameters(found)["dry_penalty_last_n"] >= longest
        found = written([example("dry", 0.8, 1.75, 2, 5, ())])["llama.cpp server"]
        assert parameters(found)["dry_penalty_last_n"] == 5, "set by the user"

    def test_services_are_not_sent_local_folder_names(self, tmp_path, monkeypatch):
        (tmp_path / "of_mine").mkdir()
        for target, snippet in written([], model=str(tmp_path / "of_mine")).items():
            is_here = target in ("transformers", "vLLM", "llama.cpp command line")
            assert ("of_mine" in snippet.code) == is_here, target
            if "MODEL" in snippet.code:
                assert "MODEL" in snippet.differs[-1][1]
        assert "MODEL" not in written([], model="owner/of_mine")["vLLM server"].code
        monkeypatch.setenv("HOME", str(tmp_path))
        code = written([], model="~")["transformers"].code
        assert f"name = {str(tmp_path)!r}" in code, "from_pretrained knows no ~"

    def test_dynamic_temperature_becomes_middle_and_range(self):
        dynamic = example("dynamic_temperature", 0.5, 1.5, 1.2)
        found = parameters(written([dynamic])["llama.cpp server"])
        assert (found["temperature"], found["dynatemp_range"]) == (1.0, 0.5)
        assert found["dynatemp_exponent"] == 1.2
        both = written([example("temperature", 0.3), dynamic])["llama.cpp server"]
        assert parameters(both)["temperature"] == 1.0 and "temperature" in dict(both.lacking)
        greedy = written([example("temperature", 0), dynamic])["llama.cpp server"]
        assert parameters(greedy)["temperature"] == 0
        assert "dynamic_temperature" in dict(greedy.lacking)

    def test_mirostat_reports_samplers_it_disables(self):
        chain = [
            example("temperature", 0.7),
            example("top_k"),
            example("top_h"),
            example("mirostat"),
        ]
        snippet = written(chain)["llama.cpp server"]
        found = parameters(snippet)
        assert (found["mirostat"], found["mirostat_tau"], found["mirostat_eta"]) == (2, 5.0, 0.1)
        assert found["temperature"] == 0.7 and "samplers" not in found and "top_k" not in found
        lacking = dict(snippet.lacking)
        assert "Mirostat" in lacking["top_k"] and "Mirostat" not in lacking["top_h"]

    def test_biases_and_bans_are_written_per_target(self):
        chain = [example("logit_bias", {5: 150.0, 7: -2.0}), example("banned", ((7,), (5, 6)))]
        found = written(chain)
        asked = {target: parameters(snippet) for target, snippet in found.items()}
        assert asked["transformers"]["sequence_bias"] == {(5,): 150.0, (7,): -2.0}
        assert asked["transformers"]["bad_words_ids"] == [[7], [5, 6]]
        assert asked["vLLM"]["logit_bias"] == {5: 150.0, 7: -math.inf}
        assert asked["vLLM server"]["logit_bias"] == {"5": 100.0, "7": -100.0}
        assert asked["llama.cpp server"]["logit_bias"] == [[5, 150.0], [7, False]]
        assert asked["llama.cpp command line"]["--logit-bias"] == ["5+150.0", "7-inf"]
        assert asked["OpenAI-style API (curl)"]["logit_bias"] == {"5": 100.0, "7": -100.0}
        for target, snippet in found.items():
            if target not in ("transformers", "Ollama"):
                assert "banned" in dict(snippet.lacking), "a ban of several tokens"
            if target != "Ollama":
                assert "logit_bias" in dict(snippet.differs)

    def test_constraints_are_written_per_target(self):
        schema, choices = '{"type": "boolean"}', '["a\\nb", "\\"é"]'
        of = {
            language: written([example("constraint", language, source)])
            for language, source in (
                ("json_schema", schema),
                ("choices", choices),
                ("regex", "a/b\\/c"),
                ("lark", 'start: "a"'),
            )
        }
        found = {
            (language, target): parameters(snippet)
            for language, snippets in of.items()
            for target, snippet in snippets.items()
        }
        boolean = {"type": "boolean"}
        for target in ("vLLM", "vLLM server"):
            asked = {language: found[language, target]["structured_outputs"] for language in of}
            assert asked == {
                "json_schema": {"json": boolean},
                "choices": {"choice": ["a\nb", '"é']},
                "regex": {"regex": "a/b\\/c"},
                "lark": {"grammar": 'start: "a"'},
            }
        server, program = "llama.cpp server", "llama.cpp command line"
        assert found["json_schema", server]["json_schema"] == boolean
        assert found["json_schema", program]["--json-schema"] == ['{"type": "boolean"}']
        assert found["choices", server]["grammar"] == 'root ::= "a\\nb" | "\\"é"'
        assert found["regex", server]["grammar"].endswith("start: /a\\/b\\/c/")
        assert found["lark", program]["--grammar"] == ['%llguidance {}\nstart: "a"']
        assert found["json_schema", "Ollama"]["format"] == boolean
        wanted = found["json_schema", "OpenAI-style API (curl)"]["response_format"]
        assert wanted["json_schema"]["schema"] == boolean
        for target in ("Ollama", "OpenAI-style API (Python)"):
            for language in ("choices", "regex", "lark"):
                lacking = dict(of[language][target].lacking)
                assert "constraint" in lacking
                assert {"format", "response_format"}.isdisjoint(found[language, target])

    def test_a_ban_outweighs_a_bias(self):
        chain = [example("logit_bias", {7: 3.0}), example("banned", ((7,),))]
        for order in (chain, chain[::-1]):
            assert parameters(written(order)["vLLM"])["logit_bias"] == {7: -math.inf}

    def test_values_out_of_range_are_clamped_with_remark(self):
        chain = [example("presence_penalty", 3.0), Temperature(5.0)]
        snippet = written(chain)["OpenAI-style API (curl)"]
        found = parameters(snippet)
        assert (found["presence_penalty"], found["temperature"]) == (2.0, 2.0)
        assert {"presence_penalty", "temperature"} <= set(dict(snippet.differs))

    def test_stop_strings_are_written_per_target(self):
        many = ("a", "b\n", "'c'", "\\", "e")
        found = written([], stop_strings=many)
        for target, snippet in found.items():
            asked = parameters(snippet)
            if target == "llama.cpp command line":
                assert tuple(map(unescaped, asked["--reverse-prompt"])) == many
            elif target.startswith("OpenAI"):
                assert asked["stop"] == list(many[:4]) and "stop_strings" in dict(snippet.lacking)
            else:
                name = "stop_strings" if target == "transformers" else "stop"
                assert asked[name] == list(many)

    @pytest.mark.parametrize(
        ("wrong", "named"),
        [
            ({"model": ""}, "model"),
            ({"model": "a\nb"}, "model"),
            ({"max_tokens": 0}, "max_tokens"),
            ({"stop_strings": [""]}, "stop_strings"),
            ({"prompt": [1, 2]}, "prompt"),
            ({"negative_prompt": "no", "guidance_scale": -1}, "guidance_scale"),
        ],
    )
    def test_invalid_snippet_arguments_are_refused(self, wrong, named):
        with pytest.raises(SettingError) as error:
            written([], **wrong)
        assert error.value.setting == named


class TestOnlyInTransformers:
    def test_guidance_is_written_only_for_transformers(self):
        sad = 'A "sad" story.'
        for target, snippet in written([], negative_prompt=sad, guidance_scale=2.5).items():
            told = [text for setting, text in snippet.lacking if setting == "guidance"]
            if target == "transformers":
                assert parameters(snippet)["guidance_scale"] == 2.5 and not told
            else:
                assert "sad" not in snippet.code
                assert len(told) == 1, f"{target} leaves guidance out in silence"
        assert written([], negative_prompt=sad, guidance_scale=1.0) == written([])

    def test_contrastive_search_is_written_only_for_transformers(self):
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


def swapped_in(snippet) -> set[tuple[str, str]]:
    """The pairs that the target applies in the opposite order, by the remarks."""
    return {
        (first, text.split("comes before ")[1].split()[0])
        for first, text in snippet.differs
        if "comes before" in text
    }


class TestOrder:
    def test_the_default_order_needs_no_remark_in_transformers(self):
        chain = [example(name) for name in STAGES]
        assert not swapped_in(written(chain)["transformers"])

    @pytest.mark.parametrize(
        ("target", "swapped"),
        [
            # The whole order that vLLM documents in Sampler.forward: bias, then repetition,
            # frequency and presence penalty, temperature, min-p, then top-k and top-p in one pass.
            (
                "vLLM",
                {
                    *{("presence_penalty", "frequency_penalty")},
                    *{("top_k", "min_p"), ("top_p", "min_p")},
                },
            ),
            # llm/llama_server.go names no samplers, so llama.cpp's default applies: penalties, DRY,
            # top-n-sigma, top-k, typical-p, top-p, min-p, XTC, temperature.
            (
                "Ollama",
                {
                    ("presence_penalty", "frequency_penalty"),
                    ("temperature", "top_k"),
                    ("temperature", "top_p"),
                    ("temperature", "min_p"),
                },
            ),
            ("llama.cpp server", {("presence_penalty", "frequency_penalty")}),
            ("OpenAI-style API (curl)", set()),
        ],
    )
    def test_default_order_remarks_match_each_target(self, target, swapped):
        names = ["logit_bias", "repetition_penalty", "presence_penalty", "frequency_penalty"]
        names += ["temperature", "top_k", "top_p", "min_p"]
        snippet = written([example(name) for name in names])[target]
        assert swapped_in(snippet) == swapped

    def test_llama_cpp_repeats_any_order_of_its_samplers(self):
        names = ["top_p", "dry", "xtc", "temperature", "min_p", "top_k", "typical_p", "top_n_sigma"]
        for chain in itertools.islice(itertools.permutations(names), 0, None, 4001):
            snippet = written([example(name) for name in chain])["llama.cpp server"]
            theirs = [llama_cpp.SAMPLERS[name] for name in chain]
            assert parameters(snippet)["samplers"] == theirs
            assert not swapped_in(snippet)

    def test_order_that_changes_distribution_gets_a_remark(self):
        chosen = SamplingSettings(chain=[TopP(0.5), Temperature(3.0)])
        remarks = dict(written(chosen)["transformers"].differs)
        assert Effect.KEPT.value in remarks["top_p"]

    def test_llama_cpp_reports_samplers_it_cannot_reorder(self):
        names = ["top_k", "presence_penalty", "temperature", "repetition_penalty", "logit_bias"]
        snippet = written([example(name) for name in names])["llama.cpp server"]
        assert parameters(snippet)["samplers"] == ["top_k", "penalties", "temperature"]
        assert swapped_in(snippet) == {
            ("top_k", "logit_bias"),
            ("presence_penalty", "repetition_penalty"),
            ("presence_penalty", "logit_bias"),
            ("temperature", "repetition_penalty"),
            ("temperature", "logit_bias"),
            ("repetition_penalty", "logit_bias"),
        }

    @given(st.permutations(sorted(set(vllm.ORDER))))
    @settings(max_examples=30)
    def test_order_remarks_list_every_inversion(self, names):
        chain = [example(name) for name in names]
        snippet = written(chain)["vLLM"]
        place = vllm.ORDER.index
        pairs = itertools.combinations(names, 2)
        assert swapped_in(snippet) == {(a, b) for a, b in pairs if place(a) > place(b)}


# Stages that need only the tokens so far from the context.
SWAPPED = [
    *("repetition_penalty", "presence_penalty", "frequency_penalty", "no_repeat_ngram"),
    *("logit_bias", "temperature", "dynamic_temperature", "top_h", "top_k", "top_p", "min_p"),
    *("typical_p", "epsilon_cutoff", "eta_cutoff", "top_n_sigma", "tail_free"),
]
PAIRS = [
    *itertools.combinations([(name, EXAMPLES[name]) for name in SWAPPED], 2),
    *((("temperature", (0,)), (n, EXAMPLES[n])) for n in SWAPPED if n != "temperature"),
]
# In the short form, one pair for each answer of each rule.
FEW = {
    "temperature=0": "repetition_penalty no_repeat_ngram typical_p top_p",
    "repetition_penalty": "presence_penalty no_repeat_ngram logit_bias temperature",
    "presence_penalty": "frequency_penalty temperature",
    "no_repeat_ngram": "temperature",
    "temperature": "dynamic_temperature top_k top_n_sigma top_p",
    "dynamic_temperature": "top_k top_p top_n_sigma",
    "top_k": "top_p min_p",
}


def marked(one: tuple, other: tuple):
    """A pair of stages; a long form unless it is one of the `FEW`."""
    name = "temperature=0" if one == ("temperature", (0,)) else one[0]
    is_long = other[0] not in FEW.get(name, "").split()
    marks = pytest.mark.long if is_long else ()
    return pytest.param(one, other, marks=marks, id=f"{name}-{other[0]}")


def probs_of(chain: list[Stage], logits: np.ndarray, context: Context) -> np.ndarray:
    """Final probabilities, all 0 if the chain leaves no token."""
    try:
        return shape(logits, SamplingSettings(chain=chain), context).probs
    except NoCandidatesError:
        return np.zeros(logits.size)


class TestSwapEffect:
    """Check the remarks about swapped stages against the engine's own stages."""

    @pytest.mark.parametrize(("one", "other"), [marked(*pair) for pair in PAIRS])
    def test_swap_effect_is_right_on_random_rows(self, one, other):
        first, second = example(one[0], *one[1]), example(other[0], *other[1])
        effect = swap_effect(first, second)
        assert swap_effect(second, first) is effect
        rng = np.random.default_rng(7)
        kept_differs = odds_differ = False
        for row in range(400):
            logits = rng.normal(scale=2, size=12).astype(np.float32)
            context = Context(rng.integers(0, 12, size=6), prompt_length=2)
            here = probs_of([first, second], logits, context)
            there = probs_of([second, first], logits, context)
            kept_differs |= bool(((here > 0) != (there > 0)).any())
            odds_differ |= bool(np.abs(here - there).max() > 1e-5)
            if kept_differs or (effect is Effect.ODDS and odds_differ and row > 200):
                break
        found = Effect.KEPT if kept_differs else Effect.ODDS if odds_differ else Effect.NONE
        assert found is effect, f"the remark would say: {effect.value}"
