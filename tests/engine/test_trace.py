"""Traces: saved values come back equal, and values that cannot be saved are refused."""

import errno
import math
import os
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import TraceError
from engine.trace import StageState, Step, Trace
from tests.engine.traces import EXAMPLE, EXAMPLE_STEP

# --- Round trips ---------------------------------------------------------------------------------

VOCAB = EXAMPLE.model["vocab_size"]
KNOWN_FACTS = {"input_size", "parameters", "name", "source", "device", "dtype", "torch"}
counts = st.integers(0, 2**40)
finite = st.floats(allow_nan=False, allow_infinity=False)
# JSON is UTF-8: text from a decoder holds no lone surrogates.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
facts = st.none() | st.booleans() | counts | finite | text
# Facts that the format knows have their own types; others are kept unchanged.
models = st.dictionaries(text.filter(lambda name: name not in KNOWN_FACTS), facts, max_size=3)
steps = st.builds(
    replace,
    st.just(EXAMPLE_STEP),
    token_id=st.integers(0, VOCAB - 1),
    token_bytes=st.binary(max_size=8),
    text=text,
    u=st.none() | st.floats(0, 1, exclude_max=True),
    logit=finite,
    forced=st.booleans(),
    cache_bytes=counts,
    passes=st.lists(st.integers(1, 2**40), max_size=3).map(tuple),
    stage_states=st.lists(st.builds(StageState, text, text, finite), max_size=3).map(tuple),
)
traces = st.builds(
    replace,
    st.just(EXAMPLE),
    model=models.map(lambda drawn: drawn | {"vocab_size": VOCAB}),
    prompt_ids=st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=5).map(tuple),
    prompt=text,
    stop_strings=st.lists(text, max_size=2).map(tuple),
    steps=st.lists(steps, max_size=4).map(
        lambda drawn: tuple(replace(step, index=place) for place, step in enumerate(drawn))
    ),
)


@given(drawn=traces)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_saved_trace_comes_back_equal(drawn, tmp_path):
    path = drawn.save(tmp_path / "run.json")
    assert Trace.load(path) == drawn


def test_save_accepts_text_paths_and_replaces_files(tmp_path):
    path = str(tmp_path / "run.json")
    EXAMPLE.save(path)
    shorter = replace(EXAMPLE, steps=EXAMPLE.steps[:1])
    assert shorter.save(path) == Path(path)
    assert Trace.load(path) == shorter
    assert os.listdir(tmp_path) == ["run.json"], "a temporary file was left"


def test_trace_derives_text_ids_and_stop_reason():
    assert EXAMPLE.text == " Paris Paris"
    assert EXAMPLE.token_ids == [6342] * 3
    assert EXAMPLE.stop_reason == "eos"
    empty = replace(EXAMPLE, steps=())
    assert (empty.text, empty.token_ids, empty.stop_reason) == ("", [], None)


def test_frame_has_step_rows_and_stage_columns():
    frame = EXAMPLE.to_frame()
    nested = ("stages", "stage_states", "leading")
    own = [item.name for item in fields(Step) if item.name not in nested]
    assert list(frame.columns[: len(own)]) == own
    assert set(frame.columns[len(own) :]) == {
        f"{what}_{stage}"
        for what in ("survivors_after", "mass_removed_by")
        for stage in ("temperature", "top_p")
    }
    assert list(frame["token_bytes"]) == [step.token_bytes for step in EXAMPLE.steps]
    assert frame["survivors_after_top_p"].tolist()[:2] == [7, 7]
    assert math.isnan(frame["survivors_after_top_p"][2]), "step 2 had no stages"
    assert frame["mass_removed_by_top_p"][0] == 0.1
    assert list(replace(EXAMPLE, steps=()).to_frame().columns) == own


# --- Writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run", "run.JSON", "run.json.gz", ".json"])
def test_save_refuses_other_file_endings(name, tmp_path):
    with pytest.raises(TraceError, match=r"must end in \.json\."):
        EXAMPLE.save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_save_into_missing_folder_or_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in ("lost", "file"):
        with pytest.raises(TraceError, match=r"run\.json cannot be written: "):
            EXAMPLE.save(tmp_path / folder / "run.json")


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_the_old_file_survives_a_full_disk(failing, tmp_path, monkeypatch):
    path = EXAMPLE.save(tmp_path / "run.json")
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(TraceError, match=r"run\.json cannot be written: No space left"):
        replace(EXAMPLE, steps=()).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name], "a temporary file was left"


@pytest.mark.parametrize(
    "unwritable",
    [
        replace(EXAMPLE, steps=(replace(EXAMPLE_STEP, logprob=-math.inf),)),
        replace(EXAMPLE, model={"name": object()}),
    ],
    ids=["infinity", "object"],
)
def test_unloadable_trace_is_not_saved(unwritable, tmp_path):
    with pytest.raises(TraceError):
        unwritable.save(tmp_path / "run.json")
    assert os.listdir(tmp_path) == []
