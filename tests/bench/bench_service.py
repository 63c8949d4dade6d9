"""What the offline service costs: in this process, on a socket, at import.

Run it: `python tests/bench/bench_service.py`. CPU time; both sides in turns, in one run.
"""

import asyncio
import gc
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import cycle
from statistics import median

import httpx2
import openai
import uvicorn

from labkit.service.api import Service
from labkit.service.decide import Decision
from labkit.service.server import QUIET, Application
from labkit.service.transport import Transport

TOOL = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Look up one order by its id.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
    },
}
THREE = [
    {"role": "system", "content": "You are the support desk of a shop."},
    {"role": "user", "content": "Where is order 10001?"},
    {"role": "user", "content": "Please be quick, I am leaving soon."},
]
BODY = {"model": "gpt-4.1-mini", "messages": THREE}
CONTENT_TYPE = {"content-type": "application/json"}
Doors = dict[str, Callable[[], object]]


def brain(ask):
    return Decision(text="Order 10001 was shipped yesterday.")


def in_turns(doors: Doors, times: int, rounds: int = 9) -> dict[str, float]:
    """CPU microseconds a call: the median of rounds, so that a busy machine hits all doors alike."""
    runs = {name: [] for name in doors}
    for _ in range(rounds):
        for name, door in doors.items():
            gc.collect()
            gc.disable()
            start = time.process_time()
            for _ in range(times):
                door()
            runs[name].append(1e6 * (time.process_time() - start) / times)
            gc.enable()
    return {name: median(taken) for name, taken in runs.items()}


def client(transport: httpx2.BaseTransport) -> openai.OpenAI:
    http = httpx2.Client(transport=transport)
    return openai.OpenAI(api_key="sk-test", base_url="http://lab.invalid/v1", http_client=http)


def sdk_request(body: dict) -> httpx2.Request:
    """The very request that the SDK sends for this body."""
    kept = []
    keep = httpx2.MockTransport(lambda request: kept.append(request) or httpx2.Response(200, json={}))
    client(keep).chat.completions.create(**body)
    return kept[0]


def fresh(request: httpx2.Request, count: int) -> Callable[[], httpx2.Request]:
    """The request with a number in it that is new each time."""
    bodies = (request.content.replace(b"10001", b"%05d" % n) for n in range(count))
    made = [httpx2.Request("POST", request.url, headers=request.headers, content=body) for body in bodies]
    return cycle(made).__next__


def in_process() -> None:
    reply = Transport(Service(brain)).handle_request(sdk_request(BODY)).read()
    canned = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=CONTENT_TYPE, content=reply))
    written = json.loads(reply)
    naive = httpx2.MockTransport(
        lambda request: (json.loads(request.read()), httpx2.Response(200, json=written))[1]
    )
    ours = Transport(Service(brain, keep=0))
    print("in process, CPU µs of transport.handle_request(request).read()")
    for name, body in (
        ("3 messages", BODY),
        ("3 messages, 1 tool", BODY | {"tools": [TOOL]}),
        ("21 messages", BODY | {"messages": THREE[:1] + THREE[1:] * 10}),
        ("101 messages", BODY | {"messages": THREE[:1] + THREE[1:] * 50}),
    ):
        request = sdk_request(body)
        new = fresh(request, 5000)
        took = in_turns(
            {
                "canned bytes": lambda r=request: canned.handle_request(r).read(),
                "naive fake": lambda r=request: naive.handle_request(r).read(),
                "ours, again": lambda r=request: ours.handle_request(r).read(),
                "ours, new": lambda n=new: ours.handle_request(n()).read(),
            },
            500,
        )
        beyond = {n: took[n] - took["canned bytes"] for n in ("naive fake", "ours, again", "ours, new")}
        shown = ", ".join(f"{door} {micros:.0f}" for door, micros in beyond.items())
        print(f"  {name:20} canned bytes {took['canned bytes']:.0f}; beyond it: {shown}")


def share_of_create() -> None:
    reply = Transport(Service(brain)).handle_request(sdk_request(BODY)).read()
    canned = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=CONTENT_TYPE, content=reply))
    clients = {"canned": client(canned), "ours": client(Transport(Service(brain, keep=0)))}
    took = in_turns({n: lambda c=c: c.chat.completions.create(**BODY) for n, c in clients.items()}, 100)
    print(
        f"create(): {took['canned']:.0f} µs over canned bytes, {took['ours']:.0f} over the service", end="; "
    )
    print(f"ratio {took['ours'] / took['canned']:.3f}")


async def bare(scope, receive, send, answer=b"{}"):
    """The least an ASGI application can do: read the body, send bytes."""
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


WRITTEN = json.loads(Transport(Service(brain)).handle_request(sdk_request(BODY)).read())


async def speaks_json(scope, receive, send):
    """The least a fake API can do: JSON in, JSON of the same size out."""
    json.loads((await receive())["body"])
    answer = json.dumps(WRITTEN).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


def on_a_socket(times: int = 2000) -> None:
    runs = {"bare": [], "JSON": [], "ours": []}
    for _ in range(7):
        apps = {"bare": bare, "JSON": speaks_json, "ours": Application(Service(brain, keep=0))}
        for name, app in apps.items():
            runs[name].append(serve_and_count(app, times))
    took = {name: median(taken) for name, taken in runs.items()}
    shown = ", ".join(f"{name} {micros:.0f}" for name, micros in took.items())
    print(f"on a socket, CPU µs a request of the server's thread: {shown}", end="; ")
    print(f"ratio to bare {took['ours'] / took['bare']:.2f}, to JSON {took['ours'] / took['JSON']:.2f}")


def serve_and_count(app, times: int) -> float:
    wire = {"http": "httptools", "ws": "none", "lifespan": "off", "port": 0}
    server, spent = uvicorn.Server(uvicorn.Config(app, **wire, **QUIET)), []

    def run():
        asyncio.run(server.serve())
        spent.append(time.thread_time())

    thread = threading.Thread(target=run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    ask(server.servers[0].sockets[0].getsockname()[1], times)
    server.should_exit = True
    thread.join()
    return 1e6 * spent[0] / times


def ask(port: int, times: int) -> None:
    body = json.dumps(BODY).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-test\r\n"
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", port)) as opened:
        for number in range(times):
            opened.sendall(head + body.replace(b"10001", b"%05d" % number))
            data = b""
            while b"\r\n\r\n" not in data:
                data += opened.recv(65536)
            start, _, rest = data.partition(b"\r\n\r\n")
            length = int(start.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            while len(rest) < length:
                rest += opened.recv(65536)


def seconds(code: str) -> float:
    probe = f"import time; t = time.process_time(); {code}; print(time.process_time() - t)"
    command = [sys.executable, "-c", probe]
    return min(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(7))


def imports() -> None:
    sdk, both = seconds("import openai"), seconds("import openai, labkit.service.transport")
    print(
        f"import, CPU s: labkit {seconds('import labkit'):.3f}, openai {sdk:.2f}, both {both:.2f}", end="; "
    )
    print(f"ratio {both / sdk:.3f}")
    first = seconds("from labkit.protocol.tokens import count_text; count_text('a')")
    print(f"first token counted, import and vocabulary: {first:.2f} s CPU")


if __name__ == "__main__":
    in_process()
    share_of_create()
    on_a_socket()
    imports()
