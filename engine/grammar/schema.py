"""Rewrite a JSON schema that llguidance would misread; it still allows the same texts.

    uniqueItems: false    and other keywords without effect: left out, as they are refused
    words next to $ref    up to draft-07 they have no effect (section 8.3): left out
    a pattern of names    moved to the listed properties if only these match: otherwise a comma
                          could follow the last property, with nothing after it
    \\uXXXX in texts      not allowed with open names: names are compared by their spelling, so an
                          escape would let a listed name bypass its schema

llguidance refuses keywords that it recognises and cannot enforce. Other words have no effect, as in
JSON Schema; `ignored` returns them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

from llguidance import LLMatcher

Path = tuple[str | int, ...]
# Takes a grammar and texts; returns for each text whether a text of the grammar may begin with it.
MayBegin = Callable[[str, list[str]], list[bool]]

# Keywords by content: schemas by name, one or several schemas, and other values.
_MAPS = (
    *("properties", "patternProperties", "dependencies", "dependentSchemas"),
    *("$defs", "definitions"),
)
_SCHEMAS = (
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
    *("items", "additionalItems", "prefixItems", "contains", "unevaluatedItems"),
    *("additionalProperties", "propertyNames", "unevaluatedProperties"),
)
_VALUES = (
    *("type", "const", "enum", "minLength", "maxLength", "pattern", "format"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
    *("required", "dependentRequired", "minProperties", "maxProperties"),
)
KEYWORDS = {*_MAPS, *_SCHEMAS, *_VALUES} - {"$defs", "definitions"}  # those with an effect
KNOWN = {
    *(*KEYWORDS, "$ref", "$defs", "definitions", "$schema", "$id", "id", "$anchor"),
    *("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"),
    *("$comment", "title", "description", "default", "examples"),
    *("deprecated", "readOnly", "writeOnly"),
}
# Values without effect, as JSON; None for any value.
_IDLE: dict[str, tuple[str, ...] | None] = {
    "uniqueItems": ("false",),
    "not": ("false",),
    "dependencies": ("{}",),
    "dependentRequired": ("{}",),
    "dependentSchemas": ("{}",),
    "propertyNames": ("true", "{}"),
    "unevaluatedItems": ("true", "{}"),
    "unevaluatedProperties": ("true", "{}"),
    "$recursiveAnchor": None,  # its only use, $recursiveRef, is refused
    "$dynamicAnchor": None,
}
_NEEDS = {"if": ("then", "else"), "then": ("if",), "else": ("if",)}
_NEEDS |= dict.fromkeys(("minContains", "maxContains"), ("contains",))
_REF_ALONE = {f"http://json-schema.org/draft-0{n}/schema" for n in (4, 6, 7)}

# The escapes of usual texts. With "u", every letter of a name could be spelt in two ways.
_ESCAPES = 'nrbtf"\\'
_NEEDS_U = re.compile(r"\\u00|\x7f")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]')


def parts(schema: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the path and the content of each subschema that has an effect, outer ones first."""
    found, stack = set(), [((), schema)]
    while stack:
        path, part = stack.pop()
        if not isinstance(part, dict) or id(part) in found:
            continue
        found.add(id(part))
        yield path, part
        for word, value in part.items():
            if word == "$ref":
                stack.extend(_referred(schema, value))
            elif word in _MAPS and isinstance(value, dict):
                stack.extend(((*path, word, name), inner) for name, inner in value.items())
            elif word in _SCHEMAS:
                inner = value if isinstance(value, list) else [value]
                index = ((i,) if isinstance(value, list) else () for i in range(len(inner)))
                stack.extend(((*path, word, *i), one) for i, one in zip(index, inner, strict=True))


def _referred(schema: Any, reference: object) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the schema that a reference points to, if llguidance would find one."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return
    path: Path = ()
    for step in unquote(reference[2:]).split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and step.isdecimal() and int(step) < len(schema):
            step = int(step)
        elif not isinstance(schema, dict) or step not in schema:
            return
        path, schema = (*path, step), schema[step]
    yield path, schema


