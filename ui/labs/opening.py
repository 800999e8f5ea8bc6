"""A trace opened on the page of its strategy: its text made again, and compared step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st

from engine.decoding.generation import Generation
from engine.decoding.replay import check_model, replay
from engine.errors import TraceError
from engine.runner.scheduler import this_job
from engine.trace import Trace
from ui.components.apps import mount_app
from ui.labs.inputs import Inputs

_APP = "trace_file"
_MAY_CHANGE = "max_new_tokens"  # on the way: it says where a text ends, not what is in it
REMEDY = "make it again with `replay` in Python"


class Opened(NamedTuple):
    """What came of a trace.

    Attributes:
        inputs: those of the page that make its text.
        text: the text, with the steps that were made again.
        said: whether they are those of the trace, in a sentence.
    """

    inputs: Inputs
    text: Generation
    said: str


def trace_of(data: str, opens: Sequence[str]) -> Trace:
    """The trace in the text of a file.

    Args:
        data: the text.
        opens: strategies that the page shows.

    Raises:
        TraceError: no trace, one of another strategy, or one that no page can show.
    """
    trace = Trace.from_json(data)
    if trace.strategy not in opens:
        shown = " and ".join(opens)
        raise TraceError(
            f"This is a trace of the strategy {trace.strategy}; this page opens {shown}."
        )
    values = [dict(each) | {_MAY_CHANGE: None} for _, each in trace.settings]
    if any(each != values[0] for each in values):
        raise TraceError(f"The settings of the trace change on its way; {REMEDY}.")
    return trace


def made_again(trace: Trace, inputs: Inputs, begun: Callable[[Inputs], Generation]) -> Opened:
    """The text of a trace made again, with progress told to the job of this thread.

    Args:
        trace: from `trace_of`.
        inputs: the page's, which should make it.
        begun: the text of inputs before its first step.

    Raises:
        TraceError: the inputs do not make it, or the model cannot.
        DecodingError: what beginning and stepping raise.
    """
    text = begun(inputs)
    check_model(trace, text.model)
    _check_same(trace, text.trace())

    def tell(done: int, total: int) -> None:
        this_job().told("Making the text again", done, total)
        this_job().check()

    found = replay(trace, text.model, text=text, progress=tell)
    return Opened(inputs, text, f"Opened the trace. {found.sentence}")


def _check_same(trace: Trace, own: Trace) -> None:
    """Raise `TraceError` where the page would make another text than that of the trace."""
    if trace.prompt_ids != own.prompt_ids:
        problem = "The prompt of the trace has other tokens than its text has here"
        raise TraceError(f"{problem}; {REMEDY}.")
    recorded = trace.settings[-1][1] | {"stop_strings": trace.stop_strings}
    now = own.settings[0][1] | {"stop_strings": own.stop_strings}
    for name in sorted(recorded.keys() | now.keys()):
        before, here = _plain(recorded.get(name)), _plain(now.get(name))
        if before != here and (name in recorded or here not in ("[]", "null")):
            raise TraceError(
                f"The trace has {name} {_short(before)}, and this page can only set "
                f"{_short(here)}; {REMEDY}."
            )


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def trace_field(take: Callable[[str], None]) -> None:
    """A field that reads a trace file in the browser; `take` gets its text."""
    with st.popover("Open a trace"), st.container(width=320):
        st.caption("The text is made again here, and every figure is compared with the file.")
        mount_app(_APP, "Trace file", {}, text=lambda: take(st.session_state[_APP].text))
