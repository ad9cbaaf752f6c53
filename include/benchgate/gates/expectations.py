"""Great Expectations at work: a suite and its rows in, the refused rows of every rule out.

What cannot be evaluated is refused, never passed: an exception inside Great Expectations, a missing column, an
expectation that gave no answer.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchgate.gates.data_docs import make_self_contained
from benchgate.gates.rule import Row, Rule
from benchgate.gates.suites import Suite
from benchgate.gates.tables import frame


@dataclass(frozen=True)
class SuiteAnswer:
    """What Great Expectations decided about the rows of one suite."""

    suite: Suite
    rows: Sequence[Row]
    # rule name -> positions of the rows it refused
    refused: Mapping[str, frozenset[int]]
    # rule name -> why it could not be evaluated (its rows are all refused)
    broken: Mapping[str, str] = field(default_factory=dict)
    validation: Mapping[str, Any] = field(default_factory=dict)  # the whole result, as JSON


class Validator:
    """One Great Expectations context for a whole run: its import takes seconds, so there is one for all suites.

    Args:
        docs_dir: folder for the readable Data Docs; None builds none.
    """

    def __init__(self, docs_dir: Path | None = None) -> None:
        os.environ["GX_ANALYTICS_ENABLED"] = "false"  # nothing phones home from a benchmark host
        logging.getLogger("great_expectations").setLevel(logging.WARNING)  # before the import: it logs 250 lines
        import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

        self.version: str = gx.__version__
        self._gx = gx
        self._docs_dir = docs_dir
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("great_expectations.")]:
            logging.getLogger(name).setLevel(logging.WARNING)  # some set their own level at import
        self._context = gx.get_context(mode="ephemeral")
        self._context.variables.progress_bars = ProgressBarsConfig(globally=False)
        _forget_local_site(self._context)
        if docs_dir is not None:
            backend = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(docs_dir)}
            self._context.add_data_docs_site(
                site_name="benchgate",
                site_config={
                    "class_name": "SiteBuilder",
                    "store_backend": backend,
                    "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
                    "show_how_to_buttons": False,
                },
            )
        self._source = self._context.data_sources.add_pandas("benchgate")

    def validate(self, suite: Suite, rows: Sequence[Row]) -> SuiteAnswer:
        """Ask every rule of ``suite`` about every row. Never raises: what breaks is refused with its reason."""
        if not rows:
            return SuiteAnswer(suite, rows, {rule.name: frozenset() for rule in suite.rules})
        try:
            result = self._run(suite, rows)
        except Exception as error:  # noqa: BLE001  whatever Great Expectations raises must refuse, not pass
            why = f"Great Expectations failed: {type(error).__name__}: {error}"
            return refuse_all(suite, rows, why)
        return read_answer(suite, rows, result)

    def build_docs(self) -> None:
        """Write the Data Docs of all suites that were validated."""
        if self._docs_dir is not None:
            self._context.build_data_docs(site_names=["benchgate"])
            make_self_contained(self._docs_dir)

    def _run(self, suite: Suite, rows: Sequence[Row]) -> Mapping[str, Any]:
        gx = self._gx
        expectations = [expectation for rule in suite.rules for expectation in rule.expect(gx.expectations, _tag(rule))]
        gx_suite = self._context.suites.add(gx.ExpectationSuite(name=suite.name, expectations=expectations))
        asset = self._source.add_dataframe_asset(suite.name)
        definition = self._context.validation_definitions.add(
            gx.ValidationDefinition(
                name=suite.name, data=asset.add_batch_definition_whole_dataframe("run"), suite=gx_suite
            )
        )
        result = definition.run(
            batch_parameters={"dataframe": frame(rows, suite.columns)},
            result_format={
                "result_format": "COMPLETE",
                "unexpected_index_column_names": ["row", suite.key],
                "return_unexpected_index_query": False,
            },
        )
        return dict(json.loads(json.dumps(result.to_json_dict(), default=str)))


def _forget_local_site(context: Any) -> None:
    """An ephemeral context makes a temporary folder for docs that nobody asked for, and leaves it behind."""
    site = (context.variables.data_docs_sites or {}).get("local_site")
    if site is not None:
        context.delete_data_docs_site("local_site")
        folder = Path(str(site["store_backend"]["base_directory"]))
        if folder.is_relative_to(tempfile.gettempdir()):
            with suppress(OSError):
                folder.rmdir()  # it is empty; never a tree


def refuse_all(suite: Suite, rows: Sequence[Row], why: str) -> SuiteAnswer:
    """The answer when nothing could be evaluated: every rule refuses every row."""
    everything = frozenset(range(len(rows)))
    names = [rule.name for rule in suite.rules]
    return SuiteAnswer(
        suite, rows, dict.fromkeys(names, everything), dict.fromkeys(names, why), {"success": False, "error": why}
    )


def read_answer(suite: Suite, rows: Sequence[Row], result: Mapping[str, Any]) -> SuiteAnswer:
    """Turn a validation result into refused rows. Pure; results come in any order and carry their rule in ``meta``."""
    everything = frozenset(range(len(rows)))
    refused: dict[str, set[int]] = {rule.name: set() for rule in suite.rules}
    broken: dict[str, str] = {}
    answers = dict.fromkeys(refused, 0)
    for answer in result.get("results") or []:
        name = ((answer.get("expectation_config") or {}).get("meta") or {}).get("rule")
        if name not in refused:
            continue
        answers[name] += 1
        trouble = _exception(answer.get("exception_info"))
        if trouble is not None:
            broken[name] = trouble
        elif answer.get("success") is not True:
            positions = _positions(answer.get("result") or {}, len(rows))
            if positions is None:
                broken[name] = "the expectation failed and does not say for which rows"
            else:
                refused[name] |= positions
    for rule in suite.rules:
        if not answers[rule.name]:
            broken[rule.name] = "Great Expectations gave no answer"
    for name in broken:
        refused[name] = set(everything)
    return SuiteAnswer(suite, rows, {name: frozenset(found) for name, found in refused.items()}, broken, result)


def _tag(rule: Rule) -> dict[str, Any]:
    """Marks an expectation as a rule's, and explains it in the Data Docs."""
    note = {"format": "markdown", "content": [f"**{rule.name}** ({rule.severity}): {rule.asks}"]}
    return {"severity": rule.severity, "meta": {"rule": rule.name, "notes": note}}


def _positions(result: Mapping[str, Any], count: int) -> set[int] | None:
    """Positions of the unexpected rows; None when the result names none, or names one that is not there."""
    rows = result.get("unexpected_index_list")
    if not rows:
        return None
    try:
        positions = {int(row["row"]) for row in rows}
    except (KeyError, TypeError, ValueError):
        return None
    return positions if all(0 <= position < count for position in positions) else None


def _exception(info: object) -> str | None:
    """The message of an exception inside Great Expectations, in either of the two shapes it reports them in."""
    if not isinstance(info, Mapping):
        return None
    if "raised_exception" in info:
        return _message(info) if info["raised_exception"] else None
    # keyed by metric, for example when a column is missing
    for value in info.values():
        if isinstance(value, Mapping) and value.get("raised_exception", True):
            return _message(value)
    return None


def _message(info: Mapping[str, Any]) -> str:
    text = str(info.get("exception_message") or "no message")
    return f"the gate could not be evaluated: {text.strip()[:300]}"
