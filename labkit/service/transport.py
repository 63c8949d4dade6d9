"""The service as a transport of the SDK's HTTP library: no socket, yet it waits and breaks like one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

import httpx2

from labkit.service.api import Answer, Service
from labkit.service.faults import ConnectionCut

CUT = "peer closed connection without sending complete message body (incomplete chunked read)"
LOST = "Server disconnected without sending a response."


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """The chunks of an answer, each given when it is asked for, with the waits between them."""

    def __init__(self, parts: Iterable[bytes | float], pause: Callable[[float], None]):
        self.parts, self.pause = parts, pause

    def _next(self) -> Iterator[bytes | float]:
        try:
            yield from self.parts
        except ConnectionCut:
            raise httpx2.RemoteProtocolError(CUT) from None

    def __iter__(self) -> Iterator[bytes]:
        for part in self._next():
            if isinstance(part, bytes):
                yield part
            else:
                self.pause(part)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._next():
            if isinstance(part, bytes):
                yield part
            else:
                await asyncio.to_thread(self.pause, part)


class Transport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """`httpx2.Client(transport=Transport(service))`, or `AsyncClient`: the SDK talks to it in this process.

    A wait longer than the client's read timeout ends as one: `httpx2.ReadTimeout`.
    """

    def __init__(self, service: Service):
        self.service = service

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer, pause = self._answer(request, request.read()), self._pause(request)
        if answer.wait:
            pause(answer.wait)
        return _response(answer, pause)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer, pause = self._answer(request, await request.aread()), self._pause(request)
        if answer.wait:
            await asyncio.to_thread(pause, answer.wait)
        return _response(answer, pause)

    def _answer(self, request: httpx2.Request, raw: bytes) -> Answer:
        return self.service.handle(request.method, request.url.path, request.headers, raw)

    def _pause(self, request: httpx2.Request) -> Callable[[float], None]:
        limit = request.extensions.get("timeout", {}).get("read")

        def pause(seconds: float) -> None:
            self.service.sleep(seconds if limit is None else min(seconds, limit))
            if limit is not None and seconds > limit:
                raise httpx2.ReadTimeout("The read operation timed out")

        return pause


def _response(answer: Answer, pause: Callable[[float], None]) -> httpx2.Response:
    if answer.lost:
        raise httpx2.RemoteProtocolError(LOST)
    parts = (answer.body,) if isinstance(answer.body, bytes) else answer.body
    response = httpx2.Response(answer.status, headers=answer.headers, stream=_Body(parts, pause))
    response.headers.encoding = "ascii"
    return response
