"""Fixtures that every test may use."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("benchgate", deadline=None)  # timing is never asserted: machines are busy
settings.load_profile("benchgate")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell starts what it puts into the background deaf to Ctrl-C, which tests send and whatever they start inherits
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def benchgate_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private BENCHGATE_HOME, so that no test sees another's state."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("BENCHGATE_HOME", str(home))
    for name in ("BENCHGATE_ARTIFACTS", "BENCHGATE_WAREHOUSE", "BENCHGATE_INCLUDE", "BENCHGATE_HOSTS"):
        monkeypatch.delenv(name, raising=False)
    return home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fast tests first, the browser last: its driver keeps an event loop running in this thread until the end."""

    def turn(item: pytest.Item) -> int:
        path = item.path.as_posix()
        if "/integration/ui/" in path or item.get_closest_marker("browser"):
            return 3
        return 0 if "/tests/unit/" in path else 1 if "/tests/dags/" in path else 2

    items.sort(key=turn)
