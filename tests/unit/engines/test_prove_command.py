"""``benchgate prove``: what a person and a script see."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from benchgate.cli import main
from tests.unit.engines.logs import FIXTURES, capture

NAME = "vllm-0.26.0-h200-gpt-oss-20b.log"
KEYS = [
    "engine_version", "moe_kernel", "attention_backend", "kv_tokens", "kv_meaning", "max_concurrency", "weights_gib", "load_seconds",
    "graph_capture_seconds", "init_seconds", "memory_reserved_gib", "ready", "failure_kind", "warnings", "evidence",
]  # fmt: skip


def prove(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, object]:
    assert main(["prove", "--json", "--engine", "vllm", *args]) == 0
    result: dict[str, object] = json.loads(capsys.readouterr().out)
    return result


def test_json_has_every_promised_key(capsys: pytest.CaptureFixture[str]) -> None:
    result = prove(capsys, str(FIXTURES / f"{NAME}.gz"))

    assert set(KEYS) <= set(result)
    assert result["moe_kernel"] == "triton"
    assert result["ready"] is True
    assert result["failure_kind"] is None
    assert result["evidence"]["moe_kernel"] == {
        "line": 35,
        "text": "(EngineCore pid=680) INFO 11-30 09:02:01 [mxfp4.py:1719] Using OAITritonMxfp4ExpertsMonolithic",
    }  # type: ignore[index]
    assert any("JIT compilation during inference" in warning for warning in result["warnings"])  # type: ignore[attr-defined]


def test_what_the_log_does_not_say_is_null(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(b"")

    result = prove(capsys, str(tmp_path / "empty.log"))

    assert [result[key] for key in KEYS] == [None] * 11 + [False, None, ["the log is empty: nothing is proven"], {}]
    assert result["recognised"] is False


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the log is empty"),
        (b" \n\n", "the log is empty"),
        (b"Jan 1 sshd: accepted\n" * 3, "none of its 3 lines is one of vllm's"),
        (b"\x00\x01\x02\x03" * 100, "no text (it has NUL bytes)"),
        (b"\xfd7zXZ\x00\x00\x04", "packed with xz: unpack it first"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "packed with zstd: unpack it first"),
        (b"PK\x03\x04server.log", "a zip file: unpack it first"),
        (gzip.compress(b"hello\n", mtime=0), "none of its 1 lines is one of vllm's"),
        (b"[2026-11-30 09:00:00 TP0] Load weight end. type=Llama, dtype=bf16, avail mem=1.00 GB, mem usage=2.00 GB.\n", "try --engine sglang"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_log_of_the_engine_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, said: str
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(content)

    assert main(["prove", "--json", "--engine", "vllm", str(log)]) == 0

    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.startswith(f"warning: {log}: ")
    result = json.loads(captured.out)
    assert result["recognised"] is False
    assert any(said in warning for warning in result["warnings"])


def test_a_log_that_proves_something_is_recognised(capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(capsys, str(FIXTURES / f"{NAME}.gz"))["recognised"] is True


def test_a_gzip_file_that_is_damaged_at_its_start(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "server.log.gz"
    log.write_bytes(b"\x1f\x8bgarbage")

    assert main(["prove", "--json", "--engine", "vllm", str(log)]) == 0

    assert "read only as far as it goes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [["--signal", "FOO"], ["--signal", "999"], ["--signal", ""], ["--exit-code", "256"], ["--exit-code", "-65"], ["--exit-code", "x"]],
)  # fmt: skip
def test_an_end_that_no_process_has_is_refused(capsys: pytest.CaptureFixture[str], option: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["prove", "--engine", "vllm", *option, "server.log"])

    assert refused.value.code == 2
    assert f"argument {option[0]}: {option[1]!r} is no" in capsys.readouterr().err


@pytest.mark.parametrize("signal", ["SIGBUS", "bus", "7"])
def test_a_signal_has_its_name_or_number(capsys: pytest.CaptureFixture[str], tmp_path: Path, signal: str) -> None:
    (tmp_path / "server.log").write_text("INFO nothing\n")

    assert prove(capsys, str(tmp_path / "server.log"), "--signal", signal)["failure_kind"] == "shm_too_small"


def test_a_log_from_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(capture(NAME)))))

    assert prove(capsys, "-")["kv_tokens"] == 4341772


def test_the_end_of_a_server_is_weighed_in(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("INFO nothing\n")

    assert prove(capsys, str(log), "--exit-code", "137")["failure_kind"] == "killed"
    assert prove(capsys, str(log), "--exit-code", "137", "--oom-killed")["failure_kind"] == "host_oom"
    assert prove(capsys, str(log), "--timed-out")["failure_kind"] == "timeout"


def test_text_shows_the_root_cause_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--engine", "vllm", str(FIXTURES / "vllm-0.27.1-cpu-wrong-vocab.log.gz")]) == 0

    out = capsys.readouterr().out
    assert "vocab_missing" in out
    assert "line 177: (APIServer pid=15629) openai_harmony.HarmonyError" in out
    assert "TIKTOKEN_ENCODINGS_BASE" in out
    assert "moe_kernel               unknown" in out


@pytest.mark.parametrize("path", ["no-such.log", "."])
def test_a_log_that_cannot_be_opened_is_one_line(capsys: pytest.CaptureFixture[str], path: str) -> None:
    assert main(["prove", "--engine", "vllm", path]) == 1

    error = capsys.readouterr().err
    assert error.startswith(f"error: {path}: ")
    assert error.count("\n") == 1


def test_a_packed_log_that_breaks_off_is_read_as_far_as_it_goes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    packed = gzip.compress(b"".join(capture(NAME)))
    (tmp_path / "cut.log.gz").write_bytes(packed[: len(packed) // 2])

    assert main(["prove", "--engine", "vllm", "--json", str(tmp_path / "cut.log.gz")]) == 0

    captured = capsys.readouterr()
    assert json.loads(captured.out)["engine_version"] == "0.26.0"
    assert "read only as far as it goes" in captured.err
