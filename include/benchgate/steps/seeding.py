"""Steps ``seed_*``: what servers on a host need, fetched once, verified, and put where they see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate import seeding
from benchgate.errors import SeedError
from benchgate.names import model_target, model_volume
from benchgate.records import HostSeeds, SeedFact, SeedMount
from benchgate.spec.campaign import ModelSpec
from benchgate.steps.context import CampaignRun
from benchgate.steps.seed_failures import one_of_several, refuse_if
from benchgate.steps.server_request import model_key

if TYPE_CHECKING:
    from benchgate.hosts.docker import DockerHost

Say = Callable[[str], None]
_VOCAB = "/vocab"
_DATASETS = "/datasets"


def seed_vocab(run: CampaignRun, host: str, *, say: Say = print) -> list[SeedFact]:
    """Every vocabulary that an arm on ``host`` names, in one folder that its servers read."""
    from benchgate.seeding.vocab import seed_vocab as put
    from benchgate.seeding.vocab import vocab_dir, vocab_in_folder

    names = list(dict.fromkeys(name for model in _models(run, host) for name in model.vocab))
    if not names:
        return []
    folder = run.inventory.hosts[host].vocab_dir
    if folder is not None and not _is_docker(run, host):
        # the host's own folder, verified where it is: this machine may have no network
        seeds = with_more(run.seeds(host), vocab_dir=folder)
        facts = [vocab_in_folder(name, Path(folder).expanduser()) for name in names]
    else:
        facts = [put(name, say) for name in names]
        seeds = run.seeds(host)
        if _is_docker(run, host):
            mount = _into_volume(run, host, vocab_dir(), "benchgate-vocab", _VOCAB, say)
            seeds = with_more(seeds, mounts=[mount], vocab_dir=_VOCAB)
        else:
            seeds = with_more(seeds, vocab_dir=str(vocab_dir()))
    sha256 = ",".join(sorted((fact.digest or "").removeprefix("sha256:") for fact in facts))
    run.save_seeds(with_more(seeds, facts=facts, vocab_sha256=sha256))
    return facts


def seed_model(run: CampaignRun, host: str, *, token: str | None = None, say: Say = print) -> list[SeedFact]:
    """Every model that an arm on ``host`` serves, and the draft models that its arguments name."""
    facts, failed = [], list[SeedError]()
    for model in _models(run, host):
        with one_of_several(failed):
            facts.append(_seed_one_model(run, host, model, token, say))
    refuse_if(failed)
    return facts


def _seed_one_model(run: CampaignRun, host: str, model: ModelSpec, token: str | None, say: Say) -> SeedFact:
    fact, path, mounts = _put_in_place(run, host, model, token, say)
    key = model_key(model.id, model.revision)
    run.save_seeds(
        with_more(
            run.seeds(host),
            facts=[fact],
            mounts=mounts,
            models={key: path},
            model_revisions={key: fact.digest} if fact.digest else {},
        )
    )
    return fact


def _put_in_place(
    run: CampaignRun, host: str, model: ModelSpec, token: str | None, say: Say
) -> tuple[SeedFact, str, list[SeedMount]]:
    """One model where servers on the host see it: what it is, its path for them, and what must be mounted for that."""
    target = model_target(model.id)
    if model.source is None and run.inventory.hosts[host].fetch == "host":
        fact, mount = _fetched_there(run, host, model, target, token, say)
        return fact, target, [mount]
    fact = seeding.seed_model(model, say, token=token)
    path = fact.path or model.id
    on_host, docker = model.source is not None and model.source.host_path is not None, _is_docker(run, host)
    if not docker:
        return _verified_here(fact, say) if on_host else fact, path, []
    if on_host:
        return _verified_there(run, host, model, fact, say), target, [SeedMount(source=path, target=target)]
    local = Path(path)
    mount = _into_volume(run, host, local, model_volume(model.id, fact.digest), target, say)
    return fact, f"{target}/{local.name}" if local.is_file() else target, [mount]


def _fetched_there(
    run: CampaignRun, host: str, model: ModelSpec, target: str, token: str | None, say: Say
) -> tuple[SeedFact, SeedMount]:
    """A model of the Hub, downloaded by the host itself; this worker only asks what the files are."""
    from benchgate.seeding.host_fetch import fetch_on_host, snapshot_of

    snapshot = snapshot_of(model, token=token)
    volume, spec = model_volume(model.id, snapshot.commit), run.inventory.hosts[host]
    engine = docker_host(run, host).engine
    fact = fetch_on_host(engine, volume, snapshot, image=spec.client_image, token=token, report=say, run=run.run)
    return fact, SeedMount(source=volume, target=target)


def _verified_here(fact: SeedFact, say: Say) -> SeedFact:
    """A model that lies on this machine is named by its content, so that the arm's fingerprint can be complete."""
    from benchgate.seeding.verify import seed_tree, tree_digest

    local = Path(fact.path or "")
    if not local.exists():
        raise SeedError(f"model {fact.name}: there is no {local}", remedy="correct source.host_path of the model")
    files = list(seed_tree(local))
    digest = files[0].sha256 if local.is_file() else tree_digest(files)
    say(f"{fact.name}: {len(files)} files at {local}, sha256 {digest[:16]}..")
    return fact.model_copy(update={"digest": f"sha256:{digest}", "note": "lies on the host; named by its content"})