def prepare(schema: dict[str, Any], may_begin: MayBegin) -> str | None:
    """Change a schema into one that llguidance can compile.

    Args:
        schema: changed in place.
        may_begin: asks llguidance, in a separate process.

    Returns:
        The escapes that a text may have. None for open names together with control characters,
        since the escapes of control characters could also spell the names.
    """
    is_alone = str(schema.get("$schema")).rstrip("#") in _REF_ALONE
    has_open_names = False
    for _, part in parts(schema):
        for word in [word for word in part if _is_idle(part, word)]:
            del part[word]
        if is_alone and "$ref" in part:
            for word in KEYWORDS & part.keys():
                del part[word]
        _settle_patterns(part, may_begin)
        is_open = part.get("additionalProperties") is not False or part.get("patternProperties")
        names = map(part.get, ("properties", "patternProperties", "required"))
        has_open_names |= bool(is_open and any(names))
    if not has_open_names:
        return _ESCAPES + "u"
    if _NEEDS_U.search(json.dumps(schema, ensure_ascii=False).replace("\\\\", "")):
        return None
    return _ESCAPES


def _is_idle(part: dict[str, Any], word: str) -> bool:
    """Return whether a keyword has no effect in this subschema."""
    if word in _NEEDS:
        return not part.keys() & set(_NEEDS[word])
    idle = _IDLE.get(word, ())
    return idle is None or json.dumps(part[word]) in idle


def _settle_patterns(part: dict[str, Any], may_begin: MayBegin) -> None:
    """Move the schema of a name pattern to the listed names, if only those match it."""
    patterns, listed = part.get("patternProperties"), part.get("properties", {})
    required, others = part.get("required", []), part.get("allOf", [])
    given = (patterns, dict), (listed, dict), (required, list), (others, list)
    if not all(isinstance(value, kind) for value, kind in given):
        return  # llguidance refuses these
    names = dict.fromkeys(name for name in [*listed, *required] if isinstance(name, str))
    spelt = {name: json.dumps(name, ensure_ascii=False) for name in names}
    for pattern, inner in list(patterns.items()):
        barred = {"patternProperties": {pattern: False}}
        are_free = may_begin(_object(barred), [f"{{{name}:" for name in spelt.values()])
        own = [name for name, is_free in zip(names, are_free, strict=True) if not is_free]
        closed = {"properties": dict.fromkeys(own, True), "required": own}
        closed |= {"patternProperties": {pattern: True}, "additionalProperties": False}
        begun = "".join(f"{spelt[name]}:0," for name in own)
        if not own or may_begin(_object(closed), [f'{{{begun}"'])[0]:
            continue
        del patterns[pattern]
        part["properties"] = listed | {name: True for name in own if name not in listed}
        part["allOf"] = [*part.get("allOf", []), {"properties": dict.fromkeys(own, inner)}]


def _object(schema: dict[str, Any]) -> str:
    """Return the grammar of an object without white space."""
    whole = schema | {"type": "object", "x-guidance": {"whitespace_flexible": False}}
    return LLMatcher.grammar_from_json_schema(json.dumps(whole))


# --- words without effect, and places of texts ----------------------------------------------------


def ignored(source: str) -> list[tuple[int, str]]:
    """Return the words of a schema that are not enforced, each after its position."""
    schema = json.loads(source)
    places = {path: start for path, _, is_name, start in texts_of(source) if is_name}
    found = list(parts(schema))
    referred = {step for _, part in found for step in str(part.get("$ref", "")).split("/")}
    unknown = [
        (*path, word)
        for path, part in found
        for word in part.keys() - KNOWN - referred
        if not word.startswith("x-")
    ]
    own = schema.get("x-guidance") if isinstance(schema, dict) else None
    if isinstance(own, dict):  # this module sets its other settings
        unknown += [("x-guidance", word) for word in own if word != "whitespace_flexible"]
    return sorted((places[path], path[-1]) for path in unknown)


def texts_of(source: str) -> Iterator[tuple[Path, str, bool, int]]:
    """Yield every string in JSON: its path, itself, whether it is a name, and its position."""
    path: list[str | int | None] = []
    for found in _TOKEN.finditer(source):
        token = found[0]
        if token in "{[":
            path.append(None if token == "{" else 0)
        elif token in "}]":
            path.pop()
        elif token == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        else:
            text, is_name = json.loads(token), bool(path) and path[-1] is None
            if is_name:
                path[-1] = text
            yield tuple(path), text, is_name, found.start()
