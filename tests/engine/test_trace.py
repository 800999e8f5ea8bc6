"""Traces: what is saved comes back equal, and what cannot be saved is refused."""

import errno
import json
import math
import os
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import TraceError
from engine.trace import StageState, StageSummary, Step, Trace, values
from tests.engine.traces import EXAMPLE, EXAMPLE_STEP

# --- There and back ------------------------------------------------------------------------------

VOCAB = EXAMPLE.model["vocab_size"]
KNOWN_FACTS = {"input_size", "parameters", "name", "source", "device", "dtype", "torch"}
counts = st.integers(0, 2**40)
finite = st.floats(allow_nan=False, allow_infinity=False)
# JSON is UTF-8: text from a decoder holds no lone surrogates.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = ["temperature", "top_p"]  # the samplers of EXAMPLE
stages = st.lists(
    st.builds(StageSummary, st.sampled_from(names), st.integers(1, VOCAB), st.floats(0, 1)),
    max_size=2,
    unique_by=lambda stage: stage.name,
).map(tuple)


states = st.lists(
    st.builds(StageState, st.sampled_from(["xtc", "mirostat"]), text, finite), max_size=3
).map(tuple)


def of_kind(kind: values.Kind) -> st.SearchStrategy:
    """Any value that a field takes."""
    match kind:
        case values.Optional():
            return st.none() | of_kind(kind.kind)
        case values.Whole():
            return st.integers(kind.least, min(kind.most, 2**40))
        case values.Token():
            return st.integers(0, VOCAB - 1)
        case values.Count():
            return st.integers(kind.least, VOCAB)
        case values.Real():
            least = kind.least if math.isfinite(kind.least) else None
            most = kind.most if math.isfinite(kind.most) else None
            return st.floats(
                least, most, exclude_max=kind.open_above, allow_nan=False, allow_infinity=False
            )
        case values.OneOf():
            return st.sampled_from(kind.values)
        case values.Text():
            return text
        case values.Flag():
            return st.booleans()
        case values.Hexadecimal():
            return st.binary(max_size=8)
        case values.Row(values.Record(kind=row)):
            return stages if row is StageSummary else states
    assert isinstance(kind, values.Row), f"what is a {kind}?"
    return st.lists(of_kind(kind.kind), max_size=3).map(tuple)


steps = st.builds(Step, **{item.name: of_kind(item.metadata["kind"]) for item in fields(Step)})
plain_values = st.dictionaries(text, st.none() | st.booleans() | counts | finite | text, max_size=3)
# Facts that the format knows have a kind of their own; any others are kept as they are.
other_facts = plain_values.filter(lambda facts: facts.keys().isdisjoint(KNOWN_FACTS))
traces = st.builds(
    Trace,
    model=other_facts.map(lambda facts: facts | {"vocab_size": VOCAB}),
    prompt_ids=st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=5).map(tuple),
    prompt=text,
    settings=st.just(EXAMPLE.settings),
    stop_strings=st.lists(text, max_size=2).map(tuple),
    steps=st.lists(steps, max_size=4).map(
        lambda drawn: tuple(
            replace(step, index=place, guidance_scale=None) for place, step in enumerate(drawn)
        )
    ),
)


@given(drawn=traces)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_saved_trace_comes_back_equal(drawn, tmp_path):
    path = drawn.save(tmp_path / "run.json")
    assert Trace.load(path) == drawn


@given(steps)
def test_a_step_goes_through_plain_json_values(step):
    plain = json.loads(json.dumps(step.to_dict(), allow_nan=False))
    assert values.read(Step, plain, values.Limits(VOCAB, VOCAB)) == step


def test_a_trace_without_steps_comes_back_equal(tmp_path):
    empty = replace(EXAMPLE, steps=(), stop_strings=())
    path = empty.save(tmp_path / "run.json")
    assert Trace.load(path) == empty
    assert (empty.text, empty.token_ids, empty.stop_reason) == ("", [], None)


def test_save_takes_text_paths_and_replaces_what_was_there(tmp_path):
    path = str(tmp_path / "run.json")
    EXAMPLE.save(path)
    shorter = replace(EXAMPLE, steps=EXAMPLE.steps[:1])
    assert shorter.save(path) == Path(path)
    assert Trace.load(path) == shorter
    assert os.listdir(tmp_path) == ["run.json"], "a temporary file was left"


def test_what_a_trace_says_about_itself():
    assert EXAMPLE.text == " Paris Paris"
    assert EXAMPLE.token_ids == [6342] * 3
    assert EXAMPLE.stop_reason == "eos"


def test_to_frame_has_one_row_per_step_and_columns_for_each_stage():
    frame = EXAMPLE.to_frame()
    own = [item.name for item in fields(Step) if not item.name.startswith("stage")]
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


def test_to_frame_of_no_steps_has_the_columns_all_the_same():
    frame = replace(EXAMPLE, steps=()).to_frame()
    assert len(frame) == 0 and "token_id" in frame.columns
    assert not {"stages", "stage_states"} & set(frame.columns)


# --- Writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["run", "run.txt", "run.parquet", "run.JSON", "run.json.gz", ".json"]
)
def test_another_ending_is_refused(name, tmp_path):
    with pytest.raises(TraceError, match=r"must end in \.json\."):
        EXAMPLE.save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there_or_is_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in ("lost", "file"):
        with pytest.raises(TraceError, match=r"run\.json cannot be written: "):
            EXAMPLE.save(tmp_path / folder / "run.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(TraceError, match=r"run.json cannot be written: Permission denied"):
        EXAMPLE.save(tmp_path / "run.json")


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
        replace(EXAMPLE, steps=(replace(EXAMPLE_STEP, logit=math.nan),)),
        replace(EXAMPLE, steps=(replace(EXAMPLE_STEP, logprob=-math.inf),)),
        replace(EXAMPLE, model={"name": object()}),
        replace(EXAMPLE, model={"size": math.inf}),
    ],
    ids=["nan", "minus infinity", "object", "infinite model"],
)
def test_what_could_not_be_loaded_again_is_not_saved(unwritable, tmp_path):
    with pytest.raises(TraceError):
        unwritable.save(tmp_path / "run.json")
    assert os.listdir(tmp_path) == []
