"""A cache for AppTest's search for components in all installed packages."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

SCAN = "scan_component_manifests"


@contextmanager
def looked_through_once() -> Iterator[None]:
    """Read the packages for the first app only, which saves each later app a fifth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, SCAN, cache(getattr(manifest_scanner, SCAN)))
        yield
