"""Runs inside a helper container with a seed volume at ``/seed`` and a network: fetches a model's files into it.

Standard library only; its source is passed to the container's Python. Its argument names a plan in the staging folder:
``url`` (a file's address is that and its path) and ``files`` (``path``, ``size``, and ``sha256`` or git's ``blob_id``).
``HF_TOKEN`` in the environment is sent to the host of that address, and to no host that it redirects to.

Content arrives in ``.benchgate/in`` under a name that says what it must become, goes on where it broke off, and lies
there as ``SHA256`` once it was verified; ``volume_agent.py`` puts it in place. What the manifest has whole is not
fetched. Prints ``{"wanted": {path: {size, sha256}}, "in_place": is it all, "fetched": files, "bytes": bytes}``, or
``{"failed": {kind, path, said}}``; progress goes to stderr.
"""

import contextlib
import errno
import fcntl
import hashlib
import http.client
import json
import os
import socket
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

SEED = Path("/seed")
HOME = ".benchgate"
BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")  # Python looks elsewhere in an image without the openssl package
SAY_EVERY_S = 5.0
TRIES = 5  # without a byte of progress
PAUSE_S = 1.0  # before the second try, doubled before each further one
TIMEOUT_S = 60.0  # to connect; between two blocks
BLOCK = 1 << 20


class Failed(Exception):
    """A file cannot be had: ``kind`` says what to do about it."""

    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
        self.kind = kind


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects; the token goes along only where scheme, host and port stay the same."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        token = req.unredirected_hdrs.get("Authorization")
        if new is not None and token and _origin(req.full_url) == _origin(newurl):
            new.add_unredirected_header("Authorization", token)
        return new


def _origin(url: str) -> "tuple[str, str]":
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc.lower()


class Fetch:
    """One run over the files of a plan."""

    def __init__(self, seed: Path, url: str, token: str = "", pause_s: float = PAUSE_S) -> None:
        self.seed = seed
        self.staging = seed / HOME / "in"
        self.url = url.rstrip("/")
        self.token = token
        self.pause_s = pause_s
        self.fetched = 0  # files
        self.bytes = 0
        self.total = 0  # bytes that the plan wants fetched
        self.said_at = time.monotonic()
        context = ssl.create_default_context()
        if BUNDLE.is_file():
            context.load_verify_locations(BUNDLE)
        self.opener = urllib.request.build_opener(_Redirects(), urllib.request.HTTPSHandler(context=context))

    def all(self, files: "list[dict[str, Any]]") -> "dict[str, Any]":
        """Have every file of the plan in its place or verified in the staging folder."""
        manifest = read_manifest(self.seed)
        missing = [file for file in files if not self.in_place(file, manifest)]
        self.total = sum(file["size"] for file in missing)
        say(f"{len(missing)} of {len(files)} files are missing, {self.total / 2**20:.0f} MiB")
        wanted = {file["path"]: manifest.get(file["path"]) for file in files}
        for file in missing:
            try:
                sha256 = self.one(file)
            except Failed as failed:
                return {"failed": {"kind": failed.kind, "path": file["path"], "said": str(failed)}}
            wanted[file["path"]] = {"size": file["size"], "sha256": sha256}
        return {"wanted": wanted, "in_place": not missing, "fetched": self.fetched, "bytes": self.bytes}

    def in_place(self, file: "dict[str, Any]", manifest: "dict[str, dict[str, Any]]") -> bool:
        """Whether the manifest has the file whole; a small one is read, since the hub does not say its sha256."""
        entry = manifest.get(file["path"])
        if entry is None or entry["size"] != file["size"]:
            return False
        if file["sha256"]:
            return bool(entry["sha256"] == file["sha256"])
        place = self.seed / file["path"]
        sha256, blob_id = digests(place)
        if sha256 != entry["sha256"]:
            place.unlink()  # not what the manifest says: nobody may take it for whole, and the right one gets its place
        return (sha256, blob_id) == (entry["sha256"], file["blob_id"])

    def one(self, file: "dict[str, Any]") -> str:
        """Fetch one file, unless its content waits already, verify it, and return its sha256."""
        size, expected, blob_id = file["size"], file["sha256"], file["blob_id"]
        if expected and (self.staging / expected).is_file():
            return str(expected)
        # only what is named by its sha256 may be taken over by the volume's own agent when this one is killed
        aside = self.staging / (f"{expected}.{size}.fetch.up" if expected else f"{blob_id}.{size}.fetch.part")
        with doing_disk():
            self.transfer(file["path"], aside, size)
            try:
                sha256, found_id = digests(aside)
            except FileNotFoundError:  # the volume's own agent, in another container, was first to verify it
                return self.one(file)
        kind, found, must = ("sha256", sha256, expected) if expected else ("git blob id", found_id, blob_id)
        if found != must:
            aside.unlink()
            raise Failed("content", f"{kind} is {found}, and {must} was expected")
        aside.replace(self.staging / sha256)
        self.fetched += 1
        return sha256

    def transfer(self, path: str, aside: Path, size: int) -> None:
        """Bring ``aside`` to ``size`` bytes, over as many connections as it takes."""
        tries = 0
        while True:
            before = aside.stat().st_size if aside.exists() else 0
            if before > size:
                aside.unlink()
                before = 0
            if before == size and aside.exists():
                return
            try:
                self.read(path, aside, before, size)
                said = "the connection ended early"
            except urllib.error.HTTPError as error:
                where = urllib.parse.urlsplit(error.url or self.url).netloc
                said = f"HTTP {error.code} of {where}"
                if error.code < 500 and error.code not in (408, 416, 429):
                    raise Failed(str(error.code), said) from None
                if error.code == 416:
                    aside.unlink(missing_ok=True)
            except (OSError, http.client.HTTPException) as error:
                said = permanent(error)
            after = aside.stat().st_size if aside.exists() else 0
            tries = 1 if after > before else tries + 1
            if tries >= TRIES:
                raise Failed("broken", said)
            if after < size:
                say(f"{path}: {said}; trying again")
                time.sleep(self.pause_s * 2 ** (tries - 1))

    def read(self, path: str, aside: Path, have: int, size: int) -> None:
        """One connection: append what it brings."""
        request = urllib.request.Request(f"{self.url}/{urllib.parse.quote(path)}")  # noqa: S310 - the operator's own
        request.add_header("Accept-Encoding", "identity")
        if have:
            request.add_header("Range", f"bytes={have}-")
        if self.token:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        with self.opener.open(request, timeout=TIMEOUT_S) as answer:
            goes_on = answer.status == http.HTTPStatus.PARTIAL_CONTENT
            with aside.open("ab" if goes_on else "wb") as out:
                have = have if goes_on else 0
                while block := answer.read(BLOCK):
                    have += len(block)
                    if have > size:
                        raise Failed("content", f"it has more bytes than the {size} that the hub says")
                    out.write(block)
                    self.bytes += len(block)
                    self.progress(path)

    def progress(self, path: str) -> None:
        """Say now and then how far it is."""
        if time.monotonic() - self.said_at >= SAY_EVERY_S:
            self.said_at = time.monotonic()
            say(f"{self.bytes / 2**20:.0f} of {self.total / 2**20:.0f} MiB fetched, now {path}")


