from __future__ import annotations

from dataclasses import replace

from benchgate.analysis.alert import MOST_LINES, nightly_alert
from benchgate.analysis.findings import RegressionFinding

DIGEST = {"image_digest": ("vllm@sha256:" + "a" * 64, "vllm@sha256:" + "b" * 64)}


def finding(
    answer: str = "REGRESSED", *, users: int = 64, change: float = -0.171, new: bool = True
) -> RegressionFinding:
    return RegressionFinding(
        run="k.n12",
        campaign="kernels",
        arm="marlin",
        placement="h200/quad-a",
        workload="short-chat",
        users=users,
        request_rate=None,
        metric="decode_tok_s",
        answer=answer,
        reason="",
        method="",
        nights=12,
        change=change,
        change_low=change - 0.02,
        change_high=change + 0.02,
        since_night="2026-11-12T02:00:00Z",
        new_tonight=new,
        what_changed=DIGEST,
    )


def test_nothing_new_is_no_message() -> None:
    assert nightly_alert("kernels", "2026-11-12", []) is None
    assert nightly_alert("kernels", "2026-11-12", [finding(new=False), finding("PASS", new=False)]) is None


def test_one_message_says_what_how_much_since_when_and_what_changed() -> None:
    found = nightly_alert(
        "kernels", "2026-11-12T02:00:00Z", [finding(), finding("IMPROVED", users=1, change=0.2)], "http://x"
    )

    assert found is not None
    assert found.subject == "Benchgate: kernels: 1 regressed, 1 improved"
    assert found.body == (
        "kernels, night of 2026-11-12: 1 regressed, 1 improved (of 2 series).\n"
        "\n"
        "Changed: image_digest vllm@sha256:aaaaaaaaaaaa -> vllm@sha256:bbbbbbbbbbbb\n"
        "- REGRESSED marlin on h200/quad-a, short-chat, 64 users: decode throughput -17.1 % [-19.1, -15.1] "
        "since 2026-11-12\n"
        "- IMPROVED marlin on h200/quad-a, short-chat, 1 user: decode throughput +20.0 % [+18.0, +22.0] "
        "since 2026-11-12\n"
        "\n"
        "http://x"
    )


def test_a_hundred_regressed_cells_are_still_one_readable_message() -> None:
    found = nightly_alert("kernels", "2026-11-12", [finding(users=u) for u in range(1, 101)])

    assert found is not None
    assert found.regressed == 100
    assert f"and {100 - MOST_LINES} more" in found.body
    assert len(found.body.splitlines()) < 25


def test_what_was_announced_before_is_only_counted() -> None:
    found = nightly_alert("kernels", "2026-11-12", [finding(), finding(users=8, new=False)])

    assert found is not None
    assert "Still regressed from earlier nights: 1 series." in found.body


def test_an_unexplained_change_says_so() -> None:
    found = nightly_alert("kernels", "2026-11-12", [replace(finding(), what_changed={})])

    assert found is not None
    assert "look at the host" in found.body
