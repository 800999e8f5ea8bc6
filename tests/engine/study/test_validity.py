"""Verdicts of independent parsers."""

import pytest

from engine.sampling.samplers import Constraint
from engine.study.validity import judge
from tests.engine.grammar.tokens import places_over

PERSON = Constraint(
    "json_schema",
    {
        "type": "object",
        "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}, "age": {"type": "integer"}},
        "required": ["name"],
    },
)
BYTES = places_over(tuple(bytes((byte,)) for byte in range(256)))
LINKS = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(20)}
DOUBLING = {"$ref": "#/$defs/d0", "$defs": LINKS | {"d20": {"type": "null"}}}
DATED = {"properties": {"a": {"format": "time"}, "b": {"type": "integer"}}}
EVIL = {"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": "^(a+)+$"}
NUMBER = Constraint("regex", "[0-9]+(\\.[0-9]{2})?|none")


@pytest.mark.parametrize(
    ("constraint", "text", "valid", "says", "position"),
    [
        (PERSON, '{"name": "Tom", "age": 4}', True, "", None),
        (PERSON, '{"name": "Tom", "age": 4', False, "Expecting ',' delimiter at line 1, col", 24),
        (PERSON, '{\n"name": Tom}', False, "Expecting value at line 2, column 9", 10),
        (PERSON, '{"name": "Tom"} and', False, "Extra data", 16),
        (PERSON, '{"age": 4}', False, "'name' is a required property (the whole value)", None),
        (PERSON, '{"name": "Tom", "age": "x"}', False, "'x' is not of type 'integer' (age)", None),
        (PERSON, '{"name": "tom"}', False, "does not match", None),
        (PERSON, '{"name": "Tom", "age": NaN}', False, "NaN is no JSON", None),
        (PERSON, "[" * 100_000, None, "Python cannot represent the value: maximum recursion", None),
        (
            PERSON,
            "1e9999999999999999999",
            None,
            "Python cannot represent the value: an exponent",
            None,
        ),
        (PERSON, '{"name": "\\ud800"}', None, "Python cannot represent the value", None),
        (PERSON, "", False, "Expecting value", 0),
        (NUMBER, "12.50", True, "", None),
        (NUMBER, "12\n", False, "does not match the whole text", None),
        (NUMBER, "nonesuch", False, "does not match the whole text", None),
        (Constraint("regex", "a{2000}"), "a" * 2000, None, "RE2 cannot read", None),
        (Constraint("choices", ["yes", "no"]), "no", True, "", None),
        (Constraint("choices", ["yes", "no"]), "No", False, "not one of the choices", None),
        (Constraint("lark", 'start: "a"'), "a", None, "no second parser", None),
    ],
)
def test_verdict_names_the_problem_and_its_position(constraint, text, valid, says, position):
    found = judge(constraint, text)
    assert (found.is_valid, found.position) == (valid, position)
    assert says in found.problem and "\n" not in found.problem and len(found.problem) < 250
    assert bool(found.parser) == (constraint.language != "lark")


def described(kind: str, source: object, text: str) -> bool:
    """Return True if a constraint allows a text, byte by byte."""
    constraint = Constraint(kind, source)
    ids = list(text.encode())
    place = BYTES.at(constraint.language, constraint.source, ids)
    return place.broken_at is None and place.may_end


@pytest.mark.parametrize(
    ("expression", "texts"),
    [
        (r"Stra\w+e", ("Straße", "Strasse", "Stra e")),
        (r"\d+", ("٣", "3", "x")),
        (r"a\sb", ("a\u00a0b", "a\vb", "a\u200bb")),
        (r"[^\w]", ("é", "-")),
        (r"[\s\S]", ("é", "\v")),
        (r"\W", ("é", "€")),
        (r"[^\W_]", ("a", "_")),
        (r"[[:alpha:]\d]+", ("a٣", "é")),
        (r"[]\]a]", ("]", "a", "b")),
        (r"\u00e9\x{e8}", ("éè", "e")),
        (r"(?i)k", ("\u212a", "k", "l")),
    ],
)
def test_character_classes_match_the_constraint(expression, texts):
    found = [judge(Constraint("regex", expression), text).is_valid for text in texts]
    assert found == [described("regex", expression, text) for text in texts]
    assert True in found or expression == r"[^\w]"


