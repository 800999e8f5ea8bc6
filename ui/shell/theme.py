"""The colours of both themes, in one place: for browser components, HTML and charts.

Okabe-Ito hues: blue for kept, orange for chosen, vermilion for tokens that a sampler removes. No
state is shown by colour alone. `.streamlit/config.toml` must repeat a few of them, since Streamlit
reads nothing else; a test compares the two.
"""

from __future__ import annotations

from functools import cache

import streamlit as st

# By name: light, dark. In CSS they are custom properties such as `--dv-kept`.
COLOURS = {
    "ground": ("#ffffff", "#0f141a"),
    "panel": ("#f5f7f9", "#171f28"),
    "track": ("#e6ebf0", "#26303b"),
    "line": ("#dfe4ea", "#2a3541"),
    "text": ("#1c2430", "#e7ecf2"),
    "muted": ("#556070", "#a3b0be"),
    "faint": ("#8b95a3", "#6d7a89"),
    "kept": ("#0072b2", "#56b4e9"),
    "kept-text": ("#005a8d", "#7cc6f0"),
    "action": ("#0069a5", "#56b4e9"),
    "on-action": ("#ffffff", "#0b1015"),
    "chosen": ("#e69f00", "#f0b429"),
    "chosen-text": ("#7d5100", "#f0b429"),
    "on-chosen": ("#1c2430", "#0b1015"),
    "removed": ("#b8c0ca", "#4a5766"),
    "before": ("#8f99a6", "#6d7a89"),
    "cut": ("#c24e00", "#ff8a4c"),
    "cut-text": ("#a84300", "#ff8a4c"),
    "cut-2": ("#007a58", "#2fc79a"),
    "focus": ("#b35900", "#f0b429"),
    "shade-0": ("#f0f5f9", "#17212b"),
    "shade-1": ("#d9e9f4", "#172d3f"),
    "shade-2": ("#bfdaee", "#153a55"),
    "shade-3": ("#a1c9e5", "#13486c"),
    "shade-4": ("#80b6db", "#115784"),
    "shade-5": ("#5ea2d0", "#0f669c"),
}
# Colours of the series in a chart; each series also has its own symbol, dash and pattern.
SERIES = (
    ("#0072b2", "#56b4e9"),
    ("#c24e00", "#ff8a4c"),
    ("#007a58", "#2fc79a"),
    ("#a34f80", "#e29ac2"),
    ("#8a5a00", "#f0b429"),
    ("#1c2430", "#e7ecf2"),
)
# Colours from low to high, for heatmaps.
SCALE = (
    ("#f5f7f9", "#171f28"),
    ("#bcd9ea", "#1d3d52"),
    ("#7db5d6", "#24607f"),
    ("#3a8fc0", "#3a8ab5"),
    ("#0072b2", "#56b4e9"),
    ("#00456d", "#c3e6fa"),
)
# Colours of text on `SCALE`: on every colour, one of the two has a contrast of at least 4.5.
INKS = ("#000000", "#ffffff")


def colour(name: str, *, dark: bool) -> str:
    """Return a colour of `COLOURS` in one theme, as ``#rrggbb``."""
    return COLOURS[name][dark]


@cache
def css() -> str:
    """Return CSS that defines every colour as a custom property, for both themes."""
    pairs = COLOURS.items()
    rules = "".join(f"--dv-{name}: light-dark({one}, {other});" for name, (one, other) in pairs)
    return f":root {{ {rules} }}"


def is_dark() -> bool:
    """Return whether this visitor sees the dark theme."""
    return st.context.theme.type == "dark"
