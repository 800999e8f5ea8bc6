"""Memory that really runs out: allocations under a limit that the system sets."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit")

# Each test's code gets its own process, forked from one that has only imported the engine.
SERVER = """
import json, os, resource, sys, traceback
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

for line in sys.stdin:
    code, arguments, out = json.loads(line)
    if not os.fork():
        sys.argv[1:], status = arguments, 1
        try:
            with open(out, "w") as sys.stdout:
                exec(code)
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    print(os.wait()[1], flush=True)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


@pytest.fixture
def run(server, tmp_path) -> Callable[..., str]:
    """Return a function that runs code in a separate process and returns its output."""

    def told(code: str, *arguments: str) -> str:
        out = tmp_path / "told"
        print(json.dumps([code, arguments, str(out)]), file=server.stdin, flush=True)
        assert server.stdout.readline() == "0\n", "it failed; its error is above"
        return out.read_text().strip()

    return told


def test_failed_allocation_is_recognised(run):
    told = run("""
limit(200)
for allocate in (lambda: torch.empty(2**40), lambda: bytearray(2**40)):
    try:
        allocate()
    except Exception as error:
        print(type(error).__name__, is_out_of_memory(error))
""")
    assert told.splitlines() == ["RuntimeError True", "MemoryError True"]


def test_model_over_memory_limit_is_not_called_damaged(run, tmp_path):
    told = run(
        """
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


def test_forward_pass_over_memory_limit_is_reported(run):
    told = run("""
model = LanguageModel(tiny_model(intermediate_size=8_192))
limit(100)
try:
    model.forward([1] * 20_000, model.new_cache(), 0)
except OutOfMemoryError as error:
    print(error)
""")
    assert told.startswith("cpu ran out of memory at 20,000 new positions; use a shorter prompt")
