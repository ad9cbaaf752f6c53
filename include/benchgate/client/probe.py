"""Single requests before the load: what a chat template costs, and where harmony faults come from."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from benchgate.client.config import BenchConfig
from benchgate.client.datasets import PromptSource
from benchgate.client.datasets.synthetic import SyntheticSource
from benchgate.client.sender import Sender
from benchgate.client.template import Prompt, body_template
from benchgate.client.wire.drain import Drain
from benchgate.client.wire.pool import Pool
from benchgate.request_record import OK, RequestRecord

PROBE_TIMEOUT_S = 120.0
LENGTH_PROBE_WORDS = 256
ROOM = 4  # the roomy probe may write this many times max_tokens
_HARMONY = re.compile(r"gpt[-_.]?oss", re.IGNORECASE)


@dataclass(slots=True)
class ProbeResult:
    """What was sent, and what it means in words."""

    records: list[RequestRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def probe(config: BenchConfig, model: str, source: PromptSource, pool: Pool, drain: Drain) -> ProbeResult:
    """All probes that this configuration asks for."""
    result = ProbeResult()
    if isinstance(source, SyntheticSource) and config.warmup_requests == 0:
        # with a warm-up, its answers correct the length; without one, somebody has to ask
        await _length(config, model, source, pool, drain, result)
    if wants_harmony_probe(config, model):
        await _harmony(config, model, source, pool, drain, result)
    return result


def wants_harmony_probe(config: BenchConfig, model: str) -> bool:
    """Asked for, or a harmony model by its name on the chat endpoint."""
    if config.probe == "auto":
        return config.endpoint == "chat" and is_harmony(model)
    return config.probe == "harmony"


def is_harmony(model: str) -> bool:
    """Whether a model speaks harmony (the gpt-oss family): its chat endpoint must never be sent ``ignore_eos`` unasked.

    Forced past its end token, such a model leaves the format that the server's parser expects, and most answers end
    as ``Unexpected token 200002 while expecting start token 200006``.
    """
    return _HARMONY.search(model) is not None


async def _length(
    config: BenchConfig, model: str, source: SyntheticSource, pool: Pool, drain: Drain, result: ProbeResult
) -> None:
    words = min(LENGTH_PROBE_WORDS, source.filler_words)
    record = await _ask(
        replace(config, max_tokens=1, ignore_eos=False), model, source.probe_prompt(0, words), pool, drain, result
    )
    if record.prompt_tokens is None:
        result.notes.append("the server sends no usage: the chat template's share of the prompt length is a guess")
    else:
        source.learn_overhead(record.prompt_tokens, words)


async def _harmony(
    config: BenchConfig, model: str, source: PromptSource, pool: Pool, drain: Drain, result: ProbeResult
) -> None:
    """The same question with room and no ignore_eos, with the cell's cap, and exactly as the cell asks."""
    roomy = replace(config, ignore_eos=False, max_tokens=ROOM * config.max_tokens)
    capped = replace(config, ignore_eos=False)
    variants = [roomy, capped, *([config] if config.ignore_eos else [])]
    prompts = [source.warmup_prompt(config.warmup_requests + number) for number in range(len(variants))]
    answers = await asyncio.gather(
        *(_ask(variant, model, prompt, pool, drain, result) for variant, prompt in zip(variants, prompts, strict=True))
    )
    result.notes.append(harmony_cause(*answers))


def harmony_cause(roomy: RequestRecord, capped: RequestRecord, as_asked: RequestRecord | None = None) -> str:
    """Where harmony faults of this cell come from, by what the probes met.

    Args:
        roomy: without ignore_eos and with room to end its message.
        capped: without ignore_eos, with the cell's max_tokens.
        as_asked: with ignore_eos; None when the cell does not send it.
    """

    def faulty(record: RequestRecord | None) -> bool:
        return record is not None and record.status == "harmony_parse"

    if faulty(roomy):
        return f"harmony probe: faults come from the server (a plain chat with room fails: {roomy.error_message})"
    if faulty(capped):
        return (
            f"harmony probe: faults come from the cap (max_tokens {capped.max_tokens} fails, {roomy.max_tokens} does "
            f"not: {capped.error_message})"
        )
    if faulty(as_asked):
        assert as_asked is not None
        return f"harmony probe: faults come from ignore_eos (without it the same chat works: {as_asked.error_message})"
    broken = [record for record in (roomy, capped, as_asked) if record is not None and record.status != OK]
    if broken:
        return f"harmony probe: no harmony fault, but {broken[0].status}: {broken[0].error_message}"
    return "harmony probe: no fault"


def harmony_notes(records: Sequence[RequestRecord], *, ignore_eos: bool) -> list[str]:
    """What the harmony faults of the measured requests have in common."""
    faults = [record for record in records if record.phase == "measured" and record.status == "harmony_parse"]
    if not faults:
        return []
    near = sum(bool(record.near_cap) for record in faults)
    note = f"{len(faults)} harmony faults, {near} of them within 2 % of max_tokens"
    if near > len(faults) / 2:
        note += ": messages are cut by the cap; raise max_tokens"
    if ignore_eos:
        note += "; ignore_eos was sent, which makes a harmony model write on behind its end"
    return [note]


async def _ask(
    config: BenchConfig, model: str, prompt: Prompt, pool: Pool, drain: Drain, result: ProbeResult
) -> RequestRecord:
    path = "/chat/completions" if config.endpoint == "chat" else "/completions"
    sender = Sender(
        asyncio.get_running_loop(),
        pool,
        drain,
        body_template(config, model),
        path=pool.target.api_path + path,
        api_key=config.api_key,
        timeout_s=min(config.timeout_s, PROBE_TIMEOUT_S),
        idle_timeout_s=config.idle_timeout_s,
    )
    record = RequestRecord(len(result.records), phase="probe", max_tokens=config.max_tokens)
    result.records.append(record)
    try:
        await sender.send(prompt, record)
    finally:
        sender.close()
    return record
