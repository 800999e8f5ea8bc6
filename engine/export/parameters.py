"""Settings as parameters of a request to a server, for programs that send it themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.export import llama_cpp, vllm
from engine.export.table import Entry
from engine.sampling import SamplingSettings

Writer = Callable[[SamplingSettings], dict[str, object]]

# By the kind of server, as in `engine.connect`.
_SERVERS: dict[str, tuple[Mapping[str, Entry], Writer]] = {
    "llama.cpp": (llama_cpp.TABLE, llama_cpp.server_parameters),
    "vllm": (vllm.SERVER_TABLE, vllm.server_parameters),
}


def parameters_for(kind: str, settings: SamplingSettings) -> dict[str, object] | None:
    """Return settings as parameters of a request, without those that such a server lacks.

    Args:
        kind: the kind of server.
        settings: the settings; without a chain, the parameters switch every sampler off.

    Returns:
        The parameters as JSON values; None if the kind's names are unknown.
    """
    server = _SERVERS.get(kind)
    return None if server is None else server[1](settings)


def has_setting(kind: str, setting: str) -> bool:
    """Return whether a kind of server has one of the app's settings."""
    return bool(names_of(kind, setting))


def names_of(kind: str, setting: str) -> tuple[str, ...]:
    """Return a kind of server's names of one of the app's settings; empty if it lacks it."""
    entry = _SERVERS[kind][0].get(setting) if kind in _SERVERS else None
    return () if entry is None or entry.lacking else entry.names
