"""Streamlit settings that must fit together."""

import tomllib
from pathlib import Path

CONFIG = Path(__file__).resolve().parents[3] / ".streamlit/config.toml"


def test_streamlit_never_refers_to_cached_messages():
    """The browser may drop a cached message between request and answer; the page would end."""
    settings = tomllib.loads(CONFIG.read_text("utf-8"))
    longest = settings["server"]["maxMessageSize"] * 2**20
    assert settings["global"]["minCachedMessageSize"] > longest
