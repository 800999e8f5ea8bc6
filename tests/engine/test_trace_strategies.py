"""One format for all strategies, and files of earlier versions."""

import functools
import json
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from engine.decoder import Decoder
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.decoding.contrastive import ContrastiveSearch
from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.decoding.speculative import SpeculativeDecoder
from engine.model import continuation, fill_gaps
from engine.model.load import load_diffusion_model
from engine.sampling import SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.trace import (
    VERSION,
    BeamStep,
    ContrastiveStep,
    DiffusionStep,
    SpeculativeStep,
    Step,
    Trace,
)
from tests.engine import tiny_models
from tests.engine.traces import OLD_TRACES

ROOT = Path(__file__).resolve().parents[2]
PROMPT = tiny_models.prompt(0)
SAMPLED = SamplingSettings(temperature=0.8, top_k=9, seed=1)


def sampled(**guidance) -> Decoder:
    text = Decoder(tiny_models.shared("llama"), PROMPT, SAMPLED, **guidance)
    list(text.run(4))
    return text


def guided() -> Decoder:
    return sampled(negative_prompt=[3], guidance_scale=1.5)


def searched() -> ContrastiveSearch:
    text = ContrastiveSearch(tiny_models.shared("llama"), PROMPT, 3, 0.5)
    list(text.run(2))
    text.penalty_alpha = 0.1
    list(text.run(4))
    text.penalty_alpha = 0.2  # for the next step
    return text


def filling(steps: int) -> DiffusionDecoder:
    model = load_diffusion_model()
    settings = DiffusionSettings(steps=3, temperature=0.7, seed=2)
    text = DiffusionDecoder(model, fill_gaps(model, "The [6] sat on the mat."), settings)
    for _ in range(steps):
        text.step()
    return text


def beamed() -> BeamSearch:
    settings = BeamSettings(width=4, groups=2, diversity_penalty=0.5, max_new_tokens=4)
    text = BeamSearch(tiny_models.shared("llama"), PROMPT, settings)
    list(text.run())
    return text


def speculated() -> SpeculativeDecoder:
    target, draft = tiny_models.shared("llama"), tiny_models.shared("llama", 1)
    settings = SpeculativeSettings(SAMPLED, draft_length=3, adaptive=True)
    text = SpeculativeDecoder(target, PROMPT, draft, settings)
    list(text.run(4))
    text.settings = settings.replace(forced_acceptance=0.5)
    list(text.run(6))
    return text


def refilling() -> DiffusionDecoder:
    """A canvas of two blocks in which committed tokens are masked again.

    The number of such tokens depends on the model's confidence, which varies with the machine's
    precision. So the text is that of the first seed with at least three.
    """
    model = load_diffusion_model()
    prompt = continuation(model, "The cat", 16)
    for seed in range(20):
        settings = DiffusionSettings(8, temperature=1.0, seed=seed, block_length=8, eta=16.0)
        text = DiffusionDecoder(model, prompt, settings)
        if sum(len(step.remasked) for step in text.run()) >= 3:
            return text
    raise AssertionError("no seed of 20 masks three committed tokens again")


STRATEGIES = {
    "sampling": (sampled, Step),
    "guidance": (guided, Step),
    "contrastive": (searched, ContrastiveStep),
    "diffusion": (refilling, DiffusionStep),
    "beam": (beamed, BeamStep),
    "speculative": (speculated, SpeculativeStep),
}


@functools.cache
def made_by(strategy: str):
    """A text made with this strategy, for tests that only read it."""
    return STRATEGIES[strategy][0]()


@pytest.fixture(params=STRATEGIES)
def made(request) -> tuple[str, object]:
    return request.param, made_by(request.param)


def test_a_trace_of_any_strategy_comes_back_equal(made, tmp_path):
    strategy, text = made
    trace = text.trace()
    loaded = Trace.load(trace.save(tmp_path / "run.json"))
    assert loaded == trace and loaded.strategy == strategy
    assert {type(step) for step in loaded.steps} == {STRATEGIES[strategy][1]}
    assert loaded.text == text.text
    wanted = list(text.ids) if strategy == "diffusion" else text.token_ids
    assert loaded.token_ids == wanted
    assert loaded.steps == tuple(text.steps)
    in_order = sorted if strategy == "speculative" else list
    columns = in_order(replace(trace, steps=()).to_frame().columns)
    filled = in_order(trace.to_frame().columns)
    if strategy in ("sampling", "guidance"):  # columns of stages follow
        filled = filled[: len(columns)]
    assert columns == filled


