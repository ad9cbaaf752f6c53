"""What a measuring process needs of its system."""

from __future__ import annotations

import resource

import pytest

from benchgate.client.runtime import allow_files


@pytest.mark.parametrize(
    ("streams", "soft", "hard", "wanted"),
    [
        (4, 1024, 4096, None),
        (1024, 1024, 4096, 2304),
        (4000, 1024, 4096, 4096),  # as many as this user may
        (None, 1024, 1_048_576, 65_792),  # an open loop: its server may fall behind
        (None, 1024, 4096, 4096),
        (None, resource.RLIM_INFINITY, resource.RLIM_INFINITY, None),
    ],
)
def test_files_are_allowed_as_streams_need_them(
    streams: int | None, soft: int, hard: int, wanted: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, limits: asked.append(limits))

    allow_files(streams)

    assert asked == ([] if wanted is None else [(wanted, hard)])
