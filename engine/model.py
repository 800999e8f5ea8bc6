"""Loading a causal language model, and one forward pass of it.

`load_model` takes the bundled model, a local folder or a hub id and returns a `LanguageModel`,
which all visitors share: it holds weights and tokenizer, never a cache.
"""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import Cache

from engine import cache as caches
from engine.errors import DecodingError, NotAModelError, OutOfMemoryError, SettingError
from engine.kernels import (
    DEFAULT_KERNELS,
    ENGINE_LOCK,
    CrowdGuard,
    Kernels,
    calibrate,
    keep_freed_memory,
)
from engine.vocabulary import Vocabulary

BUNDLED = "bundled"
# Share of the logits' range by which equal passes may differ: far above rounding, far below a leak.
_LEAK = 0.01

_Loaded = TypeVar("_Loaded")


@dataclass(frozen=True)
class Forward:
    """What one forward pass gives for the next token.

    Attributes:
        logits: (vocab,) float32, raw, of the last position.
        hidden: (1, 1, d_model) input of the output layer at that position, in the model's dtype and
            on its device; None where the model has no separate output layer.
        ms: wall time in milliseconds, until the logits are in this process' memory.
    """

    logits: np.ndarray
    hidden: torch.Tensor | None
    ms: float


class LanguageModel:
    """A causal language model ready to be stepped; shared by all decoders and threads.

    Attributes:
        name: short name for the screen.
        source: what it was loaded from: ``bundled``, a folder or a hub id.
        revision: commit of the hub repository, None for local models.
        hf: the transformers model.
        tokenizer: the transformers tokenizer, None for a bare model.
        vocabulary: tokens as bytes and text.
        vocab_size: how many tokens the model scores, V.
        context_length: most positions the model takes, None where it sets no limit.
        eos_ids: ids that end a text; empty where the model names none.
        parameters: number of weights (tied ones once).
        replays_exactly: whether the output layer alone, run on a recorded hidden state, repeats the
            logits bit for bit.
        cache_budget: the limit on all decoders' caches together.
        notices: sentences about this model that a person should see.
    """

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None = None,
        *,
        name: str | None = None,
        source: str = "memory",
        revision: str | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        """Wrap a loaded transformers model; raises `NotAModelError` if it cannot be stepped."""
        keep_freed_memory()
        self.hf = hf.eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.name = name or type(hf).__name__
        self.source = source
        self.revision = revision
        self.config = hf.config.get_text_config(decoder=True)
        self._guard = CrowdGuard(DEFAULT_KERNELS, float("inf"))
        self.replays_exactly = False
        names = inspect.signature(hf.forward).parameters
        self._cache_argument = "cache_params" if "cache_params" in names else "past_key_values"
        self._takes_positions = "position_ids" in names
        self._always: dict[str, object] = {"use_cache": True, "return_dict": True}
        if "logits_to_keep" in names:
            self._always["logits_to_keep"] = 1
        self._head = hf.get_output_embeddings()
        self._head_input: torch.Tensor | None = None
        if self._head is not None:
            self._head.register_forward_pre_hook(self._keep_head_input)
        self.context_length = context_length_of(self.config)
        self.parameters = sum(weight.numel() for weight in hf.parameters())
        self._check_cache()
        self.vocab_size = self._calibrate()
        self.vocabulary = Vocabulary(tokenizer, self.vocab_size)
        self.cache_budget = caches.CacheBudget(caches.default_budget(self.device))
        self.eos_ids = _eos_ids(hf, tokenizer, self.vocab_size)
        self.notices = (*notices, *self._notices())

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.hf.device

    @property
    def dtype(self) -> torch.dtype:
        """What the weights and the cache are stored in."""
        return self.hf.dtype

    @property
    def input_size(self) -> int:
        """How many token ids the model takes in (may differ from `vocab_size`)."""
        return self.hf.get_input_embeddings().weight.shape[0]

    @cached_property
    def tokenizer_hash(self) -> str | None:
        """SHA-256 of the tokenizer, to tell whether two are the same; None without one."""
        if self.tokenizer is None:
            return None
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        described = (
            backend.to_str() if backend else repr(sorted(self.tokenizer.get_vocab().items()))
        )
        return hashlib.sha256(described.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def kernels(self) -> Kernels:
        """How decode steps run on a CPU while nothing else takes its cores."""
        return self._guard.kernels

    def __repr__(self) -> str:
        dtype = str(self.dtype).removeprefix("torch.")
        size = f"{self.parameters / 1e6:.1f}M parameters, V={self.vocab_size:,}"
        return f"LanguageModel({self.name}, {size}, {self.device} {dtype})"

    def new_cache(self) -> Cache:
        """An empty cache for this model."""
        return caches.new_cache(self.hf.config)

    def forward(
        self, token_ids: Sequence[int], cache: Cache, position: int, *, parity: bool = False
    ) -> Forward:
        """Run tokens through the model, appending them to `cache`.

        Args:
            token_ids: the tokens not yet in the cache, at least one.
            cache: what the model has seen so far; updated in place.
            position: how many tokens that were.
            parity: run with PyTorch's default kernels, as `generate` does.

        Raises:
            OutOfMemoryError: the device has no memory left. The cache may then be half updated and
                must be thrown away.
        """
        start = time.perf_counter()
        with ENGINE_LOCK, torch.inference_mode():
            kernels = self._kernels(len(token_ids), parity)
            # Under the lock: a thread's first operation fixes its number of threads.
            ids = torch.tensor([token_ids], dtype=torch.long, device=self.device)
            inputs = self._inputs(ids, cache, position)
            try:
                running = time.perf_counter()
                with kernels.apply(len(token_ids)):
                    logits = self.hf(**inputs).logits  # (1, 1 or positions, V)
            except (torch.OutOfMemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                raise OutOfMemoryError(
                    f"{self.device} ran out of memory at {len(token_ids):,} new positions; use a "
                    "shorter prompt, a smaller model or a smaller dtype."
                ) from error
            if len(token_ids) == 1 and not parity:
                self._guard.took(kernels, time.perf_counter() - running)
            row = logits[0, -1].to(torch.float32).cpu()
            hidden, self._head_input = self._head_input, None
        if logits.shape[1] > 1:
            row = row.clone()  # a view would keep the logits of all positions alive
        if hidden is not None and hidden.untyped_storage().nbytes() > hidden[:, -1:].nbytes:
            hidden = hidden[:, -1:].clone()
        return Forward(_read_only(row), hidden, (time.perf_counter() - start) * 1e3)

    def _kernels(self, tokens: int, parity: bool) -> Kernels:
        if parity:
            return DEFAULT_KERNELS
        # Only single-token steps are known to give equal bits on any number of threads.
        return self._guard.current() if tokens == 1 else self._guard.kernels

    def _inputs(self, ids: torch.Tensor, cache: Cache, position: int) -> dict[str, object]:
        inputs = {"input_ids": ids, self._cache_argument: cache, **self._always}
        if self._takes_positions:
            # Some models count from 0 again where no positions are given.
            end = position + ids.shape[1]
            inputs["position_ids"] = torch.arange(position, end, device=self.device)[None]
        return inputs

    def replay(self, hidden: torch.Tensor, *, tokens: int, parity: bool) -> np.ndarray:
        """(vocab,) float32 logits from a recorded hidden state, by the output layer alone.

        Args:
            hidden: `Forward.hidden`.
            tokens, parity: how many tokens the forward pass ran over, and how; it decides on the
                kernels.
        """
        with ENGINE_LOCK, torch.inference_mode():
            with self._kernels(tokens, parity).apply(tokens):
                logits = self._head(hidden)
            self._head_input = None
            return _read_only(logits[0, -1].to(torch.float32).cpu())

    def _keep_head_input(self, module: torch.nn.Module, inputs: tuple) -> None:
        # Forward passes hold ENGINE_LOCK, so one slot serves all threads.
        self._head_input = inputs[0]

    def _check_cache(self) -> None:
        """Refuse a model that keeps what it has seen anywhere but in the cache it is given.

        Decoders share the model, so such a state would leak from one text into another. The same
        two passes are run alone and with another text in between; a leak moves the logits far.

        Raises:
            NotAModelError: the model ignores the cache, or keeps a state of its own.
        """
        try:
            alone, interrupted = self.new_cache(), self.new_cache()
            self.forward([1, 1], alone, 0)
            expected = self.forward([1], alone, 2).logits
            self.forward([1, 1], interrupted, 0)
            self.forward([2, 2, 2], self.new_cache(), 0)
            found = self.forward([1], interrupted, 2).logits
            cached = any(True for _ in caches.tensors(alone))
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise NotAModelError(
                f"{self.name} cannot be stepped with a cache of transformers ({error}); choose "
                "another architecture."
            ) from error
        finite = np.isfinite(expected)
        tolerance = _LEAK * float(np.ptp(expected[finite])) if finite.any() else 0.0
        if not cached or np.abs(expected - found)[finite].max(initial=0.0) > tolerance:
            raise NotAModelError(
                f"{self.name} keeps what it has read inside the model, not in a cache, so texts "
                "would mix; choose another architecture."
            )

    def _calibrate(self) -> int:
        """Choose kernels, check that replaying is exact; returns the number of logits."""
        cache = self.new_cache()
        prefill = self.forward([0, 0, 0], cache, 0)
        if self.device.type == "cpu":
            ids = torch.zeros(1, 1, dtype=torch.long)
            inputs = self._inputs(ids, cache, 3)
            with ENGINE_LOCK, torch.inference_mode():
                best, usual = calibrate(lambda: self.hf(**inputs), self.dtype)
                if best.threads > 1 and not self._repeats_on_one_thread(inputs, best):
                    best = replace(best, threads=1)
            self._guard = CrowdGuard(best, usual)
        decode = self.forward([0], cache, 3)
        self.replays_exactly = all(
            forward.hidden is not None
            and np.array_equal(
                self.replay(forward.hidden, tokens=tokens, parity=False),
                forward.logits,
                equal_nan=True,
            )
            for forward, tokens in ((prefill, 3), (decode, 1))
        )
        return prefill.logits.size

    def _repeats_on_one_thread(self, inputs: dict[str, object], kernels: Kernels) -> bool:
        """Whether a step gives the same bits on one thread, so that the number may change."""
        logits = []
        for threads in (kernels.threads, 1):
            cache = caches.fork(inputs[self._cache_argument])
            with replace(kernels, threads=threads).apply(tokens=1):
                logits.append(self.hf(**inputs | {self._cache_argument: cache}).logits)
        return torch.equal(*logits)

    def _notices(self) -> list[str]:
        notices = []
        known = self.vocabulary.known
        if self.tokenizer is not None and known < self.vocab_size:
            notices.append(
                f"The tokenizer has {known:,} entries and the model scores {self.vocab_size:,}; "
                f"the other {self.vocab_size - known:,} ids are shown as <id {known}> and so on."
            )
        if not self.eos_ids:
            notices.append(
                "This model names no end-of-text token, so only max tokens, a stop string or the "
                "end of the context ends a run."
            )
        return notices


def _read_only(row: torch.Tensor) -> np.ndarray:
    """The row as an array that nobody can change by accident: it is the record."""
    array = row.numpy()
    array.setflags(write=False)
    return array


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a forward pass failed for want of memory, on whatever device."""
    words = str(error).lower()
    known = ("not enough memory", "out of memory", "alloc_failed")  # CPU, CUDA and MPS, cuBLAS
    return isinstance(error, torch.OutOfMemoryError) or any(word in words for word in known)


def context_length_of(config) -> int | None:
    """Most positions that a configuration allows, None where it sets no limit."""
    for name in ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"):
        length = getattr(config, name, None)
        if isinstance(length, int) and length > 0:
            return length
    return None


def _eos_ids(hf: PreTrainedModel, tokenizer, vocab_size: int) -> tuple[int, ...]:
    """End-of-text ids, from where `generate` takes them, else from the tokenizer."""
    generation = getattr(hf, "generation_config", None)
    found = getattr(generation, "eos_token_id", None)
    if found is None:
        found = getattr(hf.config, "eos_token_id", None)
    if found is None:
        found = getattr(tokenizer, "eos_token_id", None)
    ids = [] if found is None else [found] if isinstance(found, int) else list(found)
    return tuple(sorted({int(token_id) for token_id in ids if 0 <= int(token_id) < vocab_size}))


def load_model(
    source: str | Path = BUNDLED,
    *,
    device: str = "auto",
    dtype: str | torch.dtype = "auto",
    revision: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> LanguageModel:
    """Load a causal language model.

    Only safetensors weights are read, and no code that comes with a model is run.

    Args:
        source: ``"bundled"``, a local folder in transformers' format, or a hub id.
        device: ``"auto"`` (a GPU where there is one), ``"cpu"``, ``"cuda"``, ``"cuda:1"``,
            ``"mps"``.
        dtype: ``"auto"`` (the checkpoint's, or float32 where a CPU is faster with it),
            ``"float32"``, ``"bfloat16"`` or ``"float16"``.
        revision: commit, tag or branch of a hub repository.
        progress: told what happens, how much of it is done and of how much (None: unknown); a
            download counts bytes. What it raises ends the loading and is passed on.

    Raises:
        ModelError: one subclass for each way it can fail (see `engine.errors`).
        SettingError: an unknown device or dtype.
    """
    return load_as(LanguageModel, source, device, dtype, revision, progress, is_causal=True)


def load_as(
    kind: Callable[..., _Loaded],
    source: str | Path,
    device: str,
    dtype: str | torch.dtype,
    revision: str | None,
    progress: Callable[[str, int, int | None], None] | None,
    *,
    is_causal: bool,
) -> _Loaded:
    """What all loaders share; the arguments and the errors are those of `load_model`.

    Args:
        kind: makes the result from the transformers model and tokenizer; takes `name`, `source`,
            `revision` and `notices` by keyword, as `LanguageModel` does.
        is_causal: whether that is a causal language model or a masked diffusion model.
    """
    from engine import checkpoint

    place = _device(device)
    wanted = _dtype(dtype)
    progress = progress or checkpoint.untold
    located = checkpoint.locate(source, revision, progress, is_causal=is_causal)
    hf, tokenizer, notices = checkpoint.load(
        located.folder, place, wanted, progress, is_causal=is_causal
    )
    progress("Trying the model out", 0, None)
    is_folder = Path(source).is_dir() and str(source) != BUNDLED
    try:
        return kind(
            hf,
            tokenizer,
            name=located.folder.resolve().name if is_folder else str(source),
            source=str(source),
            revision=located.commit,
            notices=(*located.notices, *notices),
        )
    except DecodingError:
        raise
    except Exception as error:  # its first forward pass
        raise NotAModelError(
            f"{located.folder.name} loads but cannot be run ({error}); check its config.json or "
            "choose another model."
        ) from error


def _device(device: str) -> torch.device:
    available = ["cpu"]
    if torch.cuda.is_available():
        available += ["cuda", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    if str(device) == "auto":
        return torch.device("cuda" if "cuda" in available else available[-1])
    if str(device) not in available:
        remedy = f"use auto or one of {', '.join(available)}"
        raise SettingError("device", str(device), "is not available on this machine", remedy)
    return torch.device(device)


def _dtype(dtype: str | torch.dtype) -> torch.dtype | None:
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    name = str(dtype).removeprefix("torch.")
    if name == "auto":
        return None
    if name not in known:
        remedy = f"use auto or one of {', '.join(known)}"
        raise SettingError("dtype", name, "is not a dtype that models are run in", remedy)
    return known[name]
