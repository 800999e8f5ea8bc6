"""Traces that a visitor opens: they are read, and their text is made again, alike on every page."""

from __future__ import annotations

from collections.abc import Sequence

from engine import replay
from engine.decoding import Generation
from engine.errors import TraceError
from engine.runner import this_job
from engine.trace import ON_PAGES, Trace
from ui.texts.limits import LARGEST_SEED, checked_whole
from ui.words.errors import told
from ui.words.language import marked, say

REMEDY = marked("make it again with `replay` in Python")


def trace_of(data: str, opens: Sequence[str]) -> Trace:
    """The trace in the text of a file.

    Args:
        data: the text.
        opens: strategies that the page shows.

    Raises:
        TraceError: not a trace, or one of another strategy.
        SettingError: a seed that the page's browser cannot hold.
    """
    trace = Trace.from_json(data, ON_PAGES)
    if trace.strategy not in opens:
        raise TraceError(
            say(
                "This is a trace of the strategy {strategy}; this page opens {shown}.",
                strategy=trace.strategy,
                shown=", ".join(opens),
            )
        )
    for _, values in trace.settings:
        seed = values.get("sampling", values).get("seed")
        if seed is not None:  # a search draws nothing
            checked_whole(say("Seed"), seed, 0, LARGEST_SEED)
    return trace


def made_again(trace: Trace, text: Generation) -> str:
    """Take the steps of a trace again, reporting to this thread's job; return the outcome in words.

    Args:
        trace: from `trace_of`.
        text: the text, before its first step.

    Raises:
        CancelledError: the job was cancelled.
        DecodingError: the model cannot make it again, or a step fails.
    """

    def tell(done: int, total: int) -> None:
        this_job().told("Generating the text again", done, total)
        this_job().check()

    found = replay(trace, text.model, text=text, progress=tell)
    sentences = map(told, found.sentences(1))  # pages count steps from 1
    return " ".join([say("Opened the trace."), *sentences])
