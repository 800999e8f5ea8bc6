"""Memory that really runs out: allocations under a limit that the system sets."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit")

SETUP = """
import resource, sys
import torch
from engine.errors import OutOfMemoryError
from engine.model import LanguageModel, load_model
from engine.model.loaded import is_out_of_memory
torch.set_num_threads(1)

def limit(megabytes):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


def run(code: str, *arguments: str) -> str:
    """What a Python process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", SETUP + code, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_an_allocation_that_fails_is_recognised():
    told = run("""
limit(200)
for allocate in (lambda: torch.empty(2**40), lambda: bytearray(2**40)):
    try:
        allocate()
    except Exception as error:
        print(type(error).__name__, is_out_of_memory(error))
""")
    assert told.splitlines() == ["RuntimeError True", "MemoryError True"]


def test_a_model_larger_than_the_limit_is_no_damaged_download(tmp_path):
    told = run(
        """
from tests.engine.model.loading.folders import tiny_model, tiny_tokenizer
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
""",
        str(tmp_path / "small"),
        str(tmp_path / "large"),
    )
    assert told == "cpu has not enough memory for large; use a smaller model or a smaller dtype."


def test_a_forward_pass_larger_than_the_limit():
    told = run("""
from tests.engine.model.loading.folders import tiny_model
model = LanguageModel(tiny_model(intermediate_size=8_192))
limit(100)
try:
    model.forward([1] * 20_000, model.new_cache(), 0)
except OutOfMemoryError as error:
    print(error)
""")
    assert told.startswith("cpu ran out of memory at 20,000 new positions; use a shorter prompt")
