"""Small files that would take a lot of memory: refused before they are unpacked."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import TraceError
from engine.trace import Trace, files
from tests.engine.traces import EXAMPLE, EXAMPLE_STEP

ROOT = Path(__file__).resolve().parents[2]
MB = 2**20
MOST = 40 * MB  # limit on the memory that a refusal may add
HEAD = b'{"format":"decoding-trace","version":2,"strategy":"sampling","x":['
# Prints the memory that loading a file adds, and the refusal.
LOAD = """
import json, re, resource, sys
from pathlib import Path
from engine.errors import TraceError
from engine.trace import Trace

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the parent's memory in ru_maxrss
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before, said = peak(), None
try:
    Trace.load(sys.argv[1])
except TraceError as error:
    said = str(error)
print(json.dumps([peak() - before, said]))
"""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(
            b"[" + b"[]," * 2_000_000 + b"[]]", "lists", id="lists", marks=pytest.mark.long
        ),
        pytest.param(
            b"[" + b"1.5," * 5_100_000 + b"1.5]", "values", id="numbers", marks=pytest.mark.long
        ),
        pytest.param(HEAD + b"[]," * 900_000 + b"[]]}", "x is not known", id="unknown part"),
    ],
)
def test_memory_filling_file_is_refused_before_unpacking(content: bytes, said: str, tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(content)
    command = [sys.executable, "-c", LOAD, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    grown, message = json.loads(done.stdout)
    assert message is not None, "the file was taken"
    assert grown < MOST + len(content), f"{len(content):,} bytes took {grown:,}: {message}"
    assert len(message) <= 500 and said in message


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        ("MAX_STEPS", 2, "2 steps"),
        ("MAX_FILE_BYTES", 500, "500 bytes"),
        ("MAX_VALUES", 50, "50 values"),
        ("MAX_OBJECTS", 10, "10 lists"),
        ("MAX_OBJECTS", 20, "20 lists and objects"),
    ],
)
def test_trace_over_the_limits_is_not_saved(limit, most, said, tmp_path, monkeypatch):
    monkeypatch.setattr(files, limit, most)
    with pytest.raises(TraceError, match=f"more than {said}"):
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
    with pytest.raises(TraceError, match="regular file"):
        Trace.load(tmp_path / "run.json")
