"""Fixtures for the tests of several pages."""

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
    """End the pages' work with its test, so that it does not run during later tests."""
    yield
    for visit in VISITS._visits.values():
        for held in visit._pages.values():
            held.state.release()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """A tiny model whose texts do not end on their own."""
    folder = tmp_path_factory.mktemp("tiny") / "model"
    hostile.language_model(context=128).save_pretrained(folder)
    tokenizer = hostile.tokenizer()
    tokenizer.eos_token = None
    tokenizer.save_pretrained(folder)
    return str(folder)
