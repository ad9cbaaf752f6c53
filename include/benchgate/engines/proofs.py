"""Facts out of log lines: what an engine's words say, which line said it, and how ranks add up.

An engine adapter lists its words as :class:`Fact`; this module finds them. A fact that no line states is left out:
unknown is never zero and never "as requested".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from benchgate.engines.log_reader import LogLine, evidence
from benchgate.records import Evidence, Proof

Value = str | int | float | bool
MAX_RANKS = 4096  # a garbled log must not make memory grow
MAX_RIVALS = 10


class Keep(Enum):
    """Which sighting counts when one rank states a fact more than once with equal precedence."""

    FIRST = "first"
    LAST = "last"
    SMALLEST = "smallest"  # tensor-parallel workers agree on the smallest pool
    LARGEST = "largest"
    SUM = "sum"  # several pools of one worker; the other tensor-parallel workers repeat the same


class Ranks(Enum):
    """What the data-parallel ranks' own values make together."""

    FIRST = "first"  # they agree, or only one says it
    SUM = "sum"  # each has its own: KV pools
    LARGEST = "largest"  # seconds of ranks that start side by side (the slowest counts), GiB on one GPU (the fullest)


def number(text: str) -> int | float | None:
    """``2,042,016`` as 2042016, ``55.15`` as 55.15; None when it is not a number."""
    plain = text.replace(",", "").replace("_", "").rstrip(".")
    try:
        return int(plain) if re.fullmatch(r"[+-]?\d+", plain) else float(plain)
    except ValueError:
        return None


def first_number(match: re.Match[str]) -> int | float | None:
    """The first group that took part in the match, as a number."""
    return next((number(group) for group in match.groups() if group), None)


def as_float(match: re.Match[str]) -> float | None:
    """The first group that took part in the match, as a float."""
    value = first_number(match)
    return None if value is None else float(value)


def as_text(match: re.Match[str]) -> str | None:
    """The first group that took part in the match, without quotes and blanks; None when empty."""
    return next((group.strip(" '\"") for group in match.groups() if group), None) or None


