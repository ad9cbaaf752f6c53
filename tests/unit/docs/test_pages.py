"""What can be said of the pages without running anything: files parse, commands exist, links lead somewhere."""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from benchgate import cli
from benchgate.cli.bench_command import config_of
from benchgate.errors import BenchgateError, SpecError
from benchgate.spec.load import load_campaign, load_inventory
from tests.support.doc_pages import DOCS, NOT_RUN_HERE, PAGES, ROOT, Block, blocks, commands, every_block

SHELL = every_block("bash")
LANGUAGES = {"bash", "yaml", "sql", "ini", "python", "text"}
KNOWN_WORDS = {"fails", "engine", "postgres", "campaign", "campaign-refused", "hosts", *NOT_RUN_HERE}


def ids(block: Block) -> str:
    return block.name


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page: str) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, block.name
        unknown = {word for word in block.words if not word.startswith("file=")} - KNOWN_WORDS
        assert not unknown, f"{block.name}: {unknown}"


@pytest.mark.parametrize("block", SHELL, ids=ids)
def test_shell_blocks_are_shell(block: Block) -> None:
    result = subprocess.run(["bash", "-n"], input=block.text, text=True, capture_output=True, check=False)

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("block", SHELL, ids=ids)
def test_commands_of_benchgate_take_these_arguments(block: Block) -> None:
    for command in commands(block.text):
        for argv in benchgate_calls(command):
            parse(argv)


def benchgate_calls(command: str) -> list[list[str]]:
    """The arguments of every `benchgate` in a command line, also behind `docker compose run ..`."""
    command = re.sub(r'"\$\(.*?\)"', "VALUE", command)  # what a shell puts there
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    calls = []
    for index, word in enumerate(words):
        if word == "benchgate" and index and words[index - 1] == "-m":
            rest = words[index + 1 :]
            cut = next((i for i, other in enumerate(rest) if set(other) <= set(";|&<>()")), None)
            calls.append(rest[:cut])
    return calls


def parse(argv: list[str]) -> None:
    """Let the command's own parser read the arguments, and check what it asks of options together."""
    if argv == ["--help"]:
        return
    assert argv[0] in cli.COMMANDS, argv
    parser = argparse.ArgumentParser(prog=f"benchgate {argv[0]}", exit_on_error=False)
    importlib.import_module(f"benchgate.cli.{argv[0]}_command").add_arguments(parser)
    if "--help" in argv:
        return
    try:
        args = parser.parse_args(argv[1:])
        if argv[0] == "bench":
            config_of(args).check()
    except (argparse.ArgumentError, BenchgateError, SystemExit) as error:
        pytest.fail(f"{shlex.join(argv)}: {error}")


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_and_compose_services_exist(page: str) -> None:
    services = set(yaml.safe_load((ROOT / "docker-compose.yaml").read_text())["services"])
    for block in blocks(page):
        if block.language != "bash":
            continue
        for command in commands(block.text):
            words = shlex.split(command, posix=True)
            if words[0] == "make":
                targets = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
                assert set(targets) <= make_targets(), f"{block.name}: {command}"
            if words[:2] == ["docker", "compose"]:
                named = {word for word in words if word in services or word.startswith("airflow-")}
                assert named <= services, f"{block.name}: {named - services}"
    for word in re.findall(r"`make ([a-z-]+)`", (DOCS / f"{page}.md").read_text()):
        assert word in make_targets(), word


@pytest.mark.parametrize("block", every_block("yaml"), ids=ids)
def test_yaml_blocks_are_what_they_say(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "block.yaml"
    file.write_text(block.text)
    inventory = load_inventory(ROOT / "include" / "hosts.yaml")
    if "hosts" in block.words:
        load_inventory(file)
    elif "campaign-refused" in block.words:
        with pytest.raises(SpecError):
            load_campaign(file, inventory)
    elif "campaign" in block.words or any("campaigns/" in word for word in block.words):
        load_campaign(file, inventory)
    else:
        assert yaml.safe_load(block.text)


@pytest.mark.parametrize("block", every_block("ini"), ids=ids)
def test_settings_exist(block: Block) -> None:
    from airflow.configuration import conf

    source = "".join(
        path.read_text()
        for path in (ROOT / "include").rglob("*")
        if path.suffix in (".py", ".sh") or path.name == "Dockerfile"
    ) + "".join((ROOT / name).read_text() for name in ("docker-compose.yaml", ".env.example"))
    for line in block.text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, equals, _ = line.partition("=")
        assert equals, f"{block.name}: {line}"
        if name.startswith("AIRFLOW__"):
            _, section, key = name.split("__", 2)
            assert conf.has_option(section.lower(), key.lower()), f"{block.name}: {name}"
        elif not name.startswith(("AWS_", "OTEL_")):
            assert name in source, f"{block.name}: {name} is read by nobody"


@pytest.mark.parametrize("page", PAGES)
def test_links_and_named_files_are_there(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text()
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (DOCS / target).exists(), target
    for path in re.findall(r"`((?:tests|include|docs|benchmarks|dags|plugins)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES)
def test_lines_are_short_enough_to_review(page: str) -> None:
    promise = re.compile(r"^- .*`tests/\S+::test_\w+`$")
    lines = (DOCS / f"{page}.md").read_text().splitlines()

    assert not [line for line in lines if len(line) > 130 and line[:1] != "|" and not promise.match(line)]
