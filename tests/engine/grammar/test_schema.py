"""JSON schemas: parts that llguidance would misread are rewritten for it, or reported."""

import json
from importlib.metadata import version

import jsonschema
import numpy as np
import pytest

from engine.errors import NoCandidatesError, SettingError
from engine.grammar import checked_source, notices
from engine.sampling.ranking import RankedRow
from engine.sampling.samplers import Constraint
from engine.sampling.samplers.base import Context
from engine.sampling.samplers.constraint import ConstraintState
from engine.sampling.survivors import Survivors
from tests.engine.grammar.tokens import places_over

BYTES = places_over(tuple(bytes((byte,)) for byte in range(256)))
DRAFT_07 = {"$schema": "http://json-schema.org/draft-07/schema#"}


def takes(schema, text: str) -> bool:
    """Return True if a text fits a schema, byte by byte."""
    place = BYTES.at("json_schema", checked_source("json_schema", schema), list(text.encode()))
    return place.broken_at is None and place.may_end


@pytest.mark.parametrize(
    ("schema", "text", "other"),
    [
        ({"properties": {"a": {"type": "integer"}}}, '{"\\u0061":"x"}', '{"b":"x"}'),
        ({"patternProperties": {"^é": {"type": "integer"}}}, '{"\\u00e9":"x"}', '{"é":1}'),
        (
            # A line break has a short escape and one by number.
            {
                "properties": {"a\n": {"maxLength": 1}},
                "patternProperties": {"^a": {"type": "string"}},
                "additionalProperties": False,
            },
            '{"a\\u000a":"xx"}',
            '{"a\\n":"x","ab":"xx"}',
        ),
        (
            {"allOf": [{"required": ["a"], "properties": {"a": {"const": 1}}}]},
            '{"a":1,"\\u0061":2}',
            '{"a":1,"b":2}',
        ),
        ({"$ref": "#/x/y", "x": {"y": {"properties": {"a": False}}}}, '{"\\u0061":2}', '{"b":2}'),
    ],
)
def test_escaped_property_name_cannot_bypass_its_schema(schema, text, other):
    schema = {"type": "object"} | schema
    assert not jsonschema.Draft202012Validator(schema).is_valid(json.loads(text))
    assert not takes(schema, text)
    assert takes(schema, other)


def test_control_characters_are_refused_with_open_property_names():
    assert takes({"const": "a\x00\x7f"}, '"a\\u0000\\u007f"')
    names = {"properties": {"a": {"const": "\x01"}}}
    assert takes(names | {"additionalProperties": False}, '{"a":"\\u0001"}')
    with pytest.raises(SettingError, match="control character"):
        checked_source("json_schema", names)


@pytest.mark.parametrize(
    "words",
    [
        {"uniqueItems": False, "minContains": 2, "not": False, "$dynamicAnchor": "here"},
        {"if": {"minItems": 9}},
        {"then": False, "else": False},
        {"propertyNames": {}, "dependentRequired": {}, "unevaluatedItems": True},
    ],
)
def test_keywords_without_effect_are_accepted(words):
    assert takes({"type": "array", "items": {"type": "integer"}} | words, "[1,1]")
    deep = {"$ref": "#/parts/a", "parts": {"a": {"items": [words | {"minItems": 1}]}}}
    assert takes(deep, "[[1]]") and not takes(deep, "[[]]")


@pytest.mark.parametrize("words", [{"uniqueItems": True}, {"not": True}, {"if": {}, "then": {}}])
def test_unimplemented_keywords_with_effect_are_refused(words):
    with pytest.raises(SettingError, match="Unimplemented keys"):
        checked_source("json_schema", {"type": "array"} | words)


def test_drafts_up_to_07_ignore_siblings_of_ref():
    siblings = {
        "definitions": {"list": {"type": "array"}},
        "properties": {"a": {"$ref": "#/definitions/list", "maxItems": 2}},
    }
    assert not takes(siblings, '{"a":[1,2,3]}')
    assert takes(DRAFT_07 | siblings, '{"a":[1,2,3]}')
    root = {"$ref": "#/definitions/list", "not": {}, "definitions": {"list": {"type": "array"}}}
    assert takes({"$schema": "http://json-schema.org/draft-04/schema"} | root, "[3]")
    name = {"properties": {"$ref": {"type": "integer"}, "b": {"type": "integer"}}}
    assert not takes(DRAFT_07 | name, '{"b":"x"}'), "a property may have that name"


