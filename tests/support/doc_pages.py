"""The fenced blocks of the pages for people, and what each kind of block promises.

The words behind the fence say what is done with it:

``bash``                     run, in the order of the page, in a copy of the project; must succeed
``bash fails``               run; must fail without a traceback
``bash engine``              run where the CPU engine is installed
``bash postgres``            run with a PostgreSQL warehouse
``bash compose``             run by the production tests; ``bash gpu|docker|kubernetes|long`` cannot run here. Of all of
                             these the syntax and each command's arguments are checked
``yaml file=PATH``           written to PATH of the copy
``yaml campaign``            loads with the shipped inventory; ``campaign-refused`` must not
``yaml hosts``               loads as an inventory
``sql``                      asked of the warehouse, on both databases
``ini``                      settings, one a line: those of Airflow must exist
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ("author", "operator", "analyst", "contributor", "threat-model", "kubernetes")
NOT_RUN_HERE = {"gpu", "docker", "compose", "kubernetes", "long"}
_FENCE = re.compile(r"^```(\S[^\n]*)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block. ``words`` stand behind the language."""

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        """For test ids."""
        return f"{self.page}.md:{self.line}"


def blocks(page: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    text = (DOCS / f"{page}.md").read_text()
    found = []
    for match in _FENCE.finditer(text):
        words = (match[1] or "").split()
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, words[0] if words else "", tuple(words[1:]), match[2]))
    return found


def every_block(language: str) -> list[Block]:
    """All blocks of a language, on every page."""
    return [block for page in PAGES for block in blocks(page) if block.language == language]


def commands(text: str) -> list[str]:
    """The commands of a shell block, one a string: joined lines, without comments. Here-documents are left out."""
    text = re.sub(r"<<'?(\w+)'?\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    joined = re.sub(r"\\\n\s*", " ", text)
    lines = [re.sub(r"(^|\s)#.*$", "", line).strip() for line in joined.splitlines()]
    return [line for line in lines if line]
