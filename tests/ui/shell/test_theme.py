"""The colours are in one file; Streamlit's own configuration must repeat some."""

import re
import tomllib
from pathlib import Path

import pytest

from ui.shell import theme

ROOT = Path(__file__).resolve().parents[3]
ROLES = {  # Streamlit's options, and the colour each should have
    "primaryColor": "action",
    "backgroundColor": "ground",
    "secondaryBackgroundColor": "panel",
    "textColor": "text",
    "borderColor": "line",
    "linkColor": "kept-text",
    "blueColor": "kept",
    "orangeColor": "chosen",
    "redColor": "cut",
    "greenColor": "cut-2",
    "grayColor": "muted",
}


@pytest.mark.parametrize("dark", [False, True])
def test_streamlit_colours_match_the_theme(dark):
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))
    wanted = {role: theme.colour(name, dark=dark) for role, name in ROLES.items()}
    wanted["chartCategoricalColors"] = [pair[dark] for pair in theme.SERIES]
    assert config["theme"]["dark" if dark else "light"] == wanted


def test_every_colour_that_a_style_uses_is_defined():
    defined = set(re.findall(r"(--dv-[\w-]+):", theme.css()))
    for file in (ROOT / "ui").rglob("*.css"):
        text = file.read_text("utf-8")
        own = set(re.findall(r"(--dv-[\w-]+)\s*:", text))
        colours = re.findall(r"(?:color|background|border[\w-]*): [^;]*var\((--dv-[\w-]+)\)", text)
        assert set(colours) <= defined | own | {"--dv-radius"}, file.name
