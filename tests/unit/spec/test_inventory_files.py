"""The inventory: hosts, placements, what clashes and what overlaps."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from benchgate.spec.hosts import HostSpec, Inventory, PlacementSpec
from benchgate.spec.load import load_inventory, read_inventory
from tests.unit.spec.writing import FIXTURES, one, problems


def docker_host(placements: str, more: str = "") -> str:
    return f"hosts:\n  h:\n    docker_url: unix:///var/run/docker.sock\n{more}    placements:\n{placements}"


def test_the_inventory_loads_with_its_defaults():
    inventory = load_inventory(FIXTURES / "hosts.yaml")
    assert inventory.refs == ["h200/quad-a", "h200/quad-b", "spark/gpu", "here/cpu", "here/pinned"]
    _, quad = inventory.placement("h200/quad-a")
    assert (quad.gpus, quad.port) == (["0", "1", "2", "3"], 8000)
    _, cpu = inventory.placement("here/cpu")
    assert cpu.port == 0
    assert inventory.placement("h200/none") is None
    assert inventory.placement("none/quad-a") is None


@pytest.mark.parametrize(
    ("text", "line", "field", "says"),
    [
        (docker_host("      p: {gpu: [0]}\n"), 5, "hosts.h.placements.p.gpu", "did you mean gpus?"),
        (docker_host("      p: {gpus: 0}\n"), 5, "hosts.h.placements.p.gpus", "write [0]"),
        (docker_host("      p: {gpus: [0, 0]}\n"), 5, "hosts.h.placements.p.gpus[1]", "already listed"),
        (docker_host("      p: {gpus: [all, 0]}\n"), 5, "hosts.h.placements.p.gpus[0]", "stands alone"),
        ("hosts:\n  h: {kind: process, placements: {p: {gpus: [all]}}}\n", 2, "hosts.h.placements.p.gpus[0]", "index"),
        (docker_host("      p: {gpus: [-1]}\n"), 5, "hosts.h.placements.p.gpus[0]", "a UUID or all"),
        (docker_host("      p: {gpus: [0, one]}\n"), 5, "hosts.h.placements.p.gpus[1]", "is 'one'"),
        (docker_host("      p: {gpus: ['0,1']}\n"), 5, "hosts.h.placements.p.gpus[0]", "an index"),
        (docker_host("      p: {}\n", "    client_image: x@sha256:1\n"), 4, "hosts.h.client_image", "64 hexadecimal"),
        (docker_host("      p: {gpus: [true]}\n"), 5, "hosts.h.placements.p.gpus[0]", "must be text"),
        (docker_host("      p: {cpus: 0..7}\n"), 5, "hosts.h.placements.p.cpus", "expected form"),
        (docker_host("      p: {port: 70000}\n"), 5, "hosts.h.placements.p.port", "less than 65536"),
        (docker_host("      p: {port: 0}\n"), 5, "hosts.h.placements.p.port", "process hosts"),
        (docker_host("      p: {}\n      p: {}\n"), 6, "hosts.h.placements.p", "written twice"),
        (docker_host("      {}\n"), 4, "hosts.h.placements", "at least 1 entry"),
        (docker_host("      a: {port: 9000}\n      b: {port: 9000}\n"), 6, "hosts.h.placements.b.port", "port of a"),
        (docker_host("      p: {}\n", "    tls: {ca: a, cert: b}\n"), 4, "hosts.h.tls.key", "is missing"),
        (docker_host("      p: {}\n", "    tls: {ca: a, cert: b, key: c}\n"), 2, "hosts.h", "tls belongs to a tcp://"),
        (docker_host("      p: {}\n", "    hub_cache: cache\n"), 4, "hosts.h.hub_cache", "absolute path"),
        (docker_host("      p: {}\n", "    egress: false\n    fetch: host\n"), 5, "hosts.h.fetch", "without egress"),
        ("hosts:\n  h: {kind: process, fetch: host, placements: {p: {}}}\n", 2, "hosts.h.fetch", "for Docker hosts"),
        (docker_host("      p: {}\n", "    queue: a b,c\n"), 4, "hosts.h.queue", "one queue, without spaces"),
        (docker_host("      p: {}\n", "    queue: ''\n"), 4, "hosts.h.queue", "is ''"),
        (docker_host("      p: {}\n", "    queue: --site\n"), 4, "hosts.h.queue", "is '--site'"),
        (docker_host("      p: {}\n", "    fetch: hots\n"), 4, "hosts.h.fetch", "did you mean host?"),
        ("hosts:\n  h: {placements: {p: {}}}\n", 2, "hosts.h", "either docker_url or docker_conn_id"),
        ("hosts:\n  h: {kind: process, docker_url: unix:///x, placements: {p: {}}}\n", 2, "hosts.h", "this machine"),
        ("hosts:\n  h: {kind: dockr, placements: {p: {}}}\n", 2, "hosts.h.kind", "did you mean docker?"),
        ("hosts:\n  h: {docker_url: 10.0.0.1, placements: {p: {}}}\n", 2, "hosts.h.docker_url", "must begin"),
        ("hosts:\n  h: {docker_url: 'ssh://u:pw@h', placements: {p: {}}}\n", 2, "hosts.h.docker_url", "a password"),
        ("hosts:\n  h: {docker_url: 'ssh://u@h', vocab_dir: ~/v, placements: {p: {}}}\n", 2, "hosts.h.vocab_dir",
         "say what that is with home"),
        ("hosts:\n  h: {kind: process, placements: {a: {port: 80}, b: {port: 80}}}\n", 2, "hosts.h.placements.b.port",
         "or 0 for any free one"),
        ("hosts: {a-b: {kind: process, placements: {c: {}}}, a: {kind: process, placements: {b-c: {}}}}\n", 1,
         "hosts.a.placements.b-c", "would hold the same lease as a-b/c"),
        ("hosts: {}\n", 1, "hosts", "at least 1 entry"),
        ("host: {}\n", 1, "host", "did you mean hosts?"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_line_and_field(tmp_path, text, line, field, says):
    found = [problem for problem in problems(load_inventory, tmp_path / "h.yaml", text) if problem.field == field]
    assert found
    assert found[0].line == line
    assert says in found[0].message


def test_gpus_are_named_by_index_or_uuid(tmp_path):
    named = ["0", "15", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "MIG-GPU-8932f937/1/0", "0:1"]
    (tmp_path / "h.yaml").write_text(docker_host(f"      p: {{gpus: {named}}}\n"))
    assert load_inventory(tmp_path / "h.yaml").hosts["h"].placements["p"].gpus == named


def test_a_password_in_a_url_is_not_repeated(tmp_path):
    text = "hosts:\n  h: {docker_url: 'tcp://u:geheim@h:1', placements: {p: {}}}\n"
    assert "geheim" not in str(one(problems(load_inventory, tmp_path / "h.yaml", text)))


def test_containers_may_share_the_default_port_and_processes_get_any_free_one(tmp_path):
    file = tmp_path / "h.yaml"
    file.write_text(docker_host("      a: {}\n      b: {}\n") + "  l: {kind: process, placements: {a: {}, b: {}}}\n")
    hosts = load_inventory(file).hosts
    assert [place.port for place in hosts["h"].placements.values()] == [8000, 8000]
    assert [place.port for place in hosts["l"].placements.values()] == [0, 0]


class TestPlacementsThatShareGpus:
    def test_are_allowed_and_said(self, tmp_path):
        file = tmp_path / "h.yaml"
        file.write_text(
            docker_host("      half: {gpus: [0, 1], port: 1}\n      whole: {gpus: [0, 1, 2, 3], port: 1}\n")
        )
        found = read_inventory(file)
        warning = one(found.warnings)
        assert (warning.line, warning.field) == (6, "hosts.h.placements.whole.gpus")
        assert "shares GPU 0, 1 with half" in warning.message
        assert found.spec.overlaps("h/half", "h/whole") == ["0", "1"]

    def test_all_overlaps_everything_with_a_gpu_on_its_host(self, tmp_path):
        file = tmp_path / "h.yaml"
        file.write_text(docker_host("      one: {gpus: [1]}\n      every: {gpus: [all]}\n      none: {}\n"))
        inventory = read_inventory(file).spec
        assert inventory.overlaps("h/one", "h/every") == ["all"]
        assert inventory.overlaps("h/none", "h/every") == []

    def test_equal_indexes_of_different_hosts_do_not_overlap(self):
        place = {"p": PlacementSpec(gpus=["0"])}
        hosts = {name: HostSpec(docker_url=f"ssh://{name}", placements=place) for name in ("a", "b")}
        inventory = Inventory(hosts=hosts)
        assert inventory.overlaps("a/p", "b/p") == []
        assert inventory.overlaps("a/p", "a/unknown") == []


def test_tilde_is_the_home_that_the_host_names():
    remote = HostSpec(docker_url="ssh://h", home="/home/bench/", placements={"p": PlacementSpec()})
    assert remote.absolute("~/models") == "/home/bench/models"
    assert remote.absolute("/data") == "/data"
    local = HostSpec(docker_url="unix:///x", placements={"p": PlacementSpec()})
    assert local.absolute("~/models") == str(Path.home() / "models")


def test_an_inventory_built_in_code_obeys_the_same_rules():
    host = {"kind": "process", "placements": {"a": {"port": 80}, "b": {"port": 80}}}
    with pytest.raises(ValidationError, match="also the port of a"):
        Inventory.model_validate({"hosts": {"h": host}})


@pytest.mark.parametrize("queue", ["site-a", "default", "rz1.h200_x", "site:a"])
def test_a_queue_is_one_name(tmp_path, queue):
    (tmp_path / "h.yaml").write_text(docker_host("      p: {}\n", f"    queue: '{queue}'\n"))
    assert load_inventory(tmp_path / "h.yaml").hosts["h"].queue == queue


class TestTwoHostsOnOneEngine:
    @staticmethod
    def said(tmp_path: Path, one_host: str, other: str) -> list[tuple[int | None, str, str]]:
        file = tmp_path / "h.yaml"
        hosts = f"  one: {{{one_host}, placements: {{p: {{}}}}}}\n  two: {{{other}, placements: {{p: {{}}}}}}\n"
        file.write_text(f"hosts:\n{hosts}")
        return [(each.line, each.field, each.message) for each in read_inventory(file).warnings]

    @pytest.mark.parametrize(
        ("key", "one_host", "other"),
        [
            ("docker_url", "ssh://h200", "ssh://h200/"),
            ("docker_url", "ssh://h200, queue: a", "ssh://h200, queue: b"),
            ("docker_url", "'unix:///var/run/docker.sock'", "'unix:///var/run/docker.sock'"),
            ("docker_conn_id", "lab", "lab"),
        ],
    )
    def test_are_told(self, tmp_path, key, one_host, other):
        ((line, field, message),) = self.said(tmp_path, f"{key}: {one_host}", f"{key}: {other}")
        assert (line, field) == (3, f"hosts.two.{key}")
        assert "is also the engine of one" in message

    @pytest.mark.parametrize(
        ("one_host", "other"),
        [
            ("docker_url: ssh://h200", "docker_url: ssh://h100"),
            (
                "docker_url: 'unix:///var/run/docker.sock', queue: a",
                "docker_url: 'unix:///var/run/docker.sock', queue: b",
            ),
            ("kind: process", "kind: process"),
            ("docker_conn_id: lab", "docker_conn_id: lab-2"),
        ],
    )
    def test_are_not_what_others_are(self, tmp_path, one_host, other):
        assert self.said(tmp_path, one_host, other) == []
