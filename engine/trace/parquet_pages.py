"""The columns and pages of a Parquet file by their headers: how large it is once unpacked.

The footer of a file says how large a column is, but a reader allocates what the header of each page
says, and a hostile footer may say less. PyArrow does not show page headers, and ends the process
where a damaged footer lacks what it is asked for. Both are Thrift structs in the compact protocol,
of which this reads the numbers that count:

    FileMetaData      4 row groups, each 1 columns, each 3 ColumnMetaData
    ColumnMetaData    4 codec, 7 compressed size, 9 first data page, 11 dictionary page
    PageHeader        2 unpacked size, 3 packed size, 5 / 7 / 8 its kind of page
    page of a kind    1 number of values, 2 encoding (of version 2: 4)

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

# Types of the compact protocol; booleans have their value in the type.
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DATA, _DICTIONARY, _DATA_2 = 5, 7, 8  # fields of a PageHeader
_DEEPEST = 8
_MOST_FIELDS = 500_000  # of a footer: far more than there are for a thousand columns
_LONGEST_HEADER = 2**16
_MAGIC = b"PAR1"

CODECS = frozenset({0, 1, 6})  # none, Snappy, Zstandard: none unpacks to more than its page says
# Those that repeat no byte of a value: PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED, RLE_DICTIONARY.
ENCODINGS = frozenset({0, 2, 3, 4, 8})

_Struct = dict[int, tuple[int, Any]]  # by field: type and value


class Chunk(NamedTuple):
    """A column within a row group.

    Attributes:
        start, length: where its pages lie, in bytes.
        codec: what they are packed by, as a number.
    """

    start: int
    length: int
    codec: int


class Page(NamedTuple):
    """One page of a column.

    Attributes:
        unpacked: bytes once decompressed.
        values: how many it holds.
        encoding: of its values, as a number.
    """

    unpacked: int
    values: int
    encoding: int


def footer_bytes(data: bytes) -> int:
    """How long the footer of a file is; `ValueError` where the file has none."""
    size = int.from_bytes(data[-8:-4], "little")
    if data[:4] != _MAGIC or data[-4:] != _MAGIC or size > len(data) - 12:
        raise ValueError("it has no footer")
    return size


def chunks(data: bytes) -> list[Chunk]:
    """All columns of all row groups; `ValueError` where the footer does not tell them."""
    end = len(data) - 8
    footer = _Reader(data, end - footer_bytes(data), end).struct(0)
    found = []
    for group in _field(footer, 4, _LIST, []):
        for column in _field(group, 1, _LIST, []):
            about = _field(column, 3, _STRUCT)
            start = _field(about, 9, _I64)
            dictionary = _field(about, 11, _I64, 0)
            start = min(start, dictionary) if dictionary > 0 else start
            found.append(Chunk(start, _field(about, 7, _I64), _field(about, 4, _I32)))
    return found


def pages(data: bytes, chunk: Chunk) -> Iterator[Page]:
    """The pages of a column; `ValueError` for no page headers, or pages beyond the column."""
    place, end = chunk.start, chunk.start + chunk.length
    if not 0 <= place <= end <= len(data):
        raise ValueError("a column lies outside the file")
    while place < end:
        reader = _Reader(data, place, min(end, place + _LONGEST_HEADER))
        header = reader.struct(0)
        unpacked, packed = _field(header, 2, _I32), _field(header, 3, _I32)
        kind = next((name for name in (_DATA, _DICTIONARY, _DATA_2) if name in header), _DATA)
        about = _field(header, kind, _STRUCT)
        values = _field(about, 1, _I32)
        encoding = _field(about, 4 if kind == _DATA_2 else 2, _I32)
        place = reader.place + packed
        if min(unpacked, packed, values) < 0 or place > end:
            raise ValueError("a page lies outside its column")
        yield Page(unpacked, values, encoding)


def _field(struct: _Struct, number: int, kind: int, default: Any = None) -> Any:
    """A field of just this type: a reader takes one of another type for missing."""
    if type(struct) is not dict or (number not in struct and default is None):
        raise ValueError("a header is damaged")
    found, value = struct.get(number, (kind, default))
    if found != kind:
        raise ValueError("a header is damaged")
    return value


class _Reader:
    """Reads structs of the compact protocol, from `place` to `end`; texts are passed over."""

    def __init__(self, data: bytes, place: int, end: int) -> None:
        self.place = place
        self._data = data
        self._end = end
        self._left = _MOST_FIELDS

    def struct(self, depth: int) -> _Struct:
        found: _Struct = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._zigzag()
            found[number] = kind, self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            raise ValueError("a header holds more than any has")
        if kind in (_TRUE, _FALSE):
            return None
        if kind == _BYTE:
            return self._skip(1)
        if kind in (_I16, _I32, _I64):
            return self._zigzag()
        if kind == _DOUBLE:
            return self._skip(8)
        if kind == _BINARY:
            return self._skip(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            count, item = head >> 4, head & 15
            count = self._varint() if count == 15 else count
            if item in (_TRUE, _FALSE):  # a byte each, within lists
                item = _BYTE
            return [self._value(item, depth + 1) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError("a header holds what none has")  # maps among them

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a header holds too large a number")

    def _byte(self) -> int:
        if self.place >= self._end:
            raise ValueError("a header has no end")
        self.place += 1
        return self._data[self.place - 1]

    def _skip(self, length: int) -> None:
        self.place += length
        if self.place > self._end:
            raise ValueError("a header has no end")
