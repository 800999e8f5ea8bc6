"""Sources of constraints: accepted ones, refused ones, and the place of the mistake."""

import json
import subprocess
import sys

import pytest

from engine.errors import SettingError
from engine.grammar import MOST_BYTES
from engine.grammar.source import MOST_PARTS
from engine.sampling import SamplingSettings
from engine.sampling.samplers import Constraint
from tests.engine.grammar.tokens import places_over

DEEP = "\n".join(f"r{i}: r{i + 1}" for i in range(3000)) + '\nr3000: "a"\nstart: r0'


@pytest.mark.parametrize(
    ("language", "source", "says"),
    [
        (
            "regex",
            "[a-z",
            "is not a valid regular expression at character 1: unclosed character class",
        ),
        ("regex", "ab\n[", "regular expression at character"),
        ("regex", "(?=a)b", "look-around"),
        ("regex", "", "is empty"),
        ("regex", 5, "constraint.source must be a text, got 5"),
        ("lark", "start: foo", 'refused at line 1, column 8: unknown name: "foo"'),
        ("lark", 'start: a\na: "x', "refused at line 2, column"),
        (
            "lark",
            "start: a\na: /x\\by/",
            "refused at line 2, column 4: uses \\b to test neighbouring",
        ),
        ("lark", 'start: %json {"oneOf":[{},{"not":1}]}', "refused at line 1, column 8"),
        ("json_schema", '{"const": "\\ud800"}', "contains an unpaired surrogate, half a character"),
        (
            "json_schema",
            '{"properties": {"\\udfff": true}}',
            "contains an unpaired surrogate, half a character",
        ),
        ("json_schema", '{"type":', "not valid JSON at line 1, column 9"),
        ("json_schema", '{\n"type": "foo"}', 'foo ("foo" is first at line 2, column 9)'),
        ("json_schema", {"if": {}, "then": {}}, 'Unimplemented keys: ["if", "then"]'),
        ("json_schema", {"pattern": "a^b"}, "uses ^ to test neighbouring characters, which no"),
        ("regex", "\\bfoo\\b", "uses \\b to test neighbouring characters, which no constraint"),
        ("json_schema", '{"pattern": "("}', 'unclosed group ("(" is first at line 1, column 13)'),
        ("json_schema", {"enum": []}, "Unsatisfiable schema"),
        ("json_schema", False, "must be an object"),
        ("json_schema", [1], "constraint.source must be a schema"),
        ("json_schema", "[" * 50_000, "nested too deeply"),
        ("json_schema", {"enum": [float("nan")]}, "constraint"),
        ("choices", [], "must be a list of texts, none empty"),
        ("choices", ["a", ""], "must be a list of texts, none empty"),
        ("choices", ["a", 1], "must be a list of texts, none empty"),
        ("choices", ["\ud800"], "contains an unpaired surrogate, half a character"),
        ("choices", {"a": 1}, "constraint.source must be a list of texts"),
        ("bnf", "a", "constraint.language is not known, got 'bnf'"),
    ],
)
def test_a_bad_source_is_explained(language, source, says):
    with pytest.raises(SettingError) as caught:
        Constraint(language, source)
    message = str(caught.value)
    assert says in message, message
    assert message.startswith("constraint") and message.endswith(".") and "\n" not in message
    assert len(message) < 300


def test_source_over_the_size_limit_is_refused():
    with pytest.raises(SettingError, match=r"1,000,0\d\d bytes, more than the 65,536"):
        Constraint("json_schema", {"enum": ["x" * 1_000_000]})
    with pytest.raises(SettingError, match=f"more than the {MOST_BYTES:,}"):
        Constraint("regex", "é" * (MOST_BYTES // 2 + 1))
    Constraint("regex", "a" * MOST_BYTES)


def test_too_deep_nesting_is_refused_before_stack_overflow():
    with pytest.raises(SettingError, match=f"3,002 nested parts, more than the {MOST_PARTS:,}"):
        Constraint("lark", DEEP)
    refs = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(400)}
    schema = {"$ref": "#/$defs/d0", "$defs": refs | {"d400": {"type": "null"}}}
    with pytest.raises(SettingError, match="nested parts"):
        Constraint("json_schema", schema)


@pytest.mark.parametrize("kind", ["lark", pytest.param("json_schema", marks=pytest.mark.long)])
def test_maximum_nesting_does_not_overflow_the_stack(kind):
    """Run in a separate process, which a stack overflow would end."""
    rules = "\\n".join(f"r{i}: r{i + 1}" for i in range(MOST_PARTS - 2))
    lark = f"'{rules}\\nr{MOST_PARTS - 2}: \"a\"\\nstart: r0'"
    refs = (
        "{'$ref': '#/$defs/d0', '$defs': {**{f'd{i}': {'anyOf': [{'$ref': f'#/$defs/d{i + 1}'}]}"
        " for i in range(330)}, 'd330': {'type': 'null'}}}"
    )
    code = (
        "import threading\n"
        "from engine.sampling.samplers import Constraint\n"
        f"def make(): Constraint({kind!r}, {lark if kind == 'lark' else refs}); print('made')\n"
        "thread = threading.Thread(target=make)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "made\n", done.stderr[-500:]


def test_values_and_json_text_make_equal_constraints():
    assert Constraint("choices", ("yes", "no")) == Constraint("choices", ["yes", "no"])
    schema = {"type": "string", "enum": ["é"]}
    given = Constraint("json_schema", schema)
    assert json.loads(given.source) == schema and given == Constraint("json_schema", given.source)
    settings = SamplingSettings(constraint=given, seed=1)
    plain = json.loads(json.dumps(settings.to_dict()))
    again = SamplingSettings.from_dict(plain)
    assert again == settings and hash(again) == hash(settings)


@pytest.mark.parametrize("source", ["((a{1,1000}){1,1000}){1,1000}", "(a?){2000}a{2000}"])
def test_explosive_expressions_are_refused_or_followed(source):
    """Check that none hangs: each reaches a limit of work, or is small here."""
    places = places_over((b"a", b"aa"))
    try:
        assert places.at("regex", source, (0, 1)).broken_at is None
    except SettingError as error:
        assert "cannot be followed" in str(error)
