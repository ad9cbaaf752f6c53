"""Before the load: is the server there, which model, which tokenizer, which prompts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchgate.client.config import BenchConfig, OptionError
from benchgate.client.datasets import PromptSource
from benchgate.client.datasets.counting import Approximation, TokenCounter, choose_counter
from benchgate.client.datasets.synthetic import (
    TEMPLATE_GUESS,
    SyntheticSource,
    calibrate_words,
    uncalibrated_words,
)
from benchgate.client.probe import probe
from benchgate.client.wire.calls import CallFailed, call_json
from benchgate.client.wire.drain import Drain
from benchgate.client.wire.pool import ConnectError, Pool
from benchgate.errors import MeasureFailed
from benchgate.request_record import RequestRecord


@dataclass(slots=True)
class Prepared:
    """What the load needs."""

    model: str
    counter: TokenCounter
    source: PromptSource
    notes: list[str] = field(default_factory=list)
    records: list[RequestRecord] = field(default_factory=list)  # of probes
    tokenize_refused: str | None = None  # why the server's /tokenize counts nothing; None: it does, or a file agrees


async def prepare(config: BenchConfig, pool: Pool, drain: Drain) -> Prepared:
    """Look at the server and build the prompts.

    Raises:
        MeasureFailed: the server cannot be reached, or names no model.
        OptionError, DatasetError: what was asked for cannot work.
    """
    check_dataset(config.dataset)
    model = await find_model(config, pool)
    try:
        return await _prepare(config, model, pool, drain)
    except ConnectError as error:
        raise MeasureFailed(
            f"the server at {config.base_url} cannot be reached any more: {error}", remedy="is it still running?"
        ) from None
    except CallFailed as error:
        raise MeasureFailed(
            f"the server at {config.base_url} answers nothing usable: {error}",
            remedy="is --base-url the address of an inference server?",
        ) from None


def check_dataset(dataset: str) -> None:
    """Refuse a dataset that is no file before anything is asked of a server.

    Raises:
        OptionError: it is neither ``synthetic`` nor the path of a file.
    """
    path = Path(dataset)
    if dataset == "synthetic" or path.is_file():
        return
    what = "is a folder" if path.is_dir() else "is no regular file" if path.exists() else "no such file"
    raise OptionError(f"--dataset {dataset}: {what}", remedy="give synthetic, or the path of a ShareGPT JSON file")


async def _prepare(config: BenchConfig, model: str, pool: Pool, drain: Drain) -> Prepared:
    known = config.tokenize_refused
    choice = await choose_counter(pool, model, tokenizer=config.tokenizer, api_key=config.api_key, refused=known)
    counter, refused = choice.counter, choice.refused
    try:
        source = await _source(config, counter)
    except (CallFailed, ConnectError) as error:  # it tokenized at first and then no longer
        counter, refused = Approximation(), str(error)
        source = await _source(config, counter)
    notes = []
    if refused is not None:
        again = " again" if known else ""
        notes.append(
            f"the server's /tokenize is not asked{again}: {refused}; tokens are counted by {counter.described}"
        )
    probed = await probe(config, model, source, pool, drain)
    notes += [*source.notes, *probed.notes]
    return Prepared(model, counter, source, notes, probed.records, refused)


async def _source(config: BenchConfig, counter: TokenCounter) -> PromptSource:
    if config.dataset == "synthetic":
        return await _synthetic(config, counter)
    from benchgate.client.datasets.sharegpt import sharegpt_source

    return await sharegpt_source(
        config.dataset,
        counter,
        requests=config.num_prompts,
        warmup=config.warmup_requests,
        seed=config.seed,
        allow_truncated=config.allow_truncated,
    )


async def find_model(config: BenchConfig, pool: Pool) -> str:
    """``--model``, or the first that the server lists. Also the first contact: says clearly when nobody answers."""
    path = f"{pool.target.api_path}/models"
    try:
        if config.model is not None:
            connection = await pool.connect()
            pool.release(connection)
            return config.model
        status, answer = await call_json(pool, "GET", path, api_key=config.api_key)
    except ConnectError as error:
        raise MeasureFailed(
            f"the server at {config.base_url} cannot be reached: {error}",
            remedy="start it, or correct --base-url",
        ) from None
    except CallFailed as error:
        raise MeasureFailed(
            f"the server at {config.base_url} lists no models: {error}", remedy="name the model with --model"
        ) from None
    name = _first_model(answer)
    if status != 200 or name is None:
        raise MeasureFailed(
            f"the server at {config.base_url} lists no models: {path} answered {status}",
            remedy="name the model with --model, or give the API key if it asks for one",
        )
    return name


def _first_model(answer: Any) -> str | None:
    data = answer.get("data") if isinstance(answer, dict) else None
    if isinstance(data, list) and data and isinstance(data[0], dict):
        name = data[0].get("id")
        return str(name) if name else None
    return None


async def _synthetic(config: BenchConfig, counter: TokenCounter) -> SyntheticSource:
    assert config.prompt_tokens is not None
    template = TEMPLATE_GUESS if config.endpoint == "chat" else 0
    notes: list[str] = []
    approximate = counter.source == "approximation"
    words = uncalibrated_words() if approximate else await calibrate_words(counter)
    empty = SyntheticSource(words.words, words.tokens_per_word, 1, 0, config.seed).empty_text()
    if approximate:
        around = len(empty.split())
        notes.append("prompt lengths are approximated and corrected by the usage of the first answers")
    else:
        around = (await counter.count([empty]))[0]
    if config.prompt_tokens < around + template:
        notes.append(
            f"--prompt-tokens {config.prompt_tokens} is less than an empty prompt takes, about {around + template}"
        )
    return SyntheticSource(
        words.words, words.tokens_per_word, config.prompt_tokens, around + template, config.seed, notes
    )
