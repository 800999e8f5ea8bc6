"""Every sentence that a person reads in the code of these pages must pass through `say`.

A text counts as read if it is prose, or if a page or a chart shows it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.sampling.presets import PRESETS

UI = Path(__file__).resolve().parents[3] / "ui"
FOLDERS = ("cache", "charts", "claims", "compare", "how", "labs", "measurements", "models", "step")
FOLDERS += ("texts", "tokens", "tune")
SAID = {"say", "marked", "say_counted", "counted", "meaning"}
# See `KEYWORDS` of `ui.words.update_translations`.
SAID |= {"guarded", "mount_app", "do", "Task", "told"}
# Errors about files and faults in our own code, which no page shows.
UNREAD = {"BrokenRecord", "AssertionError", "NotImplementedError", "TypeError", "ContextVar"}
UNREAD |= {"EventError", "Refused", "Thread"}  # between page and server; a name in the log
UNREAD |= {"CancelledError"}  # a cancelling visitor is told the state that holds
PROMPTS = ("texts/constraints.py", "texts/examples.py")  # texts for the model
# Places where any text is read, prose or not: names of arguments and of keys, and callees.
# Texts for the model, and texts read by a style sheet.
TEXTS = {
    "PROMPTS",
    "WORDS",
    "COMMONS",
    "RARES",
    "columns",
}  # as names of data
INPUTS = {"prompt", "words"}
DATA = ("Once upon a time", "The capital of France", "Customer: ", "Visitor: ", "You are the")
DATA += (
    "con-token con-shown",
    "figures claim-figures",
    "code points",
    "'Source Sans'",
    "path/to/folder",
    "owner/name",
    "MiB",
    "main",
    "every interface",
    "next at",
)
SHOWN = {"name", "title", "text", "help", "placeholder", "label", "hovertemplate", "annotation"}
SHOWN |= {"xaxis_title", "yaxis_title", "head"}
CALLED = {"button", "caption", "subheader", "expander", "popover", "checkbox", "selectbox", "info"}
CALLED |= {"warning", "error", "markdown", "segmented_control", "download_button", "text_input"}
CALLED |= {"text_area", "number_input", "whole_number", "radio", "multiselect", "toast"}
TABLES = {"Table", "table"}  # caption, then head
FIELDS = {"whole", "real", "choice", "switch", "line", "several", "chart"}  # key, name, then label
PROSE = re.compile(r"[^\W\d_]{2,}[,;:.]? [^\W\d_]{2,}")
WORD = re.compile(r"(?<![\w.-])[^\W\d_]{3,}(?![\w-]|\.\w)")
PLACE = re.compile(r"(top|middle|bottom) (left|center|right)")  # Plotly's form
MARKUP = re.compile(r"<[^>]*>?|%\{[^}]*\}|\{[^}]*\}")


def unsaid(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of strings that are read but not passed to `say`."""
    tree = ast.parse(source)
    skipped = {id(node.body[0].value) for node in ast.walk(tree) if _has_docstring(node)}
    yield from _unsaid(tree, skipped, is_shown=False)


def _has_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and bool(
        ast.get_docstring(node)
    )


def _unsaid(node: ast.AST, skipped: set[int], is_shown: bool) -> Iterator[tuple[int, str]]:
    if id(node) in skipped:
        return
    if isinstance(node, ast.Constant | ast.JoinedStr):
        text = _text(node)
        is_read = PROSE.search(text) or (is_shown and WORD.search(text))
        if is_read and text not in PRESETS and not text.startswith(DATA) | _is_place(text):
            yield node.lineno, text
        if isinstance(node, ast.Constant):
            return
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
        if called in SAID | UNREAD:
            return
        yield from _unsaid(node.func, skipped, is_shown=False)
        for place, argument in enumerate(node.args):
            is_read = place < (called in CALLED) + 2 * (called in TABLES) or (
                called in FIELDS and place == 2
            )
            yield from _unsaid(argument, skipped, is_read)
        for keyword in node.keywords:
            yield from _unsaid(keyword.value, skipped, keyword.arg in SHOWN)
        return
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Call) and _name(key.func) == "marked":
                continue  # an example, by its name
            is_read = isinstance(key, ast.Constant) and key.value in SHOWN
            yield from _unsaid(value, skipped, is_read)
        return
    if isinstance(node, ast.AnnAssign) and _name(node.target) in INPUTS:
        return
    if isinstance(node, ast.Assign):
        if any(_name(one) in TEXTS for one in node.targets):
            return
        yield from _unsaid(node.value, skipped, any(_name(one) in SHOWN for one in node.targets))
        return
    if isinstance(node, ast.Subscript | ast.Compare | ast.FormattedValue):
        is_shown = False
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
            yield from _unsaid(child, skipped, is_shown)


def _is_place(text: str) -> bool:
    return PLACE.fullmatch(text) is not None


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    """Return the readable part of a text, without figures and the marks of HTML and Plotly."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
        return MARKUP.sub("…", "".join(parts))
    return MARKUP.sub("…", node.value) if isinstance(node.value, str) else ""


@pytest.mark.parametrize("folder", FOLDERS)
def test_visible_text_is_marked_for_translation(folder):
    found = [
        f"{file.relative_to(UI)}:{line}: {text}"
        for file in sorted((UI / folder).rglob("*.py"))
        if file.relative_to(UI).as_posix() not in PROMPTS
        for line, text in unsaid(file.read_text("utf-8"))
    ]
    assert not found, "\n".join(["give these to `say` or `marked`:", *found])


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("words = 'It holds so far'", ["It holds so far"]),
        ("st.button('Measure', key='cache_start')", ["Measure"]),
        ("st.caption(f'{n} positions')", ["… positions"]),
        ("st.caption(say('It holds so far'))", []),
        ("chart('key', say('Name'), f'{n} ms')", []),
        ("figure.update_layout(xaxis={'title': 'positions', 'type': 'log'})", ["positions"]),
        ("head = ('layers', say('bytes'))", ["layers"]),
        ("def f():\n    'Two words of a docstring.'\n    return names['a b']", []),
    ],
)
def test_scan_finds_text_not_marked_for_translation(source, texts):
    assert [text for _, text in unsaid(source)] == texts
