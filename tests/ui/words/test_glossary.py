"""The glossary: short, complete, and with every field term on a page."""

import ast
import re
import shutil
import tomllib
from functools import cache
from pathlib import Path

import pytest

from ui.learn.course import course
from ui.shell.navigation import PAGES
from ui.words.glossary import FOLDER, glossary, meaning
from ui.words.language import LANGUAGES

ROOT = Path(__file__).resolve().parents[3]
UI = ROOT / "ui"
NO_PAGE = ("server", "visits")  # folders of `ui` without texts on a page
KNOWN = tomllib.loads((Path(__file__).parent / "field_words.toml").read_text("utf-8"))
# A run of capital letters, as in many field words; our constants have an underscore.
ACRONYM = re.compile(r"(?<![\w-])(?:[A-Z]{2,}|top-\w+|\w-grams?|(?:min|max|typical)-\w+)(?![\w-])")


@pytest.mark.parametrize("key", glossary())
def test_entry_has_name_page_and_short_text(key):
    term = glossary()[key]
    assert term["name"] and term["at"]
    assert f"pages/{term['page']}.py" in PAGES, "where.toml names where it can be operated"
    sentences = re.split(r"(?<=[.])\s+", term["text"])
    assert 1 <= len(sentences) <= 2 and term["text"].endswith(".")
    assert max(len(sentence.split()) for sentence in sentences) <= 22


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_two_entries_are_written_alike(code):
    terms = glossary(code).values()
    for place in (None, *{place for term in terms for place in term["places"]}):
        written = [
            form.lower()
            for term in terms
            for form in term["written"] + (term["everyday"] if place in term["places"] else [])
        ]
        assert len(written) == len(set(written)), place


def test_everyday_words_belong_to_pages_or_lessons():
    known = {Path(page).stem for page in PAGES} | {lesson.key for lesson in course().lessons}
    for key, term in glossary().items():
        assert bool(term["everyday"]) == bool(term["places"]), key
        assert set(term["places"]) <= known, key


def test_everyday_words_include_both_languages():
    mask = glossary("de")["mask"]
    assert {"Maske", "mask"} <= set(mask["everyday"]) and mask["written"] == []


def test_places_belong_to_glossary_entries():
    places = tomllib.loads((FOLDER / "where.toml").read_text("utf-8"))
    everyday = places.pop("everyday")
    assert {*places, *everyday} <= glossary().keys()


def test_missing_entries_fall_back_to_english(tmp_path, monkeypatch):
    for file in FOLDER.glob("*.toml"):
        shutil.copy(file, tmp_path)
    entry = '[token]\nname = "Zeichen"\ntext = "Ein Stück."\nat = "Text"\nwritten = ["Zeichen"]\n'
    (tmp_path / "xx.toml").write_text(entry, "utf-8")
    monkeypatch.setattr("ui.words.glossary.FOLDER", tmp_path)
    words = glossary.__wrapped__("xx")
    assert words["token"]["name"] == "Zeichen" and words["token"]["page"] == "step"
    assert words["token"]["written"] == ["Zeichen", "token", "tokens"]
    assert words["logit"] == glossary()["logit"]
    assert glossary.__wrapped__("none") == glossary()


def test_every_term_used_on_pages_exists():
    used = {
        key
        for files, pattern in (("*.py", r'meaning\("([^"]+)"\)'), ("*.js", r"\bterm\('([^']+)'"))
        for file in UI.rglob(files)
        for key in re.findall(pattern, file.read_text("utf-8"))
    }
    assert len(used) > 20 and used <= glossary().keys()
    with pytest.raises(KeyError):
        meaning("no such term")


# --- every field term on a page has an entry ------------------------------------------------------


def strings_of_python(source: str) -> set[str]:
    """Return strings that a module may put on a page: all except docstrings."""
    tree = ast.parse(source)
    said = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            said.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            said.discard(ast.get_docstring(node, clean=False))
    return said


def strings_of_javascript(source: str) -> set[str]:
    """Return those of a module in JavaScript, including its templates."""
    code = re.sub(r"/\*.*?\*/|^\s*//.*?$|\s// .*?$", "", source, flags=re.DOTALL | re.MULTILINE)
    quoted = re.findall(r"'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`", code)
    return {re.sub(r"\$\{[^}]*\}", " ", one or other) for one, other in quoted}


def strings_of_markdown(source: str) -> set[str]:
    """Return a text without placeholders, code, or words in italics, which are examples."""
    return {re.sub(r"```.*?```|`[^`]*`|\{\w+\}|(?<!\*)\*[^*\n]+\*", " ", source, flags=re.DOTALL)}


@cache
def said_on_pages() -> dict[str, set[str]]:
    """Return all sentences and labels of the app, by file; a single name of code is neither."""
    files = {
        **{file: strings_of_python for file in UI.rglob("*.py") if file.parts[-2] not in NO_PAGE},
        **dict.fromkeys((ROOT / "engine/sampling/samplers").glob("*.py"), strings_of_python),
        **dict.fromkeys((UI / "components/js").rglob("*.js"), strings_of_javascript),
        **dict.fromkeys((ROOT / "lessons").rglob("en.md"), strings_of_markdown),
    }
    return {
        str(file.relative_to(ROOT)): {
            text
            for text in read(file.read_text("utf-8"))
            if " " in text or (text[:1].isupper() and not text.isupper())
        }
        for file, read in files.items()
    }


@cache
def terms() -> re.Pattern[str]:
    """Match the terms of the glossary as they are written, the longest first."""
    written = {
        form.lower() for term in glossary().values() for form in term["written"] + term["everyday"]
    }
    longest = "|".join(sorted(map(re.escape, written), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{longest})(?![\w-])", flags=re.IGNORECASE)


@cache
def field_words() -> re.Pattern[str]:
    known = "|".join(map(re.escape, KNOWN["field"]))
    return re.compile(rf"(?<![\w-])(?:{known})(?:s|es)?(?![\w-])", flags=re.IGNORECASE)


def unexplained(text: str) -> set[str]:
    """Return a text's field words that the glossary lacks."""
    rest = terms().sub(" ", text)
    return {*field_words().findall(rest), *ACRONYM.findall(rest)} - set(KNOWN["plain"])


def test_every_field_term_has_an_entry():
    found = {
        (file, word)
        for file, texts in said_on_pages().items()
        for text in texts
        for word in unexplained(text)
    }
    assert not found, "write an entry in lessons/glossary, or name it `plain` in field_words.toml"


def test_term_search_finds_unexplained_words():
    python = 'LABEL = f"The perplexity and the FOO of {2} heads"\ndef f():\n    """A BAR."""\n'
    (text,) = (one for one in strings_of_python(python) if "FOO" in one)
    assert unexplained(text) == {"FOO"}
    assert strings_of_python(python).isdisjoint({"A BAR."})
    (text,) = strings_of_javascript("const a = `a dropout of ${n + 1} x`; // 'a comment'\n")
    assert unexplained(text) == {"dropout"}
    assert unexplained("The logits, the KV cache and top-p.") == set()
    assert unexplained("a top-z sampler and CSV") == {"top-z"}
