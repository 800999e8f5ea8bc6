"""Base class of loaded models: weights, tokenizer and facts, and errors for a full device."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, replace
from functools import cached_property
from typing import TypedDict

import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from engine.errors import OutOfMemoryError
from engine.model.guarded_tokenizer import GuardedTokenizer
from engine.model.kernels import (
    DEFAULT_KERNELS,
    Kernels,
    cpu_kernels,
    has_onednn_float32,
    keep_freed_memory,
    speed_up_exponentials,
)
from engine.model.linear import ask_kernels

_HASHED = 1024  # values at each end; hashing all would read them from the disk


class About(TypedDict, total=False):
    """Keyword arguments of `LoadedModel`.

    `kernels` may be those of another machine, to reproduce its texts; None for this machine's.
    """

    name: str | None
    source: str
    revision: str | None
    notices: Sequence[str]
    kernels: Kernels | None
    quantisation: str


class LoadedModel:
    """A model's weights and tokenizer, shared by all decoders and threads; base of all models.

    Attributes:
        name: short name for the screen.
        source: what it was loaded from: ``bundled``, a folder, a file or a hub id.
        revision: commit of the hub repository, None for local models.
        hf: the transformers model.
        tokenizer: the transformers tokenizer, None for a bare model.
        config: the configuration of the part that reads and writes text.
        context_length: most positions that the model accepts; None if it sets no limit.
        parameters: number of weights (tied ones once).
        vocab_size: number of tokens the model scores, V; set by the subclass once it has run.
        notices: sentences about this model that a person should see.
        kernels: how forward passes run on a CPU.
        quantisation: that of the GGUF file whose weights were converted to `dtype`; else empty.
    """

    vocab_size: int

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None = None,
        *,
        name: str | None = None,
        source: str = "memory",
        revision: str | None = None,
        notices: Sequence[str] = (),
        kernels: Kernels | None = None,
        quantisation: str = "",
    ) -> None:
        keep_freed_memory()
        speed_up_exponentials()
        self.hf = hf.eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.name = name or type(hf).__name__
        self.source = source
        self.revision = revision
        self.notices = tuple(notices)
        self.quantisation = quantisation
        self.config = hf.config.get_text_config(decoder=True)
        self.context_length = context_length_of(self.config)
        self.parameters = sum(weight.numel() for weight in hf.parameters())
        self.kernels = self._possible(kernels or self._usual_kernels())
        if self.kernels.onednn_float32:
            ask_kernels(self.hf)

    @cached_property  # transformers looks through the weights each time
    def device(self) -> torch.device:
        """Device that the weights are on."""
        return self.hf.device

    @cached_property
    def dtype(self) -> torch.dtype:
        """Dtype of the weights, and of a cache."""
        return self.hf.dtype

    @cached_property
    def input_size(self) -> int:
        """Number of token ids that the model accepts (may differ from `vocab_size`)."""
        return self.hf.get_input_embeddings().weight.shape[0]

    @cached_property
    def read_bytes(self) -> int:
        """Bytes of weights that a forward pass reads: all except a separate input table.

        A pass reads only its tokens' rows of that table. If a layer uses only some of its experts,
        this is the most that a pass reads.
        """
        bytes_ = sum(weight.numel() * weight.element_size() for weight in self.hf.parameters())
        table, output = self.hf.get_input_embeddings().weight, self.hf.get_output_embeddings()
        is_apart = output is not None and output.weight is not table
        return bytes_ - (table.numel() * table.element_size() if is_apart else 0)

    @cached_property
    def tokenizer_hash(self) -> str | None:
        """SHA-256 of the tokenizer, to compare tokenizers; None without one."""
        return None if self.tokenizer is None else hash_of_tokenizer(self.tokenizer)

    @cached_property
    def weights_hash(self) -> str:
        """SHA-256 of both ends of every weight matrix, to distinguish models and checkpoints."""
        digest = hashlib.sha256()
        for name, weights in self.hf.named_parameters():
            digest.update(f"{name} {tuple(weights.shape)}".encode())
            flat = weights.detach().reshape(-1)
            for end in (flat[:_HASHED], flat[-_HASHED:]):
                digest.update(end.float().cpu().numpy().tobytes())
        return digest.hexdigest()

    @property
    def facts(self) -> dict[str, object]:
        """Everything that a text depends on, except prompt and settings, as plain values.

        On a CPU, this includes `kernels` and the instructions that PyTorch uses. With the same
        kernels, instructions and versions, a seed gives the same text.
        """
        facts = {
            "name": self.name,
            "source": self.source,
            "revision": self.revision,
            "architecture": type(self.hf).__name__,
            "parameters": self.parameters,
            "vocab_size": self.vocab_size,
            "input_size": self.input_size,
            "context_length": self.context_length,
            "device": str(self.device),
            "dtype": str(self.dtype).removeprefix("torch."),
            "attention": self.config._attn_implementation,
            "tokenizer_hash": self.tokenizer_hash,
            "weights_hash": self.weights_hash,
            "torch": str(torch.__version__),  # a subclass of str
            "transformers": transformers.__version__,
        }
        if self.quantisation:
            facts["quantisation"] = self.quantisation
        if self.device.type == "cpu":
            instructions = torch.backends.cpu.get_cpu_capability()
            facts["kernels"] = asdict(self.kernels) | {"instructions": instructions}
        if self.device.type == "cuda":
            facts["cuda"] = self._cuda_facts()
        return facts

    def _possible(self, kernels: Kernels) -> Kernels:
        """Return kernels, perhaps another machine's, without those that this one lacks."""
        can = self.device.type == "cpu" and has_onednn_float32()
        return replace(kernels, onednn_float32=kernels.onednn_float32 and can)

    def _usual_kernels(self) -> Kernels:
        if self.device.type != "cpu":
            return DEFAULT_KERNELS
        weights = sum(weight.numel() * weight.element_size() for weight in self.hf.parameters())
        return cpu_kernels(self.dtype, weights)

    def _cuda_facts(self) -> dict[str, object]:
        """Return the facts about the GPU that the last digits of logits depend on."""
        backend = torch.backends.cuda
        enabled = {  # PyTorch chooses among these by the shapes of a pass
            "flash": backend.flash_sdp_enabled(),
            "mem_efficient": backend.mem_efficient_sdp_enabled(),
            "cudnn": backend.cudnn_sdp_enabled(),
            "math": backend.math_sdp_enabled(),
        }
        return {
            "gpu": torch.cuda.get_device_name(self.device),
            "capability": ".".join(map(str, torch.cuda.get_device_capability(self.device))),
            "version": torch.version.cuda,
            "tf32": backend.matmul.allow_tf32,
            "attention_kernels": ", ".join(name for name, is_on in enabled.items() if is_on),
        }

    def __repr__(self) -> str:
        dtype = str(self.dtype).removeprefix("torch.")
        size = f"{self.parameters / 1e6:.1f}M parameters, V={self.vocab_size:,}"
        return f"{type(self).__name__}({self.name}, {size}, {self.device} {dtype})"

    @contextmanager
    def naming_memory(self, at: str, remedy: str) -> Iterator[None]:
        """Turn the various out-of-memory errors of PyTorch into `OutOfMemoryError`.

        Args:
            at: what was tried, as in "at 300 positions".
            remedy: what to do instead.
        """
        try:
            yield
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise OutOfMemoryError(
                "{device} ran out of memory {at}; {remedy}.", (self.device, at, remedy)
            ) from error


