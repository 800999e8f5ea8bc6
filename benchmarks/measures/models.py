"""The models to measure, the loop for comparison, and the amount of measuring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial

import torch
from transformers import (
    AutoModelForCausalLM,
    DynamicCache,
    GenerationConfig,
    LlamaConfig,
    PretrainedConfig,
    PreTrainedModel,
    Qwen2Config,
)

from engine.model import Kernels, LanguageModel, load_model
from engine.model.kernels import ENGINE_LOCK, cpu_dtype
from engine.sampling import SamplingSettings

BUNDLED = "bundled"
IN_A_ROW = 4  # steps of one decoder before the next one has its turn, as caches prefer
LOGIT_SPREAD = 4.0  # standard deviation of a trained model's logits, roughly
FLAT_SPREAD = 0.6  # of an untrained one's: the worst case for top-p, half the vocabulary survives

SETTINGS = {
    "T 0.8, top-k 50, top-p 0.9, rep. 1.1": SamplingSettings(
        temperature=0.8, top_k=50, top_p=0.9, repetition_penalty=1.1
    ),
    "top-p 0.9": SamplingSettings(top_p=0.9),
}
COMMON = next(iter(SETTINGS))


@dataclass(frozen=True)
class Size:
    """Settings and goals for measuring one model.

    Attributes:
        config: creates its configuration; None for the bundled model.
        steps: decode steps per round.
        ratio: maximum time of a recorded step, in bare forward passes.
        gain: minimum speed as a multiple of `generate` with scores and logits.
        bandwidth: minimum share of the memory bandwidth for bf16 decoding, if any.
        gpu_only: whether it is too large for a CPU.
    """

    config: Callable[[], PretrainedConfig] | None
    steps: int
    ratio: float | None = None
    gain: float = 1.1
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
        partial(_qwen, 151_936, 896, 4864, 24, 14, 2, True),
        steps=12,
        ratio=1.03,
        gain=1.5,
        bandwidth=0.60,
    ),
    "7B": Size(
        partial(_qwen, 152_064, 3584, 18_944, 28, 28, 4, False),
        steps=32,
        ratio=1.03,
        gain=1.5,
        bandwidth=0.60,
        gpu_only=True,
    ),
}


@dataclass(frozen=True)
class Effort:
    """Effort of a measurement: steps per round (None: the size's own), rounds, quick or not."""

    steps: int | None
    rounds: int
    quick: bool


def random_model(config: PretrainedConfig, dtype: torch.dtype, device: str) -> PreTrainedModel:
    """Build a model of this shape with random weights and a trained model's spread of logits."""
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
    """Number of PyTorch's initial threads; call it before the engine sets its own."""
    return torch.get_num_threads()


def load(name: str, dtype: torch.dtype, device: str) -> LanguageModel:
    """Load the model of this size as the engine runs it."""
    torch.set_num_threads(default_threads())
    if name == BUNDLED:
        model = load_model(device=device, dtype=dtype)
    else:
        model = LanguageModel(random_model(SIZES[name].config(), dtype, device), name=name)
    # `generate` must not stop early; the engine has read its end-of-text ids already.
    model.hf.generation_config = GenerationConfig(pad_token_id=0)
    return model


def chosen_dtype(name: str, device: str) -> torch.dtype:
    """Return the dtype in which the engine would run a bf16 checkpoint of this size."""
    if device != "cpu":
        return torch.bfloat16
    return load_model(device="cpu").dtype if name == BUNDLED else cpu_dtype(torch.bfloat16)


def weight_bytes(model: LanguageModel) -> int:
    """Bytes of weights that a decode step reads: all except an embedding used only for look-up."""
    total = sum(weight.numel() * weight.element_size() for weight in model.hf.parameters())
    embedding = model.hf.get_input_embeddings().weight
    if embedding is not model.hf.get_output_embeddings().weight:
        total -= embedding.numel() * embedding.element_size()
    return total


def synchronizer(model: LanguageModel) -> Callable[[], None] | None:
    """Return a function that waits for the model's device; None on a CPU."""
    return partial(torch.cuda.synchronize, model.device) if model.device.type == "cuda" else None


@contextmanager
def bare_kernels(model: LanguageModel, kernels: Kernels | None = None) -> Iterator[None]:
    """Set what a hand-written loop with the engine's kernels would set once, before it starts."""
    with (
        ENGINE_LOCK,
        torch.inference_mode(),
        (kernels or model.kernels).apply(tokens=1),
    ):
        yield


@contextmanager
def default_kernels() -> Iterator[None]:
    """Run PyTorch with the defaults of a transformers user."""
    before = torch.get_num_threads()
    torch.set_num_threads(default_threads())
    try:
        yield
    finally:
        torch.set_num_threads(before)


class BareLoop:
    """The cheapest possible loop: forward, argmax, and nothing kept."""

    def __init__(self, model: LanguageModel, ids: Sequence[int]) -> None:
        self._hf = model.hf
        self._device = model.device
        self._cache = DynamicCache(config=model.hf.config)
        with torch.inference_mode():
            self._token = self._forward(ids)

    def step(self) -> None:
        """Decode one token."""
        self._token = self._forward([self._token])

    def _forward(self, ids: Sequence[int]) -> int:
        output = self._hf(
            input_ids=torch.tensor([ids], device=self._device),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return int(output.logits[0, -1].argmax())


def dtype_name(model: LanguageModel) -> str:
    """Return the dtype's name: ``bfloat16``, ``float32``..."""
    return str(model.dtype).removeprefix("torch.")


def describe(kernels: Kernels) -> str:
    """Describe kernels in words."""
    threads = kernels.threads or default_threads()
    used = "oneDNN on" if kernels.onednn else "oneDNN off"
    in_float32 = ", in float32 too" if kernels.onednn_float32 else ""
    return f"{used}{in_float32}, {threads} thread{'s' if threads > 1 else ''}"
