"""Opening a trace on its strategy's page: reproduce its text and compare it step by step."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from engine.decoding import Generation, check_model
from engine.errors import TraceError
from engine.trace import Trace
from ui.components.apps import mount_app
from ui.labs.inputs import Inputs
from ui.texts.traces import REMEDY, made_again
from ui.words.language import say

_APP = "trace_file"
_MAY_CHANGE = "max_new_tokens"  # between steps, as it affects a text's length but not its tokens


class Opened(NamedTuple):
    """The outcome of opening a trace.

    Attributes:
        inputs: the page's inputs that reproduce its text.
        text: the reproduced text.
        said: a sentence on whether its steps equal those of the trace.
    """

    inputs: Inputs
    text: Generation
    said: str


def opened(trace: Trace, inputs: Inputs, begun: Callable[[Inputs], Generation]) -> Opened:
    """Reproduce the text of a trace, and report progress to the job of this thread.

    Args:
        trace: from `ui.texts.traces.trace_of`.
        inputs: the page's inputs that should reproduce it.
        begun: returns the text for given inputs, before its first step.

    Raises:
        TraceError: the inputs or the model cannot reproduce the text.
        DecodingError: the text cannot begin, or a step fails.
    """
    text = begun(inputs)
    check_model(trace, text.model)
    _check_same(trace, text.trace())
    return Opened(inputs, text, made_again(trace, text))


def check_one_setting(trace: Trace) -> None:
    """Raise `TraceError` if settings change between steps, which no decoder page can show."""
    values = [dict(each) | {_MAY_CHANGE: None} for _, each in trace.settings]
    if any(each != values[0] for each in values):
        raise TraceError(
            say("The settings of the trace change partway; {remedy}.", remedy=say(REMEDY))
        )


def _check_same(trace: Trace, own: Trace) -> None:
    """Raise `TraceError` if the page's text differs from the trace in prompt tokens or settings."""
    if trace.prompt_ids != own.prompt_ids:
        raise TraceError(
            say(
                "Prompt: its text gives other tokens here than in the trace; {remedy}.",
                remedy=say(REMEDY),
            )
        )
    recorded = trace.settings[-1][1] | {"stop_strings": trace.stop_strings}
    now = own.settings[0][1] | {"stop_strings": own.stop_strings}
    for name in sorted(recorded.keys() | now.keys()):
        before, here = _plain(recorded.get(name)), _plain(now.get(name))
        if before != here and (name in recorded or here not in ("[]", "null")):
            raise TraceError(
                say(
                    "The trace has {name} {before}, and this page can only set {here}; {remedy}.",
                    name=name,
                    before=_short(before),
                    here=_short(here),
                    remedy=say(REMEDY),
                )
            )


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def trace_field(take: Callable[[str], None]) -> None:
    """Draw a field that reads a trace file in the browser and passes its contents to `take`."""
    with st.popover(say("Open a trace")), st.container(width=320):
        st.caption(
            say("The text is generated again here, and every figure is compared with the file.")
        )
        mount_app(_APP, "Trace file", {}, text=lambda: take(st.session_state[_APP].text))
