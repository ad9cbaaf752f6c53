"""The server's own metrics around a cell: a snapshot before, samples, one after."""

from __future__ import annotations

import threading

import pytest

from benchgate.errors import HostError
from benchgate.records import GpuSample, ServerMetricsSnapshot
from benchgate.steps.server_metrics import MetricsWatch


class Server:
    """Counts how often it was asked; busy for the first ``busy`` times; says when it was asked ``enough`` times."""

    def __init__(self, *, busy: int = 0, enough: int = 4) -> None:
        self.asked, self.busy, self.enough = 0, busy, threading.Event()
        self._wanted = enough

    def page(self) -> tuple[int, bytes]:
        self.asked += 1
        if self.asked >= self._wanted:
            self.enough.set()
        return 200, str(self.asked).encode()

    def parse(self, text: str, at: str) -> ServerMetricsSnapshot:
        return ServerMetricsSnapshot(at=at, running=1 if int(text) <= self.busy else 0, prompt_tokens_total=int(text))


def test_there_is_a_snapshot_before_and_after_and_samples_between() -> None:
    server = Server()
    watch = MetricsWatch(server.page, server.parse, every_s=0.01)

    with watch.watching():
        assert server.enough.wait(10)

    result = watch.result
    assert result is not None
    assert result.before is not None
    assert result.after is not None
    seen = [snapshot.prompt_tokens_total for snapshot in [result.before, *result.samples, result.after]]
    assert seen == list(range(1, server.asked + 1))
    assert len(result.samples) >= 2


def test_a_server_that_is_still_busy_is_waited_for_before_and_after() -> None:
    server = Server(busy=2)
    watch = MetricsWatch(server.page, server.parse, every_s=60)

    with watch.watching():
        pass

    result = watch.result
    assert result is not None
    assert result.before is not None
    assert (result.before.prompt_tokens_total, result.before.running) == (3, 0)


def test_what_breaks_off_has_no_snapshot_after_it() -> None:
    server = Server()
    watch = MetricsWatch(server.page, server.parse, every_s=60)

    with pytest.raises(KeyboardInterrupt), watch.watching():
        raise KeyboardInterrupt

    assert watch.result is not None
    assert watch.result.before is not None
    assert watch.result.after is None


@pytest.mark.parametrize("answer", [(404, b""), HostError("no answer")])
def test_a_server_without_metrics_gives_none(answer: tuple[int, bytes] | HostError) -> None:
    def page() -> tuple[int, bytes]:
        if isinstance(answer, HostError):
            raise answer
        return answer

    watch = MetricsWatch(page, Server().parse, every_s=0.01)

    with watch.watching():
        pass

    assert watch.result is None


def test_gpus_that_do_not_answer_are_not_asked_again() -> None:
    server, asked = Server(), []

    def gpus() -> list[GpuSample]:
        asked.append(server.asked)
        raise HostError("no nvidia-smi")

    watch = MetricsWatch(server.page, server.parse, every_s=0.01, gpu=gpus)

    with watch.watching():
        assert server.enough.wait(10)

    assert len(asked) == 1
    assert watch.gpu == []
