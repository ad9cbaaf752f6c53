from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from benchgate.analysis.compare import compare
from benchgate.analysis.family import judge_night
from benchgate.analysis.reversals import reversals
from benchgate.report.html import headlines, render
from benchgate.report.model import (
    LaunchRow,
    LedgerRow,
    NeedleRow,
    ProofRow,
    RunHeader,
    RunReport,
    Source,
    VerdictRow,
)
from benchgate.report.terminal import summary_of
from tests.unit.analysis.fabricate import cell
from tests.unit.analysis.nights import series

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}'
VOID = {"meta", "img", "br", "link", "input", "hr"}
SELF_CLOSED = {"line", "circle", "rect", "path", "polyline"}


class Reader(HTMLParser):
    """Checks that elements are closed in order, and remembers what matters."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


def report(text: str = "plain", repeats: int = 3) -> RunReport:
    cells = [
        cell(
            arm,
            repeat=r,
            workload=workload,
            users=users,
            values={"decode_tok_s": v * (1 + r / 500), "ttft_p50_ms": 80.0},
        )
        for arm, speed in (("triton", 1.0), ("marlin" + ("" if text == "plain" else text), 1.36))
        for workload, users, v in (
            ("short-chat", 1, 104 * speed),
            ("short-chat", 64, 4379 * speed),
            ("document-126k", 8, 130 / speed),
        )
        for r in range(1, repeats + 1)
    ]
    ledger = tuple(
        LedgerRow(f"c{i}", "marlin", "h200", "quad-a", "w", 1, None, 1, state, None if state == "published" else text)
        for i, state in enumerate(["published"] * 4 + ["unpublishable", "not_run", "failed"])
    )
    ledger += (
        LedgerRow("c9", text, "h", "p", text, 1, None, 1, "not_run", text, "vocab_missing", 412, f"error: {text}"),
    )
    launch = LaunchRow(
        launch=f"marlin@h200/quad-a {text}",
        arm="marlin",
        host="h200",
        placement="quad-a",
        end_state="ready",
        engine="vllm",
        moe_kernel="marlin",
        kv_tokens=2_610_000,
        weights_gib=12.9,
        command=("vllm", "serve", text),
        proofs=(ProofRow("moe_kernel", "marlin", 88, f"Using Marlin backend {text}", "log"),),
        needles=(NeedleRow(0.1, None, 131072, "4711", text, False, None),),
        machine={"gpu_model": text},
    )
    nights = series([1000.0 + i for i in range(12)] + [820.0, 815.0])
    comparisons = tuple(compare(cells))
    return RunReport(
        header=RunHeader("k.r1", f"kernels {text}", "2026-11-30T02:00:00Z", None, "failed", "m", "0.1.0", f"a: {text}"),
        ledger=ledger,
        launches=(launch,),
        verdicts=(VerdictRow("c4", "error_rate", "critical", False, text, "0.02", text),),
        cells=tuple(cells),
        comparisons=comparisons,
        reversals=tuple(reversals(comparisons)),
        series=(nights,),
        regressions=tuple(judge_night([nights])),
        sources=(Source("S02", text, "javascript:alert(1)", None, None, None),),
    )


def test_the_report_is_one_well_formed_file_that_fetches_nothing() -> None:
    html = render(report())
    reader = read(html)

    assert "script" not in reader.tags
    assert "link" not in reader.tags
    assert all(link.startswith("#") for link in reader.links)
    assert "url(" not in html
    assert "default-src 'none'" in html
    assert len(reader.ids) == len(set(reader.ids))
    assert {link[1:] for link in reader.links} <= set(reader.ids)


def test_hostile_texts_stay_texts_wherever_they_stand() -> None:
    html = render(report(HOSTILE))
    reader = read(html)

    assert "script" not in reader.tags
    assert "img" not in reader.tags
    assert not {name for name in reader.attributes if name.startswith("on")}
    assert "49" not in re.sub(r"[0-9.,]{3,}", "", html.split("7*7")[0][-200:])
    assert 'href="javascript' not in html


def test_the_report_shows_comparisons_reversals_charts_and_reasons() -> None:
    html = render(report())

    assert "1.36x [" in html
    assert "faster" in html
    assert "but behind at document-126k, 8 users" in html
    assert "REGRESSED" in html
    assert html.count("<svg") >= 5
    assert "error: plain" in html
    assert "412:" in html
    assert "Using Marlin backend plain" in html
    assert "0 of 1 found" in html
    assert "2,610,000" in html


def test_single_runs_have_no_whiskers_and_no_interval() -> None:
    html = render(replace(report(repeats=1), series=(), regressions=()))

    assert "one run" in html
    assert 'class="whisker"' not in html
    assert "1.36x [" not in html


def test_unknown_values_are_dashes() -> None:
    html = render(report())

    row = next(line for line in html.splitlines() if "4711" in line)
    assert '<td class="n">–</td>' in row


@pytest.mark.parametrize("reason", ["nothing new to measure: same digest", "same digest"])
def test_why_nothing_was_measured_is_said_once(reason: str) -> None:
    header = RunHeader("k.r1", "k", "2026-11-30T02:00:00Z", None, "nothing_new", "m", "0.1.0", "", reason)
    empty = RunReport(header=header)

    for text in (summary_of(empty), "\n".join(headlines(empty))):
        assert "Nothing new to measure: same digest" in text
        assert text.lower().count("nothing new to measure") == 1


def test_an_empty_run_still_has_a_report() -> None:
    header = RunHeader("k.r1", "k", "2026-11-30T02:00:00Z", None, "nothing_new", "m", "0.1.0", "", "same digest")

    html = render(RunReport(header=header))

    read(html)
    assert "Nothing new to measure: same digest" in html
