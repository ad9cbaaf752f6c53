"""The command line for an arm: llama.cpp's own names, and nothing that is not the arm's to say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.engines import get_engine, llamacpp_server
from benchgate.engines.base import ServerRequest
from benchgate.errors import BenchgateError

ENGINE = get_engine("llamacpp")


def request(**changes) -> ServerRequest:
    values = {
        "model_path": "/seeds/m.gguf",
        "served_model_name": "m",
        "args": {},
        "env": {},
        "host": "127.0.0.1",
        "port": 8000,
        "in_container": False,
    }
    return ServerRequest(**(values | changes))


def test_arguments_keep_their_names_and_booleans_become_flags():
    command = ENGINE.command(request(args={"ctx-size": 8192, "warmup": False, "kv-unified": True}))

    assert command.argv[2:] == [
        *("--model", "/seeds/m.gguf", "--alias", "m", "--host", "127.0.0.1", "--port", "8000"),
        *("--ctx-size", "8192", "--no-warmup", "--kv-unified"),
    ]


def test_on_a_process_host_our_server_runs_and_in_a_container_the_image_decides():
    on_host = ENGINE.command(request())
    in_container = ENGINE.command(request(in_container=True))

    assert on_host.argv[1].endswith("llamacpp_server.py")
    assert in_container.argv[0] == "--model"
    assert in_container.entrypoint is None


@pytest.mark.parametrize("name", ["port", "--host", "model", "api_key", "alias"])
def test_what_is_not_an_arms_to_say_is_refused(name: str):
    with pytest.raises(BenchgateError, match=name.strip("-").replace("_", ".")):
        ENGINE.command(request(args={name: "x"}))


def test_offline_is_said_unless_the_campaign_says_otherwise():
    assert ENGINE.command(request()).env["LLAMA_OFFLINE"] == "1"
    assert ENGINE.command(request(env={"LLAMA_OFFLINE": "0"})).env["LLAMA_OFFLINE"] == "0"
    assert "LLAMA_OFFLINE" not in ENGINE.command(request(offline=False)).env


def test_threads_that_wait_on_a_cpu_sleep_unless_the_campaign_says_otherwise():
    assert ENGINE.command(request()).env["OMP_WAIT_POLICY"] == "passive"
    assert ENGINE.command(request(env={"OMP_WAIT_POLICY": "active"})).env["OMP_WAIT_POLICY"] == "active"
    assert "OMP_WAIT_POLICY" not in ENGINE.command(request(gpu_count=1)).env


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "ctx-size": st.integers(1, 10**6),
            "parallel": st.integers(1, 64),
            "threads": st.integers(1, 64),
            "threads_batch": st.integers(1, 64),
            "cache-type-k": st.sampled_from(llamacpp_server.CACHE_TYPES),
            "flash-attn": st.sampled_from(["on", "off", "auto"]),
            "cache-prompt": st.booleans(),
            "cont-batching": st.booleans(),
            "rope-freq-scale": st.floats(0.1, 10),
        },
    )
)
def test_the_server_understands_what_the_adapter_writes(args: dict):
    argv = ENGINE.command(request(args=args, in_container=True)).argv

    parsed = vars(llamacpp_server.build_parser().parse_args(argv))

    assert parsed["model"] == "/seeds/m.gguf"
    assert parsed["port"] == 8000
    for name, value in args.items():
        assert parsed[name.replace("-", "_")] == value


def test_the_prompt_cache_is_off_unless_asked_for():
    parser = llamacpp_server.build_parser()

    assert parser.parse_args(["-m", "x"]).cache_prompt is False
    assert parser.parse_args(["-m", "x", "--cache-prompt"]).cache_prompt is True


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--ctx", "5"], "unrecognized arguments: --ctx 5"),
        (["--parallel", "0"], "not above zero"),
        (["--port", "70000"], "is not a port"),
        (["--cache-type-k", "q9"], "invalid choice"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as refused:
        llamacpp_server.main(["--model", "x", *argv])

    assert refused.value.code == 2
    assert said in capsys.readouterr().err


def test_a_missing_model_argument_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("LLAMA_ARG_MODEL", raising=False)

    with pytest.raises(SystemExit) as refused:
        llamacpp_server.main([])

    assert refused.value.code == 2
    assert "required: -m/--model" in capsys.readouterr().err
