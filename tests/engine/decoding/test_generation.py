"""Guarantees that every strategy keeps, tried on all strategies."""

from collections.abc import Callable
from dataclasses import fields
from functools import cache, partial

import pytest
import torch

from engine.decoder import Decoder
from engine.decoding.beam import BeamSearch, BeamSettings
from engine.decoding.contrastive import ContrastiveSearch
from engine.decoding.diffusion import DiffusionDecoder, DiffusionSettings
from engine.decoding.generation import Generation
from engine.decoding.replay import begin as begun
from engine.decoding.replay import replay
from engine.decoding.speculative import SpeculativeDecoder
from engine.errors import LogitsError, OutOfMemoryError, SettingError
from engine.model import LanguageModel, fill_gaps, load_diffusion_model, load_model
from engine.runner.budget import budget_of
from engine.runner.scheduler import SCHEDULER
from engine.sampling import SamplingSettings
from engine.sampling.speculation import SpeculativeSettings
from engine.trace import Trace
from engine.trace.strategies import STRATEGIES
from engine.values import costs
from tests.engine import tiny_models
from tests.engine.runs import sampling

PROMPT = tiny_models.prompt(2, 14)  # with the steps, more than a sliding window holds
STEPS = 6

diffusion_model = cache(load_diffusion_model)


def sampled(architecture: str = "llama", **changes) -> Generation:
    return Decoder(tiny_models.shared(architecture), PROMPT, sampling(3, **changes))


def guided() -> Generation:
    model = tiny_models.shared("llama")
    negative = tiny_models.prompt(5, 9)
    return Decoder(model, PROMPT, sampling(3), negative_prompt=negative, guidance_scale=1.5)


def searched(architecture: str = "llama") -> Generation:
    return ContrastiveSearch(tiny_models.shared(architecture), PROMPT, 4, 0.6)


def filled() -> Generation:
    model = diffusion_model()
    settings = DiffusionSettings(steps=STEPS, temperature=0.9, seed=7)
    return DiffusionDecoder(model, fill_gaps(model, "The [6] sat on the mat."), settings)


def beamed(architecture: str = "llama") -> Generation:
    settings = BeamSettings(width=4, groups=2, diversity_penalty=0.5, max_new_tokens=STEPS)
    return BeamSearch(tiny_models.shared(architecture), PROMPT, settings)


@cache
def bundled(source: str) -> LanguageModel:
    return load_model(source, dtype="float32")


SPECULATIVE = SpeculativeSettings(SamplingSettings(temperature=1.2, seed=3), draft_length=3)


def speculated() -> Generation:
    target, draft = tiny_models.shared("llama"), tiny_models.shared("llama", 1)
    return SpeculativeDecoder(target, PROMPT, draft, SPECULATIVE)


def speculated_by_name() -> Generation:
    target, draft = bundled("bundled"), bundled("bundled-draft")
    return SpeculativeDecoder(target, "Anna and Tom", draft, SPECULATIVE)


BEGINNINGS = {
    "sampling": sampled,
    "guidance": guided,
    "contrastive": searched,
    "diffusion": filled,
    "beam": beamed,
    "speculative": speculated,
}
every_strategy = pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
# Windows and recurrent states cannot be cropped. (Guidance has a test of its own.)
OTHER_CACHES = BEGINNINGS | {
    f"{begin.__name__} {architecture}": partial(begin, architecture)
    for begin, architecture in [
        (sampled, "mistral"),
        (sampled, "falcon_h1"),
        (searched, "mamba"),
        (beamed, "mistral"),
        (beamed, "mamba"),
    ]
}
OTHER_CACHES["parity"] = partial(sampled, parity=True)
every_cache = pytest.mark.parametrize("begin", OTHER_CACHES.values(), ids=OTHER_CACHES)


def tokens(generation: Generation) -> list:
    trace = generation.trace()
    return [trace.tokens_of(step) for step in trace.steps]


def figures(generation: Generation) -> list[tuple]:
    """The parts of every step that repeat: neither its cost nor the limit of a run.

    Some strategies read tokens together that they read one by one after a rewind, which changes
    the rounding, so only their tokens are the same.
    """
    if isinstance(generation, (ContrastiveSearch, SpeculativeDecoder)):
        return tokens(generation)
    return [
        tuple(
            getattr(step, each.name)
            for each in fields(step)
            if each.name not in costs(type(step)) | {"stop_reason"}
        )
        for step in generation.steps
    ]


def test_every_strategy_is_covered_here():
    assert set(BEGINNINGS) == set(STRATEGIES)


@every_strategy
def test_run_takes_steps_up_to_its_limit(begin: Callable[[], Generation]):
    generation = begin()
    assert [step.index for step in generation.run(2)] == [0, 1]
    assert [step.index for step in generation.run(4)] == [2, 3]
    assert list(generation.run(4)) == []


@every_cache
def test_rewinding_and_running_repeats_the_steps(begin):
    generation = begin()
    once = list(generation.run(STEPS)) and figures(generation)
    text, reason = generation.text, generation.stop_reason
    for length in (4, 1, 0):
        generation.rewind(length)
        assert figures(generation) == once[:length] and generation.stop_reason is None
        list(generation.run(STEPS))
        assert figures(generation) == once and generation.text == text
        assert generation.stop_reason == reason