@pytest.mark.parametrize(
    ("schema", "text", "is_one"),
    [
        ({"properties": {"s": {"minimum": 1}}, "required": ["s"]}, '{"s":5}', True),
        ({"properties": {"s": {"minimum": 1}}, "required": ["s"]}, '{"s":0}', False),
        ({"properties": {"s": {"minimum": 1}}, "required": ["s"]}, '{"s":9}', False),
        ({"required": ["s"]}, '{"s":5}', True),
        ({"required": ["s"]}, '{"s":9}', False),
        ({"properties": {"s": True, "t": {"type": "string"}}}, '{"s":5,"t":"9"}', True),
    ],
)
def test_pattern_matching_listed_names_avoids_dead_ends(schema, text, is_one):
    schema = schema | {"type": "object", "patternProperties": {"^s$": {"maximum": 6}}}
    schema["additionalProperties"] = False
    assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(text)) == is_one
    assert takes(schema, text) == is_one
    if is_one:
        ids = list(text[:-1].encode())
        source = checked_source("json_schema", schema)
        comma = BYTES.at("json_schema", source, ids).allowed[ord(",")]
        assert not comma, "no further name fits"


def test_pattern_matching_unlisted_names_is_kept():
    schema = {"properties": {"s": True}, "patternProperties": {"^s": {"type": "integer"}}}
    schema |= {"type": "object", "additionalProperties": False}
    assert takes(schema, '{"s":1,"st":2}')
    assert not takes(schema, '{"s":1,"st":"x"}') and not takes(schema, '{"s":"x"}')


def test_llguidance_1_9_1_leaves_a_dead_end():
    """Reach a dead end: names meet their pattern only in merged schemas; update once fixed."""
    apart = [
        {"properties": {"s": {"type": "integer"}}, "required": ["s"]},
        {"patternProperties": {"^s$": True}, "additionalProperties": False},
    ]
    constraint = Constraint("json_schema", {"type": "object", "allOf": apart})
    dead = np.array([*b'{"s":5,\n', *b" " * 12])
    assert version("llguidance") == "1.9.1" and takes(constraint.source, '{"s":5}')
    states = {"constraint": ConstraintState(constraint.initial_state().digest, dead.size)}
    row = Survivors(RankedRow(np.zeros(256, np.float32)))
    with pytest.raises(NoCandidatesError, match="allows nothing here"):
        constraint.apply(row, Context(dead, states=states, places=BYTES))


def test_flexible_white_space_can_be_switched_off():
    compact = {"type": "array", "x-guidance": {"whitespace_flexible": False}}
    assert takes(compact, "[1,2]") and not takes(compact, "[1, 2]")
    others = {"type": "array", "x-guidance": {"whitespace_pattern": ".*", "lenient": True}}
    assert takes(others, "[1, 2]") and not takes(others, "[1,;2]")


@pytest.mark.parametrize(
    "marked",
    [
        '{"properties": {"not": true},\n "a": {"not": {}},\n "items": {→"not": {}}}',
        '{"properties":\n {"foo": {"title": "x", "type": →"foo"}}}',
        '{"properties": {"pattern": {"pattern": →"("}}}',
        '{"title": "a", "type": "object",\n "properties": {→"a": false}, "required": ["a"]}',
        '{"properties": {"oneOf": true}, →"oneOf": [{}, {"minimum": 2}]}',
        '{"allOf": [{"$ref": "#/x/y%20~1"}], "x": {"y /": {→"\\u006eot": 1}}}',
    ],
)
def test_refusal_points_at_the_offending_part(marked):
    lines = marked.partition("→")[0].split("\n")
    with pytest.raises(SettingError) as caught:
        checked_source("json_schema", marked.replace("→", ""))
    place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    assert caught.value.problem.rstrip(")").endswith(place), caught.value


def test_advice_for_oneof_leads_to_accepted_schema():
    one_of = {"oneOf": [{"type": "integer"}, {"minimum": 2}]}
    with pytest.raises(SettingError, match=r"oneOf.* use anyOf") as caught:
        checked_source("json_schema", one_of | {"x-guidance": {"coerce_one_of": True}})
    assert "coerce" not in caught.value.problem
    assert takes({"anyOf": one_of["oneOf"]}, "3")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"type": "string", "maxlength": 3}, '"maxlength" (1:20, maxLength?)'),
        ('{"items":\n {"reqired": ["a"]}}', '"reqired" (2:3, required?)'),
        ({"contentEncoding": "base64"}, '"contentEncoding" (1:2)'),
        ({"x-guidance": {"whitespace_flexible": False, "lenient": True}}, '"lenient" (1:47)'),
        ({"properties": {"maxlength": {"title": "x"}}, "x-order": 1, "default": {"b": 1}}, ""),
        ({"$ref": "#/components/a", "components": {"a": {"typ": "null"}}}, '"typ" (1:49, type?)'),
        ({f"word {n}": 1 for n in range(6)}, '"word 3" (1:41), …'),
    ],
)
def test_unenforced_keywords_are_named(source, says):
    found = " ".join(notices("json_schema", checked_source("json_schema", source)))
    assert found.endswith(says) and bool(found) == bool(says), found
    assert notices("lark", 'start: "a"') == ()
