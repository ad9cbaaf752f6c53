from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.client.config import BenchConfig
from benchgate.client.probe import harmony_cause, harmony_notes, is_harmony, wants_harmony_probe
from benchgate.request_record import RequestRecord

CONFIG = BenchConfig("http://h", prompt_tokens=10, num_prompts=5, users=2)
MESSAGE = "Unexpected token 200002 while expecting start token 200006"


def fine(max_tokens: int = 256) -> RequestRecord:
    return RequestRecord(0, phase="probe", max_tokens=max_tokens)


def faulty(max_tokens: int = 256) -> RequestRecord:
    return RequestRecord(0, phase="probe", max_tokens=max_tokens, status="harmony_parse", error_message=MESSAGE)


@pytest.mark.parametrize(
    ("answers", "cause"),
    [
        ((faulty(1024), faulty(), faulty()), "from the server"),
        ((fine(1024), faulty(), faulty()), "from the cap"),
        ((fine(1024), fine(), faulty()), "from ignore_eos"),
        ((fine(1024), fine(), None), "no fault"),
        ((fine(1024), fine(), fine()), "no fault"),
    ],
)
def test_the_probe_tells_the_cause(answers: tuple[RequestRecord, ...], cause: str) -> None:
    assert cause in harmony_cause(*answers)


def test_another_error_of_a_probe_is_not_called_fine() -> None:
    broken = RequestRecord(0, status="http_5xx", error_message="HTTP 500: no")
    assert "http_5xx: HTTP 500: no" in harmony_cause(broken, fine())


def test_faults_of_the_cell_are_told_apart_by_the_cap_and_by_ignore_eos() -> None:
    at_the_cap = [replace(faulty(), phase="measured", near_cap=True) for _ in range(3)]
    elsewhere = [replace(faulty(), phase="measured", near_cap=False) for _ in range(4)]
    (capped,) = harmony_notes(at_the_cap, ignore_eos=False)
    assert "3 of them within 2 %" in capped
    assert "raise max_tokens" in capped
    (forced,) = harmony_notes(elsewhere, ignore_eos=True)
    assert "0 of them within 2 %" in forced
    assert "raise" not in forced
    assert "ignore_eos was sent" in forced
    assert harmony_notes([fine()], ignore_eos=True) == []


@pytest.mark.parametrize(
    ("probe", "endpoint", "model", "wanted"),
    [
        ("auto", "chat", "openai/gpt-oss-120b", True),
        ("auto", "chat", "SmolLM2", False),
        ("auto", "completions", "openai/gpt-oss-120b", False),
        ("harmony", "chat", "SmolLM2", True),
        ("none", "chat", "openai/gpt-oss-20b", False),
    ],
)
def test_harmony_models_are_probed_on_chat(probe: str, endpoint: str, model: str, wanted: bool) -> None:
    assert wants_harmony_probe(replace(CONFIG, probe=probe, endpoint=endpoint), model) is wanted


@pytest.mark.parametrize(
    ("model", "harmony"),
    [
        ("openai/gpt-oss-120b", True),
        ("unsloth/gpt_oss_20b-FP8", True),
        ("GPT.OSS", True),
        ("Qwen/Qwen3-30B-A3B", False),
    ],
)
def test_harmony_models_are_known_by_their_names(model: str, harmony: bool) -> None:
    assert is_harmony(model) is harmony
