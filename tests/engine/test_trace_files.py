"""Files that are not traces, or damaged traces: each is refused with a sentence."""

import json
import random
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from engine import values
from engine.errors import DecodingError, TraceError
from engine.trace import Step, Trace, files
from tests.engine.traces import EXAMPLE, EXAMPLE_STEP


def refused(path: Path, *parts: str) -> None:
    with pytest.raises(TraceError) as caught:
        Trace.load(path)
    message = str(caught.value)
    for part in parts:
        assert part in message, f"{message!r} does not say {part!r}"
    assert message.endswith("."), f"{message!r} is no sentence"
    assert len(message) <= 500, f"a message of {len(message):,} characters"


def written(path: Path, data: object) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def plain(**changes) -> dict:
    return EXAMPLE.to_dict() | changes


def without(data: dict, name: str) -> dict:
    return {key: value for key, value in data.items() if key != name}


@pytest.mark.parametrize("ending", [".json", ".txt", ""])
def test_missing_file_is_refused(ending, tmp_path):
    refused(tmp_path / f"lost{ending}", "lost", "cannot be read", "No such file")


def test_folder_is_refused(tmp_path):
    (tmp_path / "run.json").mkdir()
    refused(tmp_path / "run.json", "run.json cannot be read")


@pytest.mark.parametrize("name", ["a\x00b.json", "a" * 5_000 + ".json"])
def test_impossible_file_names_are_refused(name, tmp_path):
    with pytest.raises(TraceError):
        Trace.load(tmp_path / name)
    with pytest.raises(TraceError):
        EXAMPLE.save(tmp_path / name)


OTHER_JSON = "This is not a decoding trace; choose a file saved by this app"
GOOD = json.dumps(plain())


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("", "not valid JSON"),
        ("not json", "not valid JSON"),
        (GOOD[:-10], "not valid JSON"),
        (GOOD + GOOD, "not valid JSON"),
        ("[" * 100_000, OTHER_JSON),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "not valid JSON"),
        (GOOD.replace("17.25", "NaN"), "not valid JSON"),
        (GOOD.replace("17.25", "-Infinity"), "not valid JSON"),
        (GOOD.replace("17.25", "1e999"), "step 0: logit must be a number that can be computed"),
        (GOOD.replace("6342", "9" * 5_000), "step 0: token_id must be a"),
        (GOOD.replace('" Paris"', '"\\ud800"'), "not valid JSON"),
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


def test_bytes_that_are_not_text_are_refused(tmp_path):
    (tmp_path / "run.json").write_bytes(b"\xff\xfe\x00\x80" * 9)
    refused(tmp_path / "run.json", "not valid JSON")


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (4, "4"),
        (1, "1"),
        (0, "0"),
        ("1", '"1"'),
        (None, "null"),
        (1.5, "1.5"),
        ([1], "[1]"),
    ],
)
def test_another_version_is_refused_by_its_number(version, said, tmp_path):
    data = plain(version=version)
    refused(written(tmp_path / "run.json", data), f"version {said}, this app reads 3; update")


MAY_LACK = ("guidance", "tokens")


@pytest.mark.parametrize("name", [each.name for each in fields(Trace) if each.name not in MAY_LACK])
def test_a_missing_part_is_refused(name, tmp_path):
    path = written(tmp_path / "run.json", without(plain(), name))
    refused(path, f"damaged: {name} ", "save the trace again")


@pytest.mark.parametrize("name", [item.name for item in fields(Step) if item.default is MISSING])
def test_a_step_that_lacks_a_field_is_refused(name, tmp_path):
    data = plain(steps=[without(values.plain(EXAMPLE_STEP), name)])
    refused(written(tmp_path / "run.json", data), f"damaged at step 0: {name} is missing;")


def test_file_above_the_limit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1_000)
    path = tmp_path / "run.json"
    path.write_bytes(b"x" * 1_001)
    monkeypatch.setattr(Path, "open", None)
    refused(path, "1,001 bytes, more than the 1,000")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return data with some bytes changed, removed, doubled or moved."""
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


def test_damaged_file_loads_or_raises_a_trace_error(tmp_path):
    path = EXAMPLE.save(tmp_path / "run.json")
    data = path.read_bytes()
    rng = random.Random(7)
    outcomes = {"loaded": 0, "refused": 0}
    for case in range(1_000):
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
            # A file that loads is a whole trace: it can be used and saved again.
            assert Trace.from_json(trace.to_json()) == trace
            outcomes["loaded"] += 1
    print(outcomes)
    assert outcomes["refused"] > 250, f"most damage should be noticed: {outcomes}"
