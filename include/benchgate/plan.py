"""Campaign and inventory into the ledger: every launch and cell of a run, named before anything runs.

Pure: the same campaign gives the same keys in the same order on every night, so that a cell has a history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchgate.errors import BenchgateError
from benchgate.names import cell_key, launch_key, slug
from benchgate.records import Ledger, PlannedCell, PlannedLaunch
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.hosts import Inventory
from benchgate.spec.rules import near_miss


def _whole(value: object, name: str = "users") -> int:
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            return int(value)
        except ValueError:
            pass
    raise BenchgateError(f"{name} must be whole numbers; got {value!r}")


@dataclass(frozen=True)
class Selection:
    """What a manual trigger asks for. None: all that the campaign plans.

    A form sends numbers as text and one choice as itself; both are taken for what they mean.

    Raises:
        BenchgateError: a choice is no list of names or numbers.
    """

    arms: Sequence[str] | None = None
    workloads: Sequence[str] | None = None
    users: Sequence[int] | None = None  # closed-loop levels; open-loop cells are then not asked for
    repeats: int | None = None  # instead of the campaign's number

    def __post_init__(self) -> None:
        for name in ("arms", "workloads", "users"):
            value: object = getattr(self, name)
            if value is None:
                continue
            listed = [value] if isinstance(value, (str, int)) else value
            if not isinstance(listed, (list, tuple, set, frozenset)):
                raise BenchgateError(f"{name} must be a list; got {value!r}")
            kind = _whole if name == "users" else str
            object.__setattr__(self, name, tuple(kind(each) for each in listed))
        if self.repeats is not None:
            object.__setattr__(self, "repeats", _whole(self.repeats, "repeats"))

    def asks_for(self, arm: str, workload: str, users: int | None) -> bool:
        """Whether the cells of an arm, a workload and a load are among what is asked for."""
        return (
            (self.arms is None or arm in self.arms)
            and (self.workloads is None or workload in self.workloads)
            and (self.users is None or users in self.users)
        )


@dataclass(frozen=True)
class Lane:
    """Launches that run one after another: those of one placement, or of placements that share a GPU."""

    placements: tuple[str, ...]  # host/placement
    launches: tuple[str, ...]  # launch keys, in order


EVERYTHING = Selection()
MOST_REPEATS = 100  # as in a campaign file


def launches_of(campaign: CampaignSpec) -> list[PlannedLaunch]:
    """Every launch of a campaign: each arm on its placement, or, swapped, on every placement of its group.

    An arm's own placement comes first, then the others in the order in which the file names them.
    """
    launches = []
    for name, arm in campaign.arms.items():
        places = [arm.placement]
        if campaign.swap_placements:
            places += [campaign.arms[other].placement for other in campaign.group_of(name)]
        for place in dict.fromkeys(place for place in places if place is not None):
            host, _, placement = place.partition("/")
            key = launch_key(name, host, placement)
            launches.append(PlannedLaunch(launch=key, arm=name, host=host, placement=placement, expect=arm.expect))
    return launches


def build_ledger(campaign: CampaignSpec, run: str, created_at: str, *, selection: Selection = EVERYTHING) -> Ledger:
    """The ledger of one run: launches x workloads x loads x repeats, in that order.

    Args:
        campaign: what a person wrote.
        run: ``names.run_key`` of the run.
        created_at: UTC, ISO 8601.
        selection: what a manual trigger asks for. Planned cells it leaves out are listed in ``Ledger.deselected``;
            a launch without cells is not started. More repeats than the campaign's add cells.

    Raises:
        BenchgateError: the selection names something the campaign does not have, or leaves no cell; or two names of
            the campaign would share a file in the artifact store.
    """
    check_selection(campaign, selection)
    launches: list[PlannedLaunch] = []
    cells: list[PlannedCell] = []
    deselected: list[str] = []
    for launch in launches_of(campaign):
        asked, left_out = _cells_of(launch, campaign, selection)
        cells += asked
        deselected += left_out
        if asked:
            launches.append(launch)
    if not cells:
        raise BenchgateError(
            "the selection leaves no cell to measure", remedy=f"the campaign has {_levels_in_words(campaign)}"
        )
    _refuse_shared_names(campaign.campaign, [launch.launch for launch in launches])
    _refuse_shared_names(campaign.campaign, [cell.cell for cell in cells])
    return Ledger(
        campaign=campaign.campaign,
        run=run,
        created_at=created_at,
        launches=launches,
        cells=cells,
        deselected=deselected,
    )


def planned_cell(
    launch: PlannedLaunch, workload: str, users: int | None, request_rate: float | None, repeat: int
) -> PlannedCell:
    """One line of a ledger, under its key."""
    return PlannedCell(
        cell=cell_key(launch.launch, workload, users, request_rate, repeat),
        launch=launch.launch,
        arm=launch.arm,
        host=launch.host,
        placement=launch.placement,
        workload=workload,
        users=users,
        request_rate=request_rate,
        repeat=repeat,
    )


def _cells_of(
    launch: PlannedLaunch, campaign: CampaignSpec, selection: Selection
) -> tuple[list[PlannedCell], list[str]]:
    """The cells of a launch that are asked for, and the keys of planned ones that are not."""
    repeats = campaign.repeats if selection.repeats is None else selection.repeats
    asked: list[PlannedCell] = []
    left_out: list[str] = []
    for workload, spec in campaign.workloads.items():
        for users, rate in spec.loads:
            wanted = repeats if selection.asks_for(launch.arm, workload, users) else 0
            cells = [
                planned_cell(launch, workload, users, rate, repeat)
                for repeat in range(1, max(wanted, campaign.repeats) + 1)
            ]
            asked += cells[:wanted]
            left_out += [cell.cell for cell in cells[wanted:]]
    return asked, left_out


def check_selection(campaign: CampaignSpec, selection: Selection) -> None:
    """Refuse a selection that names what the campaign does not have.

    Raises:
        BenchgateError: with every unknown name and what there is.
    """
    levels = sorted({level for spec in campaign.workloads.values() for level in spec.users or []})
    problems = []
    asked: list[tuple[str, Sequence[object] | None, Sequence[object]]] = [
        ("arm", selection.arms, list(campaign.arms)),
        ("workload", selection.workloads, list(campaign.workloads)),
        ("number of users", selection.users, levels),
    ]
    for what, named, known in asked:
        texts = [str(name) for name in known]
        if named is not None and not named:
            problems.append(f"no {what} is selected; leave it out for all, or choose from {', '.join(texts)}")
        for name in dict.fromkeys(named or []):
            if name not in known:
                close = near_miss(str(name), texts) if what != "number of users" else "."
                problems.append(f"there is no {what} {str(name)!r}{close} There is: {', '.join(texts) or 'none'}")
    if selection.repeats is not None and selection.repeats < 1:
        problems.append(f"repeats must be at least 1; is {selection.repeats}")
    if selection.repeats is not None and selection.repeats > MOST_REPEATS:
        problems.append(f"repeats must be at most {MOST_REPEATS}; is {selection.repeats}")
    if problems:
        raise BenchgateError(f"campaign {campaign.campaign}: {'; '.join(problems)}")


def launch_order(ledger: Ledger, inventory: Inventory | None = None) -> list[Lane]:
    """Who runs where and when: lanes run at the same time, the launches of a lane one after another.

    With swapped placements each lane starts with an arm of its own (A then B beside B then A), so that at any time the
    placements carry different arms and no arm is always first. Arms that are not swapped follow in file order.

    Args:
        ledger: the planned run.
        inventory: joins placements that share a GPU into one lane; None treats every placement as separate.
    """
    by_place: dict[str, dict[str, str]] = {}  # placement -> arm -> launch
    places_of = Counter(launch.arm for launch in ledger.launches)
    for launch in ledger.launches:
        by_place.setdefault(f"{launch.host}/{launch.placement}", {})[launch.arm] = launch.launch
    file_order = {arm: index for index, arm in enumerate(places_of)}
    home: dict[str, str] = {}  # an arm's own placement is its first launch
    for launch in ledger.launches:
        home.setdefault(launch.arm, f"{launch.host}/{launch.placement}")
    sequences: dict[str, list[str]] = {}
    taken: dict[tuple[str, ...], set[int]] = {}  # swapped arms -> where lanes with these arms begin
    for place, by_arm in by_place.items():
        swapped = sorted((arm for arm in by_arm if places_of[arm] > 1), key=file_order.__getitem__)
        starts = taken.setdefault(tuple(swapped), set())
        wanted = [turn for turn, arm in enumerate(swapped) if home[arm] == place] + list(range(len(swapped)))
        turn = next((turn for turn in wanted if turn not in starts), 0)
        starts.add(turn)
        rest = [arm for arm in by_arm if arm not in swapped]
        sequences[place] = [by_arm[arm] for arm in swapped[turn:] + swapped[:turn] + rest]
    return [
        Lane(places, tuple(key for place in places for key in sequences[place]))
        for places in _exclusive(list(sequences), inventory)
    ]


def measuring_order(cells: Iterable[PlannedCell]) -> list[PlannedCell]:
    """Cells of one launch with all first repeats before the second ones.

    Repeats that follow each other share whatever the server does at that minute; spread over the launch they show it.
    """
    return sorted(cells, key=lambda cell: cell.repeat)


def _exclusive(places: list[str], inventory: Inventory | None) -> list[tuple[str, ...]]:
    """Placements grouped so that two which share a GPU, directly or through a third, are in one group."""
    groups: list[list[str]] = []
    for place in places:
        touching = [group for group in groups if inventory and any(inventory.overlaps(place, other) for other in group)]
        merged = [other for group in touching for other in group] + [place]
        groups = [group for group in groups if group not in touching] + [merged]
    order = {place: index for index, place in enumerate(places)}
    groups = [sorted(group, key=order.__getitem__) for group in groups]
    return [tuple(group) for group in sorted(groups, key=lambda group: order[group[0]])]


def _levels_in_words(campaign: CampaignSpec) -> str:
    levels = {
        name: ", ".join(f"{users} users" if users is not None else f"{rate:g} requests/s" for users, rate in spec.loads)
        for name, spec in campaign.workloads.items()
    }
    return "; ".join(f"{name}: {text}" for name, text in levels.items())


def _refuse_shared_names(campaign: str, keys: list[str]) -> None:
    """Two keys that become one file name would overwrite each other's results."""
    counts = Counter(slug(key) for key in keys)
    if len(counts) < len(keys):
        clash = [key for key in keys if counts[slug(key)] > 1]
        raise BenchgateError(
            f"campaign {campaign}: {clash[0]} and {clash[1]} would share one file name",
            remedy="rename an arm or workload",
        )
