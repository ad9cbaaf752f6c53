"""What an operator types in the clone: the shell blocks of docs/operator.md, on the stack of the tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.production.stack import ROOT, Stack
from tests.support.doc_pages import Block, blocks, commands

_DOCKER = """#!/bin/sh
# docker, whose compose has the project and the files of the tests
[ "$1" = compose ] || exec {docker} "$@"
shift
exec {compose} "$@"
"""


def block_with(words: str) -> Block:
    """The compose block of the operator's page that has these words."""
    (found,) = [block for block in blocks("operator") if "compose" in block.words and words in block.text]
    return found


def commands_with(block: Block, words: str) -> str:
    """Those commands of a block that have these words."""
    return "\n".join(command for command in commands(block.text) if words in command)


class Operator:
    """Somebody at a shell in the clone, who has run ``make setup``."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.tools = stack.site / "tools"
        self.tools.mkdir(exist_ok=True)
        docker = self.tools / "docker"
        real = next(Path(folder, "docker") for folder in os.get_exec_path() if Path(folder, "docker").exists())
        docker.write_text(_DOCKER.format(docker=real, compose=" ".join(stack.compose_command())))
        docker.chmod(0o755)
        environment = stack.folder / ".venv"
        environment.mkdir(exist_ok=True)
        for part in (ROOT / ".venv").iterdir():
            if part.name != ".installed" and not (environment / part.name).exists():
                (environment / part.name).symlink_to(part)
        (environment / ".installed").touch()

    def types(self, text: str, *, answers: str = "") -> str:
        """Run shell text as it stands, with ``answers`` for what it asks; gives what it printed."""
        path = f"{self.tools}:{os.environ['PATH']}"
        env = {**self.stack.environment(), "PATH": path, "PYTHONPATH": str(self.stack.folder / "include")}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.stack.folder, env=env, input=answers, capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{text}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout
