"""The glossary: every entry complete, unambiguous, and known to the pages that use it."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from ui.learn.course import course
from ui.shell.navigation import PAGES
from ui.words.glossary import FOLDER, glossary, meaning
from ui.words.language import LANGUAGES

UI = Path(__file__).resolve().parents[3] / "ui"


def test_entries_have_texts_and_existing_places():
    known = {Path(page).stem for page in PAGES}
    lessons = {lesson.key for lesson in course().lessons}
    for key, term in glossary().items():
        assert term["name"] and term["at"] and term["text"] and term["page"] in known, key
        assert bool(term["everyday"]) == bool(term["places"]), key
        assert set(term["places"]) <= known | lessons, key
    mask = glossary("de")["mask"]  # its words in both languages
    assert {"Maske", "mask"} <= set(mask["everyday"]) and mask["written"] == []
    places = tomllib.loads((FOLDER / "where.toml").read_text("utf-8"))
    everyday = places.pop("everyday")
    assert {*places, *everyday} <= glossary().keys()


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
