from collections.abc import Iterator

import pytest

from engine.decoder import Decoder
from engine.model import LanguageModel
from engine.sampling import SamplingSettings
from tests.bundled import bundled
from tests.installed import looked_through_once
from tests.ui import hostile

SETTINGS = SamplingSettings(
    repetition_penalty=1.2, temperature=0.7, top_k=12, top_p=0.8, min_p=0.02, seed=3
)


@pytest.fixture(scope="session", autouse=True)
def installed() -> Iterator[None]:
    with looked_through_once():
        yield


@pytest.fixture(scope="session")
def model() -> LanguageModel:
    return LanguageModel(hostile.language_model(), hostile.tokenizer(), name="hostile")


@pytest.fixture
def decoder(model) -> Decoder:
    """Six steps: five drawn, the last forced to a token that the cuts had removed."""
    decoder = Decoder(model, "w1|w2|<b>bold</b>", SETTINGS)
    for _ in range(5):
        decoder.step()
    decoder.next_distribution()
    last = decoder.fork()
    last.step()
    removed = last.distribution(5).candidates(40)[-1]
    assert removed.removed_by is not None
    decoder.step(removed.token_id)
    return decoder


@pytest.fixture(scope="session", name="bundled")
def the_bundled_model() -> LanguageModel:
    return bundled()
