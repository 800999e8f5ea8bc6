"""A causal language model and its forward passes.

`load_model` accepts the bundled model, a local folder or a hub id and returns a `LanguageModel`,
which all visitors share: it has weights and tokenizer, never a cache.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from typing import Unpack

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import Cache

from engine.cache_formula import CacheFormula
from engine.errors import ContextFullError, NotAModelError, SettingError, msg
from engine.grammar import Places
from engine.model import cache as caches
from engine.model import probe
from engine.model.cache_layers import formula_of
from engine.model.decode_graph import DecodeGraphs
from engine.model.forward import Forward
from engine.model.kernels import DEFAULT_KERNELS, ENGINE_LOCK, spare_single_rows
from engine.model.loaded import About, LoadedModel
from engine.model.passes import note_pass
from engine.model.preemption import pause_between_layers, seconds_paused
from engine.model.vocabulary import ChatIds, Turns, Vocabulary
from engine.sampling import SamplingSettings

# Settings that a model may come with, in its generation_config.json.
RECOMMENDED = (
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "epsilon_cutoff",
    "eta_cutoff",
    "repetition_penalty",
)


class LanguageModel(LoadedModel):
    """A causal language model, run pass by pass; shared by all decoders and threads.

    Attributes, in addition to those of `LoadedModel`:
        vocabulary: tokens as bytes and text.
        eos_ids: ids that end a text; empty if the model names none.
        generate_eos_ids: ids that end a text in `generate`, which reads them from the generation
            settings alone; parity mode stops at them too.
        recommended: the sampling settings that came with the model; None if it names none.
        kernels: how forward passes run on a CPU (see `engine.model.kernels`).
        replays_exactly: whether the output layer alone, run on a recorded hidden state, repeats the
            logits bit for bit.
        reads_again_after: length up to which a cache is valid. The pass that exceeds it must reread
            the whole text into an empty cache, as `generate` does (Phi-3's "longrope" changes its
            frequencies there). None for models whose caches are always valid.
        capabilities, listed: those of a back end (see `engine.backend`) that provides everything.
    """

    listed: int | None = None
    capabilities = frozenset(
        ("full_row", "logits", "hidden", "all_positions", "batch", "cache_bytes", "weights")
    )

    def __init__(
        self,
        hf: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase | None = None,
        **about: Unpack[About],
    ) -> None:
        """Wrap a loaded transformers model; raises `NotAModelError` if it cannot be stepped."""
        super().__init__(hf, tokenizer, **about)
        self.replays_exactly = False
        self.reads_again_after, forgets_after = probe.reads_again_after(hf)
        names = inspect.signature(hf.forward).parameters
        self._cache_argument = "cache_params" if "cache_params" in names else "past_key_values"
        self._takes_positions = "position_ids" in names
        self._always: dict[str, object] = {"use_cache": True, "return_dict": True}
        if "logits_to_keep" in names:
            self._always["logits_to_keep"] = 1
        self._head = hf.get_output_embeddings()
        self._head_input = _HeadInput()
        if self._head is not None:
            self._head.register_forward_pre_hook(self._head_input.keep)
            spare_single_rows(self._head)
        self._graphs = self._decode_graphs()
        pause_between_layers(hf)
        probe.refuse_unless_as_generate(self)
        self.vocab_size = self._try_out()
        self.generate_eos_ids, self.eos_ids = _eos_ids(hf, tokenizer, self.vocab_size)
        self.vocabulary = Vocabulary(tokenizer, self.vocab_size, self.eos_ids)
        self.notices += tuple(self._notices())
        self.recommended = self._recommended()
        if forgets_after is not None:
            self._end_at(forgets_after)

    def _recommended(self) -> SamplingSettings | None:
        """Return the settings that came with the model; a notice says if they are not valid."""
        generation = getattr(self.hf, "generation_config", None)
        given = {} if generation is None else generation.to_diff_dict()
        values = {name: given[name] for name in RECOMMENDED if given.get(name) is not None}
        try:
            return SamplingSettings(**values) if values else None
        except SettingError as error:
            self.notices += (
                msg(
                    "The sampling settings that came with {name} are not used: {error}",
                    (self.name, error),
                ),
            )
            return None

    def _end_at(self, positions: int) -> None:
        self.context_length = min(positions, self.context_length or positions)
        self.notices += (
            msg(
                "Texts of {name} end at {positions:,} tokens: beyond that, transformers' own "
                "generate also loses what came before.",
                (self.name, positions),
            ),
        )

    @property
    def facts(self) -> dict[str, object]:
        """The facts of `LoadedModel`; on a GPU, also whether single tokens run as a CUDA graph."""
        facts = super().facts
        if self.device.type == "cuda":
            is_captured = self._graphs is not None and not self._graphs.problem
            facts["cuda"] = {**facts["cuda"], "graph": is_captured}
        return facts

    @cached_property
    def places(self) -> Places:
        """`Places` for this model's tokens, which find the tokens that constraints allow."""
        ends = tuple(self.eos_ids)
        table = partial(self.vocabulary.token_table, ends) if self.vocabulary.known else None
        return Places(table, self.vocab_size)

    def chat(self, messages: str | Turns) -> ChatIds:
        """Return the token ids of a conversation in the model's chat template, as a prompt.

            >>> model.chat([{"role": "system", "content": "Be brief."},
            ...             {"role": "user", "content": "What is the capital of France?"}])

        Control tokens in a message are encoded as plain text.

        Raises:
            PromptError: a message is empty or too large, or has no role or no text.
            TokenizerError: there is no template, or it refuses the conversation.
        """
        return self.vocabulary.chat_ids(messages)

    def new_cache(self) -> Cache:
        """Return an empty cache for this model."""
        return caches.new_cache(self.hf.config)

    @cached_property
    def cache_formula(self) -> CacheFormula | None:
        """Formula for the size of the model's caches; None unless they are all keys and values."""
        try:
            formula = formula_of(self.hf.config, self.dtype)
        except NotAModelError:
            return None
        return formula if formula.is_keys_and_values else None

    @cached_property
    def can_chunk(self) -> bool:
        """True if a prompt read in several passes gives the logits of one pass, up to rounding.

        A few short passes on first use determine it.
        """
        return probe.can_chunk(self)

    def forward(
        self,
        token_ids: Sequence[int],
        cache: Cache,
        position: int,
        *,
        parity: bool = False,
        all_positions: bool = False,
    ) -> Forward:
        """Run tokens through the model, appending them to `cache`.

        Args:
            token_ids: the tokens not yet in the cache, at least one.
            cache: what the model has seen so far; updated in place.
            position: number of tokens seen so far.
            parity: run with PyTorch's default kernels, as `generate` does.
            all_positions: return the logits after each of the tokens, not only after the last.

        Raises:
            OutOfMemoryError: the device has no memory left. The cache may then be half updated and
                must be thrown away.
            ContextFullError: the cache is not valid beyond this point (see `reads_again_after`).
        """
        start = time.perf_counter() - seconds_paused()
        at = msg("with {token_ids:,} new positions", len(token_ids))
        remedy = msg("use a shorter prompt, a smaller model or a smaller dtype")
        with ENGINE_LOCK, torch.inference_mode(), self.naming_memory(at, remedy):
            kernels = DEFAULT_KERNELS if parity else self.kernels
            # Under the lock: a thread's first operation fixes its number of threads.
            ids = self._ids([token_ids])
            inputs = self.inputs(ids, cache, position)
            if all_positions and "logits_to_keep" in inputs:
                inputs["logits_to_keep"] = 0  # all, in transformers' terms
            found = None
            if len(token_ids) == 1 and position and not parity and self._uses_graphs(cache):
                found = self._graphs.step(token_ids[0], cache, position)
                if found is None:  # reported once: no graph is used from now on
                    self.notices += (
                        msg(
                            "Each token is launched kernel by kernel, and a GPU has to wait "
                            "for that: a pass of this model is not run as one CUDA graph, "
                            "since {problem}.",
                            self._graphs.problem,
                        ),
                    )
            if found is None:
                with kernels.apply(len(token_ids)):
                    logits = self.hf(**inputs).logits  # (1, 1 or tokens, V)
                found = logits, self._head_input.take()
            logits, hidden = found
            note_pass(self, len(token_ids))
            row = to_host(logits[0] if all_positions else logits[0, -1])
        if all_positions:
            return Forward(row, hidden, (time.perf_counter() - seconds_paused() - start) * 1e3)
        if hidden is not None and hidden.untyped_storage().nbytes() > hidden[:, -1:].nbytes:
            hidden = hidden[:, -1:].clone()
        return Forward(row, hidden, (time.perf_counter() - seconds_paused() - start) * 1e3)

    def forward_rows(
        self,
        rows: Sequence[Sequence[int]],
        cache: Cache,
        position: int,
        *,
        hidden_states: bool = False,
    ) -> tuple[np.ndarray, torch.Tensor | None]:
        """Run rows of equal length through the model at once, all from the same position.

        Args:
            rows: the tokens that each row adds to its part of the cache.
            cache: what each row has seen so far, as one batch; updated in place.
            position: number of tokens seen so far.
            hidden_states: whether to return the hidden states of the last layer.

        Returns:
            (rows, vocab) float32 logits after each row, and (rows, tokens, d_model) hidden states
            in the model's dtype and on its device.

        Raises:
            NotAModelError: the model does not return its hidden states.
            RuntimeError: PyTorch's own if no memory is left (see `naming_memory`). The cache may
                then be half updated and must be thrown away.
        """
        with ENGINE_LOCK, torch.inference_mode():
            ids = self._ids(rows)
            inputs = self.inputs(ids, cache, position)
            # The base model's own output: `output_hidden_states` would keep those of all layers.
            states: list[torch.Tensor] = []
            watched = self._watched(states) if hidden_states else nullcontext()
            with watched, self.kernels.apply(ids.numel()):
                output = self.hf(**inputs)
            note_pass(self, ids.numel())
            self._head_input.take()
            logits = to_host(output.logits[:, -1])
            if not hidden_states:
                return logits, None
            if not states or states[-1].shape[:2] != ids.shape:
                raise NotAModelError(
                    "{name} does not return the hidden states of its last layer; choose "
                    "another model.",
                    self.name,
                )
            return logits, states[-1]

    def _decode_graphs(self) -> DecodeGraphs | None:
        """Return the graphs that run single tokens on a GPU; None if they cannot be used."""
        is_plain = self._takes_positions and self._cache_argument == "past_key_values"
        if self.device.type != "cuda" or not is_plain or self.reads_again_after is not None:
            return None
        return DecodeGraphs(self.hf, self._always, self._head_input.take)

    def _uses_graphs(self, cache: Cache) -> bool:
        return self._graphs is not None and self._graphs.serves(cache)

    @contextmanager
    def _watched(self, states: list[torch.Tensor]) -> Iterator[None]:
        """Collect the last layer's hidden states of every pass in the block."""

        def note(module: torch.nn.Module, inputs: object, output: object) -> None:
            found = getattr(output, "last_hidden_state", None)
            if found is not None:
                states.append(found)

        handle = self.hf.base_model.register_forward_hook(note)
        try:
            yield
        finally:
            handle.remove()

    def _ids(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Copy token ids to the device without waiting for its current work: (rows, tokens)."""
        ids = torch.tensor(rows, dtype=torch.long)
        return ids.to(self.device, non_blocking=self.device.type == "cuda")

    def inputs(self, ids: torch.Tensor, cache: Cache, position: int) -> dict[str, object]:
        """Return the keyword arguments of the transformers model for one more pass.

        Args:
            ids: (rows, tokens) token ids, on the model's device.
            cache: what each row has seen so far.
            position: number of tokens seen so far, equal for all rows.

        Raises:
            ContextFullError: the cache is not valid beyond this point (see `reads_again_after`).
        """
        if self.reads_again_after is not None and position:
            self._refuse_beyond_the_switch(position, position + ids.shape[1])
        inputs = {"input_ids": ids, self._cache_argument: cache, **self._always}
        if self._takes_positions:
            # Some models count from 0 again if no positions are given.
            end = position + ids.shape[1]
            inputs["position_ids"] = torch.arange(position, end, device=self.device)[None]
        return inputs

    def _refuse_beyond_the_switch(self, position: int, end: int) -> None:
        if position <= self.reads_again_after < end:
            raise ContextFullError(
                "{name} must read its whole text again after {reads_again_after:,} "
                "tokens, which is not done here; end the text there or start from a longer prompt.",
                (self.name, self.reads_again_after),
            )

    def replay(self, hidden: torch.Tensor, *, tokens: int, parity: bool) -> np.ndarray:
        """Compute logits from a recorded hidden state by the output layer: (vocab,) float32.

        A hidden state of several positions gives (tokens, vocab).

        Args:
            hidden: `Forward.hidden`, on any device.
            tokens, parity: number of tokens in the forward pass, and its mode; they decide the
                kernels.

        Raises:
            OutOfMemoryError: there is not enough memory for a row.
        """
        kernels = DEFAULT_KERNELS if parity else self.kernels
        remedy = msg("use a smaller model or a smaller dtype")
        with (
            ENGINE_LOCK,
            torch.inference_mode(),
            self.naming_memory(msg("for the logits of a step"), remedy),
        ):
            with kernels.apply(tokens):
                logits = self._head(hidden.to(self.device))
            self._head_input.take()
            return to_host(logits[0] if logits.shape[1] > 1 else logits[0, -1])

    def _try_out(self) -> int:
        """Set `replays_exactly` by two passes; returns the number of logits."""
        cache = self.new_cache()
        prefill = self.forward([0, 0, 0], cache, 0)
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

    def _notices(self) -> list[str]:
        notices = []
        known = self.vocabulary.known
        if self.tokenizer is not None and known < self.vocab_size:
            notices.append(
                msg(
                    "The tokenizer has {known:,} entries and the model scores {vocab_size:,}; "
                    "the other {vocab_size2:,} ids are shown as <id {known2}> and so on.",
                    (known, self.vocab_size, self.vocab_size - known, known),
                )
            )
        if not self.eos_ids:
            notices.append(
                msg(
                    "This model defines no end-of-text token, so only max tokens, a stop "
                    "string or the end of the context ends a run."
                )
            )
        return notices


class _HeadInput:
    """The most recent input of the output layer.

    Forward passes hold ENGINE_LOCK, so one slot serves all threads. The layer refers to this object
    and not to the `LanguageModel`: a cycle would keep unused weights until garbage collection.
    """

    def __init__(self) -> None:
        self._tensor: torch.Tensor | None = None

    def keep(self, module: torch.nn.Module, inputs: tuple) -> None:
        """Store the layer's input; a hook that runs before the layer."""
        self._tensor = inputs[0]

    def take(self) -> torch.Tensor | None:
        """Return the stored input, and forget it."""
        tensor, self._tensor = self._tensor, None
        return tensor


def to_host(rows: torch.Tensor) -> np.ndarray:
    """Copy rows of logits into this process' memory: float32 of the same shape, read-only."""
    host = rows.to(torch.float32).cpu()
    if host.untyped_storage().nbytes() > host.nbytes:
        host = host.clone()  # a view would keep the logits of all positions alive
    array = host.numpy()
    array.setflags(write=False)  # as the record keeps it
    return array


def _eos_ids(hf: PreTrainedModel, tokenizer, vocab_size: int) -> list[tuple[int, ...]]:
    """Return the end-of-text ids that `generate` uses, and those used here.

    The latter come from configuration or tokenizer if the generation settings name none.
    """

    def named_by(*sources: object) -> tuple[int, ...]:
        found = (getattr(source, "eos_token_id", None) for source in sources)
        ids = next((each for each in found if each is not None), [])
        ids = [ids] if isinstance(ids, int) else ids
        return tuple(sorted({int(i) for i in ids if 0 <= int(i) < vocab_size}))

    generation = getattr(hf, "generation_config", None)
    return [named_by(generation), named_by(generation, hf.config, tokenizer)]
