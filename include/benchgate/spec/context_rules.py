"""Does what is asked fit into the context that the server is started with, as far as its arguments say?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchgate.spec.rules import Complaint, as_map

# the argument that states the context of a request, by engine, in the spellings that it has
_CONTEXT = {"vllm": ("max_model_len",), "sglang": ("context_length",), "llamacpp": ("ctx_size", "c")}
_SLOTS = ("parallel", "np")
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class StatedContext:
    """What an arm's arguments say about its context."""

    argument: str  # as it is written
    tokens: int
    slots: int | None = None  # llama.cpp splits the context over them, unless they share one

    @property
    def words(self) -> str:
        """The limit, for a message."""
        return f"{self.argument}: {self.tokens}"


def stated_context(engine: object, args: Mapping[str, object]) -> StatedContext | None:
    """The context that arguments state; None where they leave it to the model or say it in another way."""
    plain = {name.replace("-", "_"): (name, value) for name, value in args.items() if value is not None}
    for spelling in _CONTEXT.get(str(engine), ()):
        name, value = plain.get(spelling, ("", None))
        tokens = _tokens(value)
        if tokens:
            slots = next((_tokens(plain[key][1]) for key in _SLOTS if key in plain), None)
            return StatedContext(name, tokens, slots if engine == "llamacpp" else None)
    return None


def context_complaints(campaign: Mapping[str, object]) -> Iterator[Complaint]:
    """A needle check longer than the context refuses its arm every night; a prompt longer than it is only errors.

    Said of arms that are to be published alone: one may be meant to show that it cannot.
    """
    for name, arm in as_map(campaign.get("arms")).items():
        arm = as_map(arm)
        if arm.get("expect", "published") != "published":
            continue
        stated = stated_context(
            arm.get("engine") or campaign.get("engine"), {**as_map(campaign.get("args")), **as_map(arm.get("args"))}
        )
        if stated is not None:
            yield from _needle(name, arm, campaign, stated)
            yield from _workloads(name, campaign, stated)


def _needle(
    name: str, arm: Mapping[str, object], campaign: Mapping[str, object], stated: StatedContext
) -> Iterator[Complaint]:
    own = isinstance(arm.get("gates"), Mapping)
    gates = as_map(arm.get("gates") if own else campaign.get("gates"))
    asked = as_map(gates.get("needle")).get("context_tokens")
    if not isinstance(asked, int) or isinstance(asked, bool):
        return
    path = ("arms", name, "gates", "needle", "context_tokens") if own else ("gates", "needle", "context_tokens")
    if asked > stated.tokens:
        yield Complaint(
            path, f"is {asked}, more than the context of arm {name} ({stated.words}): its needle check can never pass"
        )
    elif stated.slots and asked > stated.tokens // stated.slots:
        yield Complaint(
            path,
            f"is {asked}, and arm {name} splits {stated.words} over {stated.slots} slots: "
            f"{stated.tokens // stated.slots} for each, unless they share it",
            warning=True,
        )


def _workloads(name: str, campaign: Mapping[str, object], stated: StatedContext) -> Iterator[Complaint]:
    for workload, spec in as_map(campaign.get("workloads")).items():
        prompt, answer = as_map(spec).get("prompt_tokens"), as_map(spec).get("max_tokens", 256)
        if not all(isinstance(part, int) and not isinstance(part, bool) for part in (prompt, answer)):
            continue
        if prompt + answer > stated.tokens:  # type: ignore[operator]
            yield Complaint(
                ("workloads", workload, "prompt_tokens"),
                f"{prompt} prompt and {answer} answer tokens do not fit the context of arm {name} ({stated.words})",
                warning=True,
            )


def _tokens(value: object) -> int | None:
    """``131072`` and vLLM's ``128k`` as tokens; None for anything that is no plain positive number."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    match = re.fullmatch(r"(\d{1,12}(?:\.\d+)?)([kKmMgG]?)", str(value))
    tokens = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    return tokens or None
