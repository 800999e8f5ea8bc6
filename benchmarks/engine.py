"""Speed and memory of the engine, against the bare model, against transformers, against the memory.

    python -m benchmarks.engine [--sizes bundled,0.13B,0.5B] [--steps N] [--rounds N] [--quick]

Models other than the bundled one have the shapes of well-known ones and random weights, with the
last norm scaled so that their logits are about as sharp as a trained model's. Speed depends on the
shapes, not on what the weights say.
"""

from __future__ import annotations

import argparse
import gc
import math
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from transformers import (
    AutoModelForCausalLM,
    DynamicCache,
    GenerationConfig,
    LlamaConfig,
    LogitsProcessorList,
    PretrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    StoppingCriteria,
    StoppingCriteriaList,
)
from transformers.utils import logging as transformers_logging

from benchmarks.report import Report, at_least, at_most
from benchmarks.timing import Case, Times, in_turns, ratio, timed_ms
from engine.decoder import Decoder
from engine.kernels import ENGINE_LOCK, Kernels, fastest_cpu_dtype, keep_freed_memory
from engine.model import LanguageModel, load_model
from engine.sampling import (
    Context,
    Dry,
    DynamicTemperature,
    Mirostat,
    SamplingSettings,
    Xtc,
    shape,
)
from engine.trace import StageSummary

BUNDLED = "bundled"
PROMPT_TOKENS = 64
IN_A_ROW = 4  # steps of one decoder before the next one has its turn, as caches would have it
LOGIT_SPREAD = 4.0  # standard deviation of a trained model's logits, roughly
FLAT_SPREAD = 0.6  # of an untrained one's: the worst case for top-p, half the vocabulary survives
TEXT = "Once upon a time there was a small village by the sea. The people there told stories. " * 60

SETTINGS = {
    "T 0.8, top-k 50, top-p 0.9, rep. 1.1": SamplingSettings(
        temperature=0.8, top_k=50, top_p=0.9, repetition_penalty=1.1
    ),
    "top-p 0.9": SamplingSettings(top_p=0.9),
}
COMMON = next(iter(SETTINGS))
PIPELINES = {
    COMMON: SETTINGS[COMMON],
    "T 0.8, top-p 0.9": SamplingSettings(temperature=0.8, top_p=0.9),
    "T 1.5, min-p 0.05": SamplingSettings(temperature=1.5, min_p=0.05),
    "T 1, nothing cut": SamplingSettings(),
    "every stage": SamplingSettings(
        logit_bias={5: 1.0, 900: -2.0},
        repetition_penalty=1.1,
        presence_penalty=0.2,
        frequency_penalty=0.2,
        dry=Dry(),
        no_repeat_ngram=3,
        banned=[[7], [1, 2, 3]],
        min_new_tokens=8,
        temperature=0.9,
        dynamic_temperature=DynamicTemperature(0.8, 1.2),
        top_h=0.95,
        top_k=50,
        top_p=0.95,
        min_p=0.01,
        typical_p=0.95,
        epsilon_cutoff=3e-4,
        eta_cutoff=3e-4,
        top_n_sigma=3.0,
        tail_free=0.98,
        xtc=Xtc(),
        mirostat=Mirostat(),
    ),
}
VOCABULARIES = (16_384, 49_152, 151_936)


@dataclass(frozen=True)
class Size:
    """How one model is measured.

    Attributes:
        config: its shape; None for the bundled model.
        steps: decode steps per round.
        ratio: most that a recorded step may take, in bare forward passes.
        bandwidth: least share of the memory bandwidth that bf16 decoding should reach, if any.
        gpu_only: too large for a CPU.
    """

    config: Callable[[], PretrainedConfig] | None
    steps: int
    ratio: float | None = None
    bandwidth: float | None = None
    gpu_only: bool = False


def _qwen(vocab: int, width: int, inner: int, layers: int, heads: int, kv: int, tied: bool):
    return Qwen2Config(
        vocab_size=vocab,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv,
        tie_word_embeddings=tied,
        max_position_embeddings=4096,
    )


