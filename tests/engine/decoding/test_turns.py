"""Work other than forward passes takes turns too: it never waits for all of a long pass."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from engine.decoding.contrastive import ContrastiveSearch
from engine.model.preemption import layers_of
from engine.runner.scheduler import SCHEDULER, Kind
from tests.engine import tiny_models

WAITS = 1.0  # seconds that a long pass gives another thread to queue up


def a_fork_of_contrastive_search(model):
    search = ContrastiveSearch(model, [1, 2, 3])
    search.step()
    return search.fork


def test_short_work_runs_between_layers_of_long_passes(monkeypatch):
    model = tiny_models.shared("llama")
    work, is_halfway, order = a_fork_of_contrastive_search(model), threading.Event(), []
    turn = SCHEDULER.turn

    @contextmanager
    def noted(kind: Kind) -> Iterator[object]:
        with turn(kind) as own:
            order.append(kind)
            yield own

    def hold(*_: object) -> None:
        is_halfway.set()
        end = time.monotonic() + WAITS
        while not SCHEDULER.line()["step"] and time.monotonic() < end:
            time.sleep(0.002)

    def long_pass() -> None:
        with SCHEDULER.turn(Kind.BATCH):
            model.forward_rows([[1, 2, 3]] * 2, model.new_cache(), 0)

    monkeypatch.setattr(SCHEDULER, "turn", noted)
    first, *_, last = layers_of(model.hf)
    hooks = [
        first.register_forward_hook(hold),
        last.register_forward_hook(lambda *_: order.append("last layer")),
    ]
    thread = threading.Thread(target=long_pass)
    try:
        thread.start()
        assert is_halfway.wait(10)
        work()
    finally:
        thread.join()
        for hook in hooks:
            hook.remove()
    assert order[:2] == [Kind.BATCH, Kind.STEP] and "last layer" in order[2:], (
        "it should run while the long pass stands still"
    )
