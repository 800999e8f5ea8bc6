"""Verdicts on texts under a constraint, by parsers that share no code with llguidance.

JSON is parsed by Python's `json` and judged by `jsonschema`. Regular expressions, including those
within a schema, are matched by RE2, which takes time proportional to the text and lets other
threads run. Choices are compared. If no parser can judge a text, as with any Lark grammar, the
verdict gives the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress, count
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.compute as pc
import referencing

from engine.errors import msg
from engine.sampling.samplers import Constraint

_LONGEST = 120  # characters of a parser's message
# Keywords applied to values; references may double their number with each step.
_MOST_CHECKS = 20_000

# Character classes that RE2 limits to ASCII, as Rust defines them: their members within brackets.
# \W is missing, as its ranges are too many to list.
_SPACES = {
    "s": r"\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}",
    "S": r"\x{0}-\x{8}\x{e}-\x{1f}!-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-"
    r"\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}",
}
_UNICODE = _SPACES | {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "w": r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200c}\x{200d}"
    r"\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}",
}
# Characters without a category in RE2's version of Unicode; the grammar's may have one for them.
_BY_CATEGORY = re.compile(r"\\[dDpPwW]|\(\?\w*i")
_UNKNOWN = r"[^\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{C}]"
# llguidance reads \d and \w in a schema as ASCII, as JSON Schema's dialect does.
_IN_SCHEMAS = _SPACES
_PARTS = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|\[:\^?[a-z]+:\]|\[\^?\]?|&&|--|~~|.", re.DOTALL)

# Keywords that may accept a value although part of it is wrong.
_TESTS = {"anyOf", "oneOf", "not", "if", "contains", "unevaluatedItems"}

# Formats that Python's library decides. For an email address it only checks the @.
_DECIDED = ("date", "ipv4", "ipv6", "uuid")
_FORMATS = jsonschema.FormatChecker((*_DECIDED, "email"))
_NO_FORMATS = jsonschema.FormatChecker(())


@dataclass(frozen=True)
class Verdict:
    """Verdict of a parser on a text.

    Attributes:
        is_valid: None if no parser can say.
        parser: name of the parser; empty for none.
        problem: the fault, or why no parser can say, as half a sentence.
        position: index of the character at which the parser gave up, None if it gives none.
    """

    is_valid: bool | None
    parser: str = ""
    problem: str = ""
    position: int | None = None


class _NotJudgedError(Exception):
    """A parser cannot judge a text; the message is the reason, as half a sentence."""


class _TooManyChecksError(Exception):
    """The schema needs more checks than jsonschema is allowed."""


class _UnjudgedError(jsonschema.ValidationError):
    """A part of a value that cannot be judged, among the errors of the other parts."""


class _Exact(Decimal):
    """A number exactly as written, which a float would only approximate."""

    __repr__ = Decimal.__str__


def judge(constraint: Constraint, text: str) -> Verdict:
    """Return an independent parser's verdict on a text, or the reason there is none."""
    return _JUDGES[constraint.language](constraint.source, text)


def _choice(source: str, text: str) -> Verdict:
    is_one = text in json.loads(source)
    return Verdict(is_one, "comparison", "" if is_one else msg("it is not one of the choices"))


def _match(source: str, text: str) -> Verdict:
    try:
        found = _found(source, [text], _UNICODE, r"\A(?:{})\z")[0]
    except _NotJudgedError as reason:
        return Verdict(None, "RE2", *reason.args)
    return Verdict(
        found, "RE2", "" if found else msg("the expression does not match the whole text")
    )


