"""What is no forward pass takes its turn too: it never waits for the whole of a long pass."""

import threading
import time

import pytest

from engine.decoder import Decoder
from engine.decoding.contrastive import ContrastiveSearch
from engine.model.pauses import layers_of
from engine.runner.scheduler import SCHEDULER, Kind, job
from tests.engine import tiny_models
from tests.engine.runs import sampling

WAITS = 1.0  # seconds that a long pass gives another thread to come into line


def a_recorded_row(model):
    decoder = Decoder(model, [1, 2, 3], sampling(1))
    decoder.step()
    decoder.release_rows()
    return lambda: decoder.logits(0)


def a_guided_row(model):
    decoder = Decoder(model, [1, 2, 3], sampling(1), negative_prompt=[4, 5], guidance_scale=1.5)
    decoder.step()
    return lambda: decoder.guided_rows(0)


def a_fork_of_contrastive_search(model):
    search = ContrastiveSearch(model, [1, 2, 3])
    search.step()
    return search.fork


@pytest.mark.parametrize("prepared", [a_recorded_row, a_guided_row, a_fork_of_contrastive_search])
def test_short_work_goes_between_two_layers_of_a_long_pass(prepared):
    model = tiny_models.shared("llama")
    work, is_halfway, start = prepared(model), threading.Event(), time.monotonic()

    def hold(*_: object) -> None:
        is_halfway.set()
        end = time.monotonic() + WAITS
        while not SCHEDULER.look().waiting and time.monotonic() < end:
            time.sleep(0.002)

    def long_pass() -> None:
        with SCHEDULER.turn(Kind.BATCH):
            model.forward_rows([[1, 2, 3]] * 2, model.new_cache(), 0)

    hook = layers_of(model.hf)[0].register_forward_hook(hold)
    thread = threading.Thread(target=long_pass)
    try:
        thread.start()
        assert is_halfway.wait(10)
        work()
    finally:
        thread.join()
        hook.remove()
    kinds = [one.kind for one in SCHEDULER.look().recent if one.began >= start]
    assert kinds[:2] == [Kind.BATCH, Kind.STEP] and Kind.BATCH in kinds[2:], (
        "it should run while the long pass stands still"
    )


def test_a_cancelled_job_still_shows_a_recorded_row():
    model = tiny_models.shared("llama")
    row = a_recorded_row(model)
    with job(lambda: True):
        assert row().shape == (tiny_models.VOCAB,)
