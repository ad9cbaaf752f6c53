"""Seeds: what a server needs before it starts. Each is fetched once, verified by digest, and put in place by renaming.

On a process host the facts' paths are what the server reads. A Docker host gets them into a volume, file by file:
:func:`benchgate.seeding.verify.seed_tree` lists what to copy and what each file must hash to.
"""

from __future__ import annotations

from benchgate.records import SeedFact
from benchgate.seeding.places import Report, silent
from benchgate.spec.campaign import ModelSpec


def seed_model(model: ModelSpec, report: Report = silent, *, token: str | None = None) -> SeedFact:
    """Put a model in place from wherever its campaign says it comes from.

    Raises:
        SeedError: it cannot be fetched or verified.
    """
    source = model.source
    if source is not None and source.package is not None:
        from benchgate.seeding.model_package import seed_package_model

        return seed_package_model(model, report)
    if source is not None and source.folder is not None:
        from benchgate.seeding.model_folder import seed_folder_model

        return seed_folder_model(model, report)
    if source is not None and source.host_path is not None:
        from benchgate.seeding.model_folder import host_path_model

        return host_path_model(model)
    from benchgate.seeding.model_hub import seed_hub_model

    return seed_hub_model(model, report, token=token)
