"""Read large ONNX files without copies: parse the model without its weights, which stay in the file.

ONNX's own parser copies every weight at least twice, which is most of the time it takes to read a model. Here the file
is mapped, and a copy of its messages is made in which each large tensor of the graph declares its data as "external",
at its offset in the same file: `reader.read_tensor` reads external data straight into its array.

The wire format of protocol buffers: a message is a sequence of fields, each a key (number * 8 + kind) and content; kind
0 is a varint, 1 eight bytes, 5 four bytes, 2 a length and as many bytes. Messages in messages are of kind 2. A field
that may be given once counts as given last, and repeated messages are joined: pieces may be left out and put back to
back.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

LARGE = 1 << 20
"""Least size of a file, in bytes, for which this pays."""
LEFT = 1 << 12
"""Least size of a tensor, in bytes, whose data is left in the file."""

_GRAPH, _INITIALIZER = 7, 5
_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14
_EXTERNAL = 1


class Malformed(ValueError):
    """This is not a protocol buffer message; ONNX's own parser will report the error."""


def without_weights(path: Path) -> bytes:
    """The model in `path` with the raw data of large tensors left in the file.

    Raises `Malformed` for files that are no messages, `OSError` for those that cannot be read.
    """
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        view = memoryview(mapped)
        try:
            return _model(view, path.name)
        finally:
            view.release()


def _model(data: memoryview, location: str) -> bytes:
    pieces: list[bytes] = []
    for number, start, inner, end in _fields(data, 0, len(data)):
        if number == _GRAPH:
            pieces.append(_message(_GRAPH, _graph(data, inner, end, location)))
        else:
            pieces.append(bytes(data[start:end]))
    return b"".join(pieces)


def _graph(data: memoryview, start: int, end: int, location: str) -> bytes:
    pieces: list[bytes] = []
    for number, first, inner, last in _fields(data, start, end):
        if number == _INITIALIZER and last - inner >= LEFT:
            pieces.append(_message(_INITIALIZER, _tensor(data, inner, last, location)))
        else:
            pieces.append(bytes(data[first:last]))
    return b"".join(pieces)


def _tensor(data: memoryview, start: int, end: int, location: str) -> bytes:
    pieces: list[bytes] = []
    raw: tuple[int, int] | None = None
    for number, first, inner, last in _fields(data, start, end):
        if number == _RAW_DATA:
            raw = (inner, last - inner)
        elif number in (_EXTERNAL_DATA, _DATA_LOCATION):
            return bytes(data[start:end])  # says itself where its data is
        else:
            pieces.append(bytes(data[first:last]))
    if raw is None or raw[1] < LEFT:
        return bytes(data[start:end])
    for key, content in (("location", location), ("offset", str(raw[0])), ("length", str(raw[1]))):
        entry = _message(1, key.encode()) + _message(2, content.encode())
        pieces.append(_message(_EXTERNAL_DATA, entry))
    pieces.append(_varint(_DATA_LOCATION << 3) + _varint(_EXTERNAL))
    return b"".join(pieces)


def _fields(data: memoryview, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """(number, where the field starts, where its content does, where it ends) of each field of a message."""
    position = start
    while position < end:
        key, inner = _read_varint(data, position, end)
        match key & 7:
            case 0:
                _, last = _read_varint(data, inner, end)
            case 1:
                last = inner + 8
            case 2:
                length, inner = _read_varint(data, inner, end)
                last = inner + length
            case 5:
                last = inner + 4
            case _:
                raise Malformed
        if last > end:
            raise Malformed
        yield key >> 3, position, inner, last
        position = last


def _read_varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    """The number and the position behind it."""
    found = 0
    for shift in range(0, 70, 7):
        if position >= end:
            raise Malformed
        byte = data[position]
        position += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, position
    raise Malformed


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content
