"""Files that a person writes, into models. Every mistake of a file is reported, each with file, line and field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from benchgate.errors import SpecError, SpecProblem
from benchgate.spec.campaign import CampaignSpec, Model
from benchgate.spec.campaign_rules import campaign_complaints
from benchgate.spec.context_rules import context_complaints
from benchgate.spec.hosts import Inventory
from benchgate.spec.inventory_rules import inventory_complaints
from benchgate.spec.placing_rules import placing_complaints
from benchgate.spec.proof_rules import proof_complaints
from benchgate.spec.rules import Complaint, as_map
from benchgate.spec.safety_rules import safety_complaints
from benchgate.spec.sources import Sources, sources_complaints
from benchgate.spec.violations import problems_of
from benchgate.spec.yaml_document import Document, YamlPath, read_document, read_text

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Loaded(Generic[M]):
    """A model with what should be known about its file although it refuses nothing."""

    spec: M
    warnings: list[SpecProblem] = field(default_factory=list)


def load_campaign(path: str | Path, inventory: Inventory | None = None) -> CampaignSpec:
    """Load one campaign file.

    Args:
        path: the YAML file.
        inventory: where its placements must exist; None leaves that unchecked.

    Raises:
        SpecError: all that is wrong with the file.
    """
    return read_campaign(path, inventory).spec


def campaign_of(text: str) -> CampaignSpec:
    """A campaign as a run keeps it: the text of its file, read by the same rules.

    Raises:
        SpecError: it is none, or was written for another version.
    """
    document = read_text("campaign", text, written=_is_environment, unambiguous=_is_argument)
    return _load(document, CampaignSpec, campaign_complaints).spec


def load_inventory(path: str | Path) -> Inventory:
    """Load the inventory of hosts and placements.

    Raises:
        SpecError: all that is wrong with the file.
    """
    return read_inventory(path).spec


def load_sources(path: str | Path) -> Sources:
    """Load the bibliography and its reference values.

    Raises:
        SpecError: all that is wrong with the file.
    """
    return _load(read_document(Path(path)), Sources, sources_complaints).spec


def read_campaign(
    path: str | Path, inventory: Inventory | None = None, sources: Sources | None = None
) -> Loaded[CampaignSpec]:
    """Like :func:`load_campaign`, with the warnings; ``sources`` checks the source ids that the campaign names."""

    def rules(data: object) -> Iterable[Complaint]:
        yield from campaign_complaints(data)
        yield from placing_complaints(data, inventory, sources)
        # of files only: a run that was planned by other rules is still read by :func:`campaign_of`
        yield from safety_complaints(as_map(data), inventory)
        yield from proof_complaints(as_map(data))
        yield from context_complaints(as_map(data))

    document = read_document(Path(path), written=_is_environment, unambiguous=_is_argument)
    return _load(document, CampaignSpec, rules)


def read_inventory(path: str | Path) -> Loaded[Inventory]:
    """Like :func:`load_inventory`, with the warnings (placements that share a GPU, for example)."""
    return _load(read_document(Path(path), written=_is_host_label), Inventory, inventory_complaints)


def _load(document: Document, model: type[M], rules: Callable[[object], Iterable[Complaint]]) -> Loaded[M]:
    """Validate a document; strict, so that text is not taken for a number nor ``true`` for 1."""
    problems = list(document.problems)
    warnings: list[SpecProblem] = []
    spec: M | None = None
    try:
        spec = model.model_validate(document.value, strict=True)
    except ValidationError as error:
        problems += problems_of(error, document, model)
    for complaint in rules(document.value):
        target = warnings if complaint.warning else problems
        target.append(document.problem(complaint.path, complaint.message))
    if problems or spec is None:
        raise SpecError(sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0))
    return Loaded(spec, warnings)


def _is_environment(path: YamlPath) -> bool:
    """``env`` of the campaign or of an arm: a server gets exactly the text that stands in the file."""
    return path[:1] == ("env",) or (path[:1] == ("arms",) and path[2:3] == ("env",))


def _is_argument(path: YamlPath) -> bool:
    """Where both a word and a boolean would be valid."""
    inner = path[2:] if path[:1] in {("arms",), ("workloads",)} else path
    return inner[:1] in {("args",), ("prove",), ("extra_body",)}


def _is_host_label(path: YamlPath) -> bool:
    return path[:1] == ("hosts",) and path[2:3] == ("labels",)