def _llama_135m() -> LlamaConfig:
    return LlamaConfig(
        vocab_size=49_152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        tie_word_embeddings=True,
        max_position_embeddings=2048,
        bos_token_id=None,
        eos_token_id=None,
    )


SIZES = {
    BUNDLED: Size(None, steps=48, ratio=1.10),
    "0.13B": Size(_llama_135m, steps=16),
    "0.5B": Size(
        partial(_qwen, 151_936, 896, 4864, 24, 14, 2, True), steps=12, ratio=1.03, bandwidth=0.50
    ),
    "7B": Size(
        partial(_qwen, 152_064, 3584, 18_944, 28, 28, 4, False),
        steps=32,
        ratio=1.03,
        bandwidth=0.60,
        gpu_only=True,
    ),
}


@dataclass(frozen=True)
class Effort:
    """How much is measured: steps per round (None: as the size has it), rounds, quick or not."""

    steps: int | None
    rounds: int
    quick: bool


# --- models ---------------------------------------------------------------------------------------


def random_model(config: PretrainedConfig, dtype: torch.dtype, device: str) -> PreTrainedModel:
    """A model of this shape with random weights and logits of a trained model's spread."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device), torch.random.fork_rng():
            torch.manual_seed(0)
            hf = AutoModelForCausalLM.from_config(config).eval()
    finally:
        torch.set_default_dtype(before)
    hf = hf.to(dtype)
    with torch.no_grad():
        ids = torch.arange(1, 9, device=hf.device)[None]
        spread = hf(ids, use_cache=False).logits[0, -1].float().std()
        hf.base_model.norm.weight.mul_(LOGIT_SPREAD / spread)
    return hf


@cache
def default_threads() -> int:
    """Threads that PyTorch was started with; to be asked before the engine sets its own."""
    return torch.get_num_threads()


def load(name: str, dtype: torch.dtype, device: str) -> LanguageModel:
    """The model of this size as the engine runs it."""
    torch.set_num_threads(default_threads())
    if name == BUNDLED:
        model = load_model(device=device, dtype=dtype)
    else:
        model = LanguageModel(random_model(SIZES[name].config(), dtype, device), name=name)
    # `generate` must not stop early; the engine has read its end-of-text ids already.
    model.hf.generation_config = GenerationConfig(pad_token_id=0)
    return model


def chosen_dtype(name: str, device: str) -> torch.dtype:
    """The dtype that the engine would run a bf16 checkpoint of this size in."""
    torch.set_num_threads(default_threads())
    if device != "cpu":
        return torch.bfloat16
    if name == BUNDLED:
        return load_model(device="cpu").dtype
    config = SIZES[name].config()
    rows = min(config.vocab_size, 16_384)
    return fastest_cpu_dtype(torch.bfloat16, rows, config.hidden_size)


def weight_bytes(model: LanguageModel) -> int:
    """Bytes of weights that a decode step reads: all but an embedding used for look-up only."""
    total = sum(weight.numel() * weight.element_size() for weight in model.hf.parameters())
    embedding = model.hf.get_input_embeddings().weight
    if embedding is not model.hf.get_output_embeddings().weight:
        total -= embedding.numel() * embedding.element_size()
    return total


def prompt_ids(model: LanguageModel, length: int) -> list[int]:
    """A prompt of exactly this many tokens: text where the model has a tokenizer."""
    if model.tokenizer is not None:
        ids = model.vocabulary.encode(TEXT)
        return (ids * math.ceil(length / len(ids)))[:length]
    return np.random.default_rng(0).integers(0, model.vocab_size, length).tolist()


def synchronizer(model: LanguageModel) -> Callable[[], None] | None:
    """What waits for the model's device; None on a CPU."""
    return partial(torch.cuda.synchronize, model.device) if model.device.type == "cuda" else None


@contextmanager
def bare_kernels(model: LanguageModel, kernels: Kernels | None = None) -> Iterator[None]:
    """What a hand-written loop with the engine's kernels would set once, before it starts."""
    with (
        ENGINE_LOCK,
        torch.inference_mode(),
        (kernels or model.kernels).apply(tokens=1),
    ):
        yield