def _verified_there(run: CampaignRun, host: str, model: ModelSpec, fact: SeedFact, say: Say) -> SeedFact:
    """The same for a model that lies on a Docker host: read there."""
    from benchgate.seeding.host_path import verified_on_host

    spec, engine = run.inventory.hosts[host], docker_host(run, host).engine
    pinned = model.source.sha256 if model.source else None
    return verified_on_host(engine, fact, image=spec.client_image, sha256=pinned, report=say, run=run.run)


def seed_dataset(run: CampaignRun, host: str, *, say: Say = print) -> list[SeedFact]:
    """Every dataset that a workload reads; none for synthetic ones."""
    from benchgate.seeding.dataset import seed_dataset as put

    facts, failed = [], list[SeedError]()
    for name in dict.fromkeys(workload.dataset for workload in run.campaign.workloads.values()):
        with one_of_several(failed):
            fact = put(name, say)
            if fact is None or fact.path is None:
                continue
            seeds, path = run.seeds(host), fact.path
            if _is_docker(run, host):
                local = Path(path)
                seeds = with_more(seeds, mounts=[_into_volume(run, host, local, "benchgate-datasets", _DATASETS, say)])
                path = f"{_DATASETS}/{local.name}"
            run.save_seeds(with_more(seeds, facts=[fact], datasets={name: path}))
            facts.append(fact)
    refuse_if(failed)
    return facts


def _models(run: CampaignRun, host: str) -> list[ModelSpec]:
    arms = dict.fromkeys(launch.arm for launch in run.ledger.launches if launch.host == host)
    models = [model for arm in arms for model in run.campaign.models_of(arm)]
    return list({model_key(model.id, model.revision): model for model in models}.values())


def _is_docker(run: CampaignRun, host: str) -> bool:
    return run.inventory.hosts[host].kind == "docker"


def docker_host(run: CampaignRun, host: str) -> DockerHost:
    """The driver of a Docker host."""
    from benchgate.hosts.docker import DockerHost

    driver = run.host(host)
    assert isinstance(driver, DockerHost)
    return driver


def _into_volume(run: CampaignRun, host: str, folder: Path, volume: str, target: str, say: Say) -> SeedMount:
    """Fill a volume of the host's Docker Engine from a verified folder or file; nothing is sent twice."""
    from benchgate.seeding.volume import fill_volume

    spec = run.inventory.hosts[host]
    fill_volume(docker_host(run, host).engine, volume, folder, image=spec.client_image, report=say, run=run.run)
    return SeedMount(source=volume, target=target)


def with_more(seeds: HostSeeds, **more: object) -> HostSeeds:
    """``seeds`` with facts, mounts and paths added; what is seeded again replaces what was there."""
    changed: dict[str, object] = {}
    for name, value in more.items():
        old = getattr(seeds, name)
        if isinstance(value, dict):
            changed[name] = {**old, **value}
        elif name == "facts":
            new = [fact for fact in value if isinstance(fact, SeedFact)] if isinstance(value, list) else []
            names = {(fact.kind, fact.name) for fact in new}
            changed[name] = [*(fact for fact in old if (fact.kind, fact.name) not in names), *new]
        elif name == "mounts":
            new_mounts = value if isinstance(value, list) else []
            targets = {mount.target for mount in new_mounts}
            changed[name] = [*(mount for mount in old if mount.target not in targets), *new_mounts]
        else:
            changed[name] = value
    return HostSeeds.model_validate({**dict(seeds), **changed})
