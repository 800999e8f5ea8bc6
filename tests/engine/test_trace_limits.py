"""Small files that would take a lot of memory: refused before they are unpacked."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import TraceError
from engine.trace import Trace, files
from tests.engine.traces import EXAMPLE, EXAMPLE_STEP

ROOT = Path(__file__).resolve().parents[2]
MB = 2**20
MOST = 40 * MB  # limit on the memory that a refusal may add


def many_lists(path: Path) -> Path:
    path.write_bytes(b"[" + b"[]," * 2_000_000 + b"[]]")
    return path


def many_numbers(path: Path) -> Path:
    path.write_bytes(b"[" + b"1.5," * 5_100_000 + b"1.5]")
    return path


def lists_that_nobody_reads(path: Path) -> Path:
    head = b'{"format":"decoding-trace","version":2,"strategy":"sampling","x":['
    path.write_bytes(head + b"[]," * 900_000 + b"[]]}")
    return path


# Files are loaded each time in a new process, forked from one that has only imported.
SERVER = """
import json, os, re, resource, sys, traceback
from pathlib import Path
from engine.errors import TraceError
from engine.trace import Trace

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the parent's memory in ru_maxrss
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def load(path):
    before, message = peak(), None
    try:
        Trace.load(path)
    except TraceError as error:
        message = str(error)
    return peak() - before, message

for line in sys.stdin:
    if not os.fork():
        status = 1
        try:
            print(json.dumps([load(path) for path in json.loads(line)]), flush=True)
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    if status := os.wait()[1]:
        print(json.dumps(status), flush=True)
"""


@pytest.fixture(scope="module")
def load_apart() -> Iterator[Callable[..., list[tuple[int, str | None]]]]:
    """Return a function that loads files, and returns the bytes each adds and any error message."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=ROOT, stdin=pipe, stdout=pipe, text=True
    ) as process:

        def load(*paths: Path) -> list[tuple[int, str | None]]:
            print(json.dumps([str(path) for path in paths]), file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            assert isinstance(answer, list), f"ended with {answer}; its error is above"
            return answer

        yield load


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (many_lists, "more than"),
        (many_numbers, "more than 5,000,000 values"),
        (lists_that_nobody_reads, "x is not known to this version"),
    ],
)
def test_memory_filling_file_is_refused_before_unpacking(
    make: Callable[[Path], Path], said: str, load_apart, tmp_path
):
    path = make(tmp_path / "run.json")
    size = path.stat().st_size
    ((grown, message),) = load_apart(path)
    assert message is not None, "the file was taken"
    assert grown < MOST + size, f"a file of {size:,} bytes took {grown:,}: {message}"
    assert len(message) <= 500 and said in message


def test_trace_over_the_limits_is_not_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_STEPS", 2)
    with pytest.raises(TraceError, match=r"has more than 2 steps; take one of a shorter run\."):
        EXAMPLE.save(tmp_path / "run.json")
    monkeypatch.undo()
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 500)
    with pytest.raises(TraceError, match=r"has more than 500 bytes; take one of a shorter run\."):
        EXAMPLE.save(tmp_path / "run.json")
    monkeypatch.undo()
    monkeypatch.setattr(files, "MAX_VALUES", 50)
    with pytest.raises(TraceError, match=r"has more than 50 values; take one of a shorter run\."):
        EXAMPLE.save(tmp_path / "run.json")
    assert not list(tmp_path.iterdir())


def test_longest_texts_of_a_step_round_trip(tmp_path):
    most = 2**16
    long = replace(EXAMPLE_STEP, text="é" * most, token_bytes=bytes(most), stop_string="x" * most)
    trace = replace(EXAMPLE, steps=(long,), prompt="\0" * 2**20)
    assert Trace.load(trace.save(tmp_path / "run.json")) == trace


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a thing of Unix")
def test_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(TraceError, match=r"run\.json cannot be read: it is no regular file"):
        Trace.load(tmp_path / "run.json")
