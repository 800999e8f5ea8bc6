"""Files of earlier versions, as the present one would have written them.

decoding-trace 1        sampling with or without guidance; no `strategy`
contrastive-search 1    contrastive search: `top_k` beside the steps instead of `settings`
"""

from __future__ import annotations

from typing import Any

from engine.errors import TraceError
from engine.trace.values import shown

FORMAT = "decoding-trace"
VERSION = 2
# By field of a step of version 1: stage and name of the number.
_STATE_FIELDS = {"xtc_uniform": ("xtc", "uniform"), "mirostat_mu": ("mirostat", "mu")}


def upgraded(data: Any) -> dict[str, Any]:
    """A trace of any known version as one of the present; its values are not checked yet.

    Raises:
        TraceError: no trace, or one of another version.
    """
    known = (FORMAT, _SEARCH)
    if type(data) is not dict or not any(data.get("format") == name for name in known):
        raise TraceError("This is no decoding trace; choose a file saved by this app.")
    version = data.get("version")
    newest = VERSION if data["format"] == FORMAT else 1
    if type(version) is not int or not 1 <= version <= newest:
        raise TraceError(
            f"This trace has format version {shown(version)}, this app reads 1 to {VERSION}; "
            "update the app or save the trace again."
        )
    if data["format"] == _SEARCH:
        return _from_search(data)
    if version == 1:
        strategy = "guidance" if "guidance" in data else "sampling"
        steps = data.get("steps")
        if type(steps) is list:
            steps = [_with_states(step) if type(step) is dict else step for step in steps]
        return data | {"version": VERSION, "strategy": strategy, "steps": steps}
    return data


_SEARCH = "contrastive-search"


def _with_states(step: dict[str, Any]) -> dict[str, Any]:
    """A step whose state of XTC and Mirostat stands in fields of its own."""
    kept = {name: value for name, value in step.items() if name not in _STATE_FIELDS}
    states = [
        {"stage": stage, "name": name, "value": step[field]}
        for field, (stage, name) in _STATE_FIELDS.items()
        if step.get(field) is not None
    ]
    return kept | {"stage_states": states} if states else kept


def _from_search(data: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in data.items() if name != "top_k"}
    steps = data.get("steps")
    settings: list[list[Any]] = []
    for index, step in enumerate(steps if type(steps) is list else []):
        alpha = step.get("penalty_alpha") if type(step) is dict else None
        if not settings or settings[-1][1]["penalty_alpha"] != alpha:
            settings.append([index, {"top_k": data.get("top_k"), "penalty_alpha": alpha}])
    # The file tells alpha step by step, so without a step it is not known.
    settings = settings or [[0, {"top_k": data.get("top_k"), "penalty_alpha": None}]]
    own = {"format": FORMAT, "version": VERSION, "strategy": "contrastive"}
    return plain | own | {"settings": settings}