@contextmanager
def default_kernels() -> Iterator[None]:
    """PyTorch as a user of transformers has it."""
    before = torch.get_num_threads()
    torch.set_num_threads(default_threads())
    try:
        yield
    finally:
        torch.set_num_threads(before)


class BareLoop:
    """The cheapest loop there is: forward, argmax, and nothing kept."""

    def __init__(self, model: LanguageModel, ids: Sequence[int]) -> None:
        self._hf = model.hf
        self._device = model.device
        self._cache = DynamicCache(config=model.hf.config)
        with torch.inference_mode():
            self._token = self._forward(ids)

    def step(self) -> None:
        """One token."""
        self._token = self._forward([self._token])

    def _forward(self, ids: Sequence[int]) -> int:
        output = self._hf(
            input_ids=torch.tensor([ids], device=self._device),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return int(output.logits[0, -1].argmax())


# --- what is measured for one model ---------------------------------------------------------------


def measure_steps(
    report: Report, model: LanguageModel, size: Size, effort: Effort, *, is_goal: bool
) -> dict[str, Times]:
    """Recorded steps against bare forward passes, a few of each in turns."""
    steps = effort.steps or size.steps
    ids = prompt_ids(model, PROMPT_TOKENS)
    flat = SamplingSettings(temperature=LOGIT_SPREAD / FLAT_SPREAD, top_p=0.9)
    settings = SETTINGS | {"top-p 0.9, flat": flat}
    times: dict[str, Times] = {}
    last: dict[str, list] = {}
    for _ in range(effort.rounds):
        bare = BareLoop(model, ids)
        cases = {"bare": Case(bare.step, partial(bare_kernels, model))}
        decoders = {name: Decoder(model, ids, values) for name, values in settings.items()}
        for name, decoder in decoders.items():
            decoder.step()  # the prefill
            cases[name] = Case(decoder.step)
        measured = in_turns(
            cases, math.ceil(steps / IN_A_ROW), in_a_row=IN_A_ROW, synchronize=synchronizer(model)
        )
        for name, values in measured.items():
            times.setdefault(name, Times()).extend(values)
        for name, decoder in decoders.items():
            last.setdefault(name, []).extend(decoder.steps[1 + IN_A_ROW :])
    bare_times = times["bare"]
    report.add(
        "bare forward pass",
        bare_times.ms,
        "ms",
        detail=f"CPU {bare_times.cpu_ms:.2f}, best {bare_times.best_ms:.2f} ms",
        **bare_times.to_dict(),
    )
    for name in settings:
        steps_taken = last[name]
        parts = {
            part: float(np.median([getattr(step, part) for step in steps_taken]))
            for part in ("forward_ms", "shape_ms", "draw_ms", "total_ms")
        }
        survivors = int(np.median([step.survivors for step in steps_taken]))
        extra = ratio(times[name], bare_times, by_wall=model.device.type != "cpu")
        goal = at_most(size.ratio) if is_goal and size.ratio and name in SETTINGS else None
        report.add(
            f"recorded / bare, {name}",
            extra.value,
            "x",
            goal=goal,
            detail=(
                f"{extra.words}; {times[name].ms:.2f} ms, shape {parts['shape_ms']:.2f}, draw "
                f"{parts['draw_ms']:.2f}; {survivors:,} tokens left, "
                f"{times[name].page_faults - bare_times.page_faults:.0f} more page faults"
            ),
            wall_ratio=extra.wall,
            cpu_ratio=extra.cpu,
            survivors=survivors,
            **times[name].to_dict(),
            **{f"step_{part}": value for part, value in parts.items()},
        )
    return times


def measure_generate(
    report: Report,
    ours: LanguageModel,
    theirs: dict[str, LanguageModel],
    size: Size,
    effort: Effort,
) -> None:
    """Tokens a second against `generate`, plain and with scores and logits, net of the prefill."""
    steps = effort.steps or size.steps
    ids = prompt_ids(ours, PROMPT_TOKENS)

    sync = synchronizer(ours) or (lambda: None)

    def our_block() -> Times:
        decoder = Decoder(ours, ids, SETTINGS[COMMON])
        decoder.step()
        sync()
        return once(lambda: [decoder.step() for _ in range(steps)])

    def their_block(model: LanguageModel, keep: bool) -> Times:
        return generate(model, ids, steps + 1, keep)

    blocks: dict[str, Callable[[], Times]] = {"ours": our_block}
    for name, model in theirs.items():
        blocks[f"generate, {name}"] = partial(their_block, model, False)
        blocks[f"generate with scores and logits, {name}"] = partial(their_block, model, True)
    times = {name: Times() for name in blocks}
    for _ in range(effort.rounds):
        for name, block in blocks.items():
            times[name].extend(block())
    ours_times = times.pop("ours")
    per_second = steps * 1e3 / ours_times.ms
    report.add(f"recorded decoding, {dtype_name(ours)}", per_second, "tokens/s", steps=steps)
    for name, values in times.items():
        goal = None
        if ours.device.type == "cpu" and name.endswith("logits, bfloat16"):
            goal = at_least(2.0)
        if ours.device.type == "cuda" and name == "generate, bfloat16":
            goal = at_least(3.0)
        gain = ratio(values, ours_times, by_wall=ours.device.type != "cpu")
        report.add(
            f"ours / {name}",
            gain.value,
            "x",
            goal=goal,
            detail=f"{gain.words}; theirs {steps * 1e3 / values.ms:.1f} tokens/s",
            wall_ratio=gain.wall,
            cpu_ratio=gain.cpu,
            their_tokens_per_s=steps * 1e3 / values.ms,
            our_tokens_per_s=per_second,
        )


def once(run: Callable[[], object]) -> Times:
    """The times of a single run."""
    return in_turns({"once": Case(run)}, 1, warm_up=0)["once"]


class FirstToken(StoppingCriteria):
    """Never stops anything; notes when the first token was there, which ends the prefill."""

    def __init__(self, synchronize: Callable[[], None] | None) -> None:
        self.wall = self.cpu = 0.0
        self._synchronize = synchronize

    def __call__(self, input_ids: torch.Tensor, scores: object, **others) -> torch.Tensor:
        if not self.wall:
            if self._synchronize:
                self._synchronize()
            self.wall, self.cpu = time.perf_counter(), time.thread_time()
        return torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)


