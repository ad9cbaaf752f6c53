"""A server as the ``docker run`` of a person: quoted, masked, and equal to what the Docker Engine is asked for."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.docker_command import Supervision, docker_run, gpus_value, quote
from benchgate.hosts.docker_create import server_body


def spec(**changes: object) -> ServerSpec:
    values: dict[str, object] = {
        "campaign": "c",
        "run": "c.r",
        "arm": "a",
        "placement": "p",
        "argv": ["openai/gpt-oss-20b", "--port", "8000", "--flag", "--offset", "-3", "--config", '{"a": "b c"}'],
        "env": {"B": "2", "A": "x y"},
        "port": 8000,
        "image": "vllm/vllm-openai@sha256:abc",
        "entrypoint": ["vllm", "serve"],
        "gpus": ["4", "5"],
        "cpus": "0-7",
        "mounts": [Mount("/models", "/m"), Mount("volume", "/v", read_only=False)],
        "secrets": {"HF_TOKEN": "hf_QmZkLpTrWxAbCd"},
        **changes,
    }
    return ServerSpec(**values)


SUPERVISION = Supervision(
    name="benchgate-h-p", labels={"io.benchgate.owner": "benchgate"}, network="benchgate-internal"
)


def test_every_flag_is_on_its_own_line_with_its_value():
    assert docker_run(spec(), publish=True).shell().splitlines() == [
        "docker run -d \\",
        "  --gpus '\"device=4,5\"' \\",
        "  --cpuset-cpus 0-7 \\",
        "  --ipc=host \\",
        "  -p 8000:8000 \\",
        "  -v /models:/m:ro \\",
        "  -v volume:/v \\",
        "  --env HF_TOKEN \\",
        "  --env B=2 \\",
        "  --env 'A=x y' \\",
        "  --entrypoint vllm \\",
        "  vllm/vllm-openai@sha256:abc serve openai/gpt-oss-20b \\",
        "  --port 8000 \\",
        "  --flag \\",
        "  --offset -3 \\",
        '  --config \'{"a": "b c"}\'',
    ]


def test_the_shell_reads_back_the_same_words():
    command = docker_run(spec(argv=["m", "--x", "it's", "--y", '$HOME `id` \\ "q"']))
    assert shlex.split(command.shell().replace("\\\n", " ")) == command.argv


def test_a_secret_is_never_shown_wherever_it_stands():
    command = docker_run(spec(argv=["m", "--api-key", "hf_QmZkLpTrWxAbCd"], env={"X": "hf_QmZkLpTrWxAbCd"}))
    assert "hf_Qm" not in command.shell()
    assert "hf_Qm" not in " ".join(command.argv)


def test_a_server_without_an_image_is_no_container():
    with pytest.raises(ValueError, match="needs an image"):
        docker_run(spec(image=None))


@pytest.mark.parametrize(
    ("gpus", "value"),
    [(["all"], "all"), (["3"], "device=3"), (["0", "1"], '"device=0,1"'), (["GPU-1a"], "device=GPU-1a")],
)
def test_gpus_are_named_as_docker_reads_them(gpus, value):
    assert gpus_value(gpus) == value


def test_a_tilde_is_left_to_the_shell_and_the_rest_is_quoted():
    assert quote("~/my models:/m") == "~/'my models:/m'"
    assert quote("~user") == "'~user'"


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")))
def test_any_word_survives_the_shell(word):
    expected = word
    assert shlex.split(quote(word)) == [expected]


def test_shared_memory_is_the_hosts_unless_a_size_is_given():
    assert "--ipc=host" in docker_run(spec()).argv
    own = docker_run(spec(shm_size_gib=32)).argv
    assert own[own.index("--shm-size") + 1] == "34359738368b"
    assert "--ipc=host" not in own


def parsed(argv: list[str]) -> dict[str, object]:
    """The flags of a ``docker run`` as the Engine's request body says them."""
    flags = ["--init", "-d", "--ipc=host", "--ipc=private"]
    single: dict[str, list[str]] = {}
    words = iter(argv[2:])
    for word in words:
        if word in flags:
            single.setdefault(word, []).append("")
        elif word.startswith("-"):
            single.setdefault(word, []).append(next(words))
        else:
            single["image"] = [word]
            single["argv"] = list(words)
    return single


@pytest.mark.parametrize(
    "changes",
    [{}, {"gpus": ["all"]}, {"gpus": []}, {"shm_size_gib": 16}, {"entrypoint": None, "cpus": None}, {"mounts": []}],
    ids=["gpus", "all-gpus", "no-gpus", "shm", "image-entrypoint", "no-mounts"],
)
@pytest.mark.parametrize("publish", [True, False])
def test_it_equals_what_the_docker_engine_is_asked_for(changes, publish):
    server = spec(**changes)
    flags = parsed(docker_run(server, supervision=SUPERVISION, publish=publish).argv)
    body = server_body(server, labels=SUPERVISION.labels, network=SUPERVISION.network, publish=publish)
    host = body["HostConfig"]

    assert flags["image"] == [body["Image"]]
    words = [*flags.get("--entrypoint", []), *flags["argv"]]
    assert words == [*body.get("Entrypoint", []), *body["Cmd"]]
    named = [entry.partition("=")[0] if entry.partition("=")[0] in server.secrets else entry for entry in body["Env"]]
    assert sorted(flags.get("--env", [])) == sorted(named)
    assert dict(label.split("=", 1) for label in flags["--label"]) == body["Labels"]
    assert flags["--network"] == [host["NetworkMode"]]
    assert flags["--cap-drop"] == host["CapDrop"]
    assert flags["--security-opt"] == host["SecurityOpt"]
    assert ("--init" in flags) == host["Init"]
    assert flags["--restart"] == [host["RestartPolicy"]["Name"]]
    assert flags["--log-driver"] == [host["LogConfig"]["Type"]]
    assert flags["--log-opt"] == [f"{name}={value}" for name, value in host["LogConfig"]["Config"].items()]
    assert flags.get("--cpuset-cpus", [None]) == [host.get("CpusetCpus")]
    assert f"--ipc={host['IpcMode']}" in flags
    assert flags.get("--shm-size", [None]) == [f"{host['ShmSize']}b" if "ShmSize" in host else None]
    devices = [d for asked in host["DeviceRequests"] for d in (["all"] if asked["Count"] == -1 else asked["DeviceIDs"])]
    assert [value.strip('"').removeprefix("device=").split(",") for value in flags.get("--gpus", [])] == [
        devices
    ] * bool(devices)
    mounts = [f"{each['Source']}:{each['Target']}{':ro' if each['ReadOnly'] else ''}" for each in host["Mounts"]]
    assert flags.get("-v", []) == mounts
    bound = [
        f"{b['HostPort']}:{port.removesuffix('/tcp')}" for port, bs in host.get("PortBindings", {}).items() for b in bs
    ]
    assert flags.get("-p", []) == bound
    known = """--name -d --init image argv --entrypoint --env --label --network --cap-drop --security-opt --restart
        --log-driver --log-opt --cpuset-cpus --ipc=host --ipc=private --shm-size --gpus -v -p"""
    assert set(flags) <= set(known.split())
    asked = {"NetworkMode", "DeviceRequests", "Mounts", "CapDrop", "SecurityOpt", "Init", "RestartPolicy", "LogConfig",
             "IpcMode", "ShmSize", "CpusetCpus", "PortBindings"}  # fmt: skip
    assert set(host) <= asked
    assert set(body) <= {"Image", "Cmd", "Env", "Labels", "HostConfig", "Entrypoint", "ExposedPorts"}