# As reported by: PyTorch for CPU (Windows, Linux), CUDA and MPS; C++; the system; cuBLAS.
_OUT_OF_MEMORY = (
    "not enough memory",
    "can't allocate memory",
    "out of memory",
    "bad_alloc",
    "cannot allocate memory",
    "alloc_failed",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out, on any device."""
    words = str(error).lower()
    is_known = isinstance(error, (torch.OutOfMemoryError, MemoryError))
    return is_known or any(known in words for known in _OUT_OF_MEMORY)


# RoPE scalings that multiply the trained length; configurations with others state the long one.
_LENGTHENING = ("linear", "dynamic", "yarn")


def context_length_of(config) -> int | None:
    """Return the most positions that a configuration allows, or None if it sets no limit.

    RoPE scaling that lengthens the context may come with the long length (DeepSeek's files), or
    with the trained one (as Qwen's model cards advise). The longer one counts.
    """
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        length = getattr(config, name, None)
        if isinstance(length, int) and length > 0:
            return max(length, _scaled_length(config, length))
    return None


def _scaled_length(config, length: int) -> int:
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") not in _LENGTHENING:
        return 0
    trained, factor = rope.get("original_max_position_embeddings") or length, rope.get("factor")
    if not isinstance(trained, int) or not isinstance(factor, (int, float)):
        return 0
    return int(trained * factor) if math.isfinite(factor) else 0


def hash_of_tokenizer(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return the SHA-256 of a tokenizer, whatever truncation and padding it is set to."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if isinstance(backend, GuardedTokenizer):
        return backend.hash
    if backend is None:
        described = repr(sorted(tokenizer.get_vocab().items()))
    else:
        if backend.truncation or backend.padding:  # set by the file until the first use
            backend = deepcopy(backend)
            backend.no_truncation()
            backend.no_padding()
        described = backend.to_str()
    return hashlib.sha256(described.encode("utf-8", "surrogatepass")).hexdigest()
