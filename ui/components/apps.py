"""Mounting of browser apps, and the files that the browser fetches (see README.md).

An app is a folder of `js/apps`: its `main.js` exports ``mount(root, data, tell)``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import plotly
import streamlit as st

from ui.server.served_files import address, address_of_value
from ui.words.language import ENGLISH, language, say, sentences

HERE = Path(__file__).parent
MODULES = HERE / "js"
STYLES = HERE / "css"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
SERVED = (MODULES, STYLES, PLOTLY)
_NOTHING: Mapping[str, str] = MappingProxyType({})

FETCH = """
export default function () {
  if (window.Plotly || document.head.querySelector('script[src="{{plotly}}"]')) return;
  const script = Object.assign(document.createElement('script'), { src: '{{plotly}}' });
  script.onerror = () => script.remove(); // the charts ask again, and say so
  document.head.append(script);
}
"""


def mount_app(
    name: str,
    label: str | None,
    data: Mapping[str, Any],
    *,
    served: Mapping[str, str] = _NOTHING,
    kind: str = "dv",
    key: str = "",
    **told: Callable[[], None],
) -> None:
    """Mount an app, or pass new data to the one already mounted.

    Args:
        name: its folder.
        label: its accessible name, marked; None if a part has one.
        data: the data that it gets on every redraw, as JSON.
        served: addresses, by name, of data that it fetches only once (`address_of_value`).
        kind: the CSS class of its element; ``dv`` for the parts styled in `css`.
        key: its key in the session's state, if not the name; a new key mounts it again.
        told: by event name, called when the app reports that event.
    """
    code = language()
    given = dict(data) | {
        "language": code,
        "served": dict(served) | _sentences(code),
        "label": None if label is None else say(label),
    }
    changes = {f"on_{event}_change": call for event, call in told.items()}
    # In a list: Streamlit looks for tables in a dict, and imports pandas for that.
    _component(name, kind)(key=key or name, data=[given], **changes)


@cache
def _sentences(code: str) -> dict[str, str]:
    """Return the address of a language's sentences; empty for English, which is in the code."""
    return {} if code == ENGLISH else {"sentences": address_of_value(sentences(code))}


def fetch_charts() -> None:
    """Let the browser fetch Plotly.js while the server is still importing PyTorch."""
    url = f"{address(PLOTLY)}/{PLOTLY.name}"
    script = FETCH.replace("{{plotly}}", url)
    fetcher = st.components.v2.component("decoding.fetch", js=script, isolate_styles=False)
    with st.container(key="fetch"):
        fetcher(key="fetch_charts")


@cache
def _component(name: str, kind: str) -> Any:
    modules, styles = address(MODULES), address(STYLES)
    places = {
        "mounting": f"{modules}/apps/mounting.js",
        "app": f"{modules}/apps/{name}/main.js",
        "styles": [f"{styles}/{file.name}" for file in _style_files()],
        "plotly": f"{address(PLOTLY)}/{PLOTLY.name}",
    }
    bootstrap = (HERE / "bootstrap.js").read_text("utf-8")
    return st.components.v2.component(
        f"decoding.{name}",
        html=f'<section class="{kind}"></section>',
        js=bootstrap.replace("{{places}}", json.dumps(places)),
        isolate_styles=False,  # Plotly's measurements go wrong in a shadow root
    )


def _style_files() -> list[Path]:
    """List the style files: the shared base first, then those of the parts."""
    return sorted(STYLES.glob("*.css"), key=lambda file: (file.name != "base.css", file.name))
