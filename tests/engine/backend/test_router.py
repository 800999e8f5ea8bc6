"""Texts on two llama.cpp servers behind vLLM's router, one of which is killed."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from engine import Decoder, SamplingSettings, connect
from engine.errors import ServerError
from tests.engine.backend.llama_server import LlamaServer
from tests.engine.backend.router import Router
from tests.engine.gguf_files import write_gguf

TARGET = Path(__file__).parents[3] / "models" / "target"
SETTINGS = SamplingSettings(temperature=0.9, top_k=100, top_p=0.95)
TEXTS, BEFORE, ALL = 8, 4, 12
RETURN_S = 120.0


@pytest.fixture
def workers(tmp_path):
    files = [tmp_path / "one" / "target.gguf", tmp_path / "two" / "target.gguf"]
    for file in files:
        file.parent.mkdir()
    write_gguf(TARGET, files[0])
    files[1].hardlink_to(files[0])
    with LlamaServer(files[0]) as one, LlamaServer(files[1]) as two:
        yield one, two


def passes(worker):
    """Return how many passes a worker has done."""
    lines = httpx2.get(f"{worker.address}/metrics", trust_env=False).text.splitlines()
    name = "llamacpp:n_decode_total"
    return next(float(line.split()[1]) for line in lines if line.startswith(name))


def steps(decoder, count):
    """Take steps; return the seconds of the longest one."""
    longest = 0.0
    for _ in range(count):
        start = time.monotonic()
        decoder.step()
        longest = max(longest, time.monotonic() - start)
    return longest


def reused(decoder):
    """Return how many tokens the text's worker lacked, and how many it reused."""
    return decoder._runner.last.read, decoder._runner.last.reused


@pytest.mark.long
def test_texts_continue_when_a_worker_is_killed(workers, tmp_path, monkeypatch):
    with Router([worker.address for worker in workers], tmp_path / "router.log") as router:
        model = connect(router.address)
        texts = [
            Decoder(model, "Once upon a time", SETTINGS.replace(seed=seed)) for seed in range(TEXTS)
        ]
        on = {worker: [] for worker in workers}
        for text in texts:
            before = [passes(worker) for worker in workers]
            steps(text, BEFORE)
            assert reused(text) == (1, len(text.prompt_ids) + BEFORE - 2)
            busy = [w for w, count in zip(workers, before, strict=True) if passes(w) > count]
            assert len(busy) == 1  # the text stays on one worker
            on[busy[0]].append(text)
        killed, left = sorted(workers, key=lambda worker: -len(on[worker]))
        kept = [text.token_ids for text in texts]

        with ThreadPoolExecutor(TEXTS) as threads:
            going = [threads.submit(steps, text, ALL - BEFORE) for text in texts]
            while min(len(text.steps) for text in on[killed]) < BEFORE + 2:
                time.sleep(0.01)
            killed.kill()
            print(f"longest step: {max(each.result() for each in going):.1f} s")
        assert [text.token_ids[:BEFORE] for text in texts] == kept
        assert all(len(text.steps) == ALL for text in texts)
        assert all(reused(text)[1] > 0 for text in on[killed])  # the other worker keeps it now

        killed.start()
        start = time.monotonic()
        while not passes(killed):
            assert time.monotonic() < start + RETURN_S
            for text in on[killed]:
                text.step()
        print(f"the worker is used again after {time.monotonic() - start:.1f} s")

        monkeypatch.setattr("engine.backend.client.RETRY_S", 0.0)
        killed.kill()
        left.kill()
        length = len(texts[0].steps)
        with pytest.raises(ServerError, match="The text is kept"):
            texts[0].step()
        assert len(texts[0].steps) == length
