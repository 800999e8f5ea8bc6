"""What the page says of every stage, against the engine: names, fields, ranges, words."""

from dataclasses import fields

import pytest

from engine.errors import SettingError
from engine.stages import DEFAULT_ORDER, STAGES, CutStage, LogitBias
from tests.browser.modules import modules_page

VOCAB = 16_384
GROUPS = ["penalties", "temperature", "truncation", "adaptive"]
LISTS = ["logit_bias", "banned"]
ONE_NUMBER = [n for n, kind in STAGES.items() if len(fields(kind)) == 1 and n not in LISTS]
SEVERAL = [name for name in STAGES if name not in (*ONE_NUMBER, *LISTS)]

# Ends of every range, what lies just beyond them, and values that are no whole numbers.
VALUES = [
    *(-1e9, -1001, -1000, -100.5, -100, -2, -1, -0.5, -1e-7, 0, 1e-7, 1e-6, 0.0005, 0.001, 0.01),
    *(0.05, 0.3, 0.5, 0.999, 1, 1.25, 1.5, 1.6, 2, 2.5, 3, 50, 99, 100, 100.5, 1000, 1000.5, 1001),
    *(VOCAB, VOCAB + 1, 1e6, 1e6 + 1, 1e9),
]
# The page says it with a switch, where a program would write None.
OWN_REMEDY = {"top_h"}


@pytest.fixture(scope="module")
def page(browser):
    with modules_page(
        browser, "words/catalogue.js", "parts/cards/fields.js", "kernel/shape.js"
    ) as page:
        yield page


@pytest.fixture(scope="module")
def catalogue(page):
    """The stages as data, by name."""
    stages = page.evaluate("JSON.parse(JSON.stringify(modules.STAGES))")
    return {stage["name"]: stage for stage in stages}


def complaint(make) -> str | None:
    try:
        make()
    except SettingError as error:
        return str(error)
    return None


def made(name: str, value: object):
    """The stage as `SamplingSettings` takes it by keyword; None where the value switches it off."""
    kind = STAGES[name]
    stage = None if kind.is_off(value) else kind(value)
    if stage is not None:
        stage.check_vocabulary(VOCAB)
    return stage


def test_the_same_stages_in_the_same_order(page, catalogue):
    order = [kind.setting for kind in DEFAULT_ORDER]
    assert list(catalogue) == order
    assert page.evaluate("modules.DEFAULT_ORDER") == order
    assert page.evaluate("modules.OFF") == {name: s["off"] for name, s in catalogue.items()}


def test_kinds_fields_and_off_values(catalogue):
    for name, stage in catalogue.items():
        kind = STAGES[name]
        assert stage["kind"] == ("cut" if issubclass(kind, CutStage) else "edit"), name
        assert kind.is_off(stage["off"]), name
        if name == "banned":  # its words are no numbers
            assert stage["fields"] == []
            continue
        known = [*(field["name"] for field in stage["fields"]), *stage.get("rest", {})]
        assert known == [field.name for field in fields(kind)], name


def test_every_stage_is_described(catalogue):
    for name, stage in catalogue.items():
        assert stage["group"] in GROUPS, name
        assert stage["about"].endswith(".") and stage["about"].count(". ") == 0, name
        assert stage["formula"] and stage["idle"] and stage["label"], name
        assert stage["paper"] is None or stage["paper"]["url"].startswith("https://"), name


def read(page, name: str, place: int, value: float, others: dict) -> dict:
    """What the card's field makes of a typed number: {value} or {sentence}."""
    return page.evaluate(
        """([name, place, text, others, vocab]) => {
          const stage = modules.stage_of(name);
          const field = stage.fields[place];
          const is_only = stage.editor === 'number' || stage.editor === 'biases';
          const setting = { ...field, name: is_only ? name : `${name}.${field.name}` };
          return modules.read_exact(setting, text, vocab, others);
        }""",
        [name, place, format(value, ".12g"), others, VOCAB],
    )


