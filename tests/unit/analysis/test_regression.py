from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.analysis.change_points import change_points
from benchgate.analysis.family import judge_night
from benchgate.analysis.regression import judge
from benchgate.analysis.series import NightlySeries, nightly
from tests.unit.analysis.fabricate import cell
from tests.unit.analysis.nights import FACTS, noisy, series

ALARMS = ("REGRESSED", "IMPROVED")


def dropped(
    rng: np.random.Generator, before: int, after: int, *, factor: float = 0.9, noise: float = 0.03
) -> np.ndarray:
    """A level with noise that changes by ``factor`` for the last ``after`` nights."""
    values = noisy(rng, before + after, noise=noise)
    values[before:] *= factor
    return values


def alarm_rate(make: object, runs: int) -> float:
    """Share of series whose newest night is called, over ``runs`` series of 25 nights."""
    return sum(judge(series(make())).answer in ALARMS for _ in range(runs)) / runs  # type: ignore[operator]


def test_a_ten_percent_regression_is_found_within_two_nights_at_three_percent_noise() -> None:
    rng = np.random.default_rng(1)
    runs = 200
    found = 0
    for _ in range(runs):
        values = dropped(rng, 20, 2)
        found += any(judge(series(values[:n])).answer == "REGRESSED" for n in (21, 22))
    assert found / runs >= 0.87


def test_a_ten_percent_regression_with_three_repeats_a_night_is_practically_never_missed() -> None:
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(100):
        level = np.repeat(dropped(rng, 10, 2, noise=0.0), 3).reshape(12, 3)
        repeats = level * np.exp(rng.normal(0, 0.03, (12, 3)))
        found += judge(series(np.median(repeats, axis=1))).answer == "REGRESSED"
    assert found >= 97


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.05, 0.08])
def test_noise_alone_is_called_on_at_most_five_percent_of_nights(noise: float) -> None:
    rng = np.random.default_rng(3)

    assert alarm_rate(lambda: noisy(rng, 25, noise=noise), 200) <= 0.03


@pytest.mark.parametrize("nights", [2, 3, 4, 6])
def test_the_first_nights_of_noise_are_called_rarely_as_well(nights: int) -> None:
    rng = np.random.default_rng(4)

    alarms = sum(judge(series(noisy(rng, nights, noise=0.04))).answer in ALARMS for _ in range(300))

    assert alarms / 300 <= 0.05


def test_correlated_noise_is_called_on_at_most_five_percent_of_nights() -> None:
    rng = np.random.default_rng(5)

    def wander() -> np.ndarray:
        noise = np.zeros(25)
        for i in range(1, 25):
            noise[i] = 0.5 * noise[i - 1] + rng.normal(0, 0.026)
        return 1000 * np.exp(noise)

    assert alarm_rate(wander, 300) <= 0.05


def test_nights_of_unequal_noise_are_called_on_at_most_five_percent_of_nights() -> None:
    rng = np.random.default_rng(6)

    def uneven() -> np.ndarray:
        return 1000 * np.exp(rng.normal(0, 1, 25) * np.where(rng.random(25) < 0.3, 0.06, 0.02))

    assert alarm_rate(uneven, 300) <= 0.05


def test_a_night_of_noise_in_many_cells_raises_an_alarm_in_at_most_five_percent_of_nights() -> None:
    rng = np.random.default_rng(7)
    nights = 40
    alarms = sum(
        any(f.answer in ALARMS for f in judge_night(series(noisy(rng, 20), users=u) for u in range(1, 81)))
        for _ in range(nights)
    )
    assert alarms <= 5  # 40 nights at 5 %: more than five in one of a hundred trials


def test_one_regressed_arm_stands_out_among_many_cells() -> None:
    rng = np.random.default_rng(8)
    cells = [series(noisy(rng, 20), users=u) for u in range(1, 61)]
    cells += [series(dropped(rng, 18, 2, factor=0.83), users=u) for u in range(61, 65)]

    found = [f.users for f in judge_night(cells) if f.answer == "REGRESSED"]

    assert set(found) == {61, 62, 63, 64}


