"""One file over HTTP: aside first, resumed where it broke off, verified, then renamed into place."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import urlsplit

import requests

from benchgate import secrets
from benchgate.errors import SeedError
from benchgate.seeding.places import Report, silent
from benchgate.seeding.verify import file_digest
from benchgate.whole_file import PART

TRIES = 4
_BLOCK = 1 << 16  # a block that breaks off is lost
_TELL_EVERY_S = 5.0
TIMEOUT_S = (10.0, 60.0)  # to connect; between two blocks
_MIB = 2**20


def download(
    url: str, target: Path, *, what: str, sha256: str | None = None, report: Report = silent, pause_s: float = 1.0
) -> None:
    """Fetch ``url`` to ``target``. A transfer that breaks off is resumed, in this call and in a later one.

    Args:
        url: http or https; proxies and certificates come from the environment.
        target: the file; its half-finished form lies beside it and is never mistaken for it.
        what: named in messages.
        sha256: the pinned digest; a file with another one is removed and refused.
        report: takes lines of progress.
        pause_s: before the second try, doubled before each further one.

    Raises:
        SeedError: refused by the server, unreachable after several tries, or of another content (both digests named).
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(target.name + PART)
    problem = ""
    for attempt in range(TRIES):
        if attempt:
            report(f"{what}: {problem}; trying again")
            time.sleep(pause_s * 2 ** (attempt - 1))
        try:
            _transfer(url, aside, what, report)
            break
        except (requests.RequestException, _Broken) as error:
            problem = _in_words(error)
            if "cannot resolve" in problem:  # a closed network: it will not open in some seconds
                raise SeedError(f"{what}: {problem}", remedy="may this machine reach it?") from None
            status = getattr(getattr(error, "response", None), "status_code", None)
            if status is not None and 400 <= status < 500 and status not in (408, 416, 429):
                raise SeedError(f"{what}: {problem}", remedy=_remedy(status)) from None
    else:
        raise SeedError(f"{what}: {problem}", remedy="is the address right, and may this machine reach it?")
    if sha256 is not None and (found := file_digest(aside)) != sha256:
        aside.unlink()
        raise SeedError(
            f"{what}: wrong content: sha256 is {found}, and {sha256} was expected ({secrets.mask(url)})",
            remedy="the source changed or a proxy answered instead of it; nothing was put in place",
        )
    aside.replace(target)


class _Broken(Exception):
    """The connection ended before the announced length."""


def _transfer(url: str, aside: Path, what: str, report: Report) -> None:
    """One try: continue the file aside when the server allows it, else start it again."""
    note = aside.with_name(aside.name + ".etag")
    have = aside.stat().st_size if aside.exists() else 0
    etag = note.read_text() if have and note.exists() else None
    headers = {"Accept-Encoding": "identity"}
    if have and etag:  # without a validator nobody knows whether the second half belongs to the first
        headers |= {"Range": f"bytes={have}-", "If-Range": etag}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as reply:
        if reply.status_code == 416:
            aside.unlink(missing_ok=True)
        reply.raise_for_status()
        resumed = reply.status_code == 206
        if resumed:
            report(f"{what}: resuming at {have / _MIB:.1f} MiB")
        _keep_validator(note, reply)
        length = reply.headers.get("Content-Length")
        expected = None if length is None else int(length) + (have if resumed else 0)
        got = have if resumed else 0
        told = time.monotonic()
        with aside.open("ab" if resumed else "wb") as file:
            for block in reply.iter_content(_BLOCK):
                file.write(block)
                got += len(block)
                if time.monotonic() - told > _TELL_EVERY_S:
                    told = time.monotonic()
                    report(f"{what}: {got / _MIB:.0f}{f' of {expected / _MIB:.0f}' if expected else ''} MiB")
    if expected is not None and got != expected:
        raise _Broken(f"the transfer ended at {got} of {expected} bytes")
    note.unlink(missing_ok=True)


def _keep_validator(note: Path, reply: requests.Response) -> None:
    etag = reply.headers.get("ETag", "")
    if etag and not etag.startswith("W/"):  # a weak one does not promise the same bytes
        note.write_text(etag)
    else:
        note.unlink(missing_ok=True)


def _in_words(error: Exception) -> str:
    """What went wrong, without the library's own stack of causes."""
    request = getattr(error, "request", None)
    host = urlsplit(getattr(request, "url", None) or "").hostname or "the server"
    if "NameResolutionError" in str(error):
        return f"cannot resolve {host}"
    if isinstance(error, requests.exceptions.SSLError):
        return f"the certificate of {host} is not trusted here"
    if isinstance(error, requests.exceptions.Timeout):
        return f"{host} did not answer in time"
    if isinstance(error, requests.exceptions.ConnectionError):
        return f"the connection to {host} failed ({str(error)[-160:]})"
    return secrets.mask(str(error))


def _remedy(status: int) -> str:
    if status in (401, 403):
        return "the server wants a login that was not given"
    return "correct the address"
