"""Python values to Arrow arrays through plain buffers.

``pyarrow.array(list)`` first imports pandas (0.9 s of CPU) to see whether the list is one of its own. A load generator
that is judged by its CPU seconds builds the buffers itself; the layout is the Arrow columnar format's.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def _validity(values: Sequence[object]) -> Any:
    """One bit a value, least significant first; None when every value is known."""
    import pyarrow as pa

    if None not in values:
        return None
    bits = bytearray((len(values) + 7) // 8)
    for index, value in enumerate(values):
        if value is not None:
            bits[index >> 3] |= 1 << (index & 7)
    return pa.py_buffer(bytes(bits))


def _fixed(values: Sequence[Any], code: str, kind: Any) -> pa.Array:
    import pyarrow as pa

    data = array(code, [0 if value is None else value for value in values])
    return pa.Array.from_buffers(kind, len(values), [_validity(values), pa.py_buffer(data)])


def integers(values: Sequence[int | None]) -> pa.Array:
    """An int64 column."""
    import pyarrow as pa

    return _fixed(values, "q", pa.int64())


def numbers(values: Sequence[float | None]) -> pa.Array:
    """A float64 column."""
    import pyarrow as pa

    return _fixed(values, "d", pa.float64())


def flags(values: Sequence[bool | None]) -> pa.Array:
    """A boolean column."""
    import pyarrow as pa

    bits = bytearray((len(values) + 7) // 8)
    for index, value in enumerate(values):
        if value:
            bits[index >> 3] |= 1 << (index & 7)
    return pa.Array.from_buffers(pa.bool_(), len(values), [_validity(values), pa.py_buffer(bytes(bits))])


def _offsets(lengths: Iterable[int]) -> array[int]:
    offsets = array("i", [0])
    for length in lengths:
        offsets.append(offsets[-1] + length)
    return offsets


def texts(values: Sequence[str | None]) -> pa.Array:
    """A string column."""
    import pyarrow as pa

    encoded = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    offsets = _offsets(map(len, encoded))
    buffers = [_validity(values), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def lists_of_singles(values: Sequence[Sequence[float]], factor: float) -> pa.Array:
    """A column of lists of float32, each number times ``factor``."""
    import pyarrow as pa

    flat = array("f", [number * factor for one in values for number in one])
    inner = pa.Array.from_buffers(pa.float32(), len(flat), [None, pa.py_buffer(flat)])
    offsets = _offsets(map(len, values))
    outer = pa.Array.from_buffers(pa.int32(), len(offsets), [None, pa.py_buffer(offsets)])
    return pa.ListArray.from_arrays(outer, inner)
