"""The words of a lesson, one Markdown file per language; headings carry the keys of lesson.toml.

An entry is identified by the keys of its headings: ``press/three/hint``. Words that a language
lacks are taken from English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from ui.learn.source import wrong

ENGLISH = "en"
_HEADING = re.compile(r"(#{1,4})\s+(.*)")
_KEY = re.compile(r"([a-z][a-z0-9_]*)(?::\s*(.*))?$")
_FIGURE = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
_UNIT = r"%|[KMG]?i?B|m?s|min|bits?|nats?|Bits?|Nats?"
_WITHIN_FIGURE = re.compile(
    rf"(?<=\w) (?== )|(?<==) (?=[\d{{−])|(?<=[<>]) (?=\d)|(?<=[\d}}]) (?=(?:{_UNIT})(?!\w))"
)


@dataclass(frozen=True)
class Entry:
    """The content under one heading: its title, the heading's words after the key, and its text."""

    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text as one."""
        return "\n\n".join(filter(None, (self.title, self.text)))

    def figures(self) -> set[str]:
        """Return the names of the figures that it shows."""
        return set(_FIGURE.findall(self.whole))


def with_figures(text: str, figures: Mapping[str, str]) -> str:
    """Insert figures into a text for ``{name}``; other braces stay as they are."""
    return unbroken(_FIGURE.sub(lambda found: figures.get(found[1], found[0]), text))


def unbroken(text: str) -> str:
    """Put no-break spaces within the figures of Markdown: ``T = 4``, ``19.6 %``; code stays."""
    parts = _CODE.split(text)  # code at every second place
    parts[::2] = [_WITHIN_FIGURE.sub("\u00a0", part) for part in parts[::2]]
    return "".join(parts)


@dataclass(frozen=True)
class Words:
    """All words of a lesson in one language.

    Attributes:
        file: the file that contains them.
        entries: by the keys of their headings, joined by ``/``; the lesson itself is ``""``.
        others: the English words, for missing ones; None in English itself.
    """

    file: Path
    entries: Mapping[str, Entry]
    others: Words | None = None

    def entry(self, key: str) -> Entry:
        """Return the words under a key; raises `LessonError` if no language has them."""
        if key not in self.entries:
            if self.others is None:
                wrong(self.file, key, "has no words", "add a heading for it")
            return self.others.entry(key)
        return self.entries[key]

    def showing(self, figures: Mapping[str, str]) -> Words:
        """Return the words with figures inserted wherever they are named."""
        if not figures:
            return self
        entries = {
            key: Entry(with_figures(entry.title, figures), with_figures(entry.text, figures))
            for key, entry in self.entries.items()
        }
        others = None if self.others is None else self.others.showing(figures)
        return Words(self.file, entries, others)

    def has(self, key: str) -> bool:
        """Return whether there are words for a key, in this language or in English."""
        return key in self.entries or (self.others is not None and self.others.has(key))


def read_words(folder: Path) -> dict[str, Words]:
    """Read the words of a lesson by language, English included.

    Raises:
        LessonError: en.md is missing, or a heading has no key.
    """
    english = Words(folder / f"{ENGLISH}.md", _entries(folder / f"{ENGLISH}.md"))
    found = {ENGLISH: english}
    for file in sorted(folder.glob("*.md")):
        if file.stem != ENGLISH:
            found[file.stem] = Words(file, _entries(file), english)
    return found


def check_words(
    languages: Mapping[str, Words],
    needed: Mapping[str, Set[str]],
    structure: str,
    *,
    with_text: bool = False,
) -> None:
    """Refuse missing English words, and unused words in any language.

    Args:
        languages: the words by language.
        needed: the keys of all headings, each with the figures that its words may show.
        structure: the file that has these keys.
        with_text: whether each heading except the title needs words and a text.
    """
    english = languages[ENGLISH]
    for key in needed:
        found = english.entries.get(key, Entry("", ""))
        if not (found.title and found.text if key and with_text else found.whole):
            text = " and a text below it" if with_text else ""
            wrong(english.file, key or "the title", "lacks words", f"add a heading{text}")
    for words in languages.values():
        for key, entry in words.entries.items():
            if key not in needed:
                wrong(words.file, key, f"is not a key of {structure}", "remove it, or mend the key")
            if unknown := entry.figures() - needed[key]:
                known = ", ".join(sorted(needed[key])) or "no figure"
                wrong(words.file, key, f"shows {{{min(unknown)}}}", f"there is {known} here")


def _entries(file: Path) -> dict[str, Entry]:
    try:
        text = file.read_text("utf-8")
    except OSError:
        wrong(file, "", "is missing", "copy that of lessons/template")
    entries: dict[str, Entry] = {}
    path: list[str] = []
    title, lines = "", []
    place: str | None = None
    is_code = False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        heading = None if is_code else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        if place is not None:
            entries[place] = _entry(title, lines)
        depth, lines = len(heading[1]), []
        key, title = _parsed(file, depth, heading[2].strip())
        if depth - 1 > len(path) + 1 or (depth > 1 and place is None):
            wrong(file, line, "stands too deep", "put it below a heading with one # less")
        path = [*path[: max(0, depth - 2)], key] if depth > 1 else []
        place = "/".join(path)
        if place in entries:
            wrong(file, line, "comes twice", "give each heading a key of its own")
    if place is None:
        wrong(file, "", "has no heading", "begin with # and the title of the lesson")
    entries[place] = _entry(title, lines)
    return entries


def _entry(title: str, lines: list[str]) -> Entry:
    return Entry(unbroken(title), unbroken("\n".join(lines).strip()))


def _parsed(file: Path, depth: int, heading: str) -> tuple[str, str]:
    """Return key and title of a heading; the lesson's own heading has no key."""
    if depth == 1:
        return "", heading
    found = _KEY.fullmatch(heading)
    if found is None:
        wrong(file, heading, "has no key", "write the key of lesson.toml, a colon, the words")
    return found[1], found[2] or ""
