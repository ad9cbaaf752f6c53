"""Everything that a report of one campaign run shows, as plain values. None is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.findings import Comparison, RegressionFinding, Reversal
from benchgate.analysis.reference import ReferenceCell, VersusReference
from benchgate.analysis.series import NightlySeries


@dataclass(frozen=True)
class RunHeader:
    """The campaign run itself."""

    run: str
    campaign: str
    started_at: str
    ended_at: str | None
    state: str
    airflow_run_id: str
    benchgate_version: str
    campaign_yaml: str
    nothing_new_reason: str | None = None
    expectation_met: bool | None = None
    expectation_reason: str | None = None

    @property
    def nothing_new(self) -> str | None:
        """Why nothing was measured, as a sentence of its own. Some reasons begin with these words, others do not."""
        if self.nothing_new_reason is None:
            return None
        return f"Nothing new to measure: {self.nothing_new_reason.removeprefix('nothing new to measure: ')}"


@dataclass(frozen=True)
class LedgerRow:
    """One planned cell and how it ended."""

    cell: str
    arm: str
    host: str
    placement: str
    workload: str
    users: int | None
    request_rate: float | None
    repeat: int
    end_state: str
    reason: str | None
    failure_kind: str | None = None
    evidence_line_number: int | None = None
    evidence_line: str | None = None
    measured: bool = True  # whether there are results, published or not


@dataclass(frozen=True)
class ProofRow:
    """A fact from the server's own words."""

    name: str
    value: str
    line_number: int | None
    line: str
    source: str


@dataclass(frozen=True)
class NeedleRow:
    """One planted fact, asked back."""

    depth: float
    context_tokens: int | None
    requested_context_tokens: int
    expected: str
    answered: str
    found: bool
    error: str | None


@dataclass(frozen=True)
class LaunchRow:
    """One launch: what ran where, and what it proved."""

    launch: str
    arm: str
    host: str
    placement: str
    end_state: str
    engine: str | None = None
    engine_version: str | None = None
    image: str | None = None
    image_digest: str | None = None
    model_id: str | None = None
    model_revision: str | None = None
    fingerprint: str | None = None
    moe_kernel: str | None = None
    attention_backend: str | None = None
    kv_tokens: int | None = None
    kv_meaning: str | None = None
    weights_gib: float | None = None
    memory_reserved_gib: float | None = None
    startup_s: float | None = None
    failure_kind: str | None = None
    failure_reason: str | None = None
    failure_line_number: int | None = None
    failure_line: str | None = None
    command: tuple[str, ...] = ()
    environment_names: tuple[str, ...] = ()
    arguments: Mapping[str, object] = field(default_factory=dict)
    simulated: bool = False
    needle_passed: bool | None = None
    proofs: tuple[ProofRow, ...] = ()
    needles: tuple[NeedleRow, ...] = ()
    machine: Mapping[str, object] = field(default_factory=dict)  # host_snapshot, unknown facts left out


@dataclass(frozen=True)
class VerdictRow:
    """A gate's answer that did not let something through, or a warning."""

    subject: str
    rule: str
    severity: str
    passed: bool
    observed: str | None
    limit: str | None
    reason: str


@dataclass(frozen=True)
class SeedRow:
    """What was fetched and verified before the servers started."""

    host: str
    kind: str
    name: str
    digest: str | None
    source: str
    path: str | None = None  # where the host has it


@dataclass(frozen=True)
class Source:
    """Where a reference value comes from."""

    source: str
    title: str | None
    url: str | None
    hardware: str | None
    engine: str | None
    note: str | None


@dataclass(frozen=True)
class RunReport:
    """One campaign run with all that was found about it."""

    header: RunHeader
    ledger: tuple[LedgerRow, ...] = ()
    launches: tuple[LaunchRow, ...] = ()
    verdicts: tuple[VerdictRow, ...] = ()
    seeds: tuple[SeedRow, ...] = ()
    cells: tuple[MeasuredCell, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    reversals: tuple[Reversal, ...] = ()
    references: tuple[ReferenceCell, ...] = ()
    reference_comparisons: tuple[Comparison, ...] = ()
    reference_reversals: tuple[Reversal, ...] = ()
    versus: tuple[VersusReference, ...] = ()
    sources: tuple[Source, ...] = ()
    series: tuple[NightlySeries, ...] = ()
    regressions: tuple[RegressionFinding, ...] = ()

    def count(self, end_state: str) -> int:
        """How many planned cells ended so."""
        return sum(row.end_state == end_state for row in self.ledger)
