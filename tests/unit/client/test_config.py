from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.client.config import BenchConfig, OptionError

GOOD = BenchConfig("http://h", prompt_tokens=10, num_prompts=5, users=2)


def test_a_good_configuration_passes() -> None:
    GOOD.check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"users": None}, "either --concurrency"),
        ({"request_rate": 2.0}, "either --concurrency"),
        ({"num_prompts": None}, "nothing ends this run"),
        ({"num_prompts": 0}, "--num-prompts must be more than zero"),
        ({"users": -1}, "--concurrency must be more than zero"),
        ({"max_seconds": float("inf")}, "--max-seconds must be more than zero"),
        ({"timeout_s": 0.0}, "--timeout must be more than zero"),
        ({"warmup": -1}, "--warmup must be zero or more"),
        ({"ramp_seconds": -1.0}, "--ramp-seconds must be zero or more"),
        ({"endpoint": "responses"}, "--endpoint must be one of chat, completions"),
        ({"arrivals": "gamma"}, "--arrivals must be one of"),
        ({"stop_on_error_rate": 1.5}, "share between 0 and 1"),
        ({"prompt_tokens": None}, "needs --prompt-tokens"),
        ({"dataset": "x.json"}, "belongs to --dataset synthetic"),
        ({"processes": 0}, "--processes must be more than zero"),
    ],
)
def test_each_option_that_cannot_work_is_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        replace(GOOD, **change).check()  # type: ignore[arg-type]


def test_warm_up_is_one_request_a_user_unless_it_is_given() -> None:
    assert replace(GOOD, users=7).warmup_requests == 7
    assert replace(GOOD, users=7, warmup=0).warmup_requests == 0
    assert replace(GOOD, users=None, request_rate=3.0).warmup_requests == 3


def test_the_api_key_is_not_in_the_repr() -> None:
    assert "very-secret" not in repr(replace(GOOD, api_key="very-secret"))