@every_strategy
def test_rewind_to_an_invalid_length_is_refused(begin):
    generation = begin()
    generation.step()
    for wrong in (-1, 2, 1.5, True):
        with pytest.raises(SettingError, match="length"):
            generation.rewind(wrong)
    assert len(generation.steps) == 1


@every_cache
def test_forks_do_not_affect_each_other(begin):
    generation = begin()
    list(generation.run(3))
    past = figures(generation)
    twin = generation.fork()
    assert type(twin) is type(generation) and figures(twin) == past
    list(twin.run(STEPS))
    assert figures(generation) == past
    generation.rewind(1)
    assert figures(twin)[:3] == past
    list(generation.run(STEPS))
    assert figures(generation) == figures(twin) and generation.text == twin.text


@every_cache
def test_releasing_the_cache_changes_no_figure(begin):
    lone, generation = begin(), begin()
    list(lone.run(STEPS))
    while len(generation.steps) < STEPS:
        generation.step()
        generation.release_rows()
        assert generation.release_cache()
    assert figures(generation) == figures(lone)


@pytest.mark.parametrize(
    "begin",
    # A trace names its draft, so the draft must be found again.
    (BEGINNINGS | {"speculative": speculated_by_name}).values(),
    ids=BEGINNINGS,
)
def test_trace_restarts_and_replays_every_strategy(begin, tmp_path):
    generation = begin()
    list(generation.run(3))
    trace = generation.trace()
    assert type(begun(trace, generation.model)) is type(generation)
    file = tmp_path / "trace.json"
    trace.save(file)
    assert replay(Trace.load(file), generation.model).identical


@every_strategy
def test_every_pass_takes_a_turn_with_model_threads(begin, three_threads):
    generation, seen = begin(), []

    def look(*_: object) -> None:
        seen.append((SCHEDULER.line()["running"] == 1, torch.get_num_threads()))

    hook = generation.model.hf.register_forward_pre_hook(look)
    try:
        list(generation.run(STEPS))
    finally:
        hook.remove()
    assert generation.model.kernels.threads == 1
    assert set(seen) == {(True, 1)}


@every_strategy
def test_step_retries_after_idle_caches_are_freed(begin, monkeypatch):
    lone, generation = begin(), begin()
    list(lone.run(STEPS))
    generation.step()
    idle = Decoder(tiny_models.shared("llama"), PROMPT)
    idle.step()
    full = failing_once(generation.model, monkeypatch)
    list(generation.run(STEPS))
    assert full == [] and tokens(generation) == tokens(lone)
    assert idle._runner.cache is None, "an idle cache was not given back"


@every_cache
def test_step_without_memory_leaves_the_text_unchanged(begin, monkeypatch):
    lone, generation = begin(), begin()
    list(lone.run(STEPS))
    forward = generation.model.hf.forward

    def full(*args, **kwargs):
        forward(*args, **kwargs)  # every layer has changed its cache by then
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    for taken in (0, 2):
        list(generation.run(taken))
        before = figures(generation), generation.text
        with monkeypatch.context() as patched:
            budget_of(generation.model.device).make_room()
            patched.setattr(generation.model.hf, "forward", full)
            for _ in range(2):
                with pytest.raises(OutOfMemoryError, match="memory"):
                    generation.step()
        assert (figures(generation), generation.text) == before
    list(generation.run(STEPS))
    assert figures(generation) == figures(lone)


@pytest.mark.parametrize("taken", [0, 2])
@every_cache
def test_nan_logits_leave_the_text_unchanged(begin, taken):
    lone, generation = begin(), begin()
    list(lone.run(STEPS))
    list(generation.run(taken))
    before = figures(generation), generation.text
    weight = generation.model.hf.get_input_embeddings().weight
    kept = weight.data.clone()
    weight.data.fill_(torch.nan)  # the cache takes it in, too
    try:
        for _ in range(2):
            with pytest.raises(LogitsError):
                generation.step()
    finally:
        weight.data.copy_(kept)
    assert (figures(generation), generation.text) == before
    if isinstance(generation, (Decoder, SpeculativeDecoder)):  # the others keep what was read
        list(generation.run(STEPS))
        assert figures(generation) == figures(lone)


SHAPED = [sampled, guided, filled, speculated]
SHAPED_IDS = ["sampling", "guidance", "canvas", "speculative"]


@pytest.mark.parametrize("begin", SHAPED, ids=SHAPED_IDS)
def test_shaping_without_memory_leaves_the_text_unchanged(begin, monkeypatch):
    lone, generation = begin(), begin()
    list(lone.run(STEPS))
    list(generation.run(2))
    before = tokens(generation)

    def full(*args: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("engine.decoding.shaping.shape", full)
        with pytest.raises(OutOfMemoryError, match="scores of a step"):
            generation.step()
    assert tokens(generation) == before
    list(generation.run(STEPS))
    assert tokens(generation) == tokens(lone)


def failing_once(model, monkeypatch) -> list[int]:
    forward, times = model.hf.forward, [1]

    def full_once(*args, **kwargs):
        if times:
            times.pop()
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return forward(*args, **kwargs)

    monkeypatch.setattr(model.hf, "forward", full_once)
    return times
