"""The service as a transport of the SDK's HTTP library: no socket, yet it waits and breaks like one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

import httpx2

from labkit.service.api import Answer, ConnectionCut, Service

CUT = "peer closed connection without sending complete message body (incomplete chunked read)"
LOST = "Server disconnected without sending a response."


class _Body(httpx2.SyncByteStream):
    def __init__(self, parts: Iterable[bytes | float], pause: Callable[[float], None]):
        self.parts, self.pause = parts, pause

    def __iter__(self) -> Iterator[bytes]:
        try:
            for part in self.parts:
                if isinstance(part, bytes):
                    yield part
                else:
                    self.pause(part)
        except ConnectionCut:
            raise httpx2.RemoteProtocolError(CUT) from None


class _AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, parts: Iterable[bytes | float], pause: Callable[[float], None]):
        self.parts, self.pause = parts, pause

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for part in self.parts:
                if isinstance(part, bytes):
                    yield part
                else:
                    await asyncio.to_thread(self.pause, part)
        except ConnectionCut:
            raise httpx2.RemoteProtocolError(CUT) from None


def _pause(service: Service, request: httpx2.Request) -> Callable[[float], None]:
    limit = request.extensions.get("timeout", {}).get("read")

    def pause(seconds: float) -> None:
        if limit is not None and seconds > limit:
            service.sleep(limit)
            raise httpx2.ReadTimeout("The read operation timed out")
        service.sleep(seconds)

    return pause


def _answer(service: Service, request: httpx2.Request, raw: bytes) -> Answer:
    return service.handle(request.method, request.url.path, request.headers, raw)


def _response(answer: Answer, body: httpx2.SyncByteStream | httpx2.AsyncByteStream) -> httpx2.Response:
    response = httpx2.Response(answer.status, headers=answer.headers, stream=body)
    response.headers.encoding = "ascii"
    return response


class SyncTransport(httpx2.BaseTransport):
    """`httpx2.Client(transport=SyncTransport(service))`: the SDK talks to the service in this process."""

    def __init__(self, service: Service):
        self.service = service

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer, pause = _answer(self.service, request, request.read()), _pause(self.service, request)
        if answer.wait:
            pause(answer.wait)
        if answer.lost:
            raise httpx2.RemoteProtocolError(LOST)
        return _response(answer, _Body(_parts(answer), pause))


class AsyncTransport(httpx2.AsyncBaseTransport):
    """The same for `httpx2.AsyncClient`; a wait does not hold up the event loop."""

    def __init__(self, service: Service):
        self.service = service

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer, pause = _answer(self.service, request, await request.aread()), _pause(self.service, request)
        if answer.wait:
            await asyncio.to_thread(pause, answer.wait)
        if answer.lost:
            raise httpx2.RemoteProtocolError(LOST)
        return _response(answer, _AsyncBody(_parts(answer), pause))


def _parts(answer: Answer) -> Iterable[bytes | float]:
    return (answer.body,) if isinstance(answer.body, bytes) else answer.body
