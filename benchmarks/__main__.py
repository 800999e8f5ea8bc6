"""`python -m benchmarks` measures the engine, `python -m benchmarks NAME` another module here."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

DEFAULT = "engine"
_SHARED = {"report", "timing"}  # helpers, no benchmarks of their own


def names() -> list[str]:
    """The benchmarks in this folder: every module with a `main(arguments)`."""
    files = (path.stem for path in Path(__file__).parent.glob("*.py"))
    return sorted(name for name in files if not name.startswith("_") and name not in _SHARED)


def main() -> int:
    """Run the benchmark that the command line names."""
    arguments = sys.argv[1:]
    name = DEFAULT
    if arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
    if name not in names():
        print(f"There is no benchmark {name!r}; known are {', '.join(names())}.", file=sys.stderr)
        return 2
    importlib.import_module(f"benchmarks.{name}").main(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