def test_one_odd_night_is_not_a_regression_and_leaves_no_trace() -> None:
    rng = np.random.default_rng(9)
    values = noisy(rng, 20, noise=0.02)
    values[12] *= 0.7

    during = judge(series(values[:13]))
    after = [judge(series(values[:n])).answer for n in range(14, 21)]

    assert during.answer == "INCONCLUSIVE"
    assert "a second night decides" in during.reason
    assert set(after) <= {"PASS", "INCONCLUSIVE"}
    assert after[-1] == "PASS"


def test_a_very_large_drop_on_the_night_that_the_image_changed_is_called_at_once() -> None:
    rng = np.random.default_rng(10)
    values = [*noisy(rng, 12, noise=0.02), 16055 * 0.65]
    prints = [{"image_digest": "vllm@sha256:" + "a" * 64, "driver": "570"}] * 12
    prints.append({"image_digest": "vllm@sha256:" + "b" * 64, "driver": "570"})

    found = judge(series(values, fingerprints=prints))

    assert found.answer == "REGRESSED"
    assert set(found.what_changed) == {"image_digest"}
    assert "vllm@sha256:aaaaaaaaaaaa -> vllm@sha256:bbbbbbbbbbbb" in found.reason


def test_a_drop_on_a_night_when_nothing_changed_says_look_at_the_host() -> None:
    rng = np.random.default_rng(11)
    prints = [{"image_digest": "x"}] * 14

    found = judge(series(dropped(rng, 12, 2, factor=0.8, noise=0.02), fingerprints=prints))

    assert found.answer == "REGRESSED"
    assert found.what_changed == {}
    assert "look at the host" in found.reason


def test_a_changed_hash_is_named_only_when_no_part_explains_it() -> None:
    def changed(after: dict[str, str | None]) -> set[str]:
        prints: list[dict[str, str | None]] = [{"fingerprint": "fp1:a", "driver": "570"}] * 12 + [after] * 2
        values = [1000.0 + i % 3 for i in range(12)] + [800.0, 801.0]
        return set(judge(series(values, fingerprints=prints)).what_changed)

    assert changed({"fingerprint": "fp1:b", "driver": "580"}) == {"driver"}
    assert changed({"fingerprint": "fp1:b", "driver": "570"}) == {"fingerprint"}
    assert changed({"fingerprint": "fp1:b", "driver": None}) == {"fingerprint"}


def test_a_public_release_to_release_drop_is_found_by_the_plain_rule_on_the_second_night() -> None:
    prints = [{"engine_version": "0.18"}, {"engine_version": "0.19"}]

    found = judge(series([16055.0, 13306.0], fingerprints=prints))

    assert found.answer == "REGRESSED"
    assert found.method == "plain rule of the first nights"
    assert found.change == pytest.approx(-0.171, abs=0.001)
    assert found.what_changed == {"engine_version": ("0.18", "0.19")}


@pytest.mark.parametrize("after", [0.65, 13306 / 16055])
def test_public_regressions_are_found_within_two_nights_of_a_history(after: float) -> None:
    rng = np.random.default_rng(12)

    assert all(judge(series(dropped(rng, 10, 2, factor=after))).answer == "REGRESSED" for _ in range(50))


def test_a_higher_latency_is_a_regression_and_a_lower_one_an_improvement() -> None:
    rng = np.random.default_rng(13)

    slower = judge(series(dropped(rng, 12, 3, factor=1.2), metric="ttft_p50_ms"))
    faster = judge(series(dropped(rng, 12, 3, factor=0.8), metric="ttft_p50_ms"))

    assert (slower.answer, faster.answer) == ("REGRESSED", "IMPROVED")


def test_the_size_and_its_interval_hold_the_truth_and_the_first_night_is_named() -> None:
    rng = np.random.default_rng(14)

    found = judge(series(dropped(rng, 20, 4, factor=0.85, noise=0.02)))

    assert found.change_low is not None
    assert found.change_high is not None
    assert found.change_low < -0.15 < found.change_high
    assert found.since_night == "2026-01-21"
    assert found.since_run == "k.n20"


