"""Traces: what is saved comes back equal; a file that is no trace is refused with a sentence."""

import errno
import json
import math
import os
import random
import subprocess
import sys
import textwrap
from dataclasses import MISSING, fields, replace
from pathlib import Path

import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import trace as trace_module
from engine.errors import DecodingError, TraceError
from engine.trace import StageSummary, Step, Trace

ROOT = Path(__file__).resolve().parents[2]
ENDINGS = [".json", ".parquet"]

EXAMPLE_STEP = Step(
    index=0,
    token_id=6342,
    token_bytes=b" Paris",
    text=" Paris",
    is_special=False,
    forced=False,
    u=0.5871,
    rank=1,
    logit=17.25,
    logprob=-0.36,
    probability=0.81,
    entropy_bits=1.3,
    model_entropy_bits=2.25,
    survivors=7,
    stages=(StageSummary("temperature", 16_384, 0.0), StageSummary("top_p", 7, 0.1)),
    stop_reason=None,
    stop_string=None,
    is_prefill=True,
    reused=False,
    cache_positions=5,
    cache_bytes=30_720,
    cache_bytes_held=30_720,
    forward_ms=9.5,
    shape_ms=0.3,
    draw_ms=0.1,
    total_ms=10.1,
)
EXAMPLE = Trace(
    model={"name": "tiny", "vocab_size": 16_384, "revision": None},
    prompt_ids=(1, 2, 3),
    prompt="The capital of France is",
    settings=((0, {"chain": [["temperature", 0.7], ["top_p", 0.9]], "seed": 0}),),
    stop_strings=("\n\n",),
    steps=(
        EXAMPLE_STEP,
        replace(EXAMPLE_STEP, index=1, token_bytes=b"\xf0\x9f", text="", u=None, is_prefill=False),
        replace(EXAMPLE_STEP, index=2, forced=True, stages=(), stop_reason="eos", is_special=True),
    ),
)

# --- There and back ------------------------------------------------------------------------------

counts = st.integers(0, 2**40)
finite = st.floats(allow_nan=False, allow_infinity=False)
# JSON and Parquet are UTF-8: text from a decoder holds no lone surrogates.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
by_type = {
    "int": counts,
    "float": finite,
    "str": text,
    "bool": st.booleans(),
    "bytes": st.binary(max_size=8),
    "tuple[StageSummary, ...]": st.lists(
        st.builds(StageSummary, st.sampled_from(["temperature", "top_k", "top_p"]), counts, finite),
        max_size=3,
        unique_by=lambda stage: stage.name,
    ).map(tuple),
}


def of_field(declared: str) -> st.SearchStrategy:
    plain = by_type[declared.removesuffix(" | None")]
    return st.none() | plain if declared.endswith(" | None") else plain


steps = st.builds(Step, **{item.name: of_field(item.type) for item in fields(Step)})
plain_values = st.dictionaries(text, st.none() | st.booleans() | counts | finite | text, max_size=3)
traces = st.builds(
    Trace,
    model=plain_values,
    prompt_ids=st.lists(counts, max_size=5).map(tuple),
    prompt=text,
    settings=st.lists(st.tuples(counts, plain_values), max_size=2).map(tuple),
    stop_strings=st.lists(text, max_size=2).map(tuple),
    steps=st.lists(steps, max_size=4).map(
        lambda drawn: tuple(replace(step, index=place) for place, step in enumerate(drawn))
    ),
)


@given(drawn=traces)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_saved_trace_comes_back_equal(drawn, ending, tmp_path):
    path = drawn.save(tmp_path / f"run{ending}")
    assert Trace.load(path) == drawn


@given(steps)
def test_a_step_goes_through_plain_json_values(step):
    assert Step.from_dict(json.loads(json.dumps(step.to_dict(), allow_nan=False))) == step


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_trace_without_steps_comes_back_equal(ending, tmp_path):
    empty = replace(EXAMPLE, steps=(), settings=(), stop_strings=())
    path = empty.save(tmp_path / f"run{ending}")
    assert Trace.load(path) == empty
    assert (empty.text, empty.token_ids, empty.stop_reason) == ("", [], None)


@pytest.mark.parametrize("ending", ENDINGS)
def test_save_takes_text_paths_and_replaces_what_was_there(ending, tmp_path):
    path = str(tmp_path / f"run{ending}")
    EXAMPLE.save(path)
    shorter = replace(EXAMPLE, steps=EXAMPLE.steps[:1])
    assert shorter.save(path) == Path(path)
    assert Trace.load(path) == shorter
    assert os.listdir(tmp_path) == [f"run{ending}"], "a temporary file was left"


def test_what_a_trace_says_about_itself():
    assert EXAMPLE.text == " Paris Paris"
    assert EXAMPLE.token_ids == [6342] * 3
    assert EXAMPLE.stop_reason == "eos"


