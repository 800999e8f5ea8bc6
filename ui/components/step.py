"""The step component: mounts it and names the files that the browser fetches (see README.md)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import plotly
import streamlit as st

from ui.server.served_files import address

HERE = Path(__file__).parent
MODULES = HERE / "js"
STYLES = HERE / "css"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
SERVED = (MODULES, STYLES, PLOTLY)
KEY = "step"

FETCH = """
export default function () {
  if (window.Plotly || document.head.querySelector('script[src="{{plotly}}"]')) return;
  const script = Object.assign(document.createElement('script'), { src: '{{plotly}}' });
  script.onerror = () => script.remove(); // the charts ask again, and say so
  document.head.append(script);
}
"""


@cache
def _component(modules: str, styles: str, plotly_js: str):
    bootstrap = (HERE / "bootstrap.js").read_text("utf-8")
    addresses = {
        "modules": modules,
        "styles": " ".join(f"{styles}/{file.name}" for file in sorted(STYLES.glob("*.css"))),
        "plotly": f"{plotly_js}/{PLOTLY.name}",
    }
    for name, place in addresses.items():
        bootstrap = bootstrap.replace(f"{{{{{name}}}}}", place)
    return st.components.v2.component(
        "decoding.step",
        html=(HERE / "step.html").read_text("utf-8"),
        js=bootstrap,
        isolate_styles=False,  # Plotly's measurements go wrong in a shadow root
    )


def fetch_charts() -> None:
    """Let the browser fetch Plotly.js while the server is still importing PyTorch."""
    url = f"{address(PLOTLY)}/{PLOTLY.name}"
    script = FETCH.replace("{{plotly}}", url)
    fetcher = st.components.v2.component("decoding.fetch", js=script, isolate_styles=False)
    with st.container(key="fetch"):
        fetcher(key="fetch_charts")


def step_component(data: bytes, on_event: Callable[[], None]) -> None:
    """Mount the component, or update the one on screen.

    Args:
        data: what `message.message` made.
        on_event: called with each event; `sent_event` then holds it.
    """
    component = _component(address(MODULES), address(STYLES), address(PLOTLY))
    component(key=KEY, data=data, on_event_change=on_event)


def sent_event() -> object:
    """What the browser sent with the event that is being handled."""
    return st.session_state[KEY]["event"]
