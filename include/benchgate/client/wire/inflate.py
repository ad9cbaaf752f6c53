"""Compressed bodies. Nobody asks for them (``Accept-Encoding: identity``), and some servers and proxies send them."""

from __future__ import annotations

import zlib

SUPPORTED = ("gzip", "x-gzip", "deflate")
_ZLIB_HEADER = 2  # bytes that tell zlib from raw deflate


class Inflate:
    """Decompresses a body fed in any pieces: gzip of one member or of several, zlib, and raw deflate.

    "deflate" means zlib by the standard and raw deflate by some servers' habit; the first two bytes tell which.
    """

    def __init__(self, encoding: str) -> None:
        self._guess = encoding == "deflate"
        self._start = b""
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, by its own header
        self.begun = False

    def feed(self, data: bytes) -> bytes:
        """What ``data`` adds to the body.

        Raises:
            zlib.error: it is not compressed as was said.
        """
        if self._guess:
            data = self._start + data
            if len(data) < _ZLIB_HEADER:
                self._start = data
                return b""
            self._guess = False
            if data[0] & 15 != zlib.DEFLATED or int.from_bytes(data[:_ZLIB_HEADER], "big") % 31:
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self.begun = self.begun or bool(data)
        out = self._inflate.decompress(data)
        while self._inflate.eof and self._inflate.unused_data.startswith(b"\x1f\x8b"):  # the next member of a gzip body
            rest, self._inflate = self._inflate.unused_data, zlib.decompressobj(zlib.MAX_WBITS | 32)
            out += self._inflate.decompress(rest)
        return out

    def finish(self) -> bytes:
        """What was still inside."""
        return self._inflate.flush()

    @property
    def cut(self) -> bool:
        """The compressed data began and did not come to its own end."""
        return self.begun and not self._inflate.eof
