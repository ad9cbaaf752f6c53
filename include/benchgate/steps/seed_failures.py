"""Why a seed step of a host failed, kept for the launches that need what it did not bring.

Seed steps run once for a host, before and apart from its launches; a launch that is refused for want of a seed tells
the true cause in its own record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from upath import UPath

from benchgate import secrets
from benchgate.errors import ArtifactError, BenchgateError, HostError, NotSeeded, SeedError
from benchgate.records import FailureKind, SeedFailure
from benchgate.steps.context import CampaignRun

# In the order in which they run: with Airflow the first that fails keeps the later ones from running at all.
SEED_STEPS = ("pull_image", "seed_vocab", "seed_model", "seed_dataset")


@contextmanager
def failure_kept(run: CampaignRun, host: str, step: str) -> Iterator[None]:
    """Keep whatever ends a seed step of a host early; a step that ends well forgets how an earlier try of it failed."""
    try:
        yield
    except BaseException as error:
        with suppress(ArtifactError):  # the step's own error matters more
            run.store.write(_file(run, host, step), _failure(step, error))
        raise
    run.store.remove(_file(run, host, step))


@contextmanager
def one_of_several(failed: list[SeedError]) -> Iterator[None]:
    """Bring one of the things of a seed step: that it cannot be had keeps none of the others from being brought."""
    try:
        yield
    except SeedError as error:
        failed.append(error)


def refuse_if(failed: list[SeedError]) -> None:
    """End a seed step that could not bring everything, with the reason of each."""
    reasons = list(dict.fromkeys(str(error) for error in failed))  # a login that lacks its half is each image's reason
    if len(reasons) == 1:
        raise failed[0]
    if reasons:
        raise SeedError("; ".join(reasons))


def seed_failure(run: CampaignRun, host: str, step: str) -> SeedFailure | None:
    """How a seed step of a host failed; None when it did not, or never ended."""
    return run.store.read(_file(run, host, step), SeedFailure)


def not_seeded(run: CampaignRun, host: str, step: str, what: str) -> NotSeeded:
    """The error of a launch that lacks ``what``, which ``step`` brings: with the cause, where one was kept."""
    for name in (step, *SEED_STEPS):
        failure = seed_failure(run, host, name)
        if failure is not None:
            message = f"{what} is not on host {host}: {failure.reason}"
            return NotSeeded(message, kind=failure.kind.value, remedy=failure.remedy)
    kind = FailureKind.IMAGE_MISSING if step == "pull_image" else FailureKind.SEED_FAILED
    remedy = f"run the step {step} first; if it was run, its log says what ended it"
    return NotSeeded(f"{what} was not seeded on host {host}", kind=kind.value, remedy=remedy)


def _file(run: CampaignRun, host: str, step: str) -> UPath:
    return run.store.path("seeds", host, f"{step}.failed.json")


def _failure(step: str, error: BaseException) -> SeedFailure:
    if not isinstance(error, BenchgateError):
        kind = FailureKind.SEED_FAILED if isinstance(error, Exception) else FailureKind.KILLED
        return SeedFailure(kind=kind, reason=secrets.mask(f"{step} ended with {type(error).__name__}: {error}"))
    if isinstance(error, HostError):
        kind = FailureKind.PREFLIGHT  # as when the host is found so before a start
    else:
        kind = FailureKind.IMAGE_MISSING if step == "pull_image" else FailureKind.SEED_FAILED
    return SeedFailure(
        kind=kind, reason=secrets.mask(error.message), remedy=secrets.mask(error.remedy) if error.remedy else None
    )
