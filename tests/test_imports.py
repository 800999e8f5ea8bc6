"""A module that needs no torch; `lint-imports` holds which way imports point."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_admission_is_imported_without_torch():
    code = "import sys, engine.sampling.admission; sys.exit('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr or "it brings torch along"
