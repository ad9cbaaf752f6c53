"""``read_result``: the format by its name or by its keys, then that format's reader."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from benchgate.importers import aiperf, guidellm, sglang, vllm
from benchgate.importers.document import Document, load
from benchgate.importers.model import ImportedRun, ResultError

_READERS: dict[str, ModuleType] = {module.NAME: module for module in (vllm, sglang, aiperf, guidellm)}
FORMATS = ("auto", *_READERS)


def read_result(path: str | Path, format: str = "auto") -> ImportedRun:
    """Read one result file.

    Args:
        path: the file; for AIPerf also the artifact folder that holds it.
        format: ``auto`` looks at the keys; vllm, sglang, aiperf or guidellm insists.

    Raises:
        ResultError: the file is missing, cut off, of no known client, or holds a value that cannot be.
    """
    file = Path(path)
    if format not in FORMATS:
        raise ResultError(f"there is no format {format!r}", remedy=f"known are {', '.join(FORMATS)}")
    if file.is_dir():
        file = _in_folder(file)
    documents = load(file)
    name = _recognise(documents[0], file) if format == "auto" else format
    reader = _READERS[name]
    if format != "auto" and not reader.recognises(documents[0], file):
        seen = _candidates(documents[0], file)
        hint = f"it looks like one of {seen[0]}" if seen else _lacking(format, documents[0])
        raise ResultError(f"{file}: is no result of {format}: {hint}")
    cells = reader.read(documents)
    if not cells:
        raise ResultError(f"{file}: holds no measurement")
    return ImportedRun(str(file), name, cells)


def _in_folder(folder: Path) -> Path:
    export = folder / aiperf.EXPORT
    if not export.exists():
        raise ResultError(f"{folder}: is a folder without {aiperf.EXPORT}", remedy="name the result file itself")
    return export


def _candidates(first: Document, path: Path) -> list[str]:
    return [name for name, reader in _READERS.items() if reader.recognises(first, path)]


def _recognise(first: Document, path: Path) -> str:
    found = _candidates(first, path)
    if len(found) == 1:
        return found[0]
    if "client_name" in first and "metric_definition" in first:
        raise ResultError(f"{path}: is a summary of our own client; it needs no import")
    near = max(_READERS, key=lambda name: sum(key in first for key in _READERS[name].KEYS))
    hint = f"its keys are {_keys(first)}"
    if any(key in first for key in _READERS[near].KEYS):
        hint = f"it is nearest to one of {near}, but {_lacking(near, first)}"
    raise ResultError(f"{path}: is no result file of {', '.join(_READERS)}: {hint}")


def _lacking(name: str, first: Document) -> str:
    """Which keys that every result of a client has are not there."""
    missing = [key for key in _READERS[name].KEYS if key not in first]
    if not missing:
        return f"{', '.join(_READERS[name].KEYS)} holds nothing that it writes"
    return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; its keys are {_keys(first)}"


def _keys(document: Document) -> str:
    names = list(document.values)
    return ", ".join(names[:6]) + (", .." if len(names) > 6 else "") if names else "none"
