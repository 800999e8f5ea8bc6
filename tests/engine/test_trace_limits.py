"""Small files that would take much memory: refused before they are unpacked."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from engine.errors import TraceError
from engine.trace import Trace, files
from engine.trace.parquet_pages import chunks, pages
from tests.engine.traces import EXAMPLE, EXAMPLE_STEP

ROOT = Path(__file__).resolve().parents[2]
MB = 2**20
MOST = 40 * MB  # that a refusal may add; Arrow and pandas are imported before


def parquet(path: Path, steps: dict[str, object], **how: object) -> Path:
    header = {name: value for name, value in EXAMPLE.to_dict().items() if name != "steps"}
    table = pyarrow.table(steps).replace_schema_metadata({"decoding-trace": json.dumps(header)})
    pyarrow.parquet.write_table(table, path, compression="zstd", **how)
    return path


def long_texts(path: Path) -> Path:
    """One text of 1 MB in 200 rows: a dictionary entry and 200 references to it."""
    return parquet(path, {"text": ["a" * 1_000_000] * 200}, dictionary_pagesize_limit=8 * MB)


def long_rows(path: Path) -> Path:
    """One step of 10 million stages."""
    stages = pyarrow.nulls(10_000_000, pyarrow.int64())
    row = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(stages)], pyarrow.int32()), stages)
    return parquet(path, {"stages": row})


def shared_beginnings(path: Path) -> Path:
    """Texts that each repeat the one before: an encoding that stores only what is new."""
    texts = ["a" * 1_000_000 + str(row) for row in range(150)]
    how = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
    return parquet(path, {"text": texts}, **how)


def zeros(path: Path) -> Path:
    """Pages of 150 MB that pack to almost nothing."""
    return parquet(path, {"text": ["\0" * 75_000_000] * 2}, use_dictionary=False)


def lying_footer(path: Path) -> Path:
    """The same, whose footer says that its columns are small."""
    data = zeros(path).read_bytes()
    column = pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0)
    size = varint(2 * column.total_uncompressed_size)
    path.write_bytes(data.replace(size, b"\x82" + b"\x80" * (len(size) - 2) + b"\x00"))
    column = pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0)
    assert column.total_uncompressed_size == 1
    return path


def varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def many_lists(path: Path) -> Path:
    path.write_bytes(b"[" + b"[]," * 2_000_000 + b"[]]")
    return path


def many_numbers(path: Path) -> Path:
    path.write_bytes(b"[" + b"1.5," * 5_100_000 + b"1.5]")
    return path


# Each time, files are loaded in a process of its own, a copy of one that has only imported.
SERVER = """
import json, os, re, resource, sys, traceback
from pathlib import Path
import pandas, pyarrow.parquet, pyarrow.compute
from engine.errors import TraceError
from engine.trace import Trace

def peak():
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts the parent's memory in ru_maxrss
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

def load(path):
    before, message = peak(), None
    try:
        Trace.load(path)
    except TraceError as error:
        message = str(error)
    return peak() - before, message

for line in sys.stdin:
    if not os.fork():
        status = 1
        try:
            print(json.dumps([load(path) for path in json.loads(line)]), flush=True)
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    if status := os.wait()[1]:
        print(json.dumps(status), flush=True)
