"""Where prompts come from. A source is a pure function of (seed, index): any process can make any prompt."""

from __future__ import annotations

from typing import Protocol

from benchgate.client.template import Prompt


class PromptSource(Protocol):
    """A dataset, prepared. ``prompt(index)`` is fast, needs no network, and gives the same prompt every time."""

    notes: list[str]  # what a reader of the cell should know: repeats, approximations

    def prompt(self, index: int) -> Prompt:
        """The prompt of a measured request. Indexes from 0."""
        ...

    def warmup_prompt(self, index: int) -> Prompt:
        """Prompts of the same shape that no measured request uses."""
        ...
