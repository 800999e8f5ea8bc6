"""A server's metrics: its load and its speculation, in Prometheus' text format at ``/metrics``.

Verified with llama.cpp's build 11549, started with ``--metrics``, and vLLM 0.32.0.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

from engine.backend.client import Client
from engine.errors import CapabilityError, RejectedError

_LINE = re.compile(r"(\w+:\w+)(?:\{.*\})? (\d{1,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,2})?)(?: \d+)?")


@runtime_checkable
class ReportsMetrics(Protocol):
    """A dialect whose server has metrics."""

    def metrics(self) -> dict[str, float]:
        """Return the server's metrics (see `read_metrics`)."""


def read_metrics(client: Client) -> dict[str, float]:
    """Return a server's metrics by name, each the sum over its labels.

    Raises:
        CapabilityError: the server was started without metrics.
        ServerError: it does not answer.
    """
    try:
        content = client.get("/metrics", bytes).value
    except RejectedError as error:
        raise CapabilityError(
            "{server} has no metrics; start it with them, llama.cpp with --metrics.",
            client.address,
        ) from error
    found: defaultdict[str, float] = defaultdict(float)
    for line in content.decode("utf-8", "replace").splitlines():
        if match := _LINE.fullmatch(line):
            found[match[1]] += float(match[2])
    return dict(found)


@dataclass(frozen=True)
class ServerLoad:
    """The load of a server; None for all that it does not report. Means are since its start.

    Attributes:
        running, waiting: number of requests that it works on, and that wait for a slot.
        cache_used: share of its KV cache in use, 0 to 1.
        prefix_hits: share of prompt tokens that it took from its cache, 0 to 1.
        first_token_ms: mean time from a request to its first token, in milliseconds.
        token_ms: mean time of each further token, in milliseconds.
    """

    running: float | None
    waiting: float | None
    cache_used: float | None
    prefix_hits: float | None
    first_token_ms: float | None
    token_ms: float | None

    @classmethod
    def of(cls, metrics: Mapping[str, float]) -> Self:
        """Return the load that a server's metrics describe."""

        def first(*names: str) -> float | None:
            return next((metrics[name] for name in names if name in metrics), None)

        def share(part: float | None, whole: float | None) -> float | None:
            return part / whole if part is not None and whole else None

        def mean_ms(name: str) -> float | None:
            seconds = share(metrics.get(f"{name}_sum"), metrics.get(f"{name}_count"))
            return None if seconds is None else 1e3 * seconds

        cached = metrics.get("llamacpp:prompt_tokens_cached_total")
        if cached is None:
            prefix_hits = share(
                metrics.get("vllm:prefix_cache_hits_total"),
                metrics.get("vllm:prefix_cache_queries_total"),
            )
        else:
            prefix_hits = share(cached, cached + metrics.get("llamacpp:prompt_tokens_total", 0))
        # llama.cpp has a time for further tokens only, which the steps of this app do not ask for.
        return cls(
            running=first("vllm:num_requests_running", "llamacpp:requests_processing"),
            waiting=first("vllm:num_requests_waiting", "llamacpp:requests_deferred"),
            cache_used=metrics.get("vllm:kv_cache_usage_perc"),
            prefix_hits=prefix_hits,
            first_token_ms=mean_ms("vllm:time_to_first_token_seconds"),
            token_ms=mean_ms("vllm:inter_token_latency_seconds"),
        )
