"""Mounts what lives in the browser, and names the files that the browser fetches (see README.md).

An app is a folder of `js/apps`: its `main.js` exports ``mount(root, data, tell)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import plotly
import streamlit as st

from ui.server.served_files import address
from ui.words.language import language, say, sentences

HERE = Path(__file__).parent
MODULES = HERE / "js"
STYLES = HERE / "css"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
SERVED = (MODULES, STYLES, PLOTLY)

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
    label: str,
    data: Mapping[str, Any],
    *,
    kind: str = "dv",
    key: str = "",
    **told: Callable[[], None],
) -> None:
    """Mount an app, or hand other data to the one that is there.

    Args:
        name: its folder.
        label: its accessible name, marked.
        data: what it gets; as JSON.
        kind: the class of its element; that of the parts in `css` is ``dv``.
        key: in the session's state, where that is not the name; another key is another mount.
        told: called when it tells something, by name.
    """
    component = _component(name, label, kind, address(MODULES), address(STYLES), address(PLOTLY))
    changes = {f"on_{event}_change": call for event, call in told.items()}
    component(key=key or name, data=dict(data) | _spoken() | {"label": say(label)}, **changes)


def _spoken() -> dict[str, Any]:
    """The language of the page, and what its sentences are in that."""
    code = language()
    return {"language": code, "sentences": sentences(code)}


def fetch_charts() -> None:
    """Let the browser fetch Plotly.js while the server is still importing PyTorch."""
    url = f"{address(PLOTLY)}/{PLOTLY.name}"
    script = FETCH.replace("{{plotly}}", url)
    fetcher = st.components.v2.component("decoding.fetch", js=script, isolate_styles=False)
    with st.container(key="fetch"):
        fetcher(key="fetch_charts")


@cache
def _component(name: str, label: str, kind: str, modules: str, styles: str, plotly_js: str) -> Any:
    bootstrap = (HERE / "bootstrap.js").read_text("utf-8")
    places = {
        "app": f"{modules}/apps/{name}/main.js",
        "words": f"{modules}/words/say.js",
        "styles": " ".join(f"{styles}/{file.name}" for file in _style_files()),
        "plotly": f"{plotly_js}/{PLOTLY.name}",
    }
    for place, found in places.items():
        bootstrap = bootstrap.replace(f"{{{{{place}}}}}", found)
    return st.components.v2.component(
        f"decoding.{name}",
        html=f'<section class="{kind}" aria-label="{label}"></section>',
        js=bootstrap,
        isolate_styles=False,  # Plotly's measurements go wrong in a shadow root
    )


def _style_files() -> list[Path]:
    """What all parts stand on first, then the parts' own."""
    return sorted(STYLES.glob("*.css"), key=lambda file: (file.name != "base.css", file.name))
