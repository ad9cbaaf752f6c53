"""What changed between two nights, by name: the parts of the arm's fingerprint and the client that measured it."""

from __future__ import annotations

from collections.abc import Mapping

from benchgate.analysis.series import Night

WHOLE = "fingerprint"
Changes = Mapping[str, tuple[str | None, str | None]]


def what_changed(before: Night, after: Night) -> dict[str, tuple[str | None, str | None]]:
    """Each differing part with its value before and after. A part that either night does not know is left out."""
    ours = {**before.fingerprint, "client_version": _text(before.facts.get("client_version"))}
    theirs = {**after.fingerprint, "client_version": _text(after.facts.get("client_version"))}
    found = {
        name: (ours[name], theirs[name])
        for name in ours
        if ours[name] is not None and theirs.get(name) is not None and ours[name] != theirs[name]
    }
    # the hash itself is news only when no part explains it: then a value changed that is not kept, as of a variable
    return {name: pair for name, pair in found.items() if name != WHOLE} or found


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def is_known(night: Night) -> bool:
    """Whether the night says anything about what it ran."""
    return any(value is not None for value in night.fingerprint.values())


def in_words(changes: Changes) -> str:
    """``image_digest sha256:1f.. -> sha256:9a..; engine_version 0.31.0 -> 0.32.0``."""
    if not changes:
        return "nothing that the fingerprint knows changed: look at the host"
    return "; ".join(f"{name} {_short(a)} -> {_short(b)}" for name, (a, b) in changes.items())


def _short(value: str | None) -> str:
    """Hashes are cut to what a person compares."""
    text = "unknown" if value is None else value
    head, colon, digest = text.rpartition("sha256:")
    if colon and len(digest) == 64:
        return f"{head}sha256:{digest[:12]}"
    return text if len(text) <= 60 else f"{text[:57]}..."
