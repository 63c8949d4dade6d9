"""The service on a socket: a bare ASGI application under uvicorn, for curl and any other client."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from labkit.protocol.errors import BadSetup, WireError
from labkit.service.api import Answer, ConnectionCut, Service
from labkit.service.replies import as_json

BODY_LIMIT, BODY_SECONDS, SLICE = 8_000_000, 20.0, 0.05
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class Application:
    """ASGI: one body in (413 over `limit` bytes, 408 after `BODY_SECONDS`), one answer out."""

    def __init__(self, service: Service, limit: int = BODY_LIMIT):
        self.service, self.limit, self.stopping = service, limit, threading.Event()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                raw = await self._body(receive)
        except TimeoutError:
            return await _refuse(
                send, WireError("The body of the request did not arrive in time.", status=408)
            )
        if raw is None:
            said = f"Maximum content size limit ({self.limit}) exceeded"
            return await _refuse(send, WireError(said, status=413))
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = self.service.handle(scope["method"], scope["path"], headers, raw)
        if answer.wait:
            await self._pause(answer.wait)
        await self._send(answer, send)

    async def _body(self, receive: Receive) -> bytes | None:
        message = await receive()
        if not message.get("more_body"):
            body = message.get("body", b"")
            return body if len(body) <= self.limit else None
        parts = [message["body"]]
        while message.get("more_body"):
            message = await receive()
            parts.append(message.get("body", b""))
            if sum(map(len, parts)) > self.limit:
                return None
        return b"".join(parts)

    async def _pause(self, seconds: float) -> None:
        while seconds > 0 and not self.stopping.is_set():
            await asyncio.to_thread(self.service.sleep, min(seconds, SLICE))
            seconds -= SLICE

    async def _send(self, answer: Answer, send: Send) -> None:
        """A lost or cut answer returns unfinished, and the server closes the connection."""
        whole = isinstance(answer.body, bytes)
        length = [(b"content-length", str(len(answer.body)).encode())] if whole else []
        headers = answer.headers + length
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        if answer.lost:
            return
        if whole:
            return await send({"type": "http.response.body", "body": answer.body})
        try:
            for part in answer.body:
                if self.stopping.is_set():
                    return
                if isinstance(part, bytes):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                else:
                    await self._pause(part)
        except ConnectionCut:
            return
        await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, error: WireError) -> None:
    body = as_json(error.body())
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _Server(uvicorn.Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.stopping.set()
        await super().shutdown(sockets)


def _prepare(service: Service, host: str, port: int, limit: int) -> tuple[_Server, socket.socket, str]:
    try:
        bound = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        hint = "Take another one with --port, or 0 for any free port."
        raise BadSetup(f"cannot listen on {host}, port {port} ({error.strerror})", hint=hint) from None
    config = uvicorn.Config(
        Application(service, limit),
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    shown = f"[{host}]" if ":" in host else host
    return _Server(config), bound, f"http://{shown}:{bound.getsockname()[1]}/v1"


def serve(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    limit: int = BODY_LIMIT,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until Ctrl-C; `ready` is told the base URL. Raises `BadSetup` when the port is taken."""
    server, bound, url = _prepare(service, host, port, limit)
    try:
        ready(url)
        server.run(sockets=[bound])
    except KeyboardInterrupt:
        return
    finally:
        bound.close()


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
