"""Unexpected exceptions: the visitor sees one sentence with a number, the log has the traceback.

The sentence says what happened to the visitor's work and what to do. The operator of the app finds
the traceback by the number. Neither a fault that recurs a thousand times nor a message with a
megabyte of text can fill the log.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import streamlit as st
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

from engine.errors import DecodingError, panics_as_errors
from ui.words.errors import in_words
from ui.words.labels import markdown_text
from ui.words.language import marked, say

KEPT = marked("Your texts and settings are kept; try it again, or reload the page.")
SAME_SECONDS = 600.0  # a fault that recurs within this time keeps its number
MOST_KNOWN = 100  # faults whose numbers are remembered
MOST_FRAMES = 30  # of a traceback in the log
LONGEST_LINE = 300  # characters of a line in the log: a message may contain a visitor's text
_PENDING = "problem"  # in the session's state: a sentence for the next run of the page

_log = logging.getLogger(__name__)


@dataclass
class _Fault:
    number: str
    last: float
    count: int = 1


_known: OrderedDict[str, _Fault] = OrderedDict()
_lock = threading.Lock()


def report(error: BaseException, doing: str = marked("this page"), kept: str = KEPT) -> str:
    """Return a sentence for the screen; an unexpected error is logged under the number in it.

    Args:
        error: the exception. The message of an expected one is the sentence itself.
        doing: the interrupted work, marked: "this page", "the sweep".
        kept: the sentence on what is kept of the person's work, and what to do; marked.
    """
    if isinstance(error, DecodingError):
        return in_words(error)
    number = _logged(error, doing)
    return say(
        "An unexpected error interrupted {doing}. {kept} If it happens again, give this "
        "number to the person who runs this app: {number}.",
        doing=say(doing),
        kept=say(kept),
        number=number,
    )


def _logged(error: BaseException, doing: str) -> str:
    now = time.monotonic()
    places = traceback.extract_tb(error.__traceback__)
    last = f"{places[-1].filename}:{places[-1].lineno}" if places else ""
    name = f"{type(error).__name__} {last} {doing}"
    with _lock:
        fault = _known.get(name)
        is_new = fault is None or now - fault.last > SAME_SECONDS
        if is_new:
            fault = _known[name] = _Fault(f"{secrets.randbelow(90_000) + 10_000}", now)
        else:
            fault.last = now
            fault.count += 1
        _known.move_to_end(name)
        while len(_known) > MOST_KNOWN:
            _known.popitem(last=False)
    if is_new:
        _log.error("Problem %s interrupted %s\n%s", fault.number, doing, _told(error))
    elif fault.count in (10, 100, 1_000, 10_000, 100_000):
        _log.error("Problem %s has come %s times", fault.number, f"{fault.count:,}")
    return fault.number


def _told(error: BaseException) -> str:
    told = traceback.TracebackException.from_exception(error, limit=-MOST_FRAMES)
    lines = "".join(told.format()).splitlines()
    return "\n".join(line[:LONGEST_LINE] for line in lines[-4 * MOST_FRAMES :])


# --- on a page ------------------------------------------------------------------------------------


def on_script_error(error: Exception) -> bool:
    """Show the sentence where the page failed, below what it has drawn; for `st.App`.

    A page that fails in the callback of a field has drawn nothing yet, so it is drawn again, and
    `show_pending` shows the sentence. The callback is not called again.
    """
    sentence = report(error)
    if not (_is_of_callback(error) and _redrawn_with(sentence)):
        st.error(markdown_text(sentence))
    return True


def show_pending() -> None:
    """Show the sentence that the last run of this page left, if any."""
    sentence = st.session_state.pop(_PENDING, "")
    if sentence:
        st.error(markdown_text(sentence))


def guarded(draw: Callable[..., None], doing: str) -> Callable[..., None]:
    """Wrap a part of a page: if it fails, an error sentence takes its place and the page continues.

    Args:
        draw: draws the part.
        doing: its name, marked: "the fields".
    """

    @wraps(draw)
    def drawn(*arguments: object) -> None:
        try:
            with panics_as_errors():
                draw(*arguments)
        except Exception as error:
            st.error(markdown_text(report(error, doing)))

    return drawn


def _is_of_callback(error: Exception) -> bool:
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_name == "_call_callbacks" for frame, _ in frames)


def _redrawn_with(sentence: str) -> bool:
    """Ask Streamlit to run the page again, as `st.rerun` does; return whether it will."""
    context = get_script_run_ctx()
    if context is None or context.script_requests is None:
        return False
    st.session_state[_PENDING] = sentence
    return context.script_requests.request_rerun(
        RerunData(
            query_string=context.query_string,
            page_script_hash=context.page_script_hash,
            cached_message_hashes=context.cached_message_hashes,
            context_info=context.context_info,
        )
    )


# --- the log --------------------------------------------------------------------------------------


class AtMost(logging.Filter):
    """Log filter that passes `lines` lines a minute, so that visitors cannot fill the disk."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self._lines = lines
        self._minute, self._count = 0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write this line; the last of a minute says that more are left out."""
        minute = int(record.created // 60)
        if minute != self._minute:
            self._minute, self._count = minute, 0
        self._count += 1
        if self._count == self._lines:
            record.msg = f"{record.msg} (further lines of this kind are left out for a minute)"
        return self._count <= self._lines


def log_to_terminal() -> None:
    """Write this app's log to the terminal, with the time; the server calls this once."""
    ours = logging.getLogger("ui")
    if not ours.handlers:
        terminal = logging.StreamHandler()
        terminal.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        ours.addHandler(terminal)
        ours.propagate = False
    # Streamlit also logs each exception of a page, without a number and each time in full. The
    # server takes a refusal by the guard for a fault, although the guard has logged the reason.
    logging.getLogger("streamlit.error_util").addFilter(lambda record: not record.exc_info)
    logging.getLogger("uvicorn.error").addFilter(
        lambda record: "without completing handshake" not in record.getMessage()
    )