def test_a_regression_is_announced_once_and_stays_regressed_while_it_is_new() -> None:
    rng = np.random.default_rng(15)
    values = dropped(rng, 20, 20, factor=0.85, noise=0.02)

    found = [judge(series(values[:n])) for n in range(20, 41)]

    assert [f.new_tonight for f in found].count(True) == 1
    assert found[3].answer == "REGRESSED"
    assert found[-1].answer == "PASS"


def test_a_recovery_is_an_improvement_not_a_pass() -> None:
    rng = np.random.default_rng(16)
    values = noisy(rng, 30, noise=0.02)
    values[15:27] *= 0.85

    assert judge(series(values)).answer == "IMPROVED"


def test_a_slow_drift_does_not_stay_unseen() -> None:
    rng = np.random.default_rng(17)
    seen = 0
    for _ in range(20):
        values = noisy(rng, 45, noise=0.02)
        values[15:] *= np.exp(np.linspace(0, math.log(0.85), 30))  # half a percent a night
        seen += any(judge(series(values[:n])).answer == "REGRESSED" for n in range(20, 46))
    assert seen >= 18


def test_missing_nights_are_skipped_and_not_zero() -> None:
    cells = [
        cell("a", 1000.0 + i, night=f"2026-01-{i:02d}", end_state="failed" if i == 5 else "published")
        for i in range(1, 13)
    ]
    cells = [replace(c, run=f"r{c.night}") for c in cells]

    [one] = [s for s in nightly(cells) if s.measure.name == "decode_tok_s"]

    assert len(one.nights) == 11
    assert judge(one).answer in ("PASS", "INCONCLUSIVE")


@pytest.mark.parametrize("fact", ["metric_definition", "client_name", "token_count_source"])
def test_a_changed_kind_of_number_is_refused_by_name(fact: str) -> None:
    facts = [dict(FACTS)] * 6 + [{**FACTS, fact: "other"}]

    found = judge(series([100.0] * 6 + [50.0], facts=facts))

    assert found.answer == "REFUSED"
    assert f"{fact} differs" in found.reason
    assert found.change is None


def test_after_a_changed_definition_the_new_nights_start_a_history_of_their_own() -> None:
    rng = np.random.default_rng(18)
    facts = [dict(FACTS)] * 6 + [{**FACTS, "metric_definition": "2"}] * 12
    values = [*noisy(rng, 6, level=2000, noise=0.02), *noisy(rng, 12, level=1000, noise=0.02)]

    found = judge(series(values, facts=facts))

    assert found.answer == "PASS"
    assert found.nights == 12
    assert "metric_definition differs" in found.reason


def test_a_changed_kv_meaning_is_refused_for_the_kv_pool_only() -> None:
    facts = [{**FACTS, "kv_meaning": "blocks"}] * 6 + [{**FACTS, "kv_meaning": "concurrency"}]
    values = [2e6] * 6 + [1e6]

    assert judge(series(values, facts=facts, metric="kv_tokens")).answer == "REFUSED"
    assert judge(series(values, facts=facts)).answer != "REFUSED"


def test_too_few_or_too_noisy_nights_are_inconclusive_and_say_what_they_could_have_seen() -> None:
    rng = np.random.default_rng(19)

    found = judge(series(noisy(rng, 20, noise=0.1)))

    assert found.answer == "INCONCLUSIVE"
    assert (found.smallest_visible_change or 0) > 0.1
    assert "would have been found" in found.reason


def test_a_first_night_has_nothing_to_compare_with() -> None:
    assert judge(series([100.0])).reason == "The first night: nothing to compare with."


def test_an_error_rate_that_was_always_zero_can_regress() -> None:
    found = judge(series([0.0] * 10 + [0.11, 0.1], metric="error_rate"))

    assert found.answer == "REGRESSED"
    assert found.change == pytest.approx(0.105)


