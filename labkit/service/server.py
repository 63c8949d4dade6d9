"""The service on a socket: a bare ASGI application under uvicorn, for curl and any other client."""

import asyncio
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from labkit.protocol.errors import BadSetup, WireError
from labkit.service.api import JSON, Answer, Service
from labkit.service.faults import ConnectionCut
from labkit.service.replies import as_json

BODY_LIMIT, BODY_SECONDS, SLICE = 8_000_000, 20.0, 0.05
LATE = WireError("The body of the request did not arrive in time.", status=408)
QUIET = {"log_config": None, "log_level": "critical", "access_log": False, "server_header": False}
Event = dict[str, Any]
Send, Receive = Callable[[Event], Awaitable[None]], Callable[[], Awaitable[Event]]


class Application:
    """ASGI: one body in (413 over `limit` bytes, 408 after `BODY_SECONDS`), one answer out."""

    def __init__(self, service: Service, limit: int = BODY_LIMIT):
        self.service, self.limit = service, limit

    async def __call__(self, scope: Event, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                raw = await self._body(receive)
        except TimeoutError:
            raw = LATE
        if isinstance(raw, WireError):
            headers = [JSON, (b"connection", b"close")]
            await self._send(Answer(raw.status, headers, as_json(raw.body())), send)
        elif raw is not None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            await self._send(self.service.handle(scope["method"], scope["path"], headers, raw), send)

    async def _body(self, receive: Receive) -> bytes | WireError | None:
        """The whole body, or why not; None when the client has gone."""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size > self.limit:
                return WireError(f"Maximum content size limit ({self.limit}) exceeded", status=413)
            parts.append(part)
        return b"".join(parts)

    async def _send(self, answer: Answer, send: Send) -> None:
        """A lost or cut answer returns unfinished, and the server closes the connection."""
        await self._pause(answer.wait)
        whole = isinstance(answer.body, bytes)
        length = [(b"content-length", b"%d" % len(answer.body))] if whole else []
        start = {"type": "http.response.start", "status": answer.status, "headers": answer.headers + length}
        await send(start)
        if not answer.lost and (whole or await self._stream(answer.body, send)):
            await send({"type": "http.response.body", "body": answer.body if whole else b""})

    async def _stream(self, parts: Iterator[bytes | float], send: Send) -> bool:
        try:
            for part in parts:
                if isinstance(part, bytes):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                else:
                    await self._pause(part)
        except ConnectionCut:
            return False
        return True

    async def _pause(self, seconds: float) -> None:
        """In slices: a thread that sleeps cannot be woken when the server is told to end."""
        while seconds > 0:
            await asyncio.to_thread(self.service.sleep, min(seconds, SLICE))
            seconds -= SLICE


def _prepare(service: Service, host: str, port: int, limit: int) -> tuple[uvicorn.Server, socket.socket, str]:
    try:
        bound = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        hint = "Take another one with --port, or 0 for any free port."
        raise BadSetup(f"cannot listen on {host}, port {port} ({error})", hint=hint) from None
    wire = {"http": "httptools", "ws": "none", "lifespan": "off", "timeout_graceful_shutdown": 1}
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{bound.getsockname()[1]}/v1"
    return uvicorn.Server(uvicorn.Config(Application(service, limit), **wire, **QUIET)), bound, url


def serve(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    limit: int = BODY_LIMIT,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve in the main thread until Ctrl-C; `ready` is told the URL. Raises `BadSetup` for a taken port."""
    server, bound, url = _prepare(service, host, port, limit)
    before = signal.signal(signal.SIGINT, server.handle_exit)
    try:
        ready(url)
        server.run(sockets=[bound])
    finally:
        bound.close()
        signal.signal(signal.SIGINT, before)


@contextmanager
def serving(service: Service, *, limit: int = BODY_LIMIT) -> Iterator[str]:
    """The service on a free port of 127.0.0.1, in a thread, while the `with` lasts; gives the URL."""
    server, bound, url = _prepare(service, "127.0.0.1", 0, limit)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        yield url
    finally:
        server.should_exit = True
        thread.join()
