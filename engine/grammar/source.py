"""Sources of constraints, checked before a model uses them.

Four languages:

    choices      a list of texts as JSON; the text is one of them
    regex        a regular expression of the Rust crate, which the whole text matches
    json_schema  a JSON schema; the text is an instance, with little white space
    lark         a grammar in llguidance's variant of Lark

A source comes from a person, a link or a file, so its size is checked before it is compiled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache

from llguidance import LLMatcher

from engine.errors import SettingError, msg
from engine.grammar.reading import SETTING, asked
from engine.grammar.schema import KEYWORDS, KNOWN, ignored, parts, prepare, texts_of
from engine.guarded import Child

LANGUAGES: Mapping[str, str] = {
    "choices": msg("list of choices"),
    "regex": msg("regular expression"),
    "json_schema": msg("JSON schema"),
    "lark": msg("Lark grammar"),
}
MOST_BYTES = 65_536
# llguidance follows rules and references on the stack of its thread. Some 3,500 nested parts use up
# the usual 8 MiB, which ends the process. So it never gets more parts than this.
MOST_PARTS = 1000
# Between two parts of a JSON text: nothing, a blank, or a line break and at most this many blanks.
# Without a limit, a model may write them forever. A dozen line breaks fill a page.
MOST_BLANKS = 12
WHITE_SPACE = rf"(\x20|\x0A\x20{{0,{MOST_BLANKS}}})"

# Without this line, a mask allows only the usual tokens for bytes that must come anyway. With it, a
# mask follows the grammar, and the model chooses among all tokens that spell those bytes.
_FREELY = '%llguidance {"no_forcing": true}\n'
_POSITION = re.compile(r"(?:at )?(\d+)\((\d+)\): (.*)", re.DOTALL)
# Tests of neighbouring characters: llguidance's names for them, and how they are written.
_NEIGHBOURS = re.compile(r"lookarounds not supported yet; (\w+)")
_MARKS = {"Start": "^", "End": "$", "StartLF": "(?m)^", "EndLF": "(?m)$"}
_MARKS |= {"WordUnicode": r"\b", "WordAscii": r"\b", "WordUnicodeNegate": r"\B"}
_ONE_OF = "Enable 'coerce_one_of'"  # not an option here
_SHOWN = 40
_MOST_WORDS = 4
_CONTROL = re.compile(r"\s+")


def shortened(source: str) -> str:
    """Return the beginning of a source, for a sentence."""
    flat = _CONTROL.sub(" ", source).strip()
    return flat if len(flat) <= _SHOWN else flat[: _SHOWN - 1] + "…"


def checked_source(language: object, source: object) -> str:
    """Return a source as text: text unchanged, choices and schemas given as values in JSON.

    Raises:
        SettingError: an unknown language, or a source that is too large or not valid in it.
    """
    if language not in LANGUAGES:
        remedy = msg("use one of {languages}", ", ".join(LANGUAGES))
        raise SettingError(f"{SETTING}.language", language, "is not known", remedy)
    if isinstance(source, str):
        text = source
    else:
        text = _as_json(language, source)
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        problem = msg(
            "has {size:,} bytes, more than the {most_bytes:,} allowed", (size, MOST_BYTES)
        )
        raise _refusal(text, problem, msg("shorten it"))
    if not text.strip():
        raise _refusal(text, msg("is empty"), msg("write a {languages}", LANGUAGES[language]))
    _refuse_halves(text, text)
    grammar(language, text)
    return text


def _as_json(language: str, source: object) -> str:
    kinds = {"choices": (list, tuple), "json_schema": (dict, bool)}.get(language, ())
    if not isinstance(source, kinds):
        kinds = {"choices": msg("a list of texts"), "json_schema": msg("a schema")}
        wanted = (
            msg("must be {kinds}", kinds[language]) if language in kinds else msg("must be a text")
        )
        raise SettingError(f"{SETTING}.source", source, wanted, "write it as text")
    try:
        return json.dumps(source, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        problem, remedy = msg("cannot be written as JSON"), msg("use plain values only")
        raise SettingError(f"{SETTING}.source", source, problem, remedy) from error


@lru_cache(maxsize=64)
def notices(language: str, source: str) -> tuple[str, ...]:
    """Return sentence fragments on the parts of a source that are not enforced."""
    notices: list[str] = []
    unknown = ignored(source) if language == "json_schema" else []
    if unknown:
        words = [_word(source, start, word) for start, word in unknown[:_MOST_WORDS]]
        words += ["…"] * (len(unknown) > _MOST_WORDS)
        notices.append(msg("these words of the schema are not enforced: {words}", ", ".join(words)))
    return tuple(notices)


def _word(source: str, start: int, word: str) -> str:
    """Return a word with its line and column, and the keyword that it may misspell."""
    line, column = _line_and_column(source, start)
    meant = get_close_matches(word[:_SHOWN], KEYWORDS, 1, 0.8)
    return f'"{word[:_SHOWN]}" ({line}:{column}{f", {meant[0]}?" if meant else ""})'


@lru_cache(maxsize=64)
def grammar(language: str, source: str) -> str:
    """Return a source as a grammar for llguidance; raises `SettingError` if it is not valid."""
    if language == "lark":
        _refuse_depth(source, sum(map(source.count, ":([{|")))
        made = LLMatcher.grammar_from_lark(source)
        freely = _FREELY + source
    elif language == "json_schema":
        schema = _schema(source)
        made = LLMatcher.grammar_from_json_schema(schema)
        freely = f"{_FREELY}start: %json {schema}"
    else:
        if language == "choices":
            source = "|".join(map(_literal, _choices(source)))
        made = LLMatcher.grammar_from_regex(source)
        freely = _FREELY + json.loads(made)["grammars"][0]["lark_grammar"]
    for each in (made, LLMatcher.grammar_from_lark(freely)):  # the first for the place of an error
        said = _problem_of(each, shortened(source))
        if said:
            raise _refusal(source, _problem(language, source, said), _remedy(said))
    return each


def _problem_of(made: str, shown: str) -> str:
    """Return llguidance's objection to a grammar; empty if it has none."""

    def check(process: Child, seconds: float) -> str:
        return process.ask({"kind": "check", "grammar": made}, seconds=seconds)[0]["problem"]

    return asked(shown, None, check)


