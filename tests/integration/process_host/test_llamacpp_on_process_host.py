"""The real CPU engine on the process host: ready, chats, finds a needle, counts tokens, fails in named ways."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from benchgate.engines import get_engine
from benchgate.engines.base import ServerRequest
from benchgate.hosts.base import ServerHandle, ServerSpec
from benchgate.hosts.process import ProcessHost
from benchgate.hosts.process_table import ProcessId, alive
from benchgate.records import FailureKind
from tests.integration.process_host.conftest import answers, eventually, marked
from tests.support.engine_model import engine_model
from tests.support.requirements import require

pytestmark = [pytest.mark.engine, pytest.mark.slow]
ENGINE = get_engine("llamacpp")


@pytest.fixture(scope="module")
def model() -> Path:
    require("engine")
    return engine_model()


def server(model: Path, *, port: int | str = "{port}", owner_pid: int | None = None, **args) -> ServerSpec:
    command = ENGINE.command(
        ServerRequest(
            model_path=str(model),
            served_model_name="smol",
            args={"ctx-size": 4096, "parallel": 2, "threads": 2, **args},
            env={},
            host="127.0.0.1",
            port=port,
            in_container=False,
        )
    )
    return ServerSpec(
        campaign="tiny",
        run="tiny.night-1",
        arm="plain",
        placement="cpu",
        argv=command.argv,
        env=command.env,
        port=port if isinstance(port, int) else 0,
        owner_pid=owner_pid or os.getpid(),
    )


def chat(host: ProcessHost, handle: ServerHandle, text: str, max_tokens: int = 16) -> dict:
    body = {
        "model": "smol",
        "temperature": 0,
        "max_tokens": max_tokens,
        "messages": [{"role": "user", "content": text}],
    }
    status, reply = host.http_post(handle, "/v1/chat/completions", json.dumps(body).encode(), timeout_s=240)
    assert status == 200, reply
    return json.loads(reply)


def test_a_real_server_gets_ready_proves_itself_and_counts_what_clients_count(host: ProcessHost, model: Path):
    handle = host.start(server(model))
    eventually(lambda: answers(host, handle), within_s=120)
    facts = ENGINE.parse_log(host.log_lines(handle))
    api = {proof.name: proof.value for proof in ENGINE.api_proofs(lambda path: host.http_get(handle, path))}

    question = "The special number of the red house is 7421. What is the special number of the red house?"
    found = chat(host, handle, f"The sky was grey that morning. The boats stayed in the harbour. {question}", 24)
    again = chat(host, handle, "Say hello.")
    metrics = ENGINE.parse_metrics(host.http_get(handle, "/metrics")[1].decode(), "now")
    ended = host.stop(handle)

    values = {name: proof.value for name, proof in facts.proofs.items()}
    assert values["context_tokens"] == api["context_tokens"] == 2048
    assert values["slots"] == api["slots"] == 2
    assert values["model_sha256"] == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert values["cache_prompt"] is False
    assert facts.ready
    assert "7421" in found["choices"][0]["message"]["content"]
    usages = [found["usage"], again["usage"]]
    assert metrics.prompt_tokens_total == sum(usage["prompt_tokens"] for usage in usages)
    assert metrics.generation_tokens_total == sum(usage["completion_tokens"] for usage in usages)
    assert ended.exit_code == 0, "SIGTERM is its clean end"


def test_a_repeated_prompt_is_computed_again(host: ProcessHost, model: Path):
    handle = host.start(server(model))
    eventually(lambda: answers(host, handle), within_s=120)

    replies = [chat(host, handle, "Name three colours of the rainbow.", 4) for _ in range(2)]

    assert [reply["usage"]["prompt_tokens_details"]["cached_tokens"] for reply in replies] == [0, 0]
    host.stop(handle)


def test_a_bad_flag_fails_by_name(host: ProcessHost, model: Path):
    handle = host.start(server(model, **{"no-such-flag": 3}))
    eventually(lambda: not host.status(handle).running, within_s=60)

    ended = host.stop(handle)
    failure = ENGINE.failure(ENGINE.parse_log(host.log_lines(handle)), ended)

    assert ended.exit_code == 2
    assert failure.kind is FailureKind.BAD_FLAG
    assert "--no-such-flag 3" in failure.reason


def test_a_taken_port_fails_by_name(host: ProcessHost, model: Path):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        handle = host.start(server(model, port=listener.getsockname()[1]))
        eventually(lambda: not host.status(handle).running, within_s=60)
        failure = ENGINE.failure(ENGINE.parse_log(host.log_lines(handle)), host.status(handle).exit)
    host.stop(handle)

    assert failure.kind is FailureKind.PORT_IN_USE


def test_a_missing_model_fails_by_name(host: ProcessHost, model: Path, tmp_path: Path):
    handle = host.start(server(tmp_path / "gone.gguf"))
    eventually(lambda: not host.status(handle).running, within_s=60)

    failure = ENGINE.failure(ENGINE.parse_log(host.log_lines(handle)), host.stop(handle))

    assert failure.kind is FailureKind.SEED_FAILED
    assert "gone.gguf" in failure.reason


@pytest.mark.parametrize("victim", ["owner", "supervisor"])
def test_kill_9_leaves_no_server(host: ProcessHost, model: Path, benchgate_home: Path, victim: str):
    with subprocess.Popen(["sleep", "600"]) as owner:
        handle = host.start(server(model, owner_pid=owner.pid))
        eventually(lambda: answers(host, handle), within_s=120)

        os.kill(owner.pid if victim == "owner" else ProcessId.parse(handle.id).pid, 9)

        eventually(lambda: marked(benchgate_home) == [])
        owner.kill()
    assert not alive(ProcessId.parse(handle.id)) or victim == "owner"
    host.stop(handle)


def test_the_file_alone_is_a_server_for_an_image(model: Path, tmp_path: Path):
    """Copied into an image, the server has no package around it."""
    from benchgate.engines import llamacpp_server

    alone = tmp_path / "llamacpp_server.py"
    alone.write_bytes(Path(llamacpp_server.__file__).read_bytes())

    done = subprocess.run(
        [sys.executable, "-I", str(alone), "--model", str(model), "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "0 is not a port" in done.stderr
