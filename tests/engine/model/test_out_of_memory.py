"""Memory that really runs out: allocations under a limit that the system sets."""

import subprocess
import sys

import pytest

# Two processes that import the engine; the short forms simulate these errors (see test_weights.py
# and the tests of the runner).
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit"),
]

START = """
import resource, sys
import torch
from engine.errors import OutOfMemoryError
from engine.model import LanguageModel, load_model
from engine.model.loaded import is_out_of_memory
from tests.engine.model.loading.folders import tiny_model, tiny_tokenizer
torch.set_num_threads(1)

def limit(megabytes):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


def told_by(code: str, *arguments: str) -> list[str]:
    """Run code in a separate process and return the lines that it prints."""
    command = [sys.executable, "-c", START + code, *arguments]
    return subprocess.run(
        command, stdout=subprocess.PIPE, check=True, text=True
    ).stdout.splitlines()


def test_failed_allocations_and_passes_are_reported():
    *allocations, told = told_by("""
model = LanguageModel(tiny_model(intermediate_size=80_000))
limit(100)
for allocate in (lambda: torch.empty(2**40), lambda: bytearray(2**40)):
    try:
        allocate()
    except Exception as error:
        print(type(error).__name__, is_out_of_memory(error))
try:
    model.forward([1] * 2_000, model.new_cache(), 0)
except OutOfMemoryError as error:
    print(error)
""")
    assert allocations == ["RuntimeError True", "MemoryError True"]
    assert told.startswith("cpu ran out of memory with 2,000 new positions;")


def test_model_over_memory_limit_is_not_called_damaged(tmp_path):
    code = """
small, large = sys.argv[1:]
tiny_model().save_pretrained(small)
tiny_model(intermediate_size=200_000).save_pretrained(large)  # 150 MB
for folder in (small, large):
    tiny_tokenizer().save_pretrained(folder)
load_model(small)  # all that loading imports is there before the limit
limit(40)
try:
    load_model(large)
except OutOfMemoryError as error:
    print(error)
"""
    (told,) = told_by(code, str(tmp_path / "small"), str(tmp_path / "large"))
    assert (
        told == "cpu does not have enough memory for large; use a smaller model or a smaller dtype."
    )
