"""Traces of beam search: a table of its hypotheses, and files that contradict themselves."""

from dataclasses import replace

import pytest

from engine.decoding.beam import BeamSearch, BeamSettings
from engine.errors import TraceError
from engine.trace import Trace
from tests.engine import tiny_models

SETTINGS = BeamSettings(width=3, length_penalty=0.5, early_stopping="never", max_new_tokens=4)


@pytest.fixture(scope="module")
def search() -> BeamSearch:
    made = BeamSearch(tiny_models.shared("llama"), tiny_models.prompt(0), SETTINGS)
    list(made.run())
    return made


def test_settings_come_back_as_they_were(search):
    trace = Trace.from_dict(search.trace().to_dict())
    assert BeamSettings.from_dict(trace.settings_at(0)) == SETTINGS
    assert trace == search.trace() and trace.stop_reason == "max_tokens"


def test_a_search_as_a_table_has_a_row_for_every_hypothesis(search):
    frame = search.trace().to_frame()
    assert frame.groupby("index").size().tolist() == [6] * 4
    assert (frame["fate"] == "finished").sum() == 3
    assert frame["beam"].notna().groupby(frame["index"]).sum().tolist() == [3, 3, 3, 0]
    empty = replace(search.trace(), steps=()).to_frame()
    assert list(empty.columns) == list(frame.columns) and len(empty) == 0


def message_of(trace: Trace, index: int, **changes) -> str:
    steps = list(trace.steps)
    steps[index] = replace(steps[index], **changes)
    with pytest.raises(TraceError) as caught:
        Trace.from_dict(replace(trace, steps=tuple(steps)).to_dict())
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parent": 3}, "step 1: candidates[0].parent must be below 3, the beams before"),
        ({"group": 1}, "step 1: candidates[0].group must be below 1, as groups says"),
        ({"total": -0.5}, "step 1: candidates[0].total is not its beam's total and its logprob"),
        ({"logprob": 0.5}, "step 1: candidates[0].logprob must be a finite number of at most 0"),
        ({"beam": None}, "step 1: candidates[0].beam does not fit the fate kept"),
        ({"beam": 7}, "step 1: candidates do not number the beams from 0"),
        ({"beam": 1}, "step 1: candidates[1].beam is that of another candidate too"),
        ({"score": -1.0}, "step 1: candidates[0].score does not fit the fate kept"),
        ({"fate": "lost"}, "step 1: candidates[0].fate must be one of kept, pruned, finished"),
        ({"penalty": "1"}, "step 1: candidates[0].penalty must be a finite number, got '1'"),
    ],
)
def test_hypotheses_that_contradict_their_search_are_refused(search, changes, said):
    trace = search.trace()
    candidates = list(trace.steps[1].candidates)
    candidates[0] = replace(candidates[0], **changes)
    assert said in message_of(trace, 1, candidates=tuple(candidates))


def test_a_pool_or_a_best_text_that_is_none_is_refused(search):
    trace = search.trace()
    last = trace.steps[3]
    for changes, said in (
        ({"pool": (replace(last.pool[0], step=2),)}, "step 3: pool[0] names no finished candidate"),
        ({"pool": last.pool * 2}, "step 3: pool must hold at most 3, got 6"),
        ({"ids_after": (1, 2)}, "step 3: ids_after is not the best hypothesis"),
        ({"score": last.score - 1}, "step 3: score is not that of the best hypothesis"),
        ({"stop_reason": "eos_token"}, "step 3: stop_reason must be one of max_tokens, context"),
    ):
        assert said in message_of(trace, 3, **changes)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("early_stopping", "soon", "settings[0].early_stopping must be true, false or never, got"),
        ("width", 0, "settings[0].width must be a whole number from 1 to 96, got 0"),
        ("diversity_penalty", -1.0, "settings[0].diversity_penalty must be a finite number of at"),
        ("beams", 1, "settings[0].beams is not known to this version"),
    ],
)
def test_settings_that_search_nothing_are_refused(search, name, value, said):
    trace = replace(search.trace(), steps=())
    settings = ((0, trace.settings[0][1] | {name: value}),)
    with pytest.raises(TraceError) as caught:
        Trace.from_dict(replace(trace, settings=settings).to_dict())
    assert said in str(caught.value)