@dataclass(frozen=True)
class Fact:
    """One way in which an engine's log states a fact.

    Attributes:
        name: the proof's name, for example ``kv_tokens``.
        words: a literal that every such line contains; lines without any engine word are never looked at closely.
        pattern: searched in the cleaned line.
        read: the value out of the match; None: this line does not state it after all.
        precedence: a higher one replaces a lower one (the kernel that was bound beats the one that was asked for).
        keep: which of several sightings of equal precedence counts, within one rank.
        ranks: what the values of several data-parallel ranks make together.
    """

    name: str
    words: str
    pattern: str
    read: Callable[[re.Match[str]], Value | None] = first_number
    precedence: int = 0
    keep: Keep = Keep.FIRST
    ranks: Ranks = Ranks.FIRST
    compiled: re.Pattern[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", re.compile(self.pattern))


@dataclass(frozen=True)
class Sighting:
    """A value that a line stated."""

    value: Value
    evidence: Evidence
    precedence: int
    order: int  # counts sightings, so that "the first rank" is well defined
    worker: tuple[int | None, int | None] = (None, None)  # tensor and pipeline rank of the line


@dataclass
class Sightings:
    """What was seen of each fact, by data-parallel rank. Memory does not grow with the log."""

    by_name: dict[str, dict[int | None, Sighting]] = field(default_factory=dict)
    others: dict[str, dict[Value, Sighting]] = field(default_factory=dict)
    over_ranks: dict[str, Ranks] = field(default_factory=dict)
    order: int = 0

    def look(self, line: LogLine, facts: list[Fact], *, names: Mapping[str, str]) -> None:
        """Record what ``line`` states of ``facts``, under another name for those in ``names``."""
        for fact in facts:
            if fact.words not in line.text:
                continue
            match = fact.compiled.search(line.text)
            value = fact.read(match) if match else None
            if match is None or value is None:
                continue
            name = names.get(fact.name, fact.name)
            self.over_ranks[name] = fact.ranks
            self.add(name, value, line, match.start(), precedence=fact.precedence, keep=fact.keep)

    def add(
        self, name: str, value: Value, line: LogLine, start: int, *, precedence: int = 0, keep: Keep = Keep.FIRST
    ) -> None:
        """Record one value of a fact, unless the rank that wrote ``line`` has stated a better one."""
        self.order += 1
        ranks = self.by_name.setdefault(name, {})
        rank = line.rank.data
        old = ranks.get(rank)
        if old is None and len(ranks) >= MAX_RANKS:
            return
        worker = (line.rank.tensor, line.rank.pipeline)
        order = self.order if old is None else old.order
        sighting = Sighting(value, evidence(line, start), precedence, order, worker)
        if old is None or precedence > old.precedence:
            ranks[rank] = sighting
        elif precedence == old.precedence:
            ranks[rank] = _kept(old, sighting, keep)
        values = self.others.setdefault(name, {})
        if isinstance(value, str) and value not in values and len(values) < MAX_RIVALS:
            values[value] = sighting

    def rivals(self, name: str) -> list[Sighting]:
        """Other values that lines have claimed for a fact of words (two kernels, for example)."""
        kept = self.first(name)
        return [s for value, s in self.others.get(name, {}).items() if kept is not None and value != kept.value]

    def first(self, name: str) -> Sighting | None:
        """The sighting of the best precedence, of the rank that spoke first."""
        seen = self.by_name.get(name, {}).values()
        return min(seen, key=lambda sighting: (-sighting.precedence, sighting.order), default=None)

    def ranks(self, name: str) -> dict[int | None, Sighting]:
        """The sightings of the best precedence, by data-parallel rank; those without a rank only if no line has one."""
        seen = self.by_name.get(name, {})
        best = max((sighting.precedence for sighting in seen.values()), default=0)
        ranks = {rank: sighting for rank, sighting in seen.items() if sighting.precedence == best}
        if any(rank is not None for rank in ranks):
            ranks.pop(None, None)
        return ranks

    def total(self, name: str) -> Sighting | None:
        """The sum over data-parallel ranks; its evidence is the first rank's line."""
        ranks = list(self.ranks(name).values())
        if not ranks:
            return None
        first = min(ranks, key=lambda sighting: sighting.order)
        values = [s.value for s in ranks if isinstance(s.value, (int, float))]
        return Sighting(sum(values), first.evidence, first.precedence, first.order)

    def largest(self, name: str) -> Sighting | None:
        """The largest value of any data-parallel rank, with that rank's own line."""
        ranks = [s for s in self.ranks(name).values() if isinstance(s.value, (int, float))]
        return max(ranks, key=lambda sighting: (sighting.value, -sighting.order), default=None)

    def together(self, name: str) -> Sighting | None:
        """What all data-parallel ranks say of a fact, by its :class:`Ranks`."""
        how = self.over_ranks.get(name, Ranks.FIRST)
        if how is Ranks.SUM:
            return self.total(name)
        return self.largest(name) if how is Ranks.LARGEST else self.first(name)

    def say_whose(self, name: str, meaning: str) -> None:
        """Add fact ``meaning``: whether ``name`` is of the only GPU that says it, or the largest of several ranks'."""
        kept = self.together(name)
        if kept is not None:
            ranks = len(self.ranks(name))
            whose = "one_gpu" if ranks == 1 else f"largest_of_{ranks}_ranks"
            self.by_name[meaning] = {None: replace(kept, value=whose)}

    def proofs(self) -> dict[str, Proof]:
        """One proof a fact, ranks taken together as the fact says. Names that begin with ``_`` are for ``finish``."""
        result: dict[str, Proof] = {}
        for name in self.by_name:
            if name.startswith("_"):
                continue
            sighting = self.together(name)
            if sighting is not None:
                result[name] = Proof(name=name, value=_rounded(sighting.value), evidence=sighting.evidence)
        return result


def _kept(old: Sighting, new: Sighting, keep: Keep) -> Sighting:
    """What two sightings of equal precedence leave."""
    if keep is Keep.LAST:
        return new
    if keep is Keep.FIRST or not isinstance(new.value, (int, float)) or not isinstance(old.value, (int, float)):
        return old
    if keep is Keep.SUM:
        return replace(old, value=old.value + new.value) if new.worker == old.worker else old
    return new if (new.value < old.value) is (keep is Keep.SMALLEST) and new.value != old.value else old


def _rounded(value: Value) -> Value:
    return round(value, 6) if isinstance(value, float) else value
