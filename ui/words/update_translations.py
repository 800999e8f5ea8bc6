"""`make words`: update the translation files to the sentences in the code.

    python -m ui.words.update_translations

New sentences are added without a translation, and those that are no longer in the code are removed.
Sentences still to be translated are listed.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from engine import errors
from engine.sampling import PRESETS
from ui.words.catalogue import WORDED, english_table
from ui.words.language import ENGLISH, FOLDER, LANGUAGES, OF_ENGINE

ROOT = Path(__file__).resolve().parents[2]
# Functions that take a sentence, and the indices of these arguments.
KEYWORDS = {
    **dict.fromkeys(("say", "marked", "msg", "told", "do", "Task"), (0,)),
    **dict.fromkeys(("guarded", "mount_app"), (1,)),
    "say_counted": (1, 2),
}
# In the engine, where errors make messages of their arguments.
KEYWORDS_OF_ENGINE = {
    "msg": (0,),
    **{name: (0,) for name in vars(errors) if name.endswith("Error")},
    "SettingError": (2, 3),
    "Wrong": (1,),
}
FILES = {  # data files -> the keys whose values, at any depth, are words for reading
    "lessons/claims.toml": {
        *("topic", "name", "claim", "experiment", "overturned", "measured", "each", "unmet"),
    },
    "ui/tokens/experiments.toml": {"name", "look"},
    "ui/tokens/samples.toml": {"name"},
}
# In the browser's files: the call, then the parts of its first argument.
CALL = re.compile(r"\b(?:say|marked)\(")
PART = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|[\s\S]""")


def said_in_code() -> Catalog:
    """Collect every sentence in the code and in the data files, without translations."""
    found = Catalog()
    for folder, keywords in (("pages", KEYWORDS), ("ui", KEYWORDS), ("engine", {"told": (0,)})):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for sentence in said_in_module(file, keywords):
                found.add(sentence)
    for file in sorted((ROOT / "ui/components/js").rglob("*.js")):
        for sentence in said_in_script(file.read_text("utf-8")):
            found.add(sentence)
    for sentence in (*read_of(english_table(), WORDED), *PRESETS, *said_in_data()):
        found.add(sentence)
    for file in sorted((ROOT / "engine").rglob("*.py")):
        for sentence in said_in_module(file, KEYWORDS_OF_ENGINE):
            if sentence not in found:
                found.add(sentence, auto_comments=[OF_ENGINE])
    return found


def said_in_module(
    file: Path, keywords: Mapping[str, tuple[int, ...]]
) -> Iterator[str | tuple[str, str]]:
    """Yield the sentences of a Python file: all strings in the arguments that the keywords name."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = [node.args[at] for at in keywords.get(called, ()) if at < len(node.args)]
            texts = [one.value for one in given if isinstance(one, ast.Constant) and one.value]
            if called == "say_counted":
                texts = [tuple(texts)]
            yield from (text for text in texts if isinstance(text, str | tuple))


def said_in_data() -> Iterator[str]:
    """Yield the sentences in data files, which are passed to `say` where they are shown."""
    for file, keys in FILES.items():
        yield from read_of(tomllib.loads((ROOT / file).read_text("utf-8")), keys)


def read_of(value: Any, keys: Collection[str], is_read: bool = False) -> Iterator[str]:
    """Yield the texts for reading in some data: all those under one of the keys, at any depth."""
    if isinstance(value, str) and is_read and value:
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from read_of(one, keys, is_read)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from read_of(one, keys, is_read or key in keys)


def said_in_script(program: str) -> Iterator[str]:
    """Yield the sentences of a script: all strings in the first argument of `say` or `marked`.

    Babel's own extractor skips a call within a call, and a choice of two texts.
    """
    for call in CALL.finditer(program):
        depth = 0
        for part in PART.finditer(program, call.end()):
            text = part[1] or part[2]
            if text:
                if depth == 0:
                    yield text.replace("\\'", "'").replace('\\"', '"').replace("\\n", "\n")
                continue
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(part[0], 0)
            if depth < 0 or (depth == 0 and part[0] == ","):
                break


def translated(code: str) -> Catalog:
    """Read the catalogue of a language from its file; empty without a file."""
    file = FOLDER / f"{code}.po"
    if not file.exists():
        return Catalog(locale=code)
    with file.open("rb") as opened:
        return read_po(opened, locale=code)


def untranslated(catalog: Catalog) -> Iterator[Message]:
    """Yield the messages that a language lacks; a fuzzy one counts as lacking."""
    for message in catalog:
        forms = message.string if isinstance(message.string, tuple) else (message.string,)
        if message.id and (message.fuzzy or not all(forms)):
            yield message


def update(code: str) -> Catalog:
    """Bring the file of a language up to date, and return its new catalogue."""
    catalog, template = translated(code), said_in_code()
    template.creation_date = catalog.creation_date  # a date alone does not count as a change
    catalog.update(template, no_fuzzy_matching=True)
    with (FOLDER / f"{code}.po").open("wb") as file:
        write_po(file, catalog, width=None, sort_output=True, ignore_obsolete=True)
    return catalog


def main() -> int:
    """Update all languages and list untranslated sentences; return the exit status."""
    left = 0
    for code in LANGUAGES:
        if code != ENGLISH:
            for message in untranslated(update(code)):
                left += 1
                print(f"{code}: {message.id}")
    print(f"{left} sentences are to be translated in {FOLDER.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