def _schema(source: str) -> str:
    schema = _parsed("json_schema", source)
    if schema is False or not isinstance(schema, (dict, bool)):
        raise _refusal(
            source, msg("must be an object"), msg("write a schema that allows some text")
        )
    _refuse_depth(source, source.count("{") + source.count("["))
    _refuse_halves(source, json.dumps(schema, ensure_ascii=False))
    schema = schema if isinstance(schema, dict) else {}
    options: dict[str, object] = {"whitespace_pattern": WHITE_SPACE}
    own = schema.get("x-guidance")
    if isinstance(own, dict) and own.get("whitespace_flexible") is False:
        options = {"whitespace_flexible": False}

    def may_begin(made: str, texts: list[str]) -> list[bool]:
        request = {"kind": "begins", "grammar": made, "texts": texts}
        return asked(
            shortened(source),
            None,
            lambda process, seconds: process.ask(request, seconds=seconds)[0]["begins"],
        )

    escapes = prepare(schema, may_begin)
    if escapes is None:
        problem = msg("contains a control character, whose escape could also spell a property name")
        raise _refusal(source, problem, msg("take it out, or set additionalProperties to false"))
    options |= {"lenient": False, "json_allowed_escapes": escapes}
    return json.dumps(schema | {"x-guidance": options}, ensure_ascii=False)


def _choices(source: str) -> list[str]:
    choices = _parsed("choices", source)
    is_list = isinstance(choices, list) and choices
    if not is_list or not all(isinstance(choice, str) and choice for choice in choices):
        remedy = msg('write for example ["yes", "no"]')
        raise _refusal(source, msg("must be a list of texts, none empty"), remedy)
    _refuse_halves(source, "".join(choices))
    return list(dict.fromkeys(choices))


def _literal(text: str) -> str:
    """Return a regular expression that only this text matches."""
    plain = (c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):x}}}" for c in text)
    return "".join(plain)


