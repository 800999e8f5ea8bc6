"""Settings that every test shares: no network, and properties that do not depend on the clock."""

import gc
import os
from collections.abc import Iterator

import hypothesis
import psutil
import pytest
from xdist.scheduler import LoadFileScheduling

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


class Scheduling(LoadFileScheduling):
    """A file to a worker at a time; the browser's files in two parts, each with its own server.

    To start a server and fill a browser's cache costs as much as many a file.
    """

    PARTS = 2

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self._part_of: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if not file.startswith("tests/browser/"):
            return file
        part = self._part_of.setdefault(file, len(self._part_of) % self.PARTS)
        return f"tests/browser, part {part}"


def pytest_xdist_make_scheduler(config: pytest.Config, log) -> Scheduling:
    """Hand out the tests to the workers of `make test`."""
    return Scheduling(config, log)


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