def generate(model: LanguageModel, ids: list[int], count: int, keep: bool) -> Times:
    """`generate` as people call it, with the settings of `COMMON` and PyTorch's own kernels.

    Returns:
        The time from the first token to the end.
    """
    settings = SETTINGS[COMMON]
    config = GenerationConfig(
        do_sample=True,
        temperature=settings.temperature,
        top_k=int(settings.top_k),
        top_p=settings.top_p,
        repetition_penalty=settings.repetition_penalty,
        max_new_tokens=count,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=keep,
        output_logits=keep,
    )
    inputs = torch.tensor([ids], device=model.device)
    sync = synchronizer(model)
    first = FirstToken(sync)
    with ENGINE_LOCK, default_kernels(), torch.random.fork_rng():
        torch.manual_seed(0)
        output = model.hf.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            generation_config=config,
            stopping_criteria=StoppingCriteriaList([first]),
        )
        if sync:
            sync()
        wall, cpu = time.perf_counter() - first.wall, time.thread_time() - first.cpu
    generated = output.sequences.shape[1] - len(ids)
    if generated != count:
        raise RuntimeError(f"generate made {generated} tokens, not {count}")
    return Times([wall * 1e3], [cpu * 1e3])


def measure_bandwidth(device: torch.device, threads: int, quick: bool) -> tuple[float, str]:
    """Bytes a second at which memory can be read, and the way that was fastest.

    Reads a buffer well above the caches in several ways, with as many threads as decoding uses.
    """
    size = 2**28 if quick or device.type == "cpu" else 2**32
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    buffer = torch.ones(size // 4, dtype=torch.float32, device=device)
    half = torch.ones(size // 2, dtype=torch.bfloat16, device=device).view(-1, 4096)
    row, half_row = torch.ones(4096, device=device), torch.ones(1, 4096, device=device).bfloat16()
    ways = {
        "float32 sum": lambda: buffer.sum(),
        "float32 maximum": lambda: buffer.amax(),
        "float32 matrix times row": lambda: buffer.view(-1, 4096) @ row,
        "bf16 matrix times row": lambda: torch.nn.functional.linear(half_row, half),
    }
    sync = partial(torch.cuda.synchronize, device) if device.type == "cuda" else None
    try:
        with torch.inference_mode(), bare_flags(device):
            turns = 3 if quick else 6
            times = in_turns(
                {name: Case(run) for name, run in ways.items()}, turns, synchronize=sync
            )
    finally:
        torch.set_num_threads(before)
    way = min(times, key=lambda name: times[name].best_ms)
    return size / (times[way].best_ms * 1e-3), way


@contextmanager
def bare_flags(device: torch.device) -> Iterator[None]:
    """oneDNN off, as for single rows; nothing on a GPU."""
    with ENGINE_LOCK, Kernels(onednn=device.type != "cpu").apply(tokens=1):
        yield


def report_bandwidth(
    report: Report,
    model: LanguageModel,
    size: Size,
    times: dict[str, Times],
    floors: Sequence[tuple[float, str]],
    *,
    is_goal: bool,
) -> None:
    """The least a step can take, and how near to it we come."""
    speed, way = max(floors)
    needed = weight_bytes(model)
    floor_ms = needed / speed * 1e3
    report.add(
        "memory bandwidth",
        speed / 1e9,
        "GB/s",
        detail=f"{way}; {needed / 1e6:,.0f} MB of weights a step, at least {floor_ms:.2f} ms",
        way=way,
        weight_bytes=needed,
        floor_ms=floor_ms,
    )
    goal = at_least(size.bandwidth) if is_goal and size.bandwidth else None
    report.add("share of it reached, bare", floor_ms / times["bare"].own_ms, goal=goal)
    report.add("share of it reached, recorded", floor_ms / times[COMMON].own_ms)


def measure_kernels(report: Report, model: LanguageModel, effort: Effort) -> None:
    """Every way a decode step can run on this CPU, and whether the engine took the fastest."""
    half = model.dtype != torch.float32
    threads = sorted({1, default_threads()})
    options = [
        Kernels(onednn=onednn, threads=count)
        for onednn in ((True, False) if half else (True,))
        for count in threads
    ]
    ids = prompt_ids(model, PROMPT_TOKENS)
    loops = {kernels: BareLoop(model, ids) for kernels in options}
    cases = {kernels: Times() for kernels in options}
    for _ in range(effort.rounds):
        # A few steps of one kind, then of the next: a change of threads wakes and parks them.
        for kernels, loop in loops.items():
            run = Case(loop.step, partial(bare_kernels, model, kernels))
            cases[kernels].extend(in_turns({"step": run}, 3)["step"])
    torch.set_num_threads(default_threads())
    fastest = min(cases, key=lambda kernels: cases[kernels].ms)
    chosen = next((k for k in options if k == model.kernels), None)
    listed = "; ".join(
        f"{describe(kernels)} {times.ms:.2f} (best {times.best_ms:.2f})"
        for kernels, times in cases.items()
    )
    if chosen is not None:
        report.add(
            f"kernels chosen ({describe(chosen)}) / fastest",
            cases[chosen].ms / cases[fastest].ms,
            "x",
            detail=f"ms a step: {listed}",
            ms={describe(kernels): times.ms for kernels, times in cases.items()},
            best_ms={describe(kernels): times.best_ms for kernels, times in cases.items()},
        )


def describe(kernels: Kernels) -> str:
    """Kernels in words."""
    threads = kernels.threads or default_threads()
    return (
        f"oneDNN {'on' if kernels.onednn else 'off'}, {threads} thread{'s' if threads > 1 else ''}"
    )


def measure_record(report: Report, model: LanguageModel, effort: Effort) -> None:
    """Memory of a recorded step, and time to have an old row again."""
    count = 16 if effort.quick else 48
    decoder = Decoder(model, prompt_ids(model, 8), SETTINGS[COMMON])
    for _ in range(4):
        decoder.step()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(count):
        decoder.step()
    gc.collect()
    objects = (tracemalloc.get_traced_memory()[0] - before) / count
    tracemalloc.stop()
    cache = model.new_cache()
    model.forward(prompt_ids(model, 8), cache, 0)
    forward = model.forward([5], cache, 8)
    if forward.hidden is None or not model.replays_exactly:
        report.note("rows of this model are kept in a file: its output layer cannot be run alone")
        return
    hidden = forward.hidden.untyped_storage().nbytes()  # tracemalloc does not see tensors
    report.add(
        "kept per step, full vocabulary exact",
        (hidden + objects) / 1024,
        "KiB",
        goal=at_most(8.0),
        detail=f"hidden state {hidden:,.0f} B, objects {objects:,.0f} B; "
        f"a float32 row would be {model.vocab_size * 4:,} B",
        hidden_bytes=hidden,
        object_bytes=objects,
        row_bytes=model.vocab_size * 4,
    )
    replay = partial(model.replay, forward.hidden, tokens=1, parity=False)
    same = bool(np.array_equal(replay(), forward.logits))
    times = in_turns({"replay": Case(replay)}, 3 + effort.rounds)["replay"]
    report.add(
        "replay of an old row",
        times.ms,
        "ms",
        detail="bit-equal" if same else "NOT bit-equal: rows are kept in a file",
        bit_equal=same,
    )


def measure_history(report: Report, model: LanguageModel, effort: Effort) -> None:
    """Fork, and rewind with the first step after it, at a short and a long context."""
    for positions in (64, 512):
        decoder = Decoder(model, prompt_ids(model, positions - 8), SETTINGS[COMMON])
        for _ in range(8):
            decoder.step()
        fork = in_turns({"fork": Case(decoder.fork)}, 5 * effort.rounds)["fork"]
        report.add(f"fork at {positions} positions", fork.ms, "ms", goal=at_most(0.2))
        rewound, first, second = [], [], []
        for _ in range(effort.rounds):
            twin = decoder.fork()
            rewound.append(timed_ms(partial(twin.rewind, 4)))
            first.append(timed_ms(twin.step))
            second.append(timed_ms(twin.step))
        report.add(
            f"rewind by 4 and first step at {positions} positions",
            float(np.median(np.add(rewound, first))),
            "ms",
            detail=f"rewind alone {np.median(rewound):.3f}, the step after {np.median(second):.2f}",
            rewind_ms=float(np.median(rewound)),
            second_step_ms=float(np.median(second)),
        )


def measure_cache(report: Report, model: LanguageModel, times: dict, effort: Effort) -> None:
    """A step with the cache against one without, and prefill against decode."""
    sync = synchronizer(model)
    turns = 2 if effort.quick else 1 + effort.rounds

    def uncached(ids: torch.Tensor) -> None:
        model.hf(input_ids=ids, use_cache=False, logits_to_keep=1)

    @contextmanager
    def plain() -> Iterator[None]:
        with ENGINE_LOCK, torch.inference_mode(), model.kernels.apply(tokens=2):
            yield

    for positions in (64, 256):
        ids = prompt_ids(model, positions)
        loop = BareLoop(model, ids)
        row = torch.tensor([ids], device=model.device)
        cases = {
            "cached": Case(loop.step, partial(bare_kernels, model)),
            "uncached": Case(partial(uncached, row), plain),
        }
        both = in_turns(cases, turns, synchronize=sync)
        report.add(
            f"step without cache / with, at {positions} positions",
            both["uncached"].ms / both["cached"].ms,
            "x",
            detail=f"{both['uncached'].ms:.1f} / {both['cached'].ms:.2f} ms",
            uncached_ms=both["uncached"].ms,
            cached_ms=both["cached"].ms,
        )
    ids = prompt_ids(model, 256)
    prefill = in_turns(
        {"prefill": Case(lambda: model.forward(ids, model.new_cache(), 0))}, turns, synchronize=sync
    )["prefill"]
    speed = len(ids) / prefill.ms * 1e3
    decode = 1e3 / times[COMMON].ms
    report.add(
        "prefill of 256 tokens",
        speed,
        "tokens/s",
        detail=f"decode {decode:.1f} tokens/s: prefill is {speed / decode:.1f}x as fast per token",
        decode_tokens_per_s=decode,
    )


# --- the shaping pipeline alone -------------------------------------------------------------------


def shape_and_record(row: np.ndarray, settings: SamplingSettings, context: Context, u: float):
    """What `Decoder.step` does between the forward pass and the append, with all its figures."""
    distribution = shape(row, settings, context)
    stages = tuple(
        StageSummary(stage.name, stage.survivors, stage.mass_removed)
        for stage in distribution.stages
    )
    entropy = distribution.entropy_bits
    drawn = distribution.draw(u)
    raw = distribution.raw
    figures = (
        raw.rank(drawn.token_id),
        float(row[drawn.token_id]),
        raw.logprob(drawn.token_id),
        raw.entropy_bits,
    )
    return drawn, distribution.survivors, entropy, stages, figures


def measure_pipelines(report: Report, effort: Effort) -> None:
    """Our shaping and draw, recording, against transformers' processors, recording nothing."""
    report.section("shaping and draw")
    report.note(
        "transformers' processors, softmax and multinomial, recording nothing, in units of our "
        "stages and draw with every figure that a step records; caches are warm here"
    )
    turns = 4 if effort.quick else 8 * effort.rounds
    generator = np.random.default_rng(0)
    for vocab in VOCABULARIES:
        noise = generator.standard_normal(vocab).astype(np.float32)
        ids = generator.integers(0, vocab, 128)
        rows = {"sharp": noise * np.float32(LOGIT_SPREAD), "flat": noise * np.float32(FLAT_SPREAD)}
        for kind, row in rows.items():
            for name, settings in PIPELINES.items():
                # The goal is for rows as trained models give them and chains as people use them.
                has_goal = vocab == VOCABULARIES[-1] and kind == "sharp" and len(settings.chain) > 1
                title = f"V={vocab:,} {kind}, {name}"
                _measure_pipeline(report, title, row, settings, ids, turns, has_goal)


def _measure_pipeline(
    report: Report,
    title: str,
    row: np.ndarray,
    settings: SamplingSettings,
    ids: np.ndarray,
    turns: int,
    has_goal: bool,
) -> None:
    context = Context(ids, len(ids))
    # Of "every stage", theirs runs the thirteen that transformers has.
    processors = LogitsProcessorList(
        stage.processor(context) for stage in settings.chain if stage.in_transformers
    )
    input_ids, scores = torch.from_numpy(ids)[None], torch.from_numpy(row)[None]
    generator = torch.Generator().manual_seed(0)
    uniform = np.random.default_rng(0)

    def theirs() -> int:
        probs = torch.softmax(processors(input_ids, scores), dim=-1)
        return int(torch.multinomial(probs, 1, generator=generator))

    def ours() -> int:
        return shape_and_record(row, settings, context, uniform.random())[0].token_id

    @contextmanager
    def plain() -> Iterator[None]:
        with torch.inference_mode():
            yield

    times = in_turns({"theirs": Case(theirs, plain), "ours": Case(ours)}, turns, warm_up=2)
    gain = ratio(times["theirs"], times["ours"])
    left = shape(row, settings, context).survivors
    report.add(
        title,
        gain.value,
        "x",
        goal=at_least(10.0) if has_goal else None,
        detail=(
            f"{gain.words}; theirs {times['theirs'].ms:.3f}, ours {times['ours'].ms:.3f} ms; "
            f"{left:,} left, {times['ours'].page_faults:.0f} page faults"
        ),
        wall_ratio=gain.wall,
        cpu_ratio=gain.cpu,
        theirs=times["theirs"].to_dict(),
        ours=times["ours"].to_dict(),
        survivors=left,
    )


# --- the run --------------------------------------------------------------------------------------


def dtype_name(model: LanguageModel) -> str:
    """``bfloat16``, ``float32``..."""
    return str(model.dtype).removeprefix("torch.")


def measure_size(report: Report, name: str, effort: Effort, device: str) -> None:
    """Everything that is measured on one model, in bf16 and in float32."""
    size = SIZES[name]
    chosen = chosen_dtype(name, device)
    dtypes = [torch.bfloat16] if size.gpu_only else [torch.bfloat16, torch.float32]
    models = {}
    for dtype in dtypes:
        start = time.perf_counter()
        model = load(name, dtype, device)
        models[dtype] = model
        report.section(f"{name}, {model.device.type}, {dtype_name(model)}")
        if dtype == dtypes[0]:
            other = "" if chosen == dtype else f"; the engine would choose {chosen} here"
            report.note(
                f"{model.parameters / 1e6:.1f}M parameters, V={model.vocab_size:,}, "
                f"replays exactly: {model.replays_exactly}{other}"
            )
        if model.device.type == "cpu":
            report.note(f"kernels for single tokens: {describe(model.kernels)}")
        if name == BUNDLED:
            again = timed_ms(partial(load_model, device=device, dtype=dtype))
            first = (time.perf_counter() - start) * 1e3 - again
            report.add("load, files in the page cache", again, "ms", first_ms=first)
        is_goal = dtype == torch.bfloat16
        floors = [measure_bandwidth(model.device, model.kernels.threads, effort.quick)]
        times = measure_steps(report, model, size, effort, is_goal=is_goal)
        floors.append(measure_bandwidth(model.device, model.kernels.threads, effort.quick))
        report_bandwidth(report, model, size, times, floors, is_goal=is_goal)
        if model.device.type == "cpu":
            measure_kernels(report, model, effort)
        if dtype == dtypes[0]:
            measure_record(report, model, effort)
            measure_history(report, model, effort)
            measure_cache(report, model, times, effort)
    report.section(f"{name}, {device}, against generate")
    report.note("same settings and prompt, from the first token on, so without the prefill")
    named = {dtype_name(model): model for model in models.values()}
    measure_generate(report, models[dtypes[0]], named, size, effort)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    on_cpu = [name for name, size in SIZES.items() if not size.gpu_only]
    parser.add_argument("--sizes", default=",".join(on_cpu), help=f"of {', '.join(SIZES)}")
    parser.add_argument("--steps", type=int, help="decode steps per round; default by size")
    parser.add_argument("--rounds", type=int, help="rounds whose samples are put together")
    parser.add_argument("--threads", type=int, help="CPU threads to start from; default PyTorch's")
    parser.add_argument("--quick", action="store_true", help="fewer repeats: to see that it runs")
    options = parser.parse_args(arguments)
    options.sizes = [name for name in options.sizes.split(",") if name]
    unknown = [name for name in options.sizes if name not in SIZES]
    if unknown:
        parser.error(f"--sizes: {unknown[0]!r} is unknown; known are {', '.join(SIZES)}")
    return options


def main(arguments: Sequence[str] | None = None) -> dict:
    """Measure, print, and return what the JSON line holds."""
    options = parse(arguments)
    transformers_logging.set_verbosity_error()
    effort = Effort(options.steps, options.rounds or (1 if options.quick else 3), options.quick)
    if options.quick and effort.steps is None:
        effort = Effort(6, effort.rounds, True)
    if options.threads:
        torch.set_num_threads(options.threads)
    report = Report("engine")
    print(f"CPU threads: {default_threads()}")
    keep_freed_memory()  # as loading a model does
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    measure_pipelines(report, effort)
    for device in devices:
        for name in options.sizes:
            if SIZES[name].gpu_only and device == "cpu":
                report.section(f"{name}, cpu")
                report.note("not measured: too large for a CPU")
                continue
            measure_size(report, name, effort, device)
            gc.collect()
    if "cuda" not in devices:
        report.section("GPU")
        report.note("not measured: no CUDA device here")
    return report.finish()


if __name__ == "__main__":
    main()
