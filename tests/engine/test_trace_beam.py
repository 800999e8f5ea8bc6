"""Traces of beam search: a table of its hypotheses."""

from dataclasses import replace

import pytest

from engine.decoding.beam import BeamSearch, BeamSettings
from engine.trace import Trace
from tests.engine import tiny_models

SETTINGS = BeamSettings(width=3, length_penalty=0.5, early_stopping="never", max_new_tokens=4)


@pytest.fixture(scope="module")
def search() -> BeamSearch:
    made = BeamSearch(tiny_models.shared("llama"), tiny_models.prompt(0), SETTINGS)
    list(made.run())
    return made


def test_beam_settings_round_trip_through_a_trace(search):
    trace = Trace.from_json(search.trace().to_json())
    assert BeamSettings.from_dict(trace.settings_at(0)) == SETTINGS
    assert trace == search.trace() and trace.stop_reason == "max_tokens"


def test_frame_has_a_row_for_every_hypothesis(search):
    frame = search.trace().to_frame()
    assert frame.groupby("index").size().tolist() == [6] * 4
    assert (frame["fate"] == "finished").sum() == 3
    assert frame["beam"].notna().groupby(frame["index"]).sum().tolist() == [3, 3, 3, 0]
    empty = replace(search.trace(), steps=()).to_frame()
    assert list(empty.columns) == list(frame.columns) and len(empty) == 0
