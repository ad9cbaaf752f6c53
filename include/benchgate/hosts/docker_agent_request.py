"""Runs inside the probe container: one HTTP request to the server on 127.0.0.1, the answer as a file.

Standard library only; its source is passed to the container's Python. Arguments: token, method, port, path, limit in
seconds, folder. Reads the body of a POST from ``TOKEN.in`` and writes ``TOKEN.out``: the status (0: no answer), a
newline, the body (or the error). The file is written aside and renamed: it is whole when it is there.
"""

import contextlib
import http.client
import signal
import sys
import time
from pathlib import Path

ANSWER_LIMIT = 32 * 1024 * 1024  # bytes
KEEP_S = 600.0  # answers that nobody fetched


def answer(method: str, port: int, path: str, limit_s: float, body: "bytes | None") -> "tuple[int, bytes]":
    """Status and body, or 0 and the error in words."""

    def late(*_: object) -> None:
        raise TimeoutError(f"no complete answer within {limit_s:g} s")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, limit_s)  # the whole exchange, not each read
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit_s)
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        data = response.read(ANSWER_LIMIT + 1)  # a server that never stops sending must not fill anybody's memory
        if len(data) > ANSWER_LIMIT:
            return 0, b"the answer is larger than %d MiB" % (ANSWER_LIMIT // 2**20)
        return response.status, data
    except (OSError, http.client.HTTPException) as error:
        return 0, f"{type(error).__name__}: {error}".encode()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main(token: str, method: str, port: str, path: str, limit_s: str, folder: str) -> None:
    """Send one request and leave its answer."""
    here = Path(folder)
    for old in here.iterdir():
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > KEEP_S:
                old.unlink()
    body = (here / f"{token}.in").read_bytes() if method == "POST" else None
    status, data = answer(method, int(port), path, float(limit_s), body)
    aside = here / f"{token}.tmp"
    aside.write_bytes(b"%d\n%s" % (status, data))
    aside.replace(here / f"{token}.out")


if __name__ == "__main__":
    main(*sys.argv[1:7])