def _object(source: str, text: str) -> Verdict:
    try:
        value = json.loads(text, parse_float=_Exact, parse_constant=_no_number)
        json.dumps(value, default=str, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        said = msg("{msg} at line {lineno}, column {colno}", (error.msg, error.lineno, error.colno))
        return Verdict(False, "Python's json", said, error.pos)
    except _NoNumberError as error:
        return Verdict(False, "Python's json", str(error))
    except ArithmeticError:  # of Python's decimals
        said = "Python cannot represent the value: an exponent is too large"
        return Verdict(None, "Python's json", said)
    except (RecursionError, ValueError) as error:  # also UnicodeEncodeError, of a lone surrogate
        return Verdict(
            None,
            "Python's json",
            msg("Python cannot represent the value: {error}", _short(str(error))),
        )
    wrong = unjudged = None
    try:
        for error in _errors(json.loads(source, parse_float=_Exact), value):
            if not isinstance(error, _UnjudgedError):
                wrong = error  # so the whole value is wrong, whatever its other parts are
                break
            unjudged = unjudged or error
    except _TooManyChecksError:
        said = msg("jsonschema would need more than {most_checks:,} checks", _MOST_CHECKS)
        return Verdict(None, "jsonschema", said)
    except ArithmeticError:  # of Python's decimals
        return Verdict(
            None, "jsonschema", msg("it contains a number that Python cannot divide exactly")
        )
    except (RecursionError, referencing.exceptions.Unresolvable, jsonschema.SchemaError) as error:
        said = _short(getattr(error, "message", str(error)))
        return Verdict(None, "jsonschema", msg("jsonschema cannot use the schema: {said}", said))
    if wrong is not None:
        where = wrong.json_path.removeprefix("$").removeprefix(".") or msg("the whole value")
        return Verdict(
            False, "jsonschema", msg("{message} ({where})", (_short(wrong.message), where))
        )
    if unjudged is not None:
        return Verdict(None, "jsonschema", unjudged.message)
    return Verdict(True, "jsonschema")


Keyword = Callable[[Any, Any, Any, Any], Iterable[jsonschema.ValidationError] | None]


def _errors(schema: Any, value: Any) -> Iterator[jsonschema.ValidationError]:
    """Yield the errors of a value, without fetching anything or using Python's `re`."""
    latest = jsonschema.Draft202012Validator
    names_one = isinstance(schema, dict) and isinstance(schema.get("$schema"), str)
    kind = jsonschema.validators.validator_for(schema, latest) if names_one else latest
    kind.check_schema(schema, format_checker=_NO_FORMATS)
    checks, depth = count(1), 0

    def tested(keyword: Keyword) -> Keyword:
        def applied(*arguments: Any) -> list[jsonschema.ValidationError]:
            nonlocal depth
            depth += 1
            try:
                return list(keyword(*arguments) or ())
            finally:
                depth -= 1

        return applied

    def counted(keyword: Keyword) -> Keyword:
        def applied(*arguments: Any) -> Iterator[jsonschema.ValidationError]:
            if next(checks) > _MOST_CHECKS:
                raise _TooManyChecksError
            try:
                yield from keyword(*arguments) or ()
            except _NotJudgedError as reason:
                if depth:  # so that the test is not judged either
                    raise
                yield _UnjudgedError(*reason.args)

        return applied

    every = kind.VALIDATORS | _OURS
    every |= {name: tested(every[name]) for name in _TESTS & every.keys()}
    keywords = {name: counted(keyword) for name, keyword in every.items()}
    has_whole_floats = kind.TYPE_CHECKER.is_type(1.0, "integer")
    types = kind.TYPE_CHECKER.redefine(
        "integer",
        lambda _, it: (
            kind.TYPE_CHECKER.is_type(it, "integer")
            or (has_whole_floats and isinstance(it, _Exact) and it % 1 == 0)
        ),
    )
    judge = jsonschema.validators.extend(kind, keywords, type_checker=types)
    judge.evolve = _evolved
    return judge(schema, registry=referencing.Registry()).iter_errors(value)


def _evolved(validator: Any, **changes: Any) -> Any:
    """Return the same validator for a subschema, whose own $schema would bring in Python's `re`."""
    fields = [field for field in type(validator).__attrs_attrs__ if field.init]
    kept = {field.alias: getattr(validator, field.name) for field in fields}
    return type(validator)(**kept | changes)


# --- keywords that need an expression or a format -------------------------------------------------


def _pattern(
    validator: Any, pattern: str, value: Any, schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if isinstance(value, str) and not _found(pattern, [value], _IN_SCHEMAS)[0]:
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: dict[str, Any], value: Any, schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if isinstance(value, dict):
        for pattern, inner in patterns.items():
            for key in _matching(pattern, value):
                yield from validator.descend(value[key], inner, path=key, schema_path=pattern)


def _additional_properties(
    validator: Any, inner: Any, value: Any, schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if not isinstance(value, dict):
        return
    known = set(schema.get("properties", ()))
    for pattern in schema.get("patternProperties", ()):
        known.update(_matching(pattern, value))
    for key in value:
        if key in known:
            continue
        if inner is False:
            yield jsonschema.ValidationError(f"{key!r} is not an allowed property")
        else:
            yield from validator.descend(value[key], inner, path=key)


def _format(
    validator: Any, name: str, value: Any, schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if not isinstance(value, str):
        return
    if not _FORMATS.conforms(value, name):
        yield jsonschema.ValidationError(f"{value!r} is not a {name!r}")
    elif name not in _DECIDED:
        raise _NotJudgedError(msg("there is no second parser for the format {name}", repr(name)))


_OURS: dict[str, Keyword] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "format": _format,
    # A constraint accepts this keyword only with a value that demands nothing.
    "unevaluatedProperties": lambda *_: None,
}


# --- expressions ----------------------------------------------------------------------------------


def _matching(pattern: str, value: dict[str, Any]) -> list[str]:
    """Return the keys in which a schema's regular expression matches."""
    keys = list(value)
    return list(compress(keys, _found(pattern, keys, _IN_SCHEMAS)))


def _found(
    expression: str, texts: list[str], classes: dict[str, str], whole: str = "{}"
) -> list[bool]:
    """Return, for each text, whether an expression matches in it, with the grammar's classes.

    Raises:
        _NotJudgedError: RE2 cannot read it, or would read it differently.
    """
    is_ascii = all(map(str.isascii, texts))
    if not is_ascii and _BY_CATEGORY.search(expression) and any(_searched(_UNKNOWN, texts)):
        raise _NotJudgedError(msg("it contains a character that RE2 does not know"))
    return _searched(whole.replace("{}", _for_re2(expression, classes, is_ascii)), texts)


def _searched(expression: str, texts: list[str]) -> list[bool]:
    try:
        return pc.match_substring_regex(pa.array(texts, pa.string()), expression).to_pylist()
    except pa.ArrowInvalid as error:
        said = _short(str(error).removeprefix("Invalid regular expression: "))
        raise _NotJudgedError(msg("RE2 cannot read the expression: {said}", said)) from None


def _for_re2(expression: str, classes: dict[str, str], is_ascii: bool) -> str:
    """Translate a Rust regular expression into RE2's syntax."""
    parts, is_within = [], False
    for part in _PARTS.findall(expression):
        name = part[1:]
        if part[0] == "\\" and name in classes:
            part = classes[name] if is_within else f"[{classes[name]}]"
        elif part[0] == "\\" and name.lower() in classes:
            if not is_within:
                part = f"[^{classes[name.lower()]}]"
            elif not is_ascii:
                raise _NotJudgedError(msg("RE2 has no Unicode {part} inside brackets", part))
        elif part[:2] == "\\u" and len(part) > 2:
            part = f"\\x{{{part[2:]}}}"
        elif is_within and part in ("&&", "--", "~~", "[", "[^", "[]", "[^]"):
            raise _NotJudgedError(msg("RE2 reads {part} inside brackets differently", part))
        elif part in ("[", "[^", "[]", "[^]"):
            is_within = True
        elif part == "]":
            is_within = False
        parts.append(part)
    return "".join(parts)


class _NoNumberError(ValueError):
    """A name in place of a number, such as NaN, which Python accepts and JSON does not."""


def _no_number(name: str) -> float:
    raise _NoNumberError(f"{name} is no JSON")


def _unjudged(source: str, text: str) -> Verdict:
    return Verdict(None, "", msg("there is no second parser for llguidance's Lark"))


def _short(message: str) -> str:
    first = (message.strip().splitlines() or ["?"])[0].rstrip(".")
    return first if len(first) <= _LONGEST else first[: _LONGEST - 1] + "…"


_JUDGES = {"choices": _choice, "regex": _match, "json_schema": _object, "lark": _unjudged}
