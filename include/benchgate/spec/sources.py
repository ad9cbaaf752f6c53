"""What ``include/sources.yaml`` holds: a bibliography, and numbers that others published.

Reference values are shown beside our own with their source id and are never mixed with them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from benchgate.spec.campaign import Model
from benchgate.spec.rules import Complaint, refuse

SourceId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
Positive = Annotated[float, Field(gt=0)]


class Source(Model):
    """One entry of the bibliography."""

    title: str
    author: str | None = None
    url: str | None = Field(None, pattern=r"^https?://\S+$")  # None: not published at an address
    says: str | None = None  # what it is cited for, in our words
    accessed: str | None = None


class Hardware(Model):
    """The machine that a source measured on."""

    gpu: str
    gpus: int | None = Field(None, gt=0)
    memory_gb: Positive | None = None
    unified: bool = False
    layout: str | None = None


class ReferenceEngine(Model):
    """The engine that a source measured, as far as it says."""

    name: str
    version: str | None = None
    image: str | None = None
    context: int | None = Field(None, gt=0)


class ReferenceCell(Model):
    """Numbers that a source states for one arm, workload and number of users. None: it does not state them."""

    arm: str
    workload: str
    users: int = Field(gt=0)
    max_tokens: int | None = Field(None, gt=0)
    requests: int | None = Field(None, gt=0)
    completed: int | None = Field(None, ge=0)
    errors: int | None = Field(None, ge=0)
    wall_s: Positive | None = None
    ttft_s: Positive | None = None
    tpot_ms: Positive | None = None
    prefill_tok_s: Positive | None = None
    decode_tok_s: Positive | None = None
    latency: Literal["valid", "burst", "client_bound", "too_few_samples", "no_stream"] | None = None


class ReferenceFailure(Model):
    """An arm that a source reports as not run or not publishable, with its reason."""

    arm: str
    reason: str
    note: str | None = None


class Reference(Model):
    """Everything that one source measured."""

    source: SourceId
    model: str | None = None
    hardware: Hardware
    engine: ReferenceEngine
    facts: dict[str, str | int | float] = {}
    cells: list[ReferenceCell] = []
    did_not_run: list[ReferenceFailure] = []


class Sources(Model):
    """The whole of sources.yaml."""

    sources: dict[SourceId, Source] = Field(min_length=1)
    references: list[Reference] = []

    @model_validator(mode="after")
    def _rules_across_fields(self) -> Sources:
        refuse(sources_complaints(self.model_dump(exclude_unset=True)))
        return self


def sources_complaints(data: object) -> list[Complaint]:
    """References name a source of the bibliography, and say each cell once."""
    from benchgate.spec.rules import as_map, near_miss

    known = as_map(as_map(data).get("sources"))
    references = as_map(data).get("references")
    complaints = []
    for index, reference in enumerate(references if isinstance(references, list) else []):
        name = as_map(reference).get("source")
        if isinstance(name, str) and name not in known:
            message = f"{name!r} is not in sources{near_miss(name, known)} Sources: {', '.join(known)}"
            complaints.append(Complaint(("references", index, "source"), message))
        seen: set[tuple[object, ...]] = set()
        cells = as_map(reference).get("cells")
        for number, cell in enumerate(cells if isinstance(cells, list) else []):
            key = tuple(str(as_map(cell).get(part)) for part in ("arm", "workload", "users"))
            if key in seen:
                message = f"{' / '.join(map(str, key))} is already stated"
                complaints.append(Complaint(("references", index, "cells", number), message))
            seen.add(key)
    return complaints
