"""Guarded processes: limits, ends, and leftovers."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from engine.errors import CancelledError
from engine.guarded import Child, EndedError, TooLargeError, TooLongError, asking
from engine.guarded import process as module

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = "tests.engine.guarded.programs"
HERE = f"from engine.guarded import Child\nchild = Child({PROGRAM!r}, 120.0, 200)\n"
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit")


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    made = Child(PROGRAM, 0.2, 200)
    yield made
    made.end()


def pid_of(child: Child) -> int:
    return child.ask({"kind": "tell"})[0]["process"]


def is_alive(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def has_ended(pid: int, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_alive(pid)


def test_one_process_answers_request_after_request(child):
    first = pid_of(child)
    for data in (b"", b"\x00abc\n", bytes(range(256)) * 4000):
        answer, reversed_ = child.ask({"kind": "tell"}, data)
        assert reversed_ == data[::-1] and answer == {"process": first}, "what it prints is lost"


def test_threads_get_their_own_answers(child):
    with ThreadPoolExecutor(4) as pool:
        sent = [str(number).encode() * 999 for number in range(40)]
        found = pool.map(lambda data: child.ask({"kind": "tell"}, data)[1], sent)
        assert list(found) == [data[::-1] for data in sent]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"kind": "spin"}, TooLongError),
        pytest.param({"kind": "eat", "bytes": 300 * 2**20}, TooLargeError, marks=ON_LINUX),
        ({"kind": "abort"}, TooLargeError),
        ({"kind": "die"}, EndedError),
    ],
)
def test_runaway_process_is_ended_and_replaced(child, request_, error):
    before, starts = pid_of(child), child.starts
    with pytest.raises(error):
        child.ask(request_)
    assert not is_alive(before)
    assert child.process is not None, "another one is started before it is asked for"
    assert pid_of(child) != before and child.starts == starts + 1


def test_sleeping_process_is_ended_by_wall_clock(child, monkeypatch):
    monkeypatch.setattr(module, "WALL", 1.0)
    with pytest.raises(TooLongError):
        child.ask({"kind": "sleep"})


@ON_LINUX
def test_process_that_retains_memory_is_replaced(child):
    first = pid_of(child)
    for _ in range(6):
        assert child.ask({"kind": "keep", "bytes": 190 * 2**20}, b"ab")[1] == b"ba"
    assert pid_of(child) != first, "no request was refused, and none was lost"


def test_request_is_cancelled_when_caller_gives_up(child):
    gives_up = threading.Event()
    threading.Timer(0.2, gives_up.set).start()
    with asking(gives_up=gives_up.is_set), pytest.raises(CancelledError):
        child.ask({"kind": "sleep"})
    assert pid_of(child)


def test_interrupt_leaves_no_stale_answer(child, monkeypatch):
    receive = module.receive

    def interrupted(pipe):
        receive(pipe)
        raise KeyboardInterrupt

    pid_of(child)
    with monkeypatch.context() as patched:
        patched.setattr(module, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            child.ask({"kind": "tell"}, b"old")
    assert child.ask({"kind": "tell"}, b"new")[1] == b"wen"


@pytest.mark.parametrize("is_new", [False, True])
def test_process_ended_while_answering_is_not_reused(monkeypatch, is_new):
    child, receive, gives_up = Child(PROGRAM, 0.2, 200), module.receive, threading.Event()

    def ended_just_then(pipe):
        message = receive(pipe)
        gives_up.set()
        child.look()
        return message

    if not is_new:
        pid_of(child)
    with monkeypatch.context() as patched, asking(gives_up=gives_up.is_set):
        patched.setattr(module, "receive", ended_just_then)
        if is_new:
            with pytest.raises(CancelledError):
                child.ask({"kind": "tell"}, b"old")
        else:
            assert child.ask({"kind": "tell"}, b"old")[1] == b"dlo"
            assert child.process is None
    assert child.ask({"kind": "tell"}, b"new")[1] == b"wen"
    child.end()


def test_failure_to_start_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(EndedError, match="No such file"):
        Child(PROGRAM, 0.2, 200).ask({"kind": "tell"})


def started(code: str) -> tuple[subprocess.Popen, int]:
    """A separate parent process, and the process id that it prints."""
    parent = subprocess.Popen(
        [sys.executable, "-c", HERE + code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    return parent, int(parent.stdout.readline())


ASKS = (
    "import threading, time\n"
    "print(child.ask({'kind': 'tell'})[0]['process'], flush=True)\n"
    "thread = threading.Thread(target=child.ask, args=[{'kind': 'spin'}])\n"
    "thread.start()\n"
    "time.sleep(0.2)\n"
)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_child_ends_when_its_parent_exits():
    parent, child = started(ASKS + "import atexit\natexit.register(lambda: print(child.process))\n")
    assert parent.wait(20) == 0, "it does not wait for an answer that takes two minutes"
    assert parent.stdout.read() == "None\n", "the next one was started"
    parent.stdout.close()
    assert has_ended(child)


@ON_LINUX
def test_child_ends_when_its_parent_is_killed():
    parent, child = started(ASKS.replace("'spin'", "'tell'") + "time.sleep(60)")
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert has_ended(child)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork_starts_its_own_child_process():
    code = (
        "import os\n"
        "first = child.ask({'kind': 'tell'})[0]['process']\n"
        "print(first, flush=True)\n"
        "fork = os.fork()\n"
        "found = child.ask({'kind': 'tell'}, b'ab')\n"
        "same = found[0]['process'] == first\n"
        "assert found[1] == b'ba' and same == bool(fork), (found, fork)\n"
        "if fork: assert os.waitpid(fork, 0)[1] == 0\n"
    )
    parent, child = started(code)
    parent.stdout.close()
    assert parent.wait(20) == 0
    assert has_ended(child)


def test_child_ignores_ctrl_c(child):
    before = pid_of(child)
    os.kill(before, signal.SIGINT)
    assert pid_of(child) == before
