"""Settings that every test shares: no network, and properties that do not depend on the clock."""

import gc
import os
from collections.abc import Iterator

import hypothesis
import psutil
import pytest

gc.disable()  # until all tests are imported, as all that comes with them stays
# Read once, when huggingface_hub is first imported: a test that would download fails at once.
os.environ["HF_HUB_OFFLINE"] = "1"
# Visits of tests are nobody's work: none of them comes to the disk.
os.environ["DECODING_VISITS"] = "off"
# Their visitor sits at this computer: AppTest's stand-in for an address says nothing of it.
os.environ["DECODING_ONLY_ME"] = "yes"

# Time is measured by benchmarks and never asserted, so no example has a deadline. CI draws the same
# examples every time: a red run can be repeated. Elsewhere they are new ones every time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session", autouse=True)
def idle() -> Iterator[None]:
    """Take the machine for idle, so that pages draw conclusions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psutil, "getloadavg", lambda: (0.0, 0.0, 0.0))
        yield


def pytest_collection_finish() -> None:
    """What was imported stays, so no collection of garbage need look through it again."""
    gc.enable()
    gc.freeze()
