"""Imports point one way: `app.py`, `pages` -> `ui` -> `engine`."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ABOVE_UI = {"app", "pages", "benchmarks", "tests"}
FORBIDDEN = {  # files that start with this path -> what they must not import
    "app.py": {"pages", "benchmarks", "tests"},
    "pages/": ABOVE_UI,
    "ui/": ABOVE_UI,
    "engine/": ABOVE_UI | {"ui", "models", "lessons", "streamlit", "plotly"},
    "engine/trace/": {"torch", "transformers"},
}


def imported(source: str, path: str) -> Iterator[str]:
    """Absolute dotted names that `source` imports, at any depth, when it lies at `path`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.split("/")[: -node.level] if node.level else []
            base = ".".join([*package, *filter(None, [node.module])])
            yield from ([base] if base else [alias.name for alias in node.names])


def violations(source: str, path: str) -> list[str]:
    banned = set().union(*(names for start, names in FORBIDDEN.items() if path.startswith(start)))
    return [
        f"{path} imports {name}" for name in imported(source, path) if name.split(".")[0] in banned
    ]


def test_imports_point_one_way():
    paths = [
        ROOT / "app.py",
        *(p for d in ("pages", "ui", "engine") for p in (ROOT / d).rglob("*.py")),
    ]
    found = [
        violation
        for path in paths
        if path.exists()
        for violation in violations(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source", "caught"),
    [
        ("engine/a.py", "import plotly.express as px", "plotly.express"),
        (
            "engine/backends/a.py",
            "def f():\n    from ui.step.session import Session",
            "ui.step.session",
        ),
        ("engine/a.py", "from .model import load_model", None),
        ("engine/trace/steps.py", "if True:\n    import torch", "torch"),
        ("engine/decoder.py", "import torch", None),
        ("ui/session.py", "import streamlit, engine.sampling", None),
        ("ui/a.py", "from pages import compare", "pages"),
        ("pages/a.py", "from . import compare", "pages"),
        ("pages/a.py", "from engine.decoder import Decoder", None),
        ("app.py", "import pages.compare", "pages.compare"),
    ],
)
def test_the_check_itself_catches_violations(path, source, caught):
    assert violations(source, path) == ([f"{path} imports {caught}"] if caught else [])


# Folders and files of the engine: each imports only those before it, also for types alone.
LAYERS = [
    ["errors"],
    ["checks"],
    ["guarded"],
    ["cache_formula"],
    ["grammar"],
    ["sampling"],
    ["model"],
    ["calculator"],
    ["text", "tokenizing"],
    ["trace"],
    ["runner"],
    ["decoding"],
    ["decoder"],
    ["study", "measure", "snippets"],
    ["claims"],
    ["__init__"],
]


def of_engine(path: Path) -> str:
    """The part of the engine that a file belongs to."""
    return path.relative_to(ROOT / "engine").parts[0].removesuffix(".py")


def test_the_engine_imports_downwards_only():
    level = {part: place for place, parts in enumerate(LAYERS) for part in parts}
    upwards = []
    for path in (ROOT / "engine").rglob("*.py"):
        own = of_engine(path)
        for name in imported(path.read_text("utf-8"), path.relative_to(ROOT).as_posix()):
            other = name.split(".")[1] if name.startswith("engine.") else own
            if other != own and level[other] >= level[own]:
                upwards.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not upwards, "\n".join(upwards)


def test_sampling_needs_neither_torch_nor_a_model():
    code = "import sys, engine.sampling.admission; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_trace_opens_without_torch():
    code = "import sys, engine.trace; sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr or "import engine.trace brings torch along"
