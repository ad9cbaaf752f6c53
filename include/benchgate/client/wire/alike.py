"""Events of a stream that differ in their text only: the text is cut out, and no JSON is read.

An engine writes the same bytes around each token. Once one such event has been read as JSON and its text was found
between ``before`` and ``after``, another event with the same ``before`` and ``after`` can differ in that one string
only, if what stands between holds no quote, no backslash and no control character: it can neither end the string nor
stand for anything but itself. Such an event costs 1 us instead of 3; every other goes the general way.
"""

from __future__ import annotations

from benchgate.client.wire.chunks import chunk_size

GIVE_UP = 8  # events in a row that were learned in vain: this server changes something in each
END = b"\n\n\r\n"


class Alike:
    """What the text events of one stream have in common, learned from the last one that was read as JSON."""

    __slots__ = ("_after", "_before", "_in_vain", "channel")

    def __init__(self) -> None:
        self._before = self._after = b""
        self._in_vain = 0
        self.channel = ""

    def learn(self, payload: bytes, channel: str, text: str) -> None:
        """Take ``payload`` as a pattern: an event with one choice, whose delta has ``text`` in ``channel`` alone."""
        if self._in_vain >= GIVE_UP:
            return
        self._in_vain += 1
        self._before = b""
        name = channel.encode()
        quoted = b'"%b":"' % name if b'"%b":"' % name in payload else b'"%b": "' % name
        at = payload.find(quoted) + len(quoted)
        raw = text.encode("utf-8", "replace")
        end = at + len(raw)
        if payload.count(quoted) != 1 or payload[at:end] != raw or payload[end : end + 1] != b'"':
            return
        if not _plain(text) or b"\n" in payload or b"\r" in payload:  # several lines of data are not one on the wire
            return
        self._before = b"data: " + payload[:at]
        self._after = payload[end:] + END
        self.channel = channel

    def text(self, data: bytes) -> str | None:
        """The text of the only event in ``data``, one chunk of a chunked body; None when it is not of this pattern."""
        before = self._before
        if not before or not data.endswith(self._after):
            return None
        size = data.find(b"\r\n", 1, 8)
        start = size + 2 + len(before)
        if size < 0 or not data.startswith(before, size + 2):
            return None
        try:
            text = data[start : len(data) - len(self._after)].decode()
        except UnicodeDecodeError:
            return None
        if not text or start + len(self._after) > len(data) or not _plain(text):
            return None
        if chunk_size(data[:size]) != len(data) - size - 4:
            return None
        self._in_vain = 0
        return text


def _plain(text: str) -> bool:
    return '"' not in text and "\\" not in text and text.isprintable()
