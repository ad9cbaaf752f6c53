"""A Hugging Face Hub on a loopback port: the part of its protocol that a snapshot download speaks.

Small files are served in place, large ones by a redirect to a content address, with the headers, ETags and error codes
of the real one. Faults are switched on per test.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

LARGE = (".safetensors", ".gguf", ".bin")


def blob_id(content: bytes) -> str:
    """git's id of a blob."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass
class Repo:
    """One model: commits, and which commit each branch or tag is."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    token: str | None = None  # private
    gated: bool = False


@dataclass
class Hub:
    """What the hub holds, and how it misbehaves."""

    url: str = ""
    content_url: str = ""  # another origin, as the real one redirects to another host
    repos: dict[str, Repo] = field(default_factory=dict)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)  # method, path, Range
    authorizations: set[str] = field(default_factory=set)
    authorized: list[str] = field(default_factory=list)  # paths that were asked for with a token
    cut_after: dict[str, int] = field(default_factory=dict)  # file: bytes until the connection breaks, once
    altered: set[str] = field(default_factory=set)  # files whose bytes are not what the hub says
    down: bool = False

    def push(self, repo: str, files: dict[str, bytes], ref: str = "main") -> str:
        """A commit on a branch; returns its hash."""
        names = "".join(f"{name}:{blob_id(content)};" for name, content in sorted(files.items()))
        commit = hashlib.sha1(names.encode(), usedforsecurity=False).hexdigest()
        known = self.repos.setdefault(repo, Repo())
        known.commits[commit] = files
        known.refs[ref] = commit
        return commit

    def downloads(self) -> list[str]:
        """Content that was sent, in order."""
        return [path for method, path, _ in self.requests if method == "GET" and "/api/" not in path]


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(body=True)

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def log_message(self, *args: object) -> None:
        pass

    def answer(self, *, body: bool) -> None:
        hub, url = self.hub, urlsplit(self.path)
        path = unquote(url.path)
        hub.requests.append((self.command, path, self.headers.get("Range")))
        if self.headers.get("Authorization"):
            hub.authorizations.add(self.headers["Authorization"])
            hub.authorized.append(path)
        if hub.down:
            self.reply(503, b"the hub is down", body=body)
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", path):
            self.describe(match[1], match[2], body, blobs="blobs" in parse_qs(url.query))
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)(?:/.*)?", path):
            self.tree(match[1], match[2], body)
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            self.resolve(match[1], match[2], match[3], body)
        elif match := re.fullmatch(r"/cdn/([^/]+/[^/]+)/([0-9a-f]{64})/(.+)", path):
            self.content(match[1], match[2], match[3], body)
        else:
            self.reply(404, b"{}", body=body)

    def repo(self, name: str, revision: str, body: bool) -> tuple[str, dict[str, bytes]] | None:
        """The commit and its files, or None after the hub's own refusal was sent."""
        repo = self.hub.repos.get(name)
        given = self.headers.get("Authorization")
        if repo is None or (repo.token is not None and given != f"Bearer {repo.token}"):
            self.reply(401, b'{"error": "no"}', {"X-Error-Code": "RepoNotFound"}, body=body)
            return None
        if repo.gated:
            self.reply(403, b'{"error": "gated"}', {"X-Error-Code": "GatedRepo"}, body=body)
            return None
        commit = repo.refs.get(revision, revision)
        if commit not in repo.commits:
            self.reply(404, b'{"error": "rev"}', {"X-Error-Code": "RevisionNotFound"}, body=body)
            return None
        return commit, repo.commits[commit]

    def describe(self, name: str, revision: str, body: bool, *, blobs: bool) -> None:
        found = self.repo(name, revision, body)
        if found is None:
            return
        commit, files = found
        siblings = [{"rfilename": file} | (_facts(file, content) if blobs else {}) for file, content in files.items()]
        value = {"id": name, "modelId": name, "sha": commit, "siblings": siblings, "private": False, "tags": []}
        self.reply(200, json.dumps(value).encode(), {"Content-Type": "application/json"}, body=body)

    def tree(self, name: str, revision: str, body: bool) -> None:
        found = self.repo(name, revision, body)
        if found is None:
            return
        entries = []
        for file, content in found[1].items():
            facts = _facts(file, content)
            entry = {"type": "file", "path": file, "size": facts["size"], "oid": facts["blobId"]}
            if "lfs" in facts:
                entry["lfs"] = {"oid": facts["lfs"]["sha256"], "size": facts["size"], "pointerSize": 134}
            entries.append(entry)
        self.reply(200, json.dumps(entries).encode(), {"Content-Type": "application/json"}, body=body)

    def resolve(self, name: str, revision: str, file: str, body: bool) -> None:
        found = self.repo(name, revision, body)
        if found is None:
            return
        commit, files = found
        if file not in files:
            self.reply(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, body=body)
            return
        content = files[file]
        if file.endswith(LARGE):
            sha256 = hashlib.sha256(content).hexdigest()
            headers = {
                "X-Repo-Commit": commit,
                "X-Linked-Size": str(len(content)),
                "X-Linked-Etag": f'"{sha256}"',
                "Location": f"{self.hub.content_url}/cdn/{name}/{sha256}/{file}",
            }
            self.reply(302, b"Found", headers, body=body)
            return
        self.send_content(file, content, {"X-Repo-Commit": commit, "ETag": f'"{blob_id(content)}"'}, body)

    def content(self, name: str, sha256: str, file: str, body: bool) -> None:
        for files in self.hub.repos[name].commits.values():
            if file in files and hashlib.sha256(files[file]).hexdigest() == sha256:
                self.send_content(file, files[file], {"ETag": f'"{sha256}"'}, body)
                return
        self.reply(404, b"", body=body)

    def send_content(self, file: str, content: bytes, headers: dict[str, str], body: bool) -> None:
        if file in self.hub.altered:
            content = content[:-1] + bytes([content[-1] ^ 1])
        start, status = 0, 200
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or ""):
            start, status = int(match[1]), 206
            headers = headers | {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        part = content[start:]
        cut = self.hub.cut_after.pop(file, None) if body else None
        self.reply(status, part, headers | {"Accept-Ranges": "bytes"}, body=body, cut=cut)

    def reply(
        self, status: int, content: bytes, headers: dict[str, str] | None = None, *, body: bool, cut: int | None = None
    ) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content if cut is None else content[:cut])
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(2)


def _facts(file: str, content: bytes) -> dict:
    facts: dict = {"size": len(content), "blobId": blob_id(content)}
    if file.endswith(LARGE):
        facts["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
    return facts


@contextmanager
def the_only_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that is asked for every model, by somebody who is not logged in."""
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    with hub_server() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


@contextmanager
def hub_server(address: str = "127.0.0.1") -> Iterator[Hub]:
    """A hub while inside; ``HF_ENDPOINT`` is the caller's to set to its ``url``.

    Args:
        address: where it listens; that of a bridge of the Docker Engine is one that its containers reach.
    """
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    servers = [ThreadingHTTPServer((address, 0), handler) for _ in range(2)]
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    hub.url, hub.content_url = (f"http://{address}:{server.server_port}" for server in servers)
    try:
        yield hub
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
