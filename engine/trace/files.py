"""Traces as files: JSON and Parquet, written at once and read within bounds.

A file comes from anywhere, so that nothing is unpacked whose size is not known beforehand. JSON:
bytes, brackets and commas are counted in the text. Parquet: rows, columns, kinds of values, and the
unpacked size of every page (see `engine.trace.parquet_pages`); texts stay in their dictionaries
until it is known how long they are in full.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.errors import TraceError
from engine.trace.parquet_pages import CODECS, ENCODINGS, chunks, footer_bytes, pages
from engine.trace.values import short
from engine.trace.versions import FORMAT

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class Most(NamedTuple):
    """The most that a JSON file may hold.

    Attributes:
        values: of all kinds together.
        objects: lists and objects among them.
        lists: among these.
    """

    values: int
    objects: int
    lists: int


MAX_FILE_BYTES = 64 * 2**20  # also of what a file unpacks to
MAX_STEPS = 100_000
MAX_VALUES = 5_000_000  # in all steps together
MAX_OBJECTS = 1_000_000  # lists and objects among them
# While a list is read, no other thread of the process has a turn: on a server it must be short.
ON_PAGES = Most(1_000_000, objects=250_000, lists=50_000)
_MAX_FOOTER_BYTES = 16 * 2**20  # of Parquet: prompt and settings, besides the columns
_MAX_COLUMNS = 256
_MAX_PAGES = 20_000
_MAX_DEPTH = 8
_PHYSICAL = {"BOOLEAN", "INT32", "INT64", "DOUBLE", "BYTE_ARRAY"}
_OTHER = "This is no decoding trace; choose a file saved by this app."


def as_json(data: dict[str, Any]) -> str:
    """Plain values as the text of a JSON file; `TraceError` for what no file can keep."""
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise _unwritable(error) from error


def write(path: Path, data: dict[str, Any]) -> Path:
    """Write a trace by the ending of its name; an existing file is replaced at once.

    Raises:
        TraceError: another ending, more than `read` takes, or the file cannot be written.
    """
    ways: dict[str, tuple[Callable[[dict[str, Any]], bytes], Callable[[bytes], None]]]
    ways = {".json": (_as_json_bytes, _check_json), ".parquet": (_as_parquet, _check_pages)}
    if path.suffix not in ways:
        raise TraceError(f"{short(path.name)} must end in .json or .parquet.")
    if len(data["steps"]) > MAX_STEPS:
        raise _too_large(f"{MAX_STEPS:,} steps")
    pack, check = ways[path.suffix]
    try:
        packed = pack(data)
    except (ValueError, TypeError, OverflowError) as error:
        raise _unwritable(error) from error
    if len(packed) > MAX_FILE_BYTES:
        raise _too_large(f"{MAX_FILE_BYTES:,} bytes")
    check(packed)  # nobody could open it again
    try:
        _replace_file(path, packed)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise _of_file(path, "cannot be written", error) from error
    return path


def read(path: Path) -> Any:
    """The plain values of a file, which nobody has checked yet.

    Raises:
        TraceError: no such file, one above the limits, or neither JSON nor Parquet.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):  # a pipe would be waited for, a device has no end
            raise OSError("it is no regular file; choose a file saved by this app")
        if about.st_size > MAX_FILE_BYTES:
            raise TraceError(
                f"{short(path.name)} has {about.st_size:,} bytes, more than the "
                f"{MAX_FILE_BYTES:,} of any trace; choose another file."
            )
        with path.open("rb") as file:
            data = file.read(about.st_size)
    except (OSError, ValueError) as error:
        raise _of_file(path, "cannot be read", error) from error
    return _from_parquet(data) if path.suffix == ".parquet" else from_json(data)


def _unwritable(error: Exception) -> TraceError:
    reason = short(str(error), 200)
    return TraceError(f"The trace holds what no file can keep: {reason}.")


def _of_file(path: Path, problem: str, error: Exception) -> TraceError:
    reason = short(str(getattr(error, "strerror", None) or error), 200)
    return TraceError(f"{short(path.name)} {problem}: {reason}.")


def _too_large(most: str) -> TraceError:
    return TraceError(f"The trace has more than {most}; take one of a shorter run.")


# --- JSON -----------------------------------------------------------------------------------------


def _as_json_bytes(data: dict[str, Any]) -> bytes:
    return as_json(data).encode()


def _check_json(data: bytes, most: Most | None = None) -> None:
    """Refuse what would take much memory: a list of two bytes becomes an object of 64."""
    most = most or Most(MAX_VALUES, MAX_OBJECTS, MAX_OBJECTS)
    if data.count(b",") > most.values:
        raise _too_large(f"{most.values:,} values")
    lists = data.count(b"[")
    if lists > most.lists:
        raise _too_large(f"{most.lists:,} lists")
    if lists + data.count(b"{") > most.objects:
        raise _too_large(f"{most.objects:,} lists and objects")


def from_json(data: bytes, most: Most | None = None) -> Any:
    """The plain values of a JSON file, unchecked.

    Args:
        data: the file.
        most: what it may hold; None for as much as any file.

    Raises:
        TraceError: no JSON, or more than that.
    """
    if len(data) > MAX_FILE_BYTES:
        raise _too_large(f"{MAX_FILE_BYTES:,} bytes")
    _check_json(data, most)
    try:
        text = data.decode("utf-8")
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique_keys)
    except RecursionError as error:
        raise TraceError(
            "The trace is no valid JSON (it is nested too deeply); save it again."
        ) from error
    except ValueError as error:
        reason = short(str(error), 150)
        raise TraceError(f"The trace is no valid JSON ({reason}); save it again.") from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return data