def test_container_is_the_same_for_all_strategies(made):
    strategy, text = made
    data = json.loads(text.trace().to_json())
    assert (data["format"], data["version"]) == ("decoding-trace", VERSION)
    assert data["strategy"] == strategy
    names = ["format", "version", "strategy", "model", "prompt", "prompt_ids", "settings"]
    guided = ["guidance"] if strategy == "guidance" else []
    spelled = ["tokens"] if strategy in ("sampling", "guidance", "contrastive") else []
    assert list(data) == [*names, "stop_strings", *guided, *spelled, "steps"]
    named = {str(each) for step in text.steps for each in step.ids}
    assert not spelled or named <= data["tokens"].keys()


def test_every_strategy_loads_without_torch(tmp_path):
    files = [
        (str(made_by(strategy).trace().save(tmp_path / f"{strategy}.json")), strategy)
        for strategy in STRATEGIES
    ]
    script = f"""
        import sys
        for name in ("torch", "transformers", "streamlit", "plotly"):
            sys.modules[name] = None      # importing it now fails
        from engine.trace import Trace
        for path, strategy in {files!r}:
            trace = Trace.load(path)
            assert trace.strategy == strategy and len(trace.to_frame()), path
            print(ascii(trace.text))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [ascii(made_by(strategy).text) for _, strategy in files]


def test_contrastive_settings_are_kept_by_step():
    assert made_by("contrastive").trace().settings == (
        (0, {"top_k": 3, "penalty_alpha": 0.5, "chain": []}),
        (2, {"top_k": 3, "penalty_alpha": 0.1, "chain": []}),
        (4, {"top_k": 3, "penalty_alpha": 0.2, "chain": []}),
    )
    text = ContrastiveSearch(tiny_models.shared("llama"), PROMPT, 3, 0.5)
    assert text.trace().settings == ((0, {"top_k": 3, "penalty_alpha": 0.5, "chain": []}),)


def test_contrastive_frame_has_one_row_per_step():
    text = made_by("contrastive")
    frame = text.trace().to_frame()
    assert frame["token_id"].tolist() == text.token_ids
    assert frame["candidates"].tolist() == [3] * 4
    step = text.steps[2]
    row = frame.iloc[2]
    assert row["penalty"] == step.candidates[step.chosen].penalty
    assert row["score"] == max(candidate.score for candidate in step.candidates)


def test_beam_frame_has_a_row_for_every_hypothesis():
    settings = BeamSettings(width=3, length_penalty=0.5, early_stopping="never", max_new_tokens=4)
    search = BeamSearch(tiny_models.shared("llama"), PROMPT, settings)
    list(search.run())
    trace = search.trace()
    assert BeamSettings.from_dict(trace.settings_at(0)) == settings
    assert trace.stop_reason == "max_tokens"
    frame = trace.to_frame()
    assert frame.groupby("index").size().tolist() == [6] * 4
    assert (frame["fate"] == "finished").sum() == 3
    assert frame["beam"].notna().groupby(frame["index"]).sum().tolist() == [3, 3, 3, 0]


def test_diffusion_frame_has_rows_per_mask_and_step():
    text = filling(3)
    trace = text.trace()
    frame = trace.to_frame()
    assert frame.groupby("index").size().tolist() == [6, 4, 2]
    assert frame.groupby("index")["kept"].sum().tolist() == [2, 2, 2]
    last = dict(enumerate(text.ids))
    for _, row in frame[frame["kept"]].iterrows():
        assert last[row["position"]] == row["token_id"]
    assert (trace.stop_reason, filling(2).trace().stop_reason) == ("filled", None)
    assert trace.text == text.text and filling(0).trace().text == filling(0).text


def test_diffusion_trace_from_before_remasking_still_loads():
    trace = Trace.load(OLD_TRACES / "diffusion-2.json")
    assert trace.text.endswith(" sat on the mat.") and len(trace.steps) == 3
    assert all(step.remasked == step.committed_confidence == () for step in trace.steps)
    assert "eta" not in trace.settings[0][1]
    model = load_diffusion_model()
    again = DiffusionDecoder.of_trace(trace, model)
    assert again.settings.eta == 0.0
    # Today's weights may fill in different tokens; each step's count and u do not change.
    steps = list(again.run())
    assert [len(step.unmasked) for step in steps] == [len(step.unmasked) for step in trace.steps]
    assert steps[0].u == trace.steps[0].u and not any(step.remasked for step in steps)
