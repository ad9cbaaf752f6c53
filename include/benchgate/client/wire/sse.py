"""Server-sent events, decoded from any split of the bytes (WHATWG HTML, section 9.2.6).

Works on bytes: a UTF-8 character split over two packets is joined again before anybody decodes it.
"""

from __future__ import annotations

LINE_COST = 64  # bytes that Python spends on a data line beside its text
STRAY_KEPT = 4096  # bytes
BOM = b"\xef\xbb\xbf"


class NamedEvent(bytes):
    """The data of an event that carries a name (``event: error``); unnamed events are plain ``bytes``."""

    name: bytes = b""


class SseDecoder:
    """Feed reads of a body; get the data of every event that the read completed.

    An event is complete at the blank line that ends it. Comments, ``id`` and ``retry`` lines carry no data.
    LF, CRLF and lone CR end a line, as the standard says; several ``data`` lines are joined by LF.
    """

    __slots__ = ("_data", "_held", "_line", "_name", "_skip_lf", "clean", "comments", "pending", "stray")

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of the unfinished last line: joined once, also for a 1 MB event
        self._data: list[bytes] = []  # data lines of the unfinished event
        self._held = 0  # bytes that the data lines of the unfinished event take
        self._name = b""
        self.clean = True  # nothing is left over from earlier reads
        self._skip_lf = False  # the last read ended in CR: an LF at the start of the next belongs to it
        self.comments = 0
        self.stray = b""  # the first lines that are of no field that the standard knows: of an answer that is no stream
        self.pending = 0  # bytes kept of an event that is not complete; whoever feeds decides how many are too many

    def feed(self, body: bytes) -> list[bytes]:
        """Data of the events that ``body`` completes, in order."""
        # Most reads are exactly one event on one line; everything else takes the standard's road below.
        if (
            self.clean
            and body[-2:] == b"\n\n"
            and body[:6] == b"data: "
            and body.find(b"\n") == len(body) - 2
            and b"\r" not in body
        ):
            return [body[6:-2]]
        events = self._feed_lines(body)
        self.clean = not (self._line or self._data or self._name or self._skip_lf)
        return events

    def _feed_lines(self, body: bytes) -> list[bytes]:
        if self._skip_lf and body:
            if body[:1] == b"\n":
                body = body[1:]
            self._skip_lf = False
        if b"\n" not in body and b"\r" not in body:
            if body:
                self._line.append(body)
                self.pending += len(body)
            return []
        text = body
        if self._line:
            self._line.append(body)
            text = b"".join(self._line)
            self._line = []
        if b"\r" in text:
            if text[-1:] == b"\r":
                self._skip_lf = True
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = text.split(b"\n")
        rest = lines.pop()
        if rest:
            self._line.append(rest)
        events: list[bytes] = []
        for line in lines:
            if line:
                self._field(line)
            elif self._data:
                events.append(self._event())
            else:
                self._name = b""
        self.pending = len(rest) + self._held
        return events

    def _field(self, line: bytes) -> None:
        if line[:3] == BOM:  # the standard allows one in front of the stream; no field's name begins with it
            line = line[3:]
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data" or name == b"error":
            self._data.append(value)
            self._held += len(value) + LINE_COST
            if name == b"error":  # no field of the standard; llama.cpp long reported its errors in it
                self._name = name
        elif name == b"event":
            self._name = value
        elif not name:
            self.comments += 1
        elif name not in (b"id", b"retry") and len(self.stray) < STRAY_KEPT:
            self.stray += line + b"\n"

    def _event(self) -> bytes:
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data = []
        self._held = 0
        if not self._name:
            return data
        event = NamedEvent(data)
        event.name, self._name = self._name, b""
        return event

    def finish(self) -> list[bytes]:
        """What is left when the body ends. The standard drops it; servers that forget the last blank line exist."""
        if self._line:
            self._field(b"".join(self._line))
            self._line = []
        return [self._event()] if self._data else []