# --- Parquet --------------------------------------------------------------------------------------


def _as_parquet(data: dict[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    header = {name: value for name, value in data.items() if name != "steps"}
    as_json(data)  # what JSON refuses would not load again either
    table = pa.Table.from_pylist(data["steps"])
    table = table.replace_schema_metadata({FORMAT: as_json(header)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def _from_parquet(data: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    limits = {"thrift_container_size_limit": 2 * MAX_STEPS, "arrow_extensions_enabled": False}
    try:
        _check_pages(data)
        file = pq.ParquetFile(pa.BufferReader(data), **limits)
        header = (file.schema_arrow.metadata or {}).get(FORMAT.encode())
        if header is None:
            raise TraceError(_OTHER)
        texts = _check_columns(file)
        # Texts stay in their dictionaries: a few bytes of one may stand for a text in every row.
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts, **limits)
        table = file.read(use_threads=False)
        written_out = (_expanded(part) for column in table.columns for part in column.chunks)
        if sum(written_out) > MAX_FILE_BYTES:
            raise _unpacks_to_too_much()
        steps = table.to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:  # Arrow reports damage as OSError too
        reason = short(str(error), 150)
        raise TraceError(
            f"The trace is no readable Parquet file ({reason}); save it again."
        ) from error
    plain = from_json(header)
    return plain | {"steps": steps} if isinstance(plain, dict) else plain


def _unpacks_to_too_much() -> TraceError:
    return TraceError(
        f"The trace unpacks to more than {MAX_FILE_BYTES:,} bytes; choose another file."
    )


def _check_pages(data: bytes) -> None:
    """Refuse a file by its headers alone, before anything of it is unpacked.

    Raises:
        TraceError: beyond the limits.
        ValueError: damaged, or packed in a way that no trace is.
    """
    if footer_bytes(data) > _MAX_FOOTER_BYTES:
        raise _too_large(f"{_MAX_FOOTER_BYTES:,} bytes of footer")
    packed = unpacked = values = count = 0
    for chunk in chunks(data):
        packed += chunk.length
        if chunk.codec not in CODECS:
            raise ValueError("no trace is packed by that codec")
        if packed > len(data):
            raise ValueError("its columns overlap")
        for page in pages(data, chunk):
            unpacked, values, count = unpacked + page.unpacked, values + page.values, count + 1
            if unpacked > MAX_FILE_BYTES:
                raise _unpacks_to_too_much()
            if values > MAX_VALUES:
                raise _too_large(f"{MAX_VALUES:,} values")
            if count > _MAX_PAGES:
                raise _too_large(f"{_MAX_PAGES:,} pages")
            if page.encoding not in ENCODINGS:
                raise ValueError("no trace has values in that encoding")


def _check_columns(file: pq.ParquetFile) -> list[str]:
    """Refuse columns that no trace has; returns the paths of those that hold texts.

    Raises:
        TraceError: beyond the limits.
        ValueError: another type of column.
    """
    if file.metadata.num_rows > MAX_STEPS:
        raise _too_large(f"{MAX_STEPS:,} steps")
    if file.metadata.num_columns > _MAX_COLUMNS:
        raise _too_large(f"{_MAX_COLUMNS:,} columns")
    for item in file.schema_arrow:
        _check_type(item.type, 0)
    columns = [file.schema.column(place) for place in range(file.metadata.num_columns)]
    if any(column.physical_type not in _PHYSICAL for column in columns):
        raise ValueError("no trace has columns of that type")
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _check_type(kind: pa.DataType, depth: int) -> None:
    import pyarrow.types as types

    if depth > _MAX_DEPTH:
        raise ValueError("its columns are nested too deeply")
    if types.is_list(kind):
        _check_type(kind.value_type, depth + 1)
    elif types.is_struct(kind):
        for item in kind:
            _check_type(item.type, depth + 1)
    elif not any(
        is_one(kind)
        for is_one in (
            types.is_null,
            types.is_boolean,
            types.is_int64,
            types.is_float64,
            types.is_string,
        )
    ):
        raise ValueError(f"no trace has columns of the type {short(str(kind))}")


def _expanded(array: pa.Array) -> int:
    """Bytes of a column's values with every text written out."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    if types.is_dictionary(array.type):
        lengths = pc.binary_length(array.dictionary).take(array.indices)
        return pc.sum(pc.cast(lengths, "int64")).as_py() or 0
    if types.is_list(array.type):
        return array.nbytes // 2 + _expanded(array.flatten())
    if types.is_struct(array.type):
        return sum(_expanded(part) for part in array.flatten())
    return array.nbytes


# --- A file in place of another -------------------------------------------------------------------


def _replace_file(path: Path, data: bytes) -> None:
    """Write beside the target and rename, so that a full disk leaves the old file as it was."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        try:
            os.chmod(new.name, 0o666 & ~_umask())  # as any other new file, not private
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
            os.replace(new.name, path)
        except BaseException:
            os.unlink(new.name)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
