"""Displays Plotly figures in charts that stay mounted and are updated in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from ui.components.apps import mount_app

CONFIG = {"displayModeBar": False, "scrollZoom": False}  # Plotly's bar hides the legend on a phone
SAVED = CONFIG | {  # only the camera: on a phone, Plotly's other buttons would hide the legend
    "displayModeBar": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
}


def show_figure(
    figure: go.Figure,
    key: str,
    alt: str,
    *,
    on_point: Callable[[Any], None] | None = None,
    config: Mapping[str, Any] = CONFIG,
) -> None:
    """Draw a figure, or update the existing chart with it.

    Args:
        figure: the figure; its layout sets the height.
        key: key of the chart in the session's state.
        alt: alternative text that describes the figure.
        on_point: called with the `customdata` of a clicked point.
        config: Plotly configuration.
    """
    data = {
        "figure": figure.to_json(),
        "alt": alt,
        "config": dict(config),
        "has_points": on_point is not None,
    }
    told = {} if on_point is None else {"point": lambda: on_point(st.session_state[key].point)}
    mount_app("figure", None, data, kind="dv-plotly", key=key, **told)
