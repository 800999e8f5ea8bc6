"""The page learns about a sampler with a memory that only a test's file defines."""

from engine.sampling import SamplingSettings
from engine.sampling.samplers import TopK
from tests.engine.sampling.samplers.test_memory import AtMost, known  # noqa: F401 - a fixture
from ui.step.message import STEP_FIELDS


def test_custom_stateful_sampler_reaches_the_page(visitor, session):
    visitor.settings = SamplingSettings(chain=[TopK(3), AtMost(1)], seed=1)
    visitor.steps(3)
    decoder = session.decoder
    header, _ = visitor.read_all()
    place = STEP_FIELDS.index("stage_states")
    assert [step[place] for step in header["steps"]] == [
        [
            ["at_most", "uniform", decoder.context(index).uniform(AtMost.stream)],
            ["at_most", "known", len(set(decoder.token_ids[:index]))],
        ]
        for index in range(3)
    ]
    visitor.do("inspect", index=2)
    header, _ = visitor.read()
    assert header["step"]["at_most_u"] == decoder.context(2).uniform(AtMost.stream)
    entry = header["shaped"]["outcomes"][-1]
    result = decoder.distribution(2).stages[-1]
    assert entry["name"] == "at_most" and entry["survivors"] == result.survivors
