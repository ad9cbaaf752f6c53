"""One client process, without a process: a thread with its loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

from benchgate.client.channel import Begin, Channel, Done, Go
from benchgate.client.config import BenchConfig
from benchgate.client.datasets.synthetic import SyntheticSource, uncalibrated_words
from benchgate.client.process_main import _serve
from benchgate.client.runtime import event_loop
from benchgate.client.worker import Share

REQUESTS = 60  # their records are more than the kernel takes here, and less than a writer waits for


def test_a_process_stays_until_its_parent_has_taken_everything() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"  # nobody listens there: every request ends at once
    parent, child = socket.socketpair()
    parent.setblocking(False)
    child.setblocking(False)
    child.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    config = BenchConfig(url, prompt_tokens=64, request_rate=10_000.0, num_prompts=REQUESTS, warmup=0)
    words = uncalibrated_words()
    begin = Begin(config, "m", SyntheticSource(words.words, words.tokens_per_word, 64, 39, 1, []), Share(), False)

    def process() -> None:
        with event_loop(tls=False) as loop:
            loop.run_until_complete(_serve(child))

    async def talk() -> Any:
        channel = await Channel.over(parent)
        await channel.send(begin)
        await channel.send(Go(0.0))
        await asyncio.sleep(0.01)
        thread.join(1.0)  # we are busy: nothing is read
        message = await channel.receive()
        while message is not None and not isinstance(message, Done):
            message = await channel.receive()
        await channel.send(Go(0.0))  # said too late, and harmless
        channel.close()
        return message

    thread = threading.Thread(target=process)
    thread.start()
    done = asyncio.run(asyncio.wait_for(talk(), 30))
    thread.join(20)

    assert len(done.result.records) == REQUESTS
    assert not thread.is_alive()
