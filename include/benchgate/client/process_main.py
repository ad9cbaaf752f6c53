"""One client process of several (``python -m benchgate.client.process_main FD [tls]``), started by ``processes.py``."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys

from benchgate.client.channel import Begin, Channel, Done, Failed, Go, Ready, Report, StopNow
from benchgate.client.runtime import event_loop, no_garbage_collection
from benchgate.client.wire.target import parse_target
from benchgate.client.worker import Worker
from benchgate.errors import BenchgateError
from benchgate.secrets import register

REPORT_EVERY_S = 0.2


async def _serve(sock: socket.socket) -> None:
    channel = await Channel.over(sock)
    begin = await channel.receive()
    if not isinstance(begin, Begin):
        return
    register(begin.config.api_key)
    try:
        target = parse_target(begin.config.base_url, ca_file=begin.config.ca_file)
    except BenchgateError as error:
        await channel.send(Failed(str(error)))
        return
    worker = Worker(begin.config, target, begin.model, begin.source, share=begin.share, keep_text=begin.keep_text)
    start: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    listener = asyncio.ensure_future(_listen(channel, worker, start))
    try:
        await _work(channel, worker, start)
        await listener  # until the parent has taken everything: what it tells one that has left would cost it the rest
    finally:
        listener.cancel()
        channel.close()


async def _work(channel: Channel, worker: Worker, start: asyncio.Future[float]) -> None:
    try:
        await worker.warm_up()
        await channel.send(Ready())
        with no_garbage_collection():
            start_at = await start
            reporter = asyncio.ensure_future(_report(channel, worker))
            result = await worker.measure(start_at)
            reporter.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reporter
        await channel.send(Report(worker.counts()))
        await channel.send(Done(result))
    finally:
        await worker.close()


async def _listen(channel: Channel, worker: Worker, start: asyncio.Future[float]) -> None:
    while True:
        message = await channel.receive()
        if isinstance(message, Go) and not start.done():
            start.set_result(message.start_at)
        else:  # StopNow, or None: the parent is gone, and so is the reason to go on
            worker.stop.set(message.reason if isinstance(message, StopNow) else "interrupt")
            if not start.done():
                start.set_result(0.0)
            if message is None:
                return


async def _report(channel: Channel, worker: Worker) -> None:
    while True:
        await asyncio.sleep(REPORT_EVERY_S)
        await channel.send(Report(worker.counts()))


def main() -> None:
    """Serve the parent on the socket whose number is the first argument."""
    for one in (signal.SIGINT, signal.SIGTERM):  # the parent tells us when to end
        signal.signal(one, signal.SIG_IGN)
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.setblocking(False)
    with event_loop(tls=sys.argv[2:] == ["tls"]) as loop:
        loop.run_until_complete(_serve(sock))


if __name__ == "__main__":
    main()
