"""Constraints, each with the same language written by hand."""

from engine.sampling.samplers import Constraint
from tests.engine.grammar.language import (
    Expression,
    alt,
    characters,
    chars,
    maybe,
    rule,
    seq,
    star,
    text,
    times,
)

LOWER, UPPER, DIGIT = chars("abcdefghijklmnopqrstuvwxyz"), chars((0x41, 0x5A)), chars("0123456789")

# --- JSON: between parts nothing, a blank, or a line break and at most twelve blanks -------------

BLANK = maybe(alt(text(" "), seq(text("\n"), times(text(" "), 0, 12))))
_HEX = chars("0123456789abcdefABCDEF")
# Only the escapes that are needed: control characters by number, and those with a letter.
_ESCAPED = alt(
    chars('"\\bfnrt'), seq(text("u00"), alt(seq(chars("01"), _HEX), text("7f"), text("7F")))
)
CHARACTER = alt(characters(*range(0x20), 0x7F, 0x22, 0x5C), seq(text("\\"), _ESCAPED))
BOOLEAN = alt(text("true"), text("false"))
INTEGER = seq(maybe(text("-")), alt(text("0"), seq(chars("123456789"), star(DIGIT))))


def string(least: int, most: int | None) -> Expression:
    """A JSON string of `least` to `most` characters."""
    inside = star(CHARACTER) if most is None else times(CHARACTER, least, most)
    return seq(text('"'), inside, text('"'))


def members(*parts: Expression) -> Expression:
    """Parts with commas between them."""
    comma = seq(BLANK, text(","), BLANK)
    return seq(parts[0], *(seq(comma, part) for part in parts[1:]))


def within(opening: str, inside: Expression, closing: str) -> Expression:
    """An expression in brackets."""
    return seq(text(opening), BLANK, inside, BLANK, text(closing))


def item(name: str, value: Expression) -> Expression:
    """A property of an object."""
    return seq(text(f'"{name}"'), BLANK, text(":"), BLANK, value)


def array(value: Expression, most: int) -> Expression:
    """An array of at most `most` values."""
    some = alt(*(within("[", members(*[value] * n), "]") for n in range(1, most + 1)))
    return alt(seq(text("["), BLANK, text("]")), some)


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
ORDER = {
    "type": "object",
    "properties": {
        "paid": {"type": "boolean"},
        "sizes": {"type": "array", "items": {"enum": ["S", "M", "XL"]}, "maxItems": 2},
        "note": {"type": "null"},
    },
    "required": ["paid", "sizes"],
    "additionalProperties": False,
}
SIZE = alt(text('"S"'), text('"M"'), text('"XL"'))
_ORDERED = [item("paid", BOOLEAN), item("sizes", array(SIZE, 2))]

# --- recursive rules ------------------------------------------------------------------------------


def as_many() -> Expression:
    """The same number of a and b."""
    return seq(text("a"), maybe(rule(as_many)), text("b"))


def term() -> Expression:
    """A number or a sum in brackets."""
    return alt(seq(DIGIT, star(DIGIT)), seq(text("("), rule(total), text(")")))


def total() -> Expression:
    """Terms with plus signs between them."""
    return seq(rule(term), star(seq(text("+"), rule(term))))


_NAME = seq(UPPER, times(LOWER, 2, 5))
_VOWELS = tuple(b"aeiou")
_LINE = seq(text("- "), times(alt(LOWER, text(" ")), 1, 20), text("\n"))

AUDITED: dict[str, tuple[Constraint, Expression]] = {
    "beginnings of each other": (
        Constraint("choices", ["a", "ab", "abc", "a cat"]),
        alt(text("a"), text("ab"), text("abc"), text("a cat")),
    ),
    "beyond ASCII": (
        Constraint("choices", ["naïve", "日本", 'a\n"b"\\']),
        alt(text("naïve"), text("日本"), text('a\n"b"\\')),
    ),
    "ends in abb": (Constraint("regex", "(a|b)*abb"), seq(star(chars("ab")), text("abb"))),
    "names": (
        Constraint("regex", "[A-Z][a-z]{2,5}( [A-Z][a-z]{2,5})?"),
        seq(_NAME, maybe(seq(text(" "), _NAME))),
    ),
    "any characters": (Constraint("regex", ".{0,12}"), times(characters(0x0A), 0, 12)),
    "no vowels": (Constraint("regex", "[^aeiou]{3}"), times(characters(*_VOWELS), 3, 3)),
    "quoted": (
        Constraint("regex", '"[^"]*"'),
        seq(text('"'), star(characters(0x22)), text('"')),
    ),
    "person": (
        Constraint("json_schema", PERSON),
        within("{", members(item("name", string(0, 8)), item("age", INTEGER)), "}"),
    ),
    "order": (
        Constraint("json_schema", ORDER),
        alt(
            within("{", members(*_ORDERED), "}"),
            within("{", members(*_ORDERED, item("note", text("null"))), "}"),
        ),
    ),
    "sum": (
        Constraint("lark", 'start: term ("+" term)*\nterm: /[0-9]+/ | "(" start ")"'),
        rule(total),
    ),
    "as many": (Constraint("lark", 'start: "a" start? "b"'), rule(as_many)),
    "list": (
        Constraint("lark", 'start: line+\nline: "- " /[a-z ]{1,20}/ "\\n"'),
        seq(_LINE, star(_LINE)),
    ),
}
