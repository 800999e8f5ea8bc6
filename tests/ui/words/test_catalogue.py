"""The table of samplers for the browser: complete, plain, and with true sentences."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import NoCandidatesError, SettingError
from engine.sampling import DEFAULT_ORDER, STAGES, SamplingSettings, StageResult, shape
from engine.sampling.presets import PRESETS
from engine.sampling.samplers import TopK, Xtc
from tests.engine.sampling.samplers.cases import RISING, said
from tests.engine.sampling.samplers.test_figures import TOLD, told
from tests.engine.sampling.samplers.test_twins import any_context, any_stage
from tests.engine.sampling.test_stages import logits_of
from tests.ui.words.sentences import FORMATS, PLACE, note, sentence
from ui.texts.settings import FIRST, page_table, parse_settings
from ui.words.catalogue import setting_name, short_setting_name, table
from ui.words.errors import told as refusal_told

SAMPLERS = {sampler["name"]: sampler for sampler in table()["samplers"]}
KEYS = {
    *("name", "label", "in_text", "kind", "removes_only", "group", "value", "off", "about"),
    *("formula", "paper", "idle", "numbers", "pair", "picture", "says", "note"),
}
# Words of this project's earlier texts that no one else would use.
PRIVATE = re.compile(
    r"\b(torn|race|went|anew|parts?|cards?|stages?|nobody|sits? out|struck|takes? away|clich\w*)\b",
    re.IGNORECASE,
)


def label_of(token_id: int) -> str:
    return f"t{token_id}"


def texts(sampler: dict) -> list[str]:
    """Return all texts ever shown for a sampler, including templates."""
    own = [sampler[key] for key in ("label", "in_text", "about", "formula", "idle")]
    labels = [number["label"] for number in sampler["numbers"]]
    return [*own, *labels, *sampler["says"].values(), *sampler["note"].values()]


def test_table_is_plain_json_and_cached():
    made = table()
    assert json.loads(json.dumps(made, allow_nan=False)) == made, "not plain values"
    assert table() is made
    assert list(SAMPLERS) == made["order"] == [kind.setting for kind in DEFAULT_ORDER]
    assert page_table()["first"] == list(FIRST) == ["temperature", "top_k", "top_p", "min_p"]
    assert {sampler["group"] for sampler in SAMPLERS.values()} == {
        g["name"] for g in made["groups"]
    }
    assert all(sampler.keys() == KEYS for sampler in SAMPLERS.values())
    assert len(json.dumps(page_table())) < 40_000, "it comes with the first message of every page"


def test_table_fields_follow_from_sampler_classes():
    kinds = {name: sampler["kind"] for name, sampler in SAMPLERS.items()}
    assert [name for name in kinds if kinds[name] == "scale"] == [
        *("temperature", "dynamic_temperature")
    ]
    assert [name for name in kinds if SAMPLERS[name]["removes_only"]] == [
        *("no_repeat_ngram", "banned", "min_new_tokens", "constraint")
    ]
    values = {name: sampler["value"] for name, sampler in SAMPLERS.items()}
    assert (values["logit_bias"], values["banned"]) == ("biases", "sequences")
    assert values["constraint"] == "source"
    assert [name for name in values if values[name] == "numbers"] == [
        *("dry", "dynamic_temperature", "p_less", "xtc", "mirostat")
    ]
    off = {name: sampler["off"] for name, sampler in SAMPLERS.items() if sampler["off"] is not None}
    assert off.keys() == {name for name in values if values[name] == "number"} - {"top_h"}
    assert (off["top_k"], off["top_p"], off["temperature"]) == (0, 1, 1)
    assert SAMPLERS["dry"]["numbers"][-1]["words"] == {"-1": "all"}
    assert SAMPLERS["dynamic_temperature"]["pair"] == ["low", "high"]


def test_presets_parse_back_to_their_settings():
    presets = {preset["name"]: preset["settings"] for preset in page_table()["presets"]}
    assert list(presets) == list(PRESETS)
    for name, settings in presets.items():
        assert "seed" not in settings
        assert set(FIRST) <= set(settings["order"])
        assert parse_settings(settings)[0] == PRESETS[name]


@pytest.mark.parametrize("name", SAMPLERS)
def test_off_values_and_slider_positions_are_valid(name):
    sampler = SAMPLERS[name]
    assert parse_settings({"order": [name], name: sampler["off"]})[0].chain == ()
    usual = {number["name"]: number["usual"] for number in sampler["numbers"]}
    for number in sampler["numbers"]:
        steps = round((number["high"] - number["low"]) / number["step"])
        for place in range(steps + 1):
            value = round(number["low"] + place * number["step"], 6)
            fields = usual | {number["name"]: value}
            if sampler["pair"] and number["name"] in sampler["pair"]:
                fields |= dict.fromkeys(sampler["pair"], max(value, 0.01))
            sent = {
                "number": value,
                "numbers": fields,
                "biases": {"bias": [[3, value]]},
            }[sampler["value"]]
            parse_settings({"order": [name], name: sent})


@pytest.mark.parametrize("name", SAMPLERS)
def test_no_text_has_a_private_word(name):
    for text in texts(SAMPLERS[name]):
        shown = PLACE.sub("0", text)
        assert not PRIVATE.search(shown), text
        assert "  " not in text and text == text.strip()


@pytest.mark.parametrize("name", SAMPLERS)
def test_templates_use_known_figures_and_formats(name):
    results = [told(*row[:3]) for row in TOLD if row[0].setting == name]
    figures = set.intersection(*(set(result.figures) for result in results)) | {"names"}
    for templates in (SAMPLERS[name]["says"], SAMPLERS[name]["note"]):
        for template in templates.values():
            for figure, kind in PLACE.findall(template):
                assert figure in figures, f"{template!r}: no figure {figure}"
                assert kind in FORMATS or (kind == figure == "names")
            assert not re.search(r"[{}]", PLACE.sub("", template)), template


def assert_reads_well(result: StageResult) -> None:
    said_of_it = sentence(result, label_of)
    assert said_of_it.endswith(".") and not re.search(r"[{}]|nan|None", said_of_it)
    for part in re.split(r"(?<=\.) ", said_of_it):
        words = part.split()
        assert 3 <= len(words) <= 20, f"{len(words)} words: {part}"
    assert "1 tokens" not in re.sub(r"[\d,]1 tokens", "", said_of_it)
    assert len(note(result, label_of)) <= 60


@pytest.mark.parametrize(
    ("stage", "before", "context", "case"), [row[:4] for row in TOLD], ids=lambda value: str(value)
)
def test_every_case_has_a_readable_sentence(stage, before, context, case):
    result = told(stage, before, context)
    assert result.case == case
    assert case in stage.info.says or "" in stage.info.says
    assert_reads_well(result)


def test_sentences_read_as_expected():
    plain = str.maketrans("", "", "\u2068\u2069")
    (result,) = shape(logits_of(RISING), SamplingSettings(top_k=2)).stages
    assert sentence(result, label_of) == (
        "Top-k keeps the top 2 tokens by score. It removes 2 tokens with 30.00 % of the "
        "probability."
    )
    chain = [STAGES["repetition_penalty"](2.0)]
    (result,) = shape(logits_of(RISING), SamplingSettings(chain=chain), said(3, 1, 0)).stages
    assert sentence(result, "abcd".__getitem__).translate(plain) == (
        "Repetition penalty lowers tokens of the text: “d”, “b” and others. This takes 3 tokens "
        "from 70.00 % to 41.18 % of the probability."
    )
    chain = [Xtc(0.25, 0.5)]
    context = said(u=0.7311)
    (result,) = shape(logits_of(RISING), SamplingSettings(chain=chain), context).stages
    assert sentence(result, label_of) == (
        "XTC is inactive: its random number 0.7311 is not below its probability 0.5."
    )
    assert note(result, label_of) == "inactive: its own u 0.7311 ≥ 0.5"
    (result,) = shape(logits_of((0.3, 0.3, 0.3, 0.1)), SamplingSettings(chain=[TopK(1)])).stages
    assert note(result, label_of) == "2 tied with the last"


@given(st.integers(0, 10**6))
def test_sentences_of_random_chains_read_well(seed):
    rng = np.random.default_rng(seed)
    vocab = int(rng.choice([4, 20, 2000]))
    context = any_context(rng, vocab)
    kinds = rng.permutation(len(DEFAULT_ORDER))[: rng.integers(1, 8)]
    chain = [any_stage(DEFAULT_ORDER[kind], rng, vocab, context.token_ids) for kind in kinds]
    logits = rng.standard_normal(vocab).astype(np.float32) * 3
    try:
        results = shape(logits, SamplingSettings(chain=chain), context).stages
    except NoCandidatesError:
        return
    for result in results:
        assert_reads_well(result)


def test_settings_have_readable_names():
    names = ("top_k", "top_h", "repetition_penalty", "none")
    assert [setting_name(name) for name in names] == [
        "Top-k", "Top-H", "Repetition penalty", "None",
    ]  # fmt: skip
    assert [short_setting_name(name) for name in names[:3]] == ["k", "top-H", "repetition penalty"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"top_p": 1.5}, "Top-p must be above 0 and at most 1, got 1.5; "),
        ({"min_p": 7}, "Min-p must be between 0 and 1, got 7; "),
        ({"temperature": -1.0}, "Temperature must not be negative, got -1.0; "),
    ],
)
def test_an_error_names_a_sampler_as_pages_do(changes, sentence):
    with pytest.raises(SettingError) as refused:
        SamplingSettings(**changes)
    assert refusal_told(refused.value).startswith(sentence)