def test_change_points_of_the_past_are_where_they_were_put() -> None:
    rng = np.random.default_rng(20)
    values = np.log(noisy(rng, 60))
    values[20:] -= 0.15
    values[40:] += 0.10

    found = change_points(list(values), 0.01)

    assert len(found) == 2
    assert abs(found[0] - 20) <= 1
    assert abs(found[1] - 40) <= 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=30), st.floats(1e-3, 1e3))
def test_any_series_gets_an_answer_that_does_not_depend_on_the_unit(values: list[float], unit: float) -> None:
    one, scaled = judge(series(values)), judge(series([v * unit for v in values]))

    assert one.answer == scaled.answer
    assert one.reason


@settings(max_examples=30, deadline=None)
@given(st.floats(1, 1e6), st.integers(2, 40))
def test_a_constant_series_never_alarms(level: float, nights: int) -> None:
    assert judge(series([level] * nights)).answer in ("PASS", "INCONCLUSIVE")


def test_a_series_of_cells_takes_the_median_of_the_repeats() -> None:
    cells = [cell("a", v, repeat=r, night="2026-01-01") for r, v in enumerate([10.0, 11.0, 99.0], 1)]

    [one] = [s for s in nightly(cells) if s.measure.name == "decode_tok_s"]

    assert isinstance(one, NightlySeries)
    assert (one.nights[0].value, one.nights[0].repeats) == (11.0, 3)


@pytest.mark.parametrize("nights", [2, 3, 5])
def test_first_nights_of_a_noisy_metric_raise_no_alarm_in_a_whole_campaign(nights: int) -> None:
    """Time to first token may scatter by 8 % where throughput scatters by 1 %: the other series know."""
    rng = np.random.default_rng(nights)
    alarms = sum(
        any(f.answer in ALARMS for f in judge_night([_noisy_ttft(rng, nights) for _ in range(40)])) for _ in range(20)
    )
    assert alarms <= 1


def _noisy_ttft(rng: np.random.Generator, nights: int) -> NightlySeries:
    return series(noisy(rng, nights, noise=0.08, level=80.0), metric="ttft_p50_ms")


def test_a_regression_of_every_arm_on_the_third_night_is_not_taken_for_noise() -> None:
    rng = np.random.default_rng(12)
    made = []
    for _ in range(40):
        values = noisy(rng, 3, noise=0.03)
        values[2:] *= 0.75
        made.append(series(values))

    found = judge_night(made)

    assert sum(f.answer == "REGRESSED" for f in found) >= 30


def test_one_odd_first_night_is_not_a_level_that_the_others_left() -> None:
    same = [{"image_digest": "a"}] * 4

    found = [judge(series([1300.0, 1000.0, 1010.0, 1005.0][:n], fingerprints=same[:n])).answer for n in (2, 3, 4)]

    assert not set(found) & set(ALARMS)


def test_one_first_night_is_a_level_when_the_image_changed_after_it() -> None:
    prints = [{"image_digest": "a"}, {"image_digest": "b"}, {"image_digest": "b"}]

    found = judge(series([16055.0, 13306.0, 13320.0], fingerprints=prints))

    assert found.answer == "REGRESSED"
    assert found.since_night == "2026-01-02"


def test_a_change_is_blamed_on_the_night_on_which_something_changed() -> None:
    """By its numbers alone the loss may have begun a night later; the image says when it did."""
    values = [1000.0 + 20 * (-1) ** i for i in range(14)] + [960.0, 900.0, 880.0, 890.0]
    prints = [{"image_digest": "a"}] * 14 + [{"image_digest": "b"}] * 4

    found = judge(series(values, fingerprints=prints))
    unexplained = judge(series(values, fingerprints=[{"image_digest": "a"}] * 18))

    assert unexplained.since_night == "2026-01-16", "the numbers agree with the image: this test shows nothing"
    assert found.since_night == "2026-01-15"
    assert found.what_changed == {"image_digest": ("a", "b")}
    assert found.p_value == unexplained.p_value