def same_words(sentence: str, error: str) -> bool:
    """Equal but for the way in which the number is written."""
    ours, theirs = (text.replace("\u2019", "'").split(", got ") for text in (sentence, error))
    return ours[0] == theirs[0] and ours[1].split("; ", 1)[1] == theirs[1].split("; ", 1)[1]


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_one_number_is_judged_as_the_engine_judges_it(page, name):
    refused = 0
    for value in VALUES:
        error = complaint(lambda value=value: made(name, value))
        sentence = read(page, name, 0, value, {}).get("sentence")
        assert (sentence is None) == (error is None), (value, sentence, error)
        if error is not None and name not in OWN_REMEDY:
            assert same_words(sentence, error), (sentence, error)
        refused += error is not None
    assert 0 < refused < len(VALUES)


@pytest.mark.parametrize("name", SEVERAL)
def test_each_field_is_judged_as_the_engine_judges_it(page, catalogue, name):
    usual = {field["name"]: field["usual"] for field in catalogue[name]["fields"]}
    for place, field in enumerate(catalogue[name]["fields"]):
        refused = 0
        for value in VALUES:
            given = usual | {field["name"]: value}
            error = complaint(lambda given=given: STAGES[name](**given))
            sentence = read(page, name, place, value, usual).get("sentence")
            assert (sentence is None) == (error is None), (field["name"], value, sentence, error)
            # The engine knows only one of the two ends as the wrong one.
            if error is not None and "must not be" not in error:
                assert same_words(sentence, error), (sentence, error)
            refused += error is not None
        assert 0 < refused < len(VALUES)


def test_a_bias_is_judged_as_the_engine_judges_it(page):
    for value in VALUES:
        error = complaint(lambda value=value: LogitBias({3: value}))
        sentence = read(page, "logit_bias", 0, value, {}).get("sentence")
        assert (sentence is None) == (error is None), (value, sentence, error)


def test_sliders_and_usual_values_are_accepted(page, catalogue):
    for name, stage in catalogue.items():
        for place, field in enumerate(stage["fields"]):
            assert field["low"] <= field["usual"] <= field["high"], name
            fitting = {f["name"]: f["usual"] for f in stage["fields"]}
            for value in (field["low"], field["usual"], field["high"]):
                if name == "dynamic_temperature" and field["name"] != "exponent":
                    fitting = {"low": 0, "high": 3, "exponent": 1}
                found = read(page, name, place, value, fitting)
                assert found == {"value": value}, (name, field["name"], found)


def test_what_a_new_card_starts_with_is_a_stage_of_the_engine_s(page):
    for name, kind in STAGES.items():
        value = page.evaluate("name => modules.usual_value(modules.stage_of(name))", name)
        if name in LISTS:
            assert value is None  # it needs a token first
        elif name in ONE_NUMBER:
            assert made(name, value) is not None
        else:
            assert kind(**value).to_dict() == value
    dry = {"multiplier": 1, "base": 2, "allowed_length": 3, "last_n": 64, "breakers": [13]}
    call = "dry => modules.usual_value(modules.stage_of('dry'), { dry })"
    assert page.evaluate(call, dry) == dry


def test_a_stage_is_put_where_the_default_order_has_it(page):
    place = "([order, name]) => modules.default_place(order, name)"
    names = list(STAGES)
    for name in names:
        rest = [each for each in names if each != name]
        assert page.evaluate(place, [rest, name]) == names.index(name)
    # A person's own order is left alone; the newcomer has fewest on its wrong side.
    assert page.evaluate(place, [["top_k", "temperature"], "top_p"]) == 2
    assert page.evaluate(place, [["top_k", "temperature"], "logit_bias"]) == 0
    assert page.evaluate(place, [["min_p", "top_p", "temperature"], "top_k"]) in (0, 3)
    assert page.evaluate("modules.is_sorted(['temperature', 'xtc'])") is True
    assert page.evaluate("modules.is_sorted(['xtc', 'temperature'])") is False