def _parsed(language: str, source: str) -> object:
    try:
        return json.loads(source)
    except json.JSONDecodeError as error:
        problem = msg(
            "is not valid JSON at line {lineno}, column {colno}: {msg}",
            (error.lineno, error.colno, error.msg),
        )
        raise _refusal(source, problem, msg("fix the JSON there")) from None
    except (RecursionError, ValueError):  # numbers of more digits than Python reads
        problem = msg("is nested too deeply or contains too long a number")
        raise _refusal(source, problem, msg("simplify it")) from None


def _refuse_halves(source: str, text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise _refusal(
            source, msg("contains an unpaired surrogate, half a character"), msg("take it out")
        )


def _refuse_depth(source: str, parts: int) -> None:
    if parts > MOST_PARTS:
        problem = msg(
            "has {parts:,} nested parts, more than the {most_parts:,} allowed",
            (parts, MOST_PARTS),
        )
        raise _refusal(source, problem, msg("shorten it"))


def _problem(language: str, source: str, message: str) -> str:
    """Return llguidance's message as the end of a sentence, with the place of the error."""
    found = _POSITION.match(message)
    lines = message.strip().splitlines()
    tested = _NEIGHBOURS.search(message)
    if tested:
        mark = _MARKS.get(tested[1], tested[1])
        lines = [
            msg(
                "uses {mark} to test neighbouring characters, which no constraint can do",
                mark,
            )
        ]
        if language != "lark":
            return lines[0]
    if language in ("regex", "choices"):
        said = next((line[7:] for line in lines if line.startswith("error: ")), None)
        marks = next((line for line in lines if line.strip() and not line.strip(" ^")), None)
        if said and marks:
            place = marks.index("^") - 3  # the pattern follows four blanks
            return msg(
                "is not a valid regular expression at character {place}: {said}",
                (place, _plain(said)),
            )
        return msg("is refused: {lines}", _plain(lines[0]))
    if found:
        line, column, said = found.groups()
        said = lines[0] if tested else said.splitlines()[0]
        return msg(
            "is refused at line {line}, column {column}: {said}", (line, column, _plain(said))
        )
    said = " ".join([lines[0], *(line[7:] for line in lines if line.startswith("error: "))])
    if _ONE_OF in message and language == "json_schema":
        _, line, column = _place_of_word(source, ['"oneOf"'])
        place = msg("line {line}, column {column}", (line, column))
        return msg(
            "has a oneOf whose options are not known to exclude each other, first at {place}", place
        )
    place = _place_of_word(source, lines) if language == "json_schema" else None
    if place is None:
        return msg("is refused: {said}", _plain(said))
    word, line, column = place
    return msg(
        'is refused: {said} ("{word}" is first at line {line}, column {column})',
        (_plain(said), word, line, column),
    )


def _remedy(message: str) -> str:
    if _NEIGHBOURS.search(message):
        return msg("spell out the characters that are allowed there")
    if _ONE_OF in message:
        return msg("use anyOf, or give each option a required property with a const of its own")
    return msg("fix the JSON there")


def _place_of_word(source: str, lines: list[str]) -> tuple[str, int, int] | None:
    """Return the first text in a schema that the message names, with its line and column."""
    quoted = re.findall(r"""["']([^"']+)["']""", lines[0])
    words = re.findall(r"[\w$]+", lines[0])
    schemas = {path for path, _ in parts(json.loads(source))}
    places: dict[str, tuple[int, int]] = {}
    for path, text, is_name, start in texts_of(source):
        is_word = is_name and text in KNOWN and path[:-1] in schemas
        rank = 0 if is_word else 2 if is_name else 1  # then a value, then a property
        if "property '" in lines[0]:
            rank = -rank
        places[text] = min(places.get(text, (3, 0)), (rank, start))
    for word in (*quoted, *(line.strip() for line in lines[1:]), *words[-1:], *words):
        if word in places:
            return word, *_line_and_column(source, places[word][1])
    return None


def _line_and_column(source: str, start: int) -> tuple[int, int]:
    return source.count("\n", 0, start) + 1, start - source.rfind("\n", 0, start)


def _plain(message: str) -> str:
    """Return a message without its final full stop, short enough for a sentence."""
    message = message.strip().rstrip(".")
    return message if len(message) <= 120 else message[:119] + "…"


def _refusal(source: str, problem: str, remedy: str) -> SettingError:
    return SettingError(SETTING, shortened(source), problem, remedy)
