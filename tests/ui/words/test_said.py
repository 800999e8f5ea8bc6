"""Texts that pages and charts show pass through `say`, so that they can be translated."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SAID = {"say", "marked", "say_counted", "counted", "meaning", "told"}
# Callees whose first argument is shown, and arguments that are shown.
CALLED = {"button", "caption", "subheader", "expander", "popover", "checkbox", "selectbox", "info"}
CALLED |= {"warning", "error", "markdown", "segmented_control", "download_button", "text_input"}
CALLED |= {"text_area", "number_input", "whole_number", "radio", "multiselect", "toast"}
SHOWN = {"title", "help", "label", "hovertemplate", "xaxis_title", "yaxis_title"}
NO_PAGE = re.compile(r"ui/(server|visits)/|ui/learn/command")  # logs, and a terminal
WORD = re.compile(r"(?<![\w.-])[^\W\d_]{3,}(?![\w-]|\.\w)")
MARKUP = re.compile(r"<[^>]*>?|%\{[^}]*\}|:material/\w+:")


def unsaid(source: str) -> Iterator[str]:
    """Yield shown strings that are not passed to `say`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            shown = node.args[:1] if called in CALLED else []
            shown += [one.value for one in node.keywords if one.arg in SHOWN]
            yield from (text for one in shown for text in _texts(one))


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield the strings with words in a shown expression, except the arguments of `say`."""
    if isinstance(node, ast.Call | ast.Subscript | ast.Compare | ast.FormattedValue):
        return
    if isinstance(node, ast.Constant) and WORD.search(MARKUP.sub(" ", str(node.value))):
        yield str(node.value)
    for child in ast.iter_child_nodes(node):
        yield from _texts(child)


def test_visible_text_is_marked_for_translation():
    found = [
        f"{file.relative_to(ROOT)}: {text}"
        for file in sorted([*(ROOT / "pages").glob("*.py"), *(ROOT / "ui").rglob("*.py")])
        if not NO_PAGE.match(str(file.relative_to(ROOT)))
        for text in unsaid(file.read_text("utf-8"))
    ]
    assert not found, "\n".join(["give these to `say` or `marked`:", *found])


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("st.button('Measure', key='cache_start')", ["Measure"]),
        ("st.caption(f'{n} positions')", [" positions"]),
        ("st.caption('a' if one else 'Two words')", ["Two words"]),
        ("st.caption(say('It holds so far'))", []),
        ("figure.update_layout(title='positions', type='log')", ["positions"]),
    ],
)
def test_scan_finds_text_not_marked_for_translation(source, texts):
    assert list(unsaid(source)) == texts