"""


@pytest.fixture(scope="module")
def load_apart() -> Iterator[Callable[..., list[tuple[int, str | None]]]]:
    """Bytes that loading each of some files adds, and what is said where one is refused."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=ROOT, stdin=pipe, stdout=pipe, text=True
    ) as process:

        def load(*paths: Path) -> list[tuple[int, str | None]]:
            print(json.dumps([str(path) for path in paths]), file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            assert isinstance(answer, list), f"ended with {answer}; its error is above"
            return answer

        yield load


@pytest.mark.parametrize(
    ("make", "ending", "said"),
    [
        (long_texts, ".parquet", "unpacks to more than"),
        (long_rows, ".parquet", "more than 5,000,000 values"),
        (shared_beginnings, ".parquet", "in that encoding"),
        (zeros, ".parquet", "unpacks to more than"),
        (lying_footer, ".parquet", "unpacks to more than"),
        (many_lists, ".json", "more than"),
        (many_numbers, ".json", "more than 5,000,000 values"),
    ],
)
def test_a_file_that_would_fill_the_memory_is_refused_before(
    make: Callable[[Path], Path], ending: str, said: str, load_apart, tmp_path
):
    path = make(tmp_path / f"run{ending}")
    size = path.stat().st_size
    assert ending == ".json" or size < 200_000, f"a bomb of {size:,} bytes"
    ((grown, message),) = load_apart(path)
    assert message is not None, "the file was taken"
    assert grown < MOST + size, f"a file of {size:,} bytes took {grown:,}: {message}"
    assert len(message) <= 500 and said in message


def test_the_sizes_of_pages_are_those_of_arrow(tmp_path):
    path = replace(
        EXAMPLE, steps=tuple(replace(EXAMPLE_STEP, index=i, text=str(i)) for i in range(3_000))
    ).save(tmp_path / "run.parquet")
    data = path.read_bytes()
    metadata = pyarrow.parquet.ParquetFile(path).metadata
    found = chunks(data)
    assert len(found) == metadata.num_columns * metadata.num_row_groups
    for place, chunk in enumerate(found):
        column = metadata.row_group(0).column(place)
        assert chunk.length == column.total_compressed_size
        read = list(pages(data, chunk))
        # Arrow counts the headers of the pages too.
        headers = column.total_uncompressed_size - sum(page.unpacked for page in read)
        assert 0 < headers < 200 * len(read), column.path_in_schema
        data_pages = read[1:] if column.has_dictionary_page else read
        assert sum(page.values for page in data_pages) == column.num_values


def test_a_footer_without_a_column_does_not_end_the_process(load_apart, tmp_path):
    # pyarrow's `column()` calls std::terminate there.
    path = EXAMPLE.save(tmp_path / "run.parquet")
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    damaged = []
    for place in range(footer, len(data) - 8, 31):
        path.write_bytes(data[:place] + b"\0" + data[place + 1 :])
        damaged.append(path.with_name(f"{place}.parquet"))
        path.rename(damaged[-1])
    for _, message in load_apart(*damaged):
        assert len(message or "") <= 500


@pytest.mark.parametrize("ending", [".json", ".parquet"])
def test_what_would_not_load_again_is_not_saved(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_STEPS", 2)
    with pytest.raises(TraceError, match=r"has more than 2 steps; take one of a shorter run\."):
        EXAMPLE.save(tmp_path / f"run{ending}")
    monkeypatch.undo()
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 500)
    with pytest.raises(TraceError, match=r"has more than 500 bytes; take one of a shorter run\."):
        EXAMPLE.save(tmp_path / f"run{ending}")
    monkeypatch.undo()
    monkeypatch.setattr(files, "MAX_VALUES", 50)
    with pytest.raises(TraceError, match=r"has more than 50 values; take one of a shorter run\."):
        EXAMPLE.save(tmp_path / f"run{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [".json", ".parquet"])
def test_the_longest_texts_of_a_step_come_back(ending, tmp_path):
    most = 2**16
    long = replace(EXAMPLE_STEP, text="é" * most, token_bytes=bytes(most), stop_string="x" * most)
    trace = replace(EXAMPLE, steps=(long,), prompt="\0" * 2**20)
    assert Trace.load(trace.save(tmp_path / f"run{ending}")) == trace


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a thing of Unix")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(TraceError, match=r"run\.json cannot be read: it is no regular file"):
        Trace.load(tmp_path / "run.json")


def test_too_many_steps_are_refused(tmp_path, monkeypatch):
    path = EXAMPLE.save(tmp_path / "run.json")
    monkeypatch.setattr(files, "MAX_STEPS", 2)
    with pytest.raises(TraceError, match=r"steps must hold at most 2 entries, got 3; save"):
        Trace.load(path)
