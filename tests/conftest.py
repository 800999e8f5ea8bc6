"""Settings for all tests: no network, and properties that do not depend on the clock."""

import gc
import os
from collections.abc import Iterator

import hypothesis
import psutil
import pytest

gc.disable()  # until all tests are imported, as all imported objects stay
# Read once, when huggingface_hub is first imported: a test that would download fails at once.
os.environ["HF_HUB_OFFLINE"] = "1"
# Tests' visits are not anyone's work: none is written to disk.
os.environ["DECODING_VISITS"] = "off"
# The visitor is at this computer: AppTest's stand-in for an address cannot tell.
os.environ["DECODING_ONLY_ME"] = "yes"

# Benchmarks measure time; tests never assert it, so no example has a deadline. CI draws the same
# examples every time, so that a red run can be repeated. Other runs draw new examples.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session", autouse=True)
def idle() -> Iterator[None]:
    """Treat the machine as idle, so that pages draw conclusions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psutil, "getloadavg", lambda: (0.0, 0.0, 0.0))
        yield


def pytest_collection_finish() -> None:
    """Freeze the imported objects, so that no garbage collection scans them again."""
    gc.enable()
    gc.freeze()
