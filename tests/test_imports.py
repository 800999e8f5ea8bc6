"""The public door, and a module without torch; `lint-imports` holds which way imports point."""

import subprocess
import sys
from pathlib import Path

import engine

ROOT = Path(__file__).resolve().parents[1]


def test_admission_is_imported_without_torch():
    code = "import sys, engine.sampling.admission; sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr or "it brings torch along"


def test_every_public_name_is_there_and_is_offered():
    assert dir(engine) == sorted(engine.__all__)
    assert [name for name in engine.__all__ if getattr(engine, name).__name__ != name] == []
