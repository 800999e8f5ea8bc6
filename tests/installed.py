"""What every AppTest would look for anew: components among all the packages that are installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner

SCAN = "scan_component_manifests"


@contextmanager
def looked_through_once() -> Iterator[None]:
    """Within it the packages are read for the first app alone: a fifth of a second for each one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, SCAN, cache(getattr(manifest_scanner, SCAN)))
        yield
