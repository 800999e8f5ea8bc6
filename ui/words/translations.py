"""`make words`: the files of translations, brought up to date with what the code says.

    python -m ui.words.translations

New sentences come in without a translation, and those that the code no longer says go. What is
still to be translated is listed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po

from ui.words.elsewhere import sentences_elsewhere
from ui.words.engine_sentences import engine_sentences
from ui.words.language import ENGLISH, FOLDER, LANGUAGES, OF_BOTH, OF_ENGINE

ROOT = Path(__file__).resolve().parents[2]
KEYWORDS = {
    "say": None,
    "marked": None,
    "say_counted": (2, 3),
    "guarded": (2,),
    "mount_app": (2,),
    "do": (1,),
    "Task": (1,),
    "told": (1,),
}
# In the browser's files: the call, then what its first argument is made of.
CALL = re.compile(r"\b(?:say|marked)\(")
PART = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|[\s\S]""")


def said_in_code() -> Catalog:
    """Every sentence that the code marks, or that stands elsewhere, without translations."""
    found = Catalog()
    for folder, keywords in (("ui", KEYWORDS), ("engine", {"told": (1,)})):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for sentence in said_in_module(file, keywords):
                found.add(sentence)
    for file in sorted((ROOT / "ui/components/js").rglob("*.js")):
        for sentence in said_in_script(file.read_text("utf-8")):
            found.add(sentence)
    for sentence in sentences_elsewhere():
        found.add(sentence)
    for sentence in engine_sentences():
        is_said_too = found.get(sentence) is not None
        found.add(sentence, auto_comments=[OF_BOTH if is_said_too else OF_ENGINE])
    return found


def said_in_module(file: Path, keywords: dict[str, tuple | None]) -> Iterator[str | tuple]:
    """The sentences of a Python file; Babel reads slowly, so only one that calls a keyword."""
    source = file.read_text("utf-8")
    if any(f"{keyword}(" in source for keyword in keywords):
        for _, sentence, _, _ in extract_from_file("python", file, keywords=keywords):
            yield sentence


def said_in_script(program: str) -> Iterator[str]:
    """The sentences of a JavaScript file: all texts in the first argument of `say` or `marked`.

    Babel's own reader of JavaScript passes over a call within a call, and a choice of two texts.
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
    """A language as its file has it; without a file, an empty one."""
    file = FOLDER / f"{code}.po"
    if not file.exists():
        return Catalog(locale=code)
    with file.open("rb") as opened:
        return read_po(opened, locale=code)


def untranslated(catalog: Catalog) -> Iterator[Message]:
    """The sentences that a language lacks; a fuzzy one is not said either."""
    for message in catalog:
        forms = message.string if isinstance(message.string, tuple) else (message.string,)
        if message.id and (message.fuzzy or not all(forms)):
            yield message


def update(code: str) -> Catalog:
    """Bring the file of a language up to date; what is in it now."""
    catalog, template = translated(code), said_in_code()
    template.creation_date = catalog.creation_date  # a date alone is no change
    catalog.update(template, no_fuzzy_matching=True)
    with (FOLDER / f"{code}.po").open("wb") as file:
        write_po(file, catalog, width=None, sort_output=True, ignore_obsolete=True)
    return catalog


def main() -> int:
    """Update all languages, and list what is to be translated."""
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