@pytest.mark.parametrize(
    ("kind", "source", "text", "why"),
    [
        ("regex", "[a-z&&b]", "b", "reads && inside brackets differently"),
        ("regex", "[a[b]]", "b", "reads [ inside brackets differently"),
        ("regex", r"[^\W_]", "é", r"has no Unicode \W inside brackets"),
        ("regex", r"\p{Letter}", "a", "RE2 cannot read the expression"),
        ("regex", r"\w", "\u1c89", "a character that RE2 does not know"),
        ("json_schema", {"items": [True]}, "[1]", "jsonschema cannot use the schema"),
        ("json_schema", {"$schema": [], "type": "array"}, "[1]", "is not of type 'string'"),
        ("json_schema", {"items": {"format": "time"}}, '["10:00:00Z"]', "format 'time'"),
        ("json_schema", {"format": "email"}, '"a@b"', "format 'email'"),
        ("json_schema", {"multipleOf": 3}, "1e400", "number that Python cannot divide exactly"),
        ("json_schema", DOUBLING, "null", "more than 20,000 checks"),
    ],
)
def test_sources_a_parser_reads_differently_are_not_judged(kind, source, text, why):
    found = judge(Constraint(kind, source), text)
    assert found.is_valid is None and why in found.problem, found


@pytest.mark.parametrize(
    ("schema", "text", "valid"),
    [
        ({"patternProperties": {"^\\p{L}+$": {"type": "integer"}}}, '{"é":1,"1":"x"}', True),
        ({"patternProperties": {"^\\p{L}+$": {"type": "integer"}}}, '{"é":"x"}', False),
        ({"patternProperties": {"\\d": True}, "additionalProperties": False}, '{"٣":1}', False),
        (
            {"patternProperties": {"\\s": True}, "additionalProperties": {"const": 1}},
            '{"\u00a0":2,"a":1}',
            True,
        ),
        ({"additionalProperties": {"const": 1}, "properties": {"a": True}}, '{"b":2}', False),
        ({"format": "date"}, '"2021-02-29"', False),
        ({"format": "ipv4"}, '"999.1.1.1"', False),
        ({"multipleOf": 0.1}, "1.1", True),
        ({"type": "integer"}, "1.0", True),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, "1.0", False),
        ({"maximum": 0.1}, "0.10000000000000000001", False),
        (DATED, '{"a":"1:00","b":"no"}', False),  # whatever the value of a
        (DATED, '{"a":"1:00","b":1}', None),
        ({"anyOf": [DATED, {"const": 1}]}, '{"a":"1:00","b":1}', None),
        ({"anyOf": [DATED, {"const": 1}], "required": ["c"]}, '{"a":"1:00","b":1}', False),
    ],
)
def test_schemas_are_judged_as_they_are_enforced(schema, text, valid):
    found = judge(Constraint("json_schema", schema), text)
    assert found.is_valid == valid, found
    assert "Decimal" not in found.problem


def test_no_expression_takes_more_than_linear_time():
    """Check times on expressions for which Python's own would take years."""
    name = "a" * 60 + "!"
    closed = {"required": [name], "additionalProperties": False, "properties": {name: {"const": 1}}}
    for words in ({}, {"unevaluatedProperties": {}}, {"patternProperties": {"^(a*)*b": False}}):
        schema = closed | {"patternProperties": {"^(a+)+$": False}} | words
        assert judge(Constraint("json_schema", schema), f'{{"{name}":1}}').is_valid


@pytest.mark.parametrize("words", [{"items": EVIL}, {"$ref": "http://a/#/b/c", "$id": "http://a/"}])
def test_nested_dialect_does_not_switch_the_parser(words):
    schema = Constraint("json_schema", {"b": {"c": {"items": EVIL}}} | words)
    assert judge(schema, f'["{"a" * 60}!"]').is_valid is False
