"""The shape that nearly every read of a stream has: one HTTP chunk that holds one event on one line."""

from __future__ import annotations


def chunk_size(digits: bytes) -> int:
    """The number in front of a chunk; -1 for anything but hexadecimal digits (an extension, a sign, a space)."""
    if not digits.isalnum():  # int() would also take signs, spaces and underscores
        return -1
    try:
        return int(digits, 16)
    except ValueError:
        return -1


def sole_event(data: bytes) -> bytes | None:
    """The JSON of the event, when ``data`` is exactly one chunk with exactly one such event; None for all else.

    Only to be asked between two chunks, where neither parser has half of anything. A general HTTP parser, its callbacks
    and the event decoder need 3 us for such a read, and this 0.7. ``[DONE]``, several lines, CR line ends, comments,
    chunk extensions and every other shape are left to them.
    """
    size = data.find(b"\r\n", 1, 8)
    if size < 0 or data[-4:] != b"\n\n\r\n" or data[size + 2 : size + 9] != b"data: {":
        return None
    end = len(data) - 4
    if data.find(b"\n", size + 2) != end or data.find(b"\r", size + 2) != end + 2:
        return None
    return data[size + 8 : end] if chunk_size(data[:size]) == end - size else None
