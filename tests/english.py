"""Find words in docstrings and comments that docs/style.md bans: `python -m tests.english`.

It is part of `make lint`, and exits with 1 if it finds any.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = ("app.py", "pages", "engine", "ui", "models", "benchmarks", "tests")
SCRIPTS = ("ui/components", "tests/ui/components", "tests/browser")

BANNED = re.compile(
    r"\b(nobody|somebody|anew|whoever|so many|any more|just now|thereby|meanwhile|goes? on)\b",
    re.IGNORECASE,
)
FIRST = re.compile(r"(What|Whether|Where|Who|Whose|Whom|How|Of|Why|When|Which)\b")
SCRIPT_COMMENT = re.compile(r"/\*.*?\*/|(?<![:'\"`])//[^\n]*", re.DOTALL)
CODE = re.compile(r"`[^`]*`|\"[^\"]*\"")  # names and quotations say what they must
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def faults(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the fault of each banned word in a file."""
    source = path.read_text("utf-8")
    for line, text in _python(source) if path.suffix == ".py" else _script(source):
        for found in BANNED.finditer(CODE.sub("", text)):
            yield line, f'"{found[0]}"'
        if text.startswith('"""') and (found := FIRST.match(text, 3)):
            yield line, f'a docstring that begins with "{found[0]}"'


def _python(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, f'"""{text}'
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _script(source: str) -> Iterator[tuple[int, str]]:
    for found in SCRIPT_COMMENT.finditer(source):
        yield source.count("\n", 0, found.start()) + 1, found[0]


def files() -> Iterator[Path]:
    """All files whose words are held to the rules."""
    for name in PYTHON:
        yield from [ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.py")
    for name in SCRIPTS:
        for suffix in ("js", "css"):
            yield from (ROOT / name).rglob(f"*.{suffix}")


def main() -> int:
    """Print the faults; returns the exit status."""
    found = [(path, *fault) for path in files() for fault in faults(path)]
    for path, line, fault in found:
        print(f"{path.relative_to(ROOT)}:{line}: {fault}; see docs/style.md")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
