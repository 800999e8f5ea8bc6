"""Traces that a visitor opens on any page: reading them and reproducing their text."""

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
    """Parse a trace file.

    Args:
        data: the contents of the file.
        opens: strategies whose traces the page can open.

    Raises:
        TraceError: the file is not a trace, or its strategy is not in `opens`.
        SettingError: the seed is not exact in a browser.
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
        if seed is not None:  # None for a search, which draws no random numbers
            checked_whole(say("Seed"), seed, 0, LARGEST_SEED)
    return trace


def made_again(trace: Trace, text: Generation) -> str:
    """Replay a trace's steps, reporting progress to this thread's job; returns the result in words.

    Args:
        trace: a trace from `trace_of`.
        text: the text before its first step.

    Raises:
        CancelledError: the job was cancelled.
        DecodingError: the model cannot reproduce the text, or a step fails.
    """

    def tell(done: int, total: int) -> None:
        this_job().told("Generating the text again", done, total)
        this_job().check()

    found = replay(trace, text.model, text=text, progress=tell)
    sentences = map(told, found.sentences(1))  # pages count steps from 1
    return " ".join([say("Opened the trace."), *sentences])
