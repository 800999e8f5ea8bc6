"""The charts of a page that `AppTest` has drawn."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

COMPONENT = "decoding.figure"


def charts(app: AppTest) -> dict[str, dict[str, Any]]:
    """Return the figures by key, in the order of the page."""
    return {
        element.key: json.loads(json.loads(element.proto.json)[0]["figure"])
        for element in app.get("bidi_component")
        if element.proto.component_name == COMPONENT
    }
