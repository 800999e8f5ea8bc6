import pytest

from engine.sampling import SamplingSettings
from tests.ui.step.visitor import PROMPT, Visitor
from ui.step.session import Session


@pytest.fixture
def visitor(bundled) -> Visitor:
    return Visitor(Session(bundled, PROMPT, SamplingSettings()))


@pytest.fixture
def session(visitor) -> Session:
    return visitor.session
