"""Modules that need no torch; `lint-imports` holds which way imports point."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("module", ["engine.sampling.admission", "engine.trace"])
def test_it_is_imported_without_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr or f"import {module} brings torch along"
