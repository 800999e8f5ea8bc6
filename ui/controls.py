"""What the fields of several pages share."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

_NAMES = {"top_k": "Top-k", "top_p": "Top-p", "min_p": "Min-p", "top_h": "Top-h"}


def setting_name(setting: str) -> str:
    """A setting for reading: ``Top-p``, ``Repetition penalty``."""
    return _NAMES.get(setting, setting.replace("_", " ").capitalize())


def is_dark() -> bool:
    """Whether this visitor sees the dark theme."""
    return st.context.theme.type == "dark"


def still_there() -> Callable[[], bool]:
    """Whether this visitor is still connected, for a thread that runs without one to ask."""
    context = get_script_run_ctx()
    connection = context.session_id if context else ""
    return lambda: not Runtime.exists() or Runtime.instance().is_active_session(connection)
