"""What the analysis found, as plain values: written to the warehouse, rendered by the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchgate.analysis.cells import OF_THE_LAUNCH, load_key
from benchgate.analysis.measures import BY_NAME

ONE_RUN = "one run"
INCONCLUSIVE = "inconclusive"
REFUSED = "refused"
NO_VALUE = "no value"

CONFOUNDED = "confounded by placement"
PAIRED = "paired by placement"
SAME_PLACEMENT = "same placement"
REFERENCE = "stated by a source"


@dataclass(frozen=True)
class PlacementEffect:
    """How much better or worse one placement is than another, whichever arm runs there (ratio or difference)."""

    placement: str
    against: str
    point: float
    low: float
    high: float


@dataclass(frozen=True)
class UnswappedClaim:
    """What a comparison of one arm here with the other there would have said, had nobody swapped them."""

    baseline_placement: str
    arm_placement: str
    point: float
    low: float | None
    high: float | None
    verdict: str
    declared: bool  # these are the placements that the campaign file names


@dataclass(frozen=True)
class Comparison:
    """Arm against baseline in one metric at one workload and load.

    ``point`` is arm / baseline (``effect`` ratio) or arm - baseline (``effect`` difference); ``low``/``high`` is its
    95 % interval, None for a single run. ``direction`` is +1 when the arm was found better, -1 worse, 0 neither.
    ``smallest_visible`` is the relative change (or difference) that this comparison would have found in 80 % of cases.
    """

    run: str
    campaign: str
    workload: str
    users: int | None
    request_rate: float | None
    metric: str
    baseline: str
    arm: str
    basis: str  # published | unpublishable | id of a source
    design: str
    effect: str
    verdict: str
    reason: str
    direction: int = 0
    point: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    family_size: int | None = None  # comparisons of the run that the adjustment counts
    smallest_visible: float | None = None
    baseline_median: float | None = None
    arm_median: float | None = None
    baseline_repeats: int = 0
    arm_repeats: int = 0
    placements: tuple[str, ...] = ()
    placement_effects: tuple[PlacementEffect, ...] = ()
    interaction_p: float | None = None
    unswapped: tuple[UnswappedClaim, ...] = ()

    @property
    def load(self) -> str:
        """``u64`` or ``q2.5``; ``all`` for facts of a launch."""
        return load_key(self.users, self.request_rate)

    @property
    def context(self) -> str:
        """Workload and load in words."""
        return context_words(self.workload, self.users, self.request_rate)

    @property
    def leaning(self) -> int:
        """Which way the point estimate leans, +1 when the arm looks better; says nothing about significance."""
        if self.point is None:
            return 0
        neutral = 1.0 if self.effect == "ratio" else 0.0
        if self.point == neutral:
            return 0
        higher = self.point > neutral
        return 1 if higher == (BY_NAME[self.metric].better == "higher") else -1


def context_words(workload: str, users: int | None, request_rate: float | None) -> str:
    """``short-chat, 64 users``; ``launch`` for facts of a launch."""
    if workload == OF_THE_LAUNCH:
        return "launch"
    if users is not None:
        return f"{workload}, {users} user{'' if users == 1 else 's'}"
    return f"{workload}, {request_rate:g} requests/s"


@dataclass(frozen=True)
class Reversal:
    """Two places where a pair of arms stands in opposite order: workloads, loads, or metrics of one cell."""

    kind: str  # between workloads | between loads | between metrics
    ahead: Comparison  # where the arm is better than the baseline
    behind: Comparison  # where it is worse
    label: str  # significant | one run
    text: str


PASS = "PASS"  # noqa: S105 (an answer, not a password)
REGRESSED = "REGRESSED"
IMPROVED = "IMPROVED"
UNDECIDED = "INCONCLUSIVE"
NOT_COMPARABLE = "REFUSED"
CALLED = (REGRESSED, IMPROVED)  # what a message tells people


@dataclass(frozen=True)
class RegressionFinding:
    """Tonight against the nights before, for one series of one metric.

    ``change`` is value / previous - 1 (``error_rate``: value - previous); its interval is 95 % and does not know that
    the night was chosen for being extreme. ``p_value`` does: it is corrected for the start nights that were tried.
    """

    run: str
    campaign: str
    arm: str
    placement: str  # host/placement
    workload: str
    users: int | None
    request_rate: float | None
    metric: str
    answer: str
    reason: str
    method: str
    nights: int
    value: float | None = None
    previous_value: float | None = None
    change: float | None = None
    change_low: float | None = None
    change_high: float | None = None
    smallest_visible_change: float | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    since_night: str | None = None
    since_run: str | None = None
    new_tonight: bool = False
    what_changed: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)

    @property
    def context(self) -> str:
        """Arm, placement, workload and load in words."""
        return f"{self.arm} on {self.placement}, {context_words(self.workload, self.users, self.request_rate)}"
