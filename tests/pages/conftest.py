"""What the tests of several pages share."""

from collections.abc import Iterator

import pytest

from tests.installed import looked_through_once
from tests.ui import hostile
from ui.visits.visits import VISITS


@pytest.fixture(scope="session", autouse=True)
def installed() -> Iterator[None]:
    with looked_through_once():
        yield


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """What pages began ends with its test, and does not go on beside the tests that follow."""
    yield
    for visit in VISITS._visits.values():
        for held in visit._pages.values():
            held.state.release()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """A tiny model whose texts do not end by themselves."""
    folder = tmp_path_factory.mktemp("tiny") / "model"
    hostile.language_model(context=128).save_pretrained(folder)
    tokenizer = hostile.tokenizer()
    tokenizer.eos_token = None
    tokenizer.save_pretrained(folder)
    return str(folder)
