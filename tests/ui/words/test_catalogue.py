"""The table of samplers for the browser: plain, complete, and with valid sliders and templates."""

import json
import re

import pytest

from engine.errors import SettingError
from engine.sampling import DEFAULT_ORDER, SamplingSettings
from engine.sampling.presets import PRESETS
from tests.engine.sampling.samplers.test_figures import TOLD, told
from ui.texts.settings import FIRST, page_table, parse_settings
from ui.words.catalogue import setting_name, short_setting_name, table
from ui.words.errors import told as refusal_told

SAMPLERS = {sampler["name"]: sampler for sampler in table()["samplers"]}
PLACE = re.compile(r"\{(\w+):(\w+)\}")
# Those of ui/components/js/words/format.js, and the names of changed tokens.
FORMATS = {"percent", "share", "bits", "score", "u", "number", "count", "tokens", "names"}


def test_table_is_plain_json_in_default_order():
    made = table()
    assert json.loads(json.dumps(made, allow_nan=False)) == made, "not plain values"
    assert table() is made
    assert list(SAMPLERS) == made["order"] == [kind.setting for kind in DEFAULT_ORDER]
    assert page_table()["first"] == list(FIRST) == ["temperature", "top_k", "top_p", "min_p"]
    groups = {group["name"] for group in made["groups"]}
    assert {sampler["group"] for sampler in SAMPLERS.values()} == groups
    assert len(json.dumps(page_table())) < 40_000, "it comes with the first message of every page"


def test_table_fields_follow_from_sampler_classes():
    def names(field: str, value: object) -> list[str]:
        return [name for name, sampler in SAMPLERS.items() if sampler[field] == value]

    assert names("kind", "scale") == ["temperature", "dynamic_temperature"]
    assert names("removes_only", True) == [
        *("no_repeat_ngram", "banned", "min_new_tokens", "constraint")
    ]
    assert names("value", "biases") == ["logit_bias"]
    assert names("value", "sequences") == ["banned"] and names("value", "source") == ["constraint"]
    assert names("value", "numbers") == ["dry", "dynamic_temperature", "p_less", "xtc", "mirostat"]
    off = {name: sampler["off"] for name, sampler in SAMPLERS.items() if sampler["off"] is not None}
    assert off.keys() == set(names("value", "number")) - {"top_h"}
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
def test_templates_use_known_figures_and_formats(name):
    sampler, results = SAMPLERS[name], [told(*row[:3]) for row in TOLD if row[0].setting == name]
    figures = set.intersection(*(set(result.figures) for result in results)) | {"names"}
    assert all(result.case in sampler["says"] or "" in sampler["says"] for result in results)
    for template in (*sampler["says"].values(), *sampler["note"].values()):
        for figure, kind in PLACE.findall(template):
            assert figure in figures, f"{template!r}: no figure {figure}"
            assert kind in FORMATS and (kind == "names") == (figure == "names")
        assert not re.search(r"[{}]", PLACE.sub("", template)), template


def test_settings_and_errors_have_readable_names():
    names = ("top_k", "top_h", "repetition_penalty", "none")
    assert [setting_name(name) for name in names] == [
        "Top-k", "Top-H", "Repetition penalty", "None",
    ]  # fmt: skip
    assert [short_setting_name(name) for name in names[:3]] == ["k", "top-H", "repetition penalty"]
    with pytest.raises(SettingError) as refused:
        SamplingSettings(top_p=1.5)
    assert refusal_told(refused.value).startswith("Top-p must be")