@contextlib.contextmanager
def doing_disk():  # type: ignore[no-untyped-def]
    """What is left of operating system errors is the disk's."""
    try:
        yield
    except OSError as error:
        raise Failed("space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "disk", str(error)) from None


def permanent(error: Exception) -> str:
    """What an error of a connection means, when another try may help; Failed when it cannot."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    code = getattr(reason, "errno", None)
    if isinstance(reason, OSError) and code in (errno.ENOSPC, errno.EDQUOT):
        raise Failed("space", str(reason))
    if isinstance(reason, socket.gaierror):
        raise Failed("name", str(reason))
    if isinstance(reason, ssl.SSLCertVerificationError):
        raise Failed("certificate", reason.verify_message)
    if code in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ECONNREFUSED):
        raise Failed("route", os.strerror(int(code)))
    return f"{type(reason).__name__}: {reason}"


def digests(path: Path) -> "tuple[str, str]":
    """sha256 of a file, and the id git gives it, both in hex."""
    sha256 = hashlib.sha256()
    blob = hashlib.sha1(b"blob %d\0" % path.stat().st_size)  # noqa: S324 - git's own
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            sha256.update(block)
            blob.update(block)
    return sha256.hexdigest(), blob.hexdigest()


def read_manifest(seed: Path) -> "dict[str, dict[str, Any]]":
    """What the volume holds whole; entries whose file is gone or cut are left out."""
    try:
        entries = json.loads((seed / HOME / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}
    return {
        path: entry
        for path, entry in entries.items()
        if (seed / path).is_file() and (seed / path).stat().st_size == entry["size"]
    }


def say(line: str) -> None:
    """A line of progress."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main(name: str) -> None:
    """Carry out the plan and print the answer."""
    file = SEED / HOME / "in" / name
    plan = json.loads(file.read_text())
    file.unlink()
    with (SEED / HOME / "fetch.lock").open("w") as lock:  # the kernel frees it when this ends
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("somebody else fetches into this volume; waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        fetch = Fetch(SEED, plan["url"], os.environ.get("HF_TOKEN", ""))
        json.dump(fetch.all(plan["files"]), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
