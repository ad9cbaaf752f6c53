"""Campaign files: what is accepted, and that every mistake is told with its line, field and remedy."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from benchgate.errors import SpecError
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.load import load_campaign, load_inventory, read_campaign
from tests.unit.spec.writing import CAMPAIGN, FIXTURES, one, problems

KERNELS = (FIXTURES / "kernels.yaml").read_text()


@pytest.fixture(scope="module")
def inventory():
    return load_inventory(FIXTURES / "hosts.yaml")


def edited(*pairs: tuple[str, str]) -> str:
    text = CAMPAIGN
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def test_the_campaign_of_the_design_loads(inventory):
    campaign = load_campaign(FIXTURES / "kernels.yaml", inventory)
    assert list(campaign.arms) == ["triton", "marlin"]
    assert campaign.workloads["document-126k"].prompt_tokens == 126000
    assert campaign.args_of("marlin") == {
        "data-parallel-size": 4,
        "max-model-len": 131072,
        "moe-backend": "marlin",
    }
    assert campaign.gates.needle.depths == [0.1, 0.5, 0.9]


def test_every_mistake_of_a_file_is_reported_with_its_line(inventory):
    with pytest.raises(SpecError) as caught:
        load_campaign(FIXTURES / "many-mistakes.yaml", inventory)
    found = {(problem.line, problem.field) for problem in caught.value.problems}
    assert found == {
        (2, "schedule"),
        (4, "model.id"),
        (5, "model.revison"),
        (6, "engine"),
        (8, "args.--max-model-len"),
        (9, "args.enable-prefix-caching"),
        (10, "args.api-key"),
        (12, "env.HF_TOKEN"),
        (13, "env.TIKTOKEN_ENCODINGS_BASE"),
        (14, "repeats"),
        (17, "arms.triton.placement"),
        (18, "arms.marlin"),
        (20, "arms.marlin.prov"),
        (21, "arms.marlin"),
        (23, "arms.nowhere.placement"),
        (26, "workloads.short-chat.dataset"),
        (27, "workloads.short-chat.users[1]"),
        (27, "workloads.short-chat.users[3]"),
        (28, "workloads.short-chat.max_tokens"),
        (29, "workloads.prompt-8k.users"),
        (32, "gates.error_rate.max"),
        (33, "gates.error_rate.workloads[0]"),
        (34, "baseline"),
    }
    assert [problem.line for problem in caught.value.problems] == sorted(
        problem.line for problem in caught.value.problems
    )


@pytest.mark.parametrize(
    ("pairs", "line", "field", "says"),
    [
        ([("engine: vllm", "engin: vllm")], 2, "engin", "did you mean engine? Allowed here: campaign, description"),
        ([("users: [1]", "user: [1]")], 8, "workloads.chat.user", "did you mean users?"),
        ([("needle:", "neddle:")], 10, "gates.neddle", "Allowed here: needle, error_rate"),
        ([("engine: vllm\n", "")], 1, "engine", "is missing"),
        ([("{id: m}", "{}")], 2 + 1, "model.id", "is missing"),
        ([("users: [1]", "users: [0]")], 8, "workloads.chat.users[0]", "must be greater than 0; is 0"),
        ([("users: [1]", "users: []")], 8, "workloads.chat.users", "needs at least 1 entry"),
        ([("users: [1]", "users: [true]")], 8, "workloads.chat.users[0]", "must be a whole number; is true"),
        ([("users: [1]", "users: [1.5]")], 8, "workloads.chat.users[0]", "must be a whole number; is 1.5"),
        ([("users: [1]", "users: ['1']")], 8, "workloads.chat.users[0]", "write it without quotes"),
        ([("users: [1]", "users: 8")], 8, "workloads.chat.users", "write [8]"),
        ([("users: [1]", "users: [8, 8]")], 8, "workloads.chat.users[1]", "use repeats instead"),
        ([("users: [1]", "request_rates: [1, 1.0]")], 8, "workloads.chat.request_rates[1]", "use repeats instead"),
        ([("users: [1]", "request_rates: [.inf]")], 8, "workloads.chat.request_rates[0]", "finite"),
        ([("users: [1]", "users: [1], request_rates: [1]")], 8, "workloads.chat", "either users (closed loop) or"),
        ([("users: [1]", "max_tokens: 4")], 8, "workloads.chat", "either users (closed loop) or"),
        ([("dataset: sharegpt", "dataset: synthetic")], 8, "workloads.chat", "needs prompt_tokens"),
        ([("users: [1]", "users: [1], prompt_tokens: 5")], 8, "workloads.chat", "belongs to the synthetic dataset"),
        ([("users: [1]", "users: [1], requests: 3, requests_per_user: 2")], 8, "workloads.chat", "requests_per_user"),
        ([("users: [1]", "users: [1], extra_body: {messages: []}")], 8, "workloads.chat", "must not hold messages"),
        ([("dataset: sharegpt", "dataset: shared")], 8, "workloads.chat.dataset", "nor the path of a JSON file"),
        ([("chat:", "'a chat':")], 8, "workloads.a chat", "is not a usable name"),
        ([("  a: {", "  a-: {")], 6, "arms.a-", "is not a usable name"),
        ([("{placement: h200/quad-a}", "{placement: quad-a}")], 6, "arms.a.placement", "written host/placement"),
        ([("{placement: h200/quad-a}", "{note: x}")], 6, "arms.a.placement", "is missing"),
        ([("engine: vllm", "engine: vllm\nbaseline: b")], 3, "baseline", "'b' is not an arm"),
        ([("needle:", "error_rate: {max: 0, workloads: [chatt]}\n  needle:")], 10,
         "gates.error_rate.workloads[0]", "unknown workload 'chatt'; did you mean chat? Workloads: chat"),
        ([("quad-a}", "quad-a, gates: {error_rate: {max: 0, workloads: [x]}}}")], 6,
         "arms.a.gates.error_rate.workloads[0]", "unknown workload 'x'"),
        ([("engine: vllm", "engine: vllm\nschedule: '@weakly'")], 3, "schedule", "must be cron or one of @daily"),
        ([("engine: vllm", "engine: vllm\nschedule: 0 0 31 2 *")], 3, "schedule", "never comes"),
        ([("engine: vllm", "engine: vllm\nschedule: '* * * * * *'")], 3, "schedule", "five fields are expected"),
        ([("engine: vllm", "engine: vllm\nschedule: 2")], 3, "schedule", "must be text; is 2; put it in quotes"),
        ([("engine: vllm", "engine: vllm\nswap_placements: on")], 3, "swap_placements", "only true and false"),
        ([("engine: vllm", "engine: vllm\nrepeats: 0")], 3, "repeats", "must be at least 1; is 0"),
        ([("engine: vllm", "engine: vllm\nargs: {port: 1}")], 3, "args.port", "the placement's port is used"),
        ([("engine: vllm", "engine: vllm\nargs: {a-b: 1, a_b: 2}")], 3, "args.a_b", "is also written a-b"),
        ([("engine: vllm", "engine: vllm\nargs: {--seed: 1}")], 3, "args.--seed", "without the leading dashes: seed"),
        ([("engine: vllm", "engine: vllm\nargs: {-seed: 1}")], 3, "args.-seed", "without the leading dashes: seed"),
        ([("engine: vllm", "engine: vllm\nargs: {-O: 3}")], 3, "args.-O", "short form; write the argument's long name"),
        ([("engine: vllm", "engine: vllm\nargs: {'--': 3}")], 3, "args.--", "is not an argument's name"),
        ([("engine: vllm", "engine: vllm\nargs: [--x]")], 3, "args", "must be a mapping of keys"),
        ([("engine: vllm", "engine: vllm\nargs: {x: [[1]]}")], 3, "args.x[0]", "must be"),
        ([("engine: vllm", "engine: vllm\nenv: {A: }")], 3, "env.A", "must be text; is empty"),
        ([("engine: vllm", "engine: vllm\nenv: {A: [1]}")], 3, "env.A", "must be text; is a list"),
        ([("engine: vllm", "engine: vllm\nenv: {1A: x}")], 3, "env.1A", "is not the name of an environment variable"),
        ([("engine: vllm", "engine: vllm\nenv: {TIKTOKEN_ENCODINGS_BASE: 'file:///v'}")], 3,
         "env.TIKTOKEN_ENCODINGS_BASE", "would not find the vocabulary; write /v"),
        ([("engine: vllm", "engine: vllm\nenv: {TIKTOKEN_ENCODINGS_BASE: ''}")], 3,
         "env.TIKTOKEN_ENCODINGS_BASE", "is empty"),
        ([("quad-a}", "quad-a, prove: {moe_kernal: x}}")], 6, "arms.a.prove.moe_kernal", "did you mean moe_kernel?"),
        ([("{id: m}", "{id: m, source: {folder: /a, package: b}}")], 3, "model.source", "exactly one of"),
        ([("{id: m}", "{id: m, source: {folder: /a, sha256: abc}}")], 3, "model.source.sha256", "expected form"),
        ([("campaign: small", "campaign: a/b")], 1, "campaign", "expected form"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_line_field_and_what_is_allowed(tmp_path, pairs, line, field, says):
    found = problems(load_campaign, tmp_path / "c.yaml", edited(*pairs))
    here = [problem for problem in found if problem.field == field]
    assert here, "\n".join(map(str, found))
    assert here[0].line == line
    assert says in here[0].message


def test_a_single_mistake_is_one_problem(tmp_path):
    problem = one(problems(load_campaign, tmp_path / "c.yaml", edited(("users: [1]", "users: [0]"))))
    assert str(problem) == f"{tmp_path / 'c.yaml'}:8: workloads.chat.users[0]: must be greater than 0; is 0"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", "hf_QmZkLpTrWx"),
        ("HF_TOKEN", "anything"),
        ("WANDB_API_KEY", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("DB_PASSWORD", "x"),
        ("HARMLESS", "sk-abcdefghijklmnopqrst"),
        ("PROXY", "http://user:geheim@proxy:3128"),
    ],
)
def test_a_secret_that_is_written_down_is_refused_and_not_repeated(tmp_path, name, value):
    text = edited(("engine: vllm", f"engine: vllm\nenv: {{{name}: '{value}'}}"))
    problem = one(problems(load_campaign, tmp_path / "c.yaml", text))
    assert problem.line == 3
    assert f"secrets: [{name}]" in problem.message
    assert value not in problem.message or value in {"x", "anything"}


def test_a_secret_in_a_field_of_the_wrong_type_is_not_repeated(tmp_path):
    text = edited(("engine: vllm", "engine: hf_QmZkLpTrWxAbCd"))
    assert "hf_Qm" not in str(one(problems(load_campaign, tmp_path / "c.yaml", text)))


def test_a_secret_value_in_the_list_of_names_is_not_repeated(tmp_path):
    text = edited(("engine: vllm", "engine: vllm\nsecrets: ['hf_Qm-ZkLpTrWxAbCd']"))
    problem = one(problems(load_campaign, tmp_path / "c.yaml", text))
    assert "hf_Qm" not in str(problem)
    assert problem.field == "secrets[0]"


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "VLLM_MAX_TOKENS", "HF_TOKEN_PATH", "NCCL_DEBUG"])
def test_a_harmless_variable_is_no_secret(tmp_path, name):
    file = tmp_path / "c.yaml"
    file.write_text(edited(("engine: vllm", f"engine: vllm\nenv: {{{name}: '1'}}")))
    assert load_campaign(file).env == {name: "1"}


def test_environment_values_are_what_stands_in_the_file(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(edited(("quad-a}", "quad-a, env: {A: 0, B: 1.10, C: true, D: on}}")))
    assert load_campaign(file).env_of("a") == {"A": "0", "B": "1.10", "C": "true", "D": "on"}


def test_numbers_with_an_exponent_are_numbers(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(edited(("users: [1]", "users: [1], requests: 1e3")))
    assert load_campaign(file).workloads["chat"].requests == 1000


def test_arguments_keep_their_types(tmp_path):
    file = tmp_path / "c.yaml"
    args = "{a: true, b: 0.85, c: 4, d: text, e: null, f: [1, x], g: {method: eagle3, n: 3}}"
    file.write_text(edited(("engine: vllm", f"engine: vllm\nargs: {args}")))
    assert load_campaign(file).args_of("a") == {
        "a": True, "b": 0.85, "c": 4, "d": "text", "f": [1, "x"], "g": {"method": "eagle3", "n": 3},
    }  # fmt: skip


def test_an_arm_removes_an_argument_of_the_campaign_with_null(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(
        edited(("engine: vllm", "engine: vllm\nargs: {x: 1, y: 2}"), ("quad-a}", "quad-a, args: {x: null}}"))
    )
    assert load_campaign(file).args_of("a") == {"y": 2}


def test_requests_grow_with_the_users_where_asked(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(edited(("users: [1]", "users: [1, 16], requests_per_user: 5")))
    workload = load_campaign(file).workloads["chat"]
    assert [workload.requests_at(users) for users, _ in workload.loads] == [5, 80]


class TestAgainstTheInventory:
    def test_a_placement_that_does_not_exist_names_those_that_do(self, tmp_path, inventory):
        text = edited(("h200/quad-a", "h200/quad-c"))
        problem = one(problems(lambda file: load_campaign(file, inventory), tmp_path / "c.yaml", text))
        assert problem.line == 6
        assert problem.field == "arms.a.placement"
        assert "h200/quad-a, h200/quad-b, spark/gpu, here/cpu, here/pinned" in problem.message

    def test_an_unknown_host_is_told_apart_from_an_unknown_placement(self, tmp_path, inventory):
        text = edited(("h200/quad-a", "h100/quad-a"))
        message = one(problems(lambda file: load_campaign(file, inventory), tmp_path / "c.yaml", text)).message
        assert "there is no host 'h100'; did you mean h200/quad-a?" in message

    def test_a_container_needs_an_image(self, tmp_path, inventory):
        text = edited(("image: i:1\n", ""))
        assert (
            "needs an image" in one(problems(lambda f: load_campaign(f, inventory), tmp_path / "c.yaml", text)).message
        )

    def test_a_process_takes_none(self, tmp_path, inventory):
        text = edited(("{placement: h200/quad-a}", "{placement: here/cpu, image: x}"))
        problem = one(problems(lambda f: load_campaign(f, inventory), tmp_path / "c.yaml", text))
        assert problem.field == "arms.a.image"

    def test_arms_cannot_swap_between_a_container_and_a_process(self, tmp_path, inventory):
        text = edited(("quad-a}", "quad-a}\n  b: {placement: here/cpu}"), ("engine:", "swap_placements: true\nengine:"))
        problem = one(problems(lambda f: load_campaign(f, inventory), tmp_path / "c.yaml", text))
        assert problem.line == 2
        assert "no arm fits both" in problem.message

    def test_groups_keep_unlike_placements_apart(self, tmp_path, inventory):
        file = tmp_path / "c.yaml"
        text = edited(("quad-a}", "quad-a}\n  b: {placement: here/cpu, group: cpu}"))
        file.write_text(text.replace("engine:", "swap_placements: true\nengine:"))
        assert load_campaign(file, inventory).group_of("b") == ["b"]

    def test_without_an_inventory_placements_are_not_checked(self, tmp_path):
        file = tmp_path / "c.yaml"
        file.write_text(edited(("h200/quad-a", "moon/base")))
        assert load_campaign(file).arms["a"].placement == "moon/base"


@pytest.mark.parametrize(
    ("pairs", "field", "says"),
    [
        ([("  needle: {context_tokens: 4096}", "  min_completed: 1")], "arms.a", "nothing of it can be published"),
        ([("users: [1]", "users: [1], ignore_eos: true")], "workloads.chat.ignore_eos", "harmony"),
        ([("engine:", "swap_placements: true\nengine:")], "swap_placements", "nothing to swap"),
    ],
)
def test_what_is_odd_but_allowed_is_a_warning(tmp_path, pairs, field, says):
    file = tmp_path / "c.yaml"
    file.write_text(edited(*pairs))
    warnings = read_campaign(file).warnings
    assert [warning.field for warning in warnings] == [field]
    assert says in warnings[0].message


def test_a_campaign_built_in_code_obeys_the_same_rules():
    data = yaml.safe_load(CAMPAIGN)
    assert CampaignSpec.model_validate(data).campaign == "small"
    data["env"] = {"HF_TOKEN": "hf_QmZkLpTrWxAbCd"}
    with pytest.raises(ValidationError) as caught:
        CampaignSpec.model_validate(data)
    assert "env.HF_TOKEN: is a secret" in str(caught.value)
    assert "hf_Qm" not in str(caught.value)


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += _places(inner, (*path, index))
    return found


WHOLE = yaml.safe_load(KERNELS)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | st.text(max_size=6) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.sampled_from(_places(WHOLE)), value=ODD)
def test_any_value_in_any_place_loads_or_is_a_spec_error(tmp_path, inventory, place, value):
    data = copy.deepcopy(WHOLE)
    target = data
    for part in place[:-1]:
        target = target[part]
    target[place[-1]] = value
    file = tmp_path / "any.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), encoding="utf-8")
    try:
        load_campaign(file, inventory)
    except SpecError as error:
        found = error.problems
    else:
        found = []
    assert all(problem.line for problem in found)


def test_the_file_is_named_as_it_was_given(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text("a: 1\n")
    with pytest.raises(SpecError) as caught:
        load_campaign("c.yaml")
    assert str(caught.value).startswith("c.yaml:1: ")


@pytest.mark.parametrize("level", [float("nan"), float("inf")])
@pytest.mark.parametrize("key", ["users", "request_rates"])
def test_a_load_that_is_no_number_is_a_spec_error(tmp_path, inventory, key, level):
    data = copy.deepcopy(WHOLE)
    workload = next(iter(data["workloads"]))
    data["workloads"][workload] = {**data["workloads"][workload], key: [level]}
    file = tmp_path / "odd.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")

    with pytest.raises(SpecError) as refused:
        load_campaign(file, inventory)

    assert any(problem.field.startswith(f"workloads.{workload}.{key}") for problem in refused.value.problems)
