"""What the tests of several pages share."""

import pytest

from tests.ui import hostile


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """A tiny model whose texts do not end by themselves."""
    folder = tmp_path_factory.mktemp("tiny") / "model"
    hostile.language_model(context=128).save_pretrained(folder)
    tokenizer = hostile.tokenizer()
    tokenizer.eos_token = None
    tokenizer.save_pretrained(folder)
    return str(folder)
