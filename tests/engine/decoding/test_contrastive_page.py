"""Contrastive search as the page uses it: forks, a changing weight, stop strings, a record."""

import json

import pytest

from engine.decoder import Decoder
from engine.decoding.contrastive import ContrastiveSearch
from engine.errors import SettingError
from engine.model import LanguageModel, load_model
from tests.engine import tiny_models

PROMPT = tiny_models.prompt(0)
each_kind = pytest.mark.parametrize("architecture", ["llama", "mistral", "falcon_h1"])


def search_of(architecture: str, steps: int = 6, **more) -> ContrastiveSearch:
    search = ContrastiveSearch(tiny_models.shared(architecture), PROMPT, 5, **more)
    list(search.run(steps))
    return search


def tokens(search: ContrastiveSearch, count: int) -> list[int]:
    return [search.step().token_id for _ in range(count)]


@each_kind
def test_fork_continues_alike_and_stays_independent(architecture):
    search = search_of(architecture)
    twin = search.fork()
    ahead = tokens(search, 4)
    assert tokens(twin, 4) == ahead
    twin.rewind(2)
    twin.penalty_alpha = 0.0
    tokens(twin, 8)
    assert search.token_ids[6:] == ahead, "what the fork did reached the first"
    search.rewind(6)
    assert tokens(search, 4) == ahead


def test_changed_weight_applies_from_the_next_step():
    search = search_of("llama", penalty_alpha=0.6)
    search.penalty_alpha = 0.1
    step = search.step()
    other = ContrastiveSearch(search.model, PROMPT + search.token_ids[:-1], 5, 0.1)
    assert step.token_id == other.step().token_id
    assert {each.penalty_alpha for each in search.steps[:-1]} == {0.6}
    assert step.penalty_alpha == 0.1
    for candidate in step.candidates:
        expected = 0.9 * candidate.probability - 0.1 * candidate.penalty
        assert candidate.score == pytest.approx(expected, abs=1e-12)
    with pytest.raises(SettingError, match=r"penalty_alpha must be from 0 to 1, got 1\.5"):
        search.penalty_alpha = 1.5
    assert search.penalty_alpha == 0.1


@pytest.mark.parametrize(
    ("architecture", "passes"), [("llama", [2, 1, 1]), ("mistral", [2, 1, 1]), ("mamba", [6, 5, 5])]
)
def test_step_counts_the_passes_it_runs(architecture, passes, monkeypatch):
    model = LanguageModel(tiny_models.build(architecture))
    runs = []
    forward = model.hf.forward
    monkeypatch.setattr(
        model.hf, "forward", lambda *given, **named: runs.append(1) or forward(*given, **named)
    )
    search = ContrastiveSearch(model, PROMPT, 5)
    for expected in passes:
        before = len(runs)
        assert search.step().passes == len(runs) - before == expected


def test_rebuilding_a_lost_cache_counts_its_passes():
    search = search_of("llama", 3)
    assert search.release_cache()
    assert search.step().passes == 1 + 3 + 1, "prompt, three steps again, the step itself"


def test_stop_strings_end_the_search():
    model = load_model()
    prompt = "Once upon a time"
    search = ContrastiveSearch(model, prompt)
    list(search.run(24))
    stop = search.text[12:16]
    stopped = ContrastiveSearch(model, prompt, stop_strings=stop)
    list(stopped.run(24))
    assert (stopped.stop_reason, stopped.steps[-1].stop_string) == ("stop_string", stop)
    assert stop in stopped.text and len(stopped.steps) < 24
    with pytest.raises(SettingError, match="stop_strings must be non-empty"):
        stopped.stop_strings = [""]


def test_step_matches_the_models_entropy_and_ranking():
    search = search_of("llama", 3)
    decoder = Decoder(search.model, PROMPT)
    for step in search.steps:
        row = decoder.next_distribution().raw
        assert step.model_entropy_bits == pytest.approx(row.entropy_bits, abs=1e-4)
        assert row.rank(step.token_id) == step.chosen + 1
        decoder.step(step.token_id)


def test_trace_saves_settings_and_steps_as_json():
    search = search_of("llama", 3)
    data = json.loads(search.trace().to_json())
    assert (data["strategy"], data["prompt_ids"]) == ("contrastive", PROMPT)
    assert data["settings"] == [[0, {"top_k": 5, "penalty_alpha": 0.6, "chain": []}]]
    assert [step["token_id"] for step in data["steps"]] == search.token_ids
    first = data["steps"][0]
    assert first["candidates"][first["chosen"]]["token_id"] == first["token_id"]
    assert first["token_bytes"] == search.steps[0].token_bytes.hex()
