"""The documents name existing files, and the architecture's tables name all packages."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PATH = re.compile(r"`((?:engine|ui|pages|models|benchmarks|tests|lessons)/[\w./]*)`")
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def test_every_path_and_link_leads_somewhere():
    missing = []
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")):
        text = document.read_text()
        missing += [path for path in _PATH.findall(text) if not (ROOT / path).exists()]
        missing += [link for link in _LINK.findall(text) if not (document.parent / link).exists()]
    assert not missing


def test_architecture_tables_list_every_package():
    named = "\n".join(_PATH.findall((ROOT / "docs" / "architecture.md").read_text()))
    folders = {
        f"{at}/{path.parent.name}/"
        for at in ("engine", "ui")
        for path in (ROOT / at).glob("*/__init__.py")
    }
    assert not [folder for folder in folders if folder not in named]
