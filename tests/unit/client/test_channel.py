"""Messages between the client's processes."""

from __future__ import annotations

import asyncio
import socket
import threading

from benchgate.client.channel import Channel
from benchgate.client.runtime import event_loop

MESSAGE = b"x" * 50_000  # more than the kernel takes at once here, and less than a writer waits for


def test_a_process_that_ends_leaves_no_message_behind() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)

    async def say() -> None:
        channel = await Channel.over(ours)
        await channel.send(MESSAGE)
        await channel.finish()

    def process() -> None:  # it has a loop of its own, which ends when it has spoken
        with event_loop(tls=False) as loop:
            loop.run_until_complete(say())

    async def hear() -> object:
        return await (await Channel.over(theirs)).receive()

    speaking = threading.Thread(target=process)
    speaking.start()
    speaking.join(0.1)  # nobody listens yet
    message = asyncio.run(asyncio.wait_for(hear(), 20))
    speaking.join()

    assert message == MESSAGE


def test_one_whose_peer_is_gone_ends_all_the_same() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)

    async def say() -> str:
        channel = await Channel.over(ours)
        await channel.send(MESSAGE)
        theirs.close()
        await channel.finish()
        return "ended"

    assert asyncio.run(asyncio.wait_for(say(), 20)) == "ended"
