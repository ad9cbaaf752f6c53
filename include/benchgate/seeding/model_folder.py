"""A model that somebody has put on this machine, or on the GPU host, already."""

from __future__ import annotations

from pathlib import Path

from benchgate.errors import SeedError
from benchgate.records import SeedFact
from benchgate.seeding.places import Report, allowed, silent
from benchgate.seeding.verify import check_sha256, seed_tree, tree_digest, verified_sha256
from benchgate.spec.campaign import ModelSpec


def seed_folder_model(model: ModelSpec, report: Report = silent) -> SeedFact:
    """Verify a folder on the worker. Nothing is copied or changed.

    With ``source.file`` the seed is that file; without, the folder, and its digest covers names and contents.

    Raises:
        SeedError: missing, empty, or of another content than the pinned one.
    """
    source = model.source
    assert source is not None
    assert source.folder is not None
    folder = allowed(Path(source.folder), f"model {model.id}")
    if not folder.is_dir():
        raise SeedError(f"model {model.id}: there is no folder {folder}", remedy="correct source.folder")
    if source.file is not None:
        path = allowed(folder / source.file, f"model {model.id}")
        if not path.is_file():
            raise SeedError(f"model {model.id}: there is no file {path}", remedy="correct source.file")
        if source.sha256 is not None:
            check_sha256(path, source.sha256, f"model {model.id}")
        digest = verified_sha256(path)
    else:
        path = folder
        report(f"model {model.id}: reading {folder}")
        files = list(seed_tree(folder))
        if not files:
            raise SeedError(f"model {model.id}: the folder {folder} is empty", remedy="correct source.folder")
        digest = tree_digest(files)
        if source.sha256 is not None and source.sha256 != digest:
            raise SeedError(
                f"model {model.id}: wrong content: sha256 over the folder is {digest}, and {source.sha256} was "
                f"expected ({folder})",
                remedy="the folder changed; correct the pinned digest only if you know why",
            )
    return SeedFact(kind="model", name=model.id, digest=f"sha256:{digest}", source=f"folder {folder}", path=str(path))


def host_path_model(model: ModelSpec) -> SeedFact:
    """A model that the GPU host has by itself: where it lies. Its content is read there, by the seed step."""
    source = model.source
    assert source is not None
    assert source.host_path is not None
    path = source.host_path if source.file is None else f"{source.host_path.rstrip('/')}/{source.file}"
    return SeedFact(
        kind="model",
        name=model.id,
        digest=f"sha256:{source.sha256}" if source.sha256 else None,
        source="host path",
        path=path,
        note="lies on the host, and was not read there yet",
    )
