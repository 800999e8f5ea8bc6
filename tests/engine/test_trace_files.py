"""Files that are not traces, or damaged traces: each is refused with a sentence."""

import json
import random
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from engine import values
from engine.errors import TraceError
from engine.trace import Step, Trace, files
from tests.engine.traces import EXAMPLE, EXAMPLE_STEP

# Parts that a file may lack.
OPTIONAL = {"guidance", "tokens", "messages", "prompt_passes"}


def refused(path: Path, *parts: str) -> None:
    with pytest.raises(TraceError) as caught:
        Trace.load(path)
    message = str(caught.value)
    assert all(part in message for part in parts), message
    assert message.endswith(".") and len(message) <= 500, message


def written(path: Path, data: object) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_missing_file_and_folder_are_refused(tmp_path):
    refused(tmp_path / "lost.txt", "lost.txt cannot be read", "No such file")
    refused(tmp_path, "cannot be read")


@pytest.mark.parametrize("name", ["a\x00b.json", "a" * 5_000 + ".json"])
def test_impossible_file_names_are_refused(name, tmp_path):
    with pytest.raises(TraceError):
        Trace.load(tmp_path / name)
    with pytest.raises(TraceError):
        EXAMPLE.save(tmp_path / name)


OTHER_JSON = "This is not a decoding trace; choose a file saved by this app"
GOOD = EXAMPLE.to_json()


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("", "not valid JSON"),
        (GOOD + GOOD, "not valid JSON"),
        ("[" * 100_000, OTHER_JSON),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "not valid JSON"),
        (GOOD.replace("17.25", "NaN"), "not valid JSON"),
        (
            GOOD.replace("17.25", "1e999"),
            "step 0: logit must be a number within the supported range",
        ),
        (GOOD.replace("6342", "9" * 5_000), "step 0: token_id must be a"),
        (GOOD.replace('" Paris"', '"\\ud800"'), "not valid JSON"),
        ("{}", OTHER_JSON),
        ("[]", OTHER_JSON),
        ("null", OTHER_JSON),
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


@pytest.mark.parametrize(("version", "said"), [(4, "4"), (1, "1"), ("3", '"3"'), (None, "null")])
def test_another_version_is_refused_by_its_number(version, said, tmp_path):
    data = EXAMPLE.to_dict() | {"version": version}
    refused(written(tmp_path / "run.json", data), f"version {said}, this app reads 3; update")


def test_a_missing_part_is_refused(tmp_path):
    for name in {each.name for each in fields(Trace)} - OPTIONAL:
        data = {key: value for key, value in EXAMPLE.to_dict().items() if key != name}
        refused(written(tmp_path / "run.json", data), f"damaged: {name} ", "save the trace again")


def test_a_step_that_lacks_a_field_is_refused(tmp_path):
    whole = values.plain(EXAMPLE_STEP)
    for name in (item.name for item in fields(Step) if item.default is MISSING):
        step = {key: value for key, value in whole.items() if key != name}
        path = written(tmp_path / "run.json", EXAMPLE.to_dict() | {"steps": [step]})
        refused(path, f"damaged at step 0: {name} is missing;")


def test_file_above_the_limit_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1_000)
    path = tmp_path / "run.json"
    path.write_bytes(b"x" * 1_001)
    monkeypatch.setattr(Path, "open", None)
    refused(path, "1,001 bytes, more than the 1,000")


def test_damaged_file_loads_or_raises_a_trace_error(tmp_path):
    path = EXAMPLE.save(tmp_path / "run.json")
    data, rng, refusals = path.read_bytes(), random.Random(7), 0
    additions = [b"", b"-", b"9" * 30, b"null", b'"', b"\x00", b"1e999", b"["]
    for case in range(400):
        changed = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            at, added = rng.randrange(len(changed)), [rng.randbytes(1), *additions]
            changed[at : at + rng.choice([0, 1, 4, 64])] = rng.choice(added)
        path.write_bytes(changed)
        try:
            trace = Trace.load(path)
        except TraceError:
            refusals += 1
        except BaseException as error:
            raise AssertionError(f"case {case} raises {error!r}: {changed[:400]!r}") from error
        else:
            # A file that loads is a whole trace: it can be used and saved again.
            assert Trace.from_json(trace.to_json()) == trace
    assert 100 < refusals < 400, "much damage should be noticed, and some change a value only"
