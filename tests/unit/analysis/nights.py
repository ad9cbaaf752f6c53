"""Series of nights with known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchgate.analysis.measures import BY_NAME
from benchgate.analysis.series import Night, NightlySeries

FACTS = {"metric_definition": "1", "client_name": "benchgate", "token_count_source": "usage"}


def series(
    values: Sequence[float],
    *,
    metric: str = "decode_tok_s",
    fingerprints: Sequence[Mapping[str, str | None]] | None = None,
    facts: Sequence[Mapping[str, object]] | None = None,
    spread: float | None = None,
    users: int = 64,
) -> NightlySeries:
    """One value a night."""
    nights = tuple(
        Night(
            night=str(np.datetime64("2026-01-01") + i),
            run=f"k.n{i}",
            value=float(v),
            spread=spread,
            fingerprint=fingerprints[i] if fingerprints else {},
            facts=facts[i] if facts else FACTS,  # type: ignore[arg-type]
        )
        for i, v in enumerate(values)
    )
    return NightlySeries("k", "marlin", "h200/quad-a", "short-chat", users, None, BY_NAME[metric], nights)


def noisy(rng: np.random.Generator, nights: int, *, noise: float = 0.03, level: float = 16055.0) -> np.ndarray:
    """A level with independent noise."""
    return level * np.exp(rng.normal(0, noise, nights))
