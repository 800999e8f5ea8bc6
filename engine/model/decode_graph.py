"""Forward passes over single tokens on a GPU, captured as CUDA graphs.

A pass over one token is hundreds of small kernels. Python takes longer to launch them one by one
than the GPU takes to run them. A model of 7.6 B parameters took 33 ms a token on a card that reads
its weights in 5 ms. A captured graph launches all kernels at once.

A graph refers to its memory by address, so each has its own static cache (transformers'
`StaticCache`). The text's keys and values are copied into it when the text, or the position in it,
changes. Those that a pass adds are written back, so the text's own cache is always up to date.

The capacity of a graph depends on the position alone, so rereading a text gives the same bits. They
differ from those of a pass launched kernel by kernel, whose attention adds in a different order.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

import torch
from transformers import PreTrainedModel, StaticCache
from transformers.cache_utils import Cache

from engine.model import cache as caches
from engine.model.growing_cache import GrowingLayer
from engine.model.loaded import is_out_of_memory

LEAST_ROOM = 512  # positions; each larger graph has room for twice as many
WARM_UPS = 2  # passes before the capture, in which libraries choose kernels and allocate memory
# Most that a graph's logits may differ from those of the model's own pass, as a share of their
# norm. Rounding moves them by far less, a mask that the model ignores by far more.
MOST_DIFFERENCE = {torch.float32: 1e-2, torch.bfloat16: 0.1, torch.float16: 0.05}

Pass = Callable[[], torch.Tensor]


def captured(run: Pass) -> Pass:
    """Return `run` as a CUDA graph: the same kernels on the same memory, launched at once."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    # Other threads may allocate on the device during the capture; that does not concern the graph.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        logits = run()

    def replay() -> torch.Tensor:
        graph.replay()
        return logits

    return replay


class DecodeGraphs:
    """The CUDA graphs of one model, one per cache capacity; hold `ENGINE_LOCK` to use them.

    Args:
        hf: the model.
        arguments: arguments of every pass other than tokens, positions and cache.
        head_input: returns the last input of the output layer, and forgets it.
        capture: turns a pass into a graph; a test returns the pass unchanged.

    Attributes:
        problem: why no graph is used; empty while graphs are used.
    """

    def __init__(
        self,
        hf: PreTrainedModel,
        arguments: dict[str, object],
        head_input: Callable[[], torch.Tensor | None],
        capture: Callable[[Pass], Pass] = captured,
    ) -> None:
        self.problem = ""
        self._hf = hf
        self._arguments = arguments
        self._head_input = head_input
        self._capture = capture
        self._graphs: dict[int, _Graph] = {}

    def serves(self, cache: Cache) -> bool:
        """Return whether a one-token pass with this cache runs as a graph."""
        return not self.problem and all(type(layer) is GrowingLayer for layer in cache.layers)

    def step(
        self, token_id: int, cache: Cache, position: int
    ) -> tuple[torch.Tensor, torch.Tensor | None] | None:
        """Read one token, appending it to `cache`.

        Args:
            token_id: the token.
            cache: what the model has seen so far; updated in place.
            position: number of tokens seen so far, at least one.

        Returns:
            (1, 1, V) logits, to be read before the next pass, and the input of the output layer
            (1, 1, d_model). None if no graph can be made: `problem` says why.

        Raises:
            RuntimeError: PyTorch's own, if no memory is left.
        """
        room = max(LEAST_ROOM, 1 << position.bit_length())
        graph = self._graphs.get(room)
        if graph is None:
            graph = self._made(room, token_id, cache, position)
            if graph is None:
                return None
            self._graphs[room] = graph
        return graph.step(token_id, cache, position)

    def _made(self, room: int, token_id: int, cache: Cache, position: int) -> _Graph | None:
        """Return a graph that agrees with the model's own pass; else None, and set `problem`."""
        try:
            graph = _Graph(self._hf, self._arguments, self._head_input, self._capture, room)
            found = graph.step(token_id, caches.fork(cache), position)[0].float()
        except (RuntimeError, ValueError, TypeError, AttributeError) as error:
            if is_out_of_memory(error):
                raise
            self._head_input()
            said = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.problem = f"it cannot be captured ({said[:120]})"
            return None
        device = found.device
        expected = self._hf(
            input_ids=torch.tensor([[token_id]], device=device),
            position_ids=torch.tensor([[position]], device=device),
            past_key_values=caches.fork(cache),
            **self._arguments,
        ).logits
        self._head_input()
        most = MOST_DIFFERENCE.get(expected.dtype, 0.0)
        difference = float((found - expected.float()).norm() / expected.float().norm())
        if not difference <= most:
            self.problem = f"its logits would differ by {difference:.1%} from the model's own"
            return None
        return graph


class _Graph:
    """A captured one-token pass, with room for a fixed number of positions."""

    def __init__(
        self,
        hf: PreTrainedModel,
        arguments: dict[str, object],
        head_input: Callable[[], torch.Tensor | None],
        capture: Callable[[Pass], Pass],
        room: int,
    ) -> None:
        self._static = StaticCache(config=hf.config, max_cache_len=room)
        self._token = torch.zeros((1, 1), dtype=torch.long, device=hf.device)
        self._position = torch.zeros((1, 1), dtype=torch.long, device=hf.device)
        # The keys of the first layer when the static cache last held the same text. A changed cache
        # has different ones; a fork of an unchanged cache has the same.
        self._held: weakref.ref[torch.Tensor] | None = None
        self._hidden: torch.Tensor | None = None

        def run() -> torch.Tensor:
            logits = hf(
                input_ids=self._token,
                position_ids=self._position,
                past_key_values=self._static,
                **arguments,
            ).logits
            self._hidden = head_input()
            return logits

        self._run = capture(run)

    def step(
        self, token_id: int, cache: Cache, position: int
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See `DecodeGraphs.step`."""
        if self._held is None or self._held() is not cache.layers[0].keys:
            self._take(cache, position)
        self._held = None  # a failed pass leaves nothing to continue from
        self._token.fill_(token_id)
        self._position.fill_(position)
        logits = self._run()
        added = slice(position, position + 1)
        for layer, static in zip(cache.layers, self._static.layers, strict=True):
            layer.update(static.keys[:, :, added], static.values[:, :, added])
        self._held = weakref.ref(cache.layers[0].keys)
        return logits, None if self._hidden is None else self._hidden.clone()

    def _take(self, cache: Cache, position: int) -> None:
        """Copy a text's keys and values into the static cache."""
        static = self._static.layers
        if not static[0].is_initialized:  # without a capture, nothing has run yet
            self._run()
        torch._foreach_copy_(
            [layer.keys[:, :, :position] for layer in static]
            + [layer.values[:, :, :position] for layer in static],
            [layer.keys for layer in cache.layers] + [layer.values for layer in cache.layers],
        )
        for layer in static:
            layer.cumulative_length.fill_(position)
