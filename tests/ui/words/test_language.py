"""Pages in other languages: English as the fallback, and files that match the code."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.tab import PATIENCE_S
from ui.shell.tables import table as table_of
from ui.words.catalogue import english_table, table
from ui.words.labels import counted, token_label
from ui.words.language import (
    ENGLISH,
    LANGUAGES,
    language,
    localised,
    marked,
    say,
    say_counted,
    sentences,
    speaking,
    with_figures,
)
from ui.words.update_translations import (
    FILES,
    ROOT,
    read_of,
    said_in_code,
    translated,
    untranslated,
)

SAID = {"say", "say_counted", "counted", "meaning"}
OTHERS = [code for code in LANGUAGES if code != ENGLISH]


def places(text: str) -> set[str]:
    """Return a sentence's placeholders, with the formats that the table of samplers gives them."""
    return set(re.findall(r"\{\w+(?::[^}]+)?\}", text))


@pytest.mark.parametrize("code", OTHERS)
def test_catalogue_matches_the_messages_in_code(code):
    said = {message.id for message in said_in_code() if message.id}
    catalog = translated(code)
    assert {message.id for message in catalog if message.id} == said, "run `make words`"
    assert [message.id for message in untranslated(catalog)] == []


@pytest.mark.parametrize("code", OTHERS)
def test_translation_keeps_the_placeholders(code):
    for message in translated(code):
        if not message.id:
            continue
        forms = message.string if isinstance(message.string, tuple) else (message.string,)
        english = message.id if isinstance(message.id, tuple) else (message.id,)
        for form in forms:
            assert places(form) in [places(one) for one in english], form


def test_missing_translation_falls_back_to_english():
    assert language() == ENGLISH and say("Compare") == marked("Compare") == "Compare"
    assert sentences(ENGLISH) == {}
    assert [say_counted(n, "{count} step", "{count} steps") for n in (0, 1, 2_000)] == [
        "0 steps", "1 step", "2,000 steps",
    ]  # fmt: skip
    with speaking("de"):
        assert language() == "de"
        assert say("Compare") == "Vergleichen"
        assert [counted(n, "token") for n in (1, 2)] == ["1 Token", "2 Token"]
        assert say("Nobody has translated {this}.", this="it") == "Nobody has translated it."
        assert say_counted(2, "{count} odd thing", "{count} odd things") == "2 odd things"
    assert language() == ENGLISH


def test_translated_sampler_table_changes_only_words():
    with speaking("de"):
        other = table()
    english = table()
    assert english == english_table() and other["order"] == english["order"]
    labels = {one["name"]: one["label"] for one in other["samplers"]}
    assert labels["temperature"] == "Temperatur" and list(labels) == english["order"]
    formulas = [[one["formula"] for one in made["samplers"]] for made in (english, other)]
    assert formulas[0] == formulas[1]


def test_data_words_are_read_from_listed_keys():
    data = {"a": {"topic": "One", "n": 1, "kind": "x"}, "b": [{"topic": ["Two", ""]}, "Three"]}
    assert list(read_of(data, {"topic"})) == ["One", "Two"]
    with speaking("de"):
        for file, keys in FILES.items():
            words = list(read_of(tomllib.loads((ROOT / file).read_text("utf-8")), keys))
            assert words and all(one in sentences("de") for one in words), file


def _says_much() -> None:
    from types import SimpleNamespace
    from unittest.mock import patch

    import streamlit as st

    from ui.words import language

    language.choose("de")
    language._SPOKEN.set(None)  # as at the start of a fragment
    asked = []
    held = SimpleNamespace(get=lambda key: asked.append(key) or "de")
    with patch.object(language.st, "session_state", held):
        words = [language.say("Step") for _ in range(3)]
    language.choose("en")
    st.text(f"{words} {asked} {language.say('Step')}")


def test_a_drawing_asks_streamlit_for_the_language_once():
    # At each request, Streamlit may end the drawing halfway through a change.
    shown = AppTest.from_function(_says_much, default_timeout=PATIENCE_S).run().text[0].value
    assert shown == "['Schritt', 'Schritt', 'Schritt'] ['language'] Step"


IMPORT_ALL = """
import importlib, pkgutil, ui, ui.words.language

def refuse():
    raise AssertionError("something is said while its module is imported: mark it instead")

ui.words.language.language = refuse
for module in pkgutil.walk_packages(ui.__path__, "ui."):
    importlib.import_module(module.name)
"""


def said_at_import(node: ast.AST) -> Iterator[str]:
    """Yield calls that translate while a module is imported, outside of all functions."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in SAID:
        yield ast.unparse(node)
    for child in ast.iter_child_nodes(node):
        yield from said_at_import(child)


def test_no_module_level_text_is_translated():
    # An import would keep the first visitor's language. If that visitor has left, a request for the
    # language ends the import halfway, also for other threads that wait for the same module.
    files = [*(ROOT / "pages").glob("*.py"), *(ROOT / "ui").rglob("*.py")]
    assert (
        files
        and [said for file in files for said in said_at_import(ast.parse(file.read_text("utf-8")))]
        == []
    )


@pytest.mark.long
def test_nothing_is_translated_at_import():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_figures_are_localised_exactly_once():
    assert say("{one} of {all}", one="50.50 %", all="1,024") == "50.50 % of 1,024"
    with speaking("de"):
        assert say("{one} of {all}", one="50.50 %", all="1,024") == "50,50 % von 1.024"
        assert say_counted(2_000, "{count} step", "{count} steps").startswith("2.000 ")
        said = say("{count} bits", count=0.5)
        assert said == "0,5 Bit" and localised(localised("16,384.5 ms")) == "16.384,5 ms"
        assert with_figures("u 0.63 ≥ 0.70") == "u 0,63 ≥ 0,70"
        shown = table_of("1.5", ["a"], [("1,008.4 MiB", "0.31 ± 0.02", "$ 1.25")], "figures")
        assert all(f">{cell}<" in shown for cell in ("1.008,4 MiB", "0,31 ± 0,02", "$ 1,25"))


def test_non_figures_are_not_localised():
    texts = ["Qwen 2.5", "1.67.0", "2026-11-22", "0.5, 0.8", '{"a": 1.5}', token_label("1.5"), ""]
    with speaking("de"):
        assert [localised(text) for text in texts] == texts
        assert say("{one} of {all}", one=token_label("1.5"), all=3) == "1.5 von 3"
