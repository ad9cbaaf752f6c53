"""Inference engines. One file an engine; :func:`get_engine` finds it by the name that campaigns use."""

from __future__ import annotations

import importlib

from benchgate.engines.base import Engine
from benchgate.errors import BenchgateError

_ADAPTERS = {
    "vllm": ("benchgate.engines.vllm", "VllmEngine"),
    "sglang": ("benchgate.engines.sglang", "SglangEngine"),
    "llamacpp": ("benchgate.engines.llamacpp", "LlamacppEngine"),
}
ENGINE_NAMES = tuple(_ADAPTERS)


def get_engine(name: str) -> Engine:
    """The adapter of an engine, imported only now.

    Raises:
        BenchgateError: no such engine.
    """
    if name not in _ADAPTERS:
        raise BenchgateError(f"unknown engine {name!r}", remedy=f"engines are: {', '.join(_ADAPTERS)}")
    module, adapter = _ADAPTERS[name]
    engine: Engine = getattr(importlib.import_module(module), adapter)()
    return engine
