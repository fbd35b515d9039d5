"""The streams of the API for asyncio.

    >>> import asyncio, ferric, ferric.aio
    >>> async def first() -> str:
    ...     with ferric.Demo(ues=2) as demo, demo.connect() as ric:
    ...         async for m in ferric.aio.read(ric.kpm(["DRB.UEThpDl"], period_ms=100)):
    ...             return m.ue.split(":")[0]
    >>> asyncio.run(first())
    'amf'

Other calls wait for a node's answer: `await asyncio.to_thread(ue.handover, cell)` leaves the event loop free.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def set_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(descriptor, set_ready)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def read(stream: Any) -> AsyncIterator[Any]:
    """The records of a `KpmStream`, or the items of a feed, as they come. Ends with the session."""
    from .errors import Closed

    while True:
        try:
            item = stream.next_within(0)
        except Closed:
            return
        if item is not None:
            yield item
        else:
            await _readable(stream.fileno())


async def batches(stream: Any) -> AsyncIterator[Any]:
    """The batches of a `KpmStream`, as they come. Ends with the session."""
    from .errors import Closed

    while True:
        try:
            batch = stream.batch(0)
        except Closed:
            return
        if batch is not None:
            yield batch
        else:
            await _readable(stream.fileno())
