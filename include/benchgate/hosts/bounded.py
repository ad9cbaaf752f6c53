"""Answers of a server under test, which may be of any size: nothing that it sends can fill a worker's memory."""

from __future__ import annotations

import time

import requests

ANSWER_LIMIT = 32 * 1024 * 1024  # bytes; a /metrics page or a needle's answer is a few hundred thousand
_PIECE = 1 << 16


class AnswerTooLarge(requests.RequestException):
    """The server goes on sending beyond :data:`ANSWER_LIMIT`."""


def read_answer(reply: requests.Response, *, limit_s: float, limit: int | None = None) -> bytes:
    """The body of an answer that was asked for with ``stream=True``.

    Args:
        reply: the answer; it is closed afterwards.
        limit_s: seconds that reading all of it may take: a server that sends a byte now and then never ends.
        limit: bytes that are read at most; :data:`ANSWER_LIMIT` unless given.

    Raises:
        AnswerTooLarge: there is more.
        requests.Timeout: it takes longer.
    """
    limit = ANSWER_LIMIT if limit is None else limit
    deadline = time.monotonic() + limit_s
    body = bytearray()
    with reply:
        # as much as has come, and no waiting for a whole piece
        while piece := reply.raw.read1(_PIECE, decode_content=True):
            body += piece
            if len(body) > limit:
                raise AnswerTooLarge(f"the answer is larger than {limit // 2**20} MiB")
            if time.monotonic() > deadline:
                raise requests.Timeout
    return bytes(body)
