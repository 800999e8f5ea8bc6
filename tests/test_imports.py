"""The public interface, and a module without torch; `lint-imports` checks the import directions."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_admission_is_imported_without_torch():
    code = "import sys, engine.sampling.admission; sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr or "it brings torch along"


DOORS = [ROOT / "engine", *(path.parent for path in sorted(ROOT.glob("engine/*/__init__.py")))]


@pytest.mark.parametrize("folder", DOORS, ids=lambda folder: folder.name)
def test_public_names_exist_and_shadow_no_module(folder):
    door = import_module(".".join(folder.relative_to(ROOT).parts))
    names = door.__all__
    assert [name for name in names if not hasattr(door, name)] == []
    # Importing a module of the same name would replace the package's public name with the module.
    assert set(names).isdisjoint(path.stem for path in folder.iterdir())
    assert set(names) <= set(dir(door))


def test_pages_and_documents_import_only_public_names():
    code = [path.read_text("utf-8") for path in (ROOT / "app.py", *ROOT.glob("pages/*.py"))]
    documents = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    for document in documents:
        code += re.findall(r"^```python\n(.*?)^```", document.read_text("utf-8"), re.M | re.S)
    found = chain.from_iterable(ast.walk(ast.parse(text)) for text in code)
    imports = [node for node in found if isinstance(node, ast.ImportFrom)]
    inner = [node for node in imports if node.module.split(".")[0] == "engine"]
    assert len(inner) > 5
    for node in inner:
        offered = getattr(import_module(node.module), "__all__", ())
        assert {name.name for name in node.names} <= set(offered), f"{node.module} is no door"
        assert node.module.count(".") < 2, f"{node.module} is behind a door"
