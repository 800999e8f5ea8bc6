"""`python -m benchmarks` measures the engine, `python -m benchmarks NAME` something else."""

from __future__ import annotations

import importlib
import signal
import sys

DEFAULT = "engine"
BENCHMARKS = {  # name: module with a `main(arguments)`
    "cache": "benchmarks.cache",
    "constrained": "benchmarks.constrained",
    "engine": "benchmarks.engine",
    "measuring": "benchmarks.measuring",
    "memory": "benchmarks.memory",
    "page": "benchmarks.page.measure",
    "search_error": "benchmarks.search_error",
    "servers": "benchmarks.servers",
    "speculative": "benchmarks.speculative",
    "sweep": "benchmarks.sweep",
    "visitors": "benchmarks.visitors",
}


def main() -> int:
    """Run the benchmark that the command line names."""
    arguments = sys.argv[1:]
    name = DEFAULT
    if arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
    if name not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        print(f"There is no benchmark {name!r}; known are {known}.", file=sys.stderr)
        return 2
    importlib.import_module(BENCHMARKS[name]).main(arguments)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # its servers and browser end with it
    sys.exit(main())
