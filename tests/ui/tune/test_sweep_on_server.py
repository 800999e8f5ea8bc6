"""A sweep on a llama.cpp server that is killed and started again."""

import time
from pathlib import Path

from engine import SamplingSettings, connect
from engine.study import Axis, Sweep
from tests.engine.backend.llama_server import LlamaServer
from tests.engine.gguf_files import write_gguf
from tests.ui.tune.sweeping import PATIENCE_S
from ui.tune.sweep_job import SweepJob

TARGET = Path(__file__).parents[3] / "models" / "target"
SWEEP = Sweep(
    base=SamplingSettings(top_k=100),
    x=Axis("temperature", [0.5, 1.0]),
    prompts=["Once upon a time"],
    seeds=range(20),  # more texts than run together, so that some end before others begin
    max_tokens=3,
)


def ended(job):
    """Return temperature, seed and text of every finished text."""
    texts = job.result.texts
    return texts.loc[texts["ended"], ["x", "seed", "text"]].to_numpy().tolist()


def test_sweep_continues_when_server_restarts(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.backend.client.RETRY_S", 0.0)
    # With one slot, no text is rounded differently because of another.
    with LlamaServer(write_gguf(TARGET, tmp_path / "target.gguf"), slots=1) as server:
        model = connect(server.address)
        job = SweepJob(SWEEP, model, SWEEP.prompts).start()
        while job.texts_done < 2:
            time.sleep(0.01)
        server.kill()
        assert job.wait(PATIENCE_S)
        kept = ended(job)
        assert "cannot be reached" in job.problem and "\n" not in job.problem
        assert 2 <= len(kept) == job.texts_done < SWEEP.count

        job.start()  # the server is still away
        assert job.wait(PATIENCE_S)
        assert "cannot be reached" in job.problem and ended(job) == kept

        server.start()
        job.start()
        assert job.wait(PATIENCE_S)
        assert (job.problem, job.is_done, job.result.is_complete) == ("", True, True)
        uninterrupted = SweepJob(SWEEP, model, SWEEP.prompts).start()
        assert uninterrupted.wait(PATIENCE_S)
        assert ended(job) == ended(uninterrupted)
        assert all(text in ended(job) for text in kept)
