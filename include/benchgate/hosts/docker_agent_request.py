"""Runs inside the probe container: one HTTP request to the server on 127.0.0.1, the answer as a file.

Standard library only; its source is passed to the container's Python. Arguments: token, method, port, path, limit in
seconds, folder. Reads the body of a POST from ``TOKEN.in`` and writes ``TOKEN.out``: the status (0: no answer), a
newline, the body (or the error). The file is written aside and renamed: it is whole when it is there.
"""

import contextlib
import http.client
import signal
import sys
from pathlib import Path

ANSWER_LIMIT = 32 * 1024 * 1024  # bytes
KEEP = 64  # files of requests that may still be going on; older ones are answers that nobody fetched


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


def sweep(folder: Path, token: str) -> None:
    """Remove what nobody fetched. By number, not by age: a worker dated these files, and its clock may be off."""
    with contextlib.suppress(OSError):  # another request sweeps as well
        others = [path for path in folder.iterdir() if not path.name.startswith(token)]
        others.sort(key=lambda path: path.stat().st_ctime_ns, reverse=True)
        for old in others[KEEP:]:
            old.unlink(missing_ok=True)


def main(token: str, method: str, port: str, path: str, limit_s: str, folder: str) -> None:
    """Send one request and leave its answer."""
    here = Path(folder)
    sweep(here, token)
    body = (here / f"{token}.in").read_bytes() if method == "POST" else None
    status, data = answer(method, int(port), path, float(limit_s), body)
    aside = here / f"{token}.tmp"
    aside.write_bytes(b"%d\n%s" % (status, data))
    aside.replace(here / f"{token}.out")


if __name__ == "__main__":
    main(*sys.argv[1:7])