def test_to_frame_has_one_row_per_step_and_columns_for_each_stage():
    frame = EXAMPLE.to_frame()
    own = [item.name for item in fields(Step) if item.name != "stages"]
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
    assert len(frame) == 0 and "token_id" in frame.columns and "stages" not in frame.columns


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_trace_loads_without_torch(ending, tmp_path):
    path = EXAMPLE.save(tmp_path / f"run{ending}")
    script = f"""
        import sys
        for name in ("torch", "transformers", "streamlit", "plotly"):
            sys.modules[name] = None      # importing it now fails
        from engine.trace import Trace
        trace = Trace.load({str(path)!r})
        assert len(trace.to_frame()) == 3
        print(repr(trace.text))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "' Paris Paris'"


def test_the_parquet_file_is_a_table_that_others_can_read(tmp_path):
    frame = pandas.read_parquet(EXAMPLE.save(tmp_path / "run.parquet"))
    assert frame["token_id"].tolist() == [6342] * 3


# --- Files that are no traces --------------------------------------------------------------------


def refused(path: Path, *parts: str) -> None:
    with pytest.raises(TraceError) as caught:
        Trace.load(path)
    message = str(caught.value)
    for part in parts:
        assert part in message, f"{message!r} does not say {part!r}"
    assert message.endswith("."), f"{message!r} is no sentence"


def written(path: Path, data: object) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def plain(**changes) -> dict:
    return EXAMPLE.to_dict() | changes


def plain_step(**changes) -> dict:
    return plain(steps=[EXAMPLE_STEP.to_dict() | changes])


def without(data: dict, name: str) -> dict:
    return {key: value for key, value in data.items() if key != name}


@pytest.mark.parametrize("ending", [*ENDINGS, ".txt", ""])
def test_no_such_file(ending, tmp_path):
    refused(tmp_path / f"lost{ending}", "lost", "cannot be read", "No such file")


def test_a_folder_is_no_trace(tmp_path):
    (tmp_path / "run.json").mkdir()
    refused(tmp_path / "run.json", "run.json cannot be read")


@pytest.mark.parametrize("name", ["a\x00b.json", "a" * 5_000 + ".json"])
def test_impossible_file_names(name, tmp_path):
    with pytest.raises(TraceError):
        Trace.load(tmp_path / name)
    with pytest.raises(TraceError):
        EXAMPLE.save(tmp_path / name)


OTHER_JSON = "This is no decoding trace; choose a file saved by this app"
GOOD = json.dumps(plain())


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("", "no valid JSON"),
        ("not json", "no valid JSON"),
        (GOOD[:-10], "no valid JSON"),
        (GOOD + GOOD, "no valid JSON"),
        ("[" * 100_000, "no valid JSON"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "no valid JSON"),
        (GOOD.replace("17.25", "NaN"), "NaN is no number"),
        (GOOD.replace("17.25", "Infinity"), "Infinity is no number"),
        (GOOD.replace("17.25", "-Infinity"), "-Infinity is no number"),
        (GOOD.replace("17.25", "1e999"), "logit of a Step must be float, got inf"),
        (GOOD.replace('"prompt":', '"prompt": "x", "prompt":'), "a key stands twice"),
        (GOOD.replace('"rank": 1', '"rank": 1, "rank": 2'), "a key stands twice"),
        (GOOD.replace("6342", "9" * 5_000), "no valid JSON"),
        ("{}", OTHER_JSON),
        ("[]", OTHER_JSON),
        ("3", OTHER_JSON),
        ("null", OTHER_JSON),
        ('"decoding-trace"', OTHER_JSON),
        ('{"format": "chat", "version": 1}', OTHER_JSON),
        ('{"format": ["decoding-trace"]}', OTHER_JSON),
    ],
    ids=lambda value: value[:24],
)
def test_other_text_files_are_refused(content, part, tmp_path):
    refused(written(tmp_path / "run.json", content), part)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "run.json").write_bytes(b"\xff\xfe\x00\x80" * 9)
    refused(tmp_path / "run.json", "no valid JSON")


@pytest.mark.parametrize("version", [2, 0, "1", None, 1.5, [1]])
def test_another_version_is_refused_by_its_number(version, tmp_path):
    data = plain(version=version)
    refused(written(tmp_path / "run.json", data), f"version {version!r}, this app reads 1; update")


@pytest.mark.parametrize("name", [*(set(plain()) - {"format", "version"})])
def test_a_missing_part_is_refused(name, tmp_path):
    refused(
        written(tmp_path / "run.json", without(plain(), name)), "damaged", name, "save it again"
    )


@pytest.mark.parametrize("name", [item.name for item in fields(Step) if item.default is MISSING])
def test_a_step_that_lacks_a_field_is_refused(name, tmp_path):
    data = plain(steps=[without(EXAMPLE_STEP.to_dict(), name)])
    refused(written(tmp_path / "run.json", data), f"A Step lacks {name}.")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token_id", True),  # a bool is an int to Python, not in a trace
        ("token_id", 1.0),
        ("token_id", "1"),
        ("token_id", None),
        ("rank", [1]),
        ("logit", "3"),
        ("logit", False),
        ("logit", None),
        ("u", "0.5"),
        ("text", None),
        ("text", 3),
        ("forced", 1),
        ("forced", "yes"),
        ("is_prefill", None),
        ("token_bytes", [1, 2]),
        ("stages", None),
        ("stages", {}),
        ("stages", "top_p"),
        ("stop_reason", 3),
    ],
)
def test_a_field_of_a_wrong_type_is_refused_by_name(name, value, tmp_path):
    path = written(tmp_path / "run.json", plain_step(**{name: value}))
    refused(path, f"{name} of a Step must be", f"got {value!r}")


@pytest.mark.parametrize("value", ["abc", "zz", "é", " "])
def test_bytes_that_are_no_hexadecimal_are_refused(value, tmp_path):
    path = written(tmp_path / "run.json", plain_step(token_bytes=value))
    if value == " ":  # white space between the digits is allowed by bytes.fromhex
        assert Trace.load(path).steps[0].token_bytes == b""
    else:
        refused(path, "token_bytes of a step is no hexadecimal text")


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ({"name": "top_p", "survivors": 3}, "A StageSummary lacks mass_removed."),
        ({"name": "top_p", "survivors": 3, "mass_removed": "0"}, "mass_removed of a StageSummary"),
        ({"name": 3, "survivors": 3, "mass_removed": 0}, "name of a StageSummary must be str"),
        ("top_p", "A StageSummary must be an object, got str."),
        (None, "A StageSummary must be an object, got NoneType."),
    ],
)
def test_a_damaged_stage_is_refused(stage, part, tmp_path):
    refused(written(tmp_path / "run.json", plain_step(stages=[stage])), part)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": None},
        {"steps": 3},
        {"steps": {"0": {}}},
        {"steps": [3]},
        {"model": None},
        {"model": "tiny"},
        {"model": [1]},
        {"prompt_ids": None},
        {"prompt_ids": ["a"]},
        {"prompt_ids": [None]},
        {"prompt_ids": 3},
        {"prompt_ids": [True]},
        {"prompt_ids": [1.5]},
        {"prompt_ids": "123"},
        {"prompt": None},
        {"prompt": 3},
        {"settings": [3]},
        {"settings": [[0]]},
        {"settings": [[0, 3]]},
        {"settings": [["x", {}]]},
        {"settings": [[1.5, {}]]},
        {"settings": {"0": {}}},
        {"stop_strings": 3},
        {"stop_strings": "END"},
        {"stop_strings": [3]},
    ],
    ids=str,
)
def test_a_damaged_header_is_refused_not_converted(change, tmp_path):
    refused(written(tmp_path / "run.json", plain(**change)))


@pytest.mark.parametrize("order", [[0, 0], [1, 0], [0, 2], [1]])
def test_steps_out_of_order_are_refused(order, tmp_path):
    data = plain(steps=[EXAMPLE_STEP.to_dict() | {"index": index} for index in order])
    wrong = next(place for place, index in enumerate(order) if place != index)
    refused(
        written(tmp_path / "run.json", data),
        f"Step {wrong} of the trace says that it is step {order[wrong]}.",
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_above_the_limit_is_not_even_read(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(trace_module, "MAX_FILE_BYTES", 1_000)
    path = tmp_path / f"run{ending}"
    path.write_bytes(b"x" * 1_001)
    monkeypatch.setattr(Path, "read_bytes", None)
    refused(path, "1,001 bytes, more than the 1,000")


def test_a_parquet_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    many = replace(
        EXAMPLE, steps=tuple(replace(EXAMPLE_STEP, index=i, text="a" * 500) for i in range(2_000))
    )
    path = many.save(tmp_path / "run.parquet")
    assert len(Trace.load(path).steps) == 2_000
    # The text compresses to almost nothing, so the file is far below the limit, its content above.
    monkeypatch.setattr(trace_module, "MAX_FILE_BYTES", 2 * path.stat().st_size)
    refused(path, "unpacks to more than")


def test_a_parquet_file_of_endless_equal_rows_is_refused(tmp_path, monkeypatch):
    # Equal values take no space in Parquet: a few kB hold millions of rows.
    path = tmp_path / "run.parquet"
    table = pyarrow.table({"index": pyarrow.array([0] * 1_000_000)})
    header = json.dumps(EXAMPLE._header())
    pyarrow.parquet.write_table(table.replace_schema_metadata({"decoding-trace": header}), path)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(trace_module, "MAX_FILE_BYTES", 1_000_000)
    refused(path, "unpacks to more than")


def test_other_parquet_files_are_refused(tmp_path):
    path = tmp_path / "run.parquet"
    path.write_bytes(b"")
    refused(path, "no readable Parquet file")
    path.write_bytes(b"PAR1 not really PAR1")
    refused(path, "no readable Parquet file")
    pandas.DataFrame({"a": [1]}).to_parquet(path)
    refused(path, OTHER_JSON)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_a_truncated_parquet_file_is_refused(share, tmp_path):
    path = EXAMPLE.save(tmp_path / "run.parquet")
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    refused(path, "no readable Parquet file")


@pytest.mark.parametrize(
    "header", ["", "3", "[]", "{", '{"format": "chat"}', "NaN", '{"steps": 3}']
)
def test_a_parquet_file_with_another_header_is_refused(header, tmp_path):
    path = tmp_path / "run.parquet"
    table = pyarrow.table({"index": [0]}).replace_schema_metadata({"decoding-trace": header})
    pyarrow.parquet.write_table(table, path)
    refused(path)


# --- Writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run", "run.txt", "run.JSON", "run.json.gz", ".json"])
def test_another_ending_is_refused(name, tmp_path):
    with pytest.raises(TraceError, match=r"must end in \.json or \.parquet"):
        EXAMPLE.save(tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_folder_that_is_not_there_or_is_a_file(ending, tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in ("lost", "file"):
        with pytest.raises(TraceError, match=f"run{ending} cannot be written: "):
            EXAMPLE.save(tmp_path / folder / f"run{ending}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(TraceError, match=r"run.json cannot be written: Permission denied"):
        EXAMPLE.save(tmp_path / "run.json")


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_old_file_survives_a_full_disk(failing, ending, tmp_path, monkeypatch):
    path = EXAMPLE.save(tmp_path / f"run{ending}")
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(TraceError, match=f"run{ending} cannot be written: No space left"):
        replace(EXAMPLE, steps=()).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name], "a temporary file was left"


@pytest.mark.parametrize(
    "unwritable",
    [
        replace(EXAMPLE, steps=(replace(EXAMPLE_STEP, text="\ud800"),)),
        replace(EXAMPLE, steps=(replace(EXAMPLE_STEP, token_id=10**30),)),
    ],
    ids=["lone surrogate", "huge id"],
)
def test_what_parquet_cannot_hold_is_a_trace_error(unwritable, tmp_path):
    # JSON can hold both, so a file from elsewhere may bring them in.
    with pytest.raises(TraceError):
        unwritable.save(tmp_path / "run.parquet")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", ENDINGS)
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
def test_what_could_not_be_loaded_again_is_not_saved(unwritable, ending, tmp_path):
    with pytest.raises(TraceError):
        unwritable.save(tmp_path / f"run{ending}")
    assert os.listdir(tmp_path) == []


# --- Fuzz ----------------------------------------------------------------------------------------


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled or put elsewhere."""
    copy = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        if not copy:
            break
        at = rng.randrange(len(copy))
        kind = rng.randrange(5)
        if kind == 0:
            copy[at] = rng.randrange(256)
        elif kind == 1:
            copy[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del copy[at : at + rng.choice([1, 4, 64])]
        elif kind == 3:
            copy[at:at] = copy[at : at + rng.choice([1, 16])]
        else:
            copy[at:at] = rng.choice(
                [b"0", b"-", b"9" * 30, b"null", b'"', b"\x00", b"1e999", b"["]
            )
    return bytes(copy)


@pytest.mark.parametrize(("ending", "cases"), [(".json", 2_000), (".parquet", 2_000)])
def test_a_damaged_file_gives_a_trace_or_a_trace_error(ending, cases, tmp_path):
    path = EXAMPLE.save(tmp_path / f"run{ending}")
    data = path.read_bytes()
    rng = random.Random(7)
    outcomes = {"loaded": 0, "refused": 0}
    for case in range(cases):
        changed = mutated(data, rng)
        path.write_bytes(changed)
        try:
            trace = Trace.load(path)
        except TraceError as error:
            assert isinstance(error, DecodingError) and str(error)
            outcomes["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"case {case} raises {error!r}: {changed[:400]!r}") from error
        else:
            # Whatever loads is a whole trace: it can be used and saved again.
            assert Trace.from_dict(json.loads(json.dumps(trace.to_dict()))) == trace
            outcomes["loaded"] += 1
    print(outcomes)
    assert outcomes["refused"] > cases / 4, f"most damage should be noticed: {outcomes}"
