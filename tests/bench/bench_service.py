"""What the offline service costs: in process beyond a transport, on a socket beside a bare ASGI application, at import.

Run it: `python tests/bench/bench_service.py`. CPU time; both sides of each ratio are measured in turns in one run.
"""

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from statistics import median

import httpx2
import uvicorn

import openai
from labkit.service.api import Service
from labkit.service.decide import Decision
from labkit.service.server import Application
from labkit.service.transport import SyncTransport

URL = "http://lab.invalid/v1/chat/completions"
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


def brain(ask):
    return Decision(text="Order 10001 was shipped yesterday.")


def cpu(function: Callable[[], object], times: int) -> float:
    """Microseconds of CPU of one call."""
    gc.disable()
    start = time.process_time()
    for _ in range(times):
        function()
    spent = time.process_time() - start
    gc.enable()
    return 1e6 * spent / times


def in_turns(functions: dict[str, Callable[[], object]], times: int, rounds: int = 9) -> dict[str, float]:
    """The median of each, measured round by round so that a busy machine hits all alike."""
    runs = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            runs[name].append(cpu(function, times))
    return {name: median(taken) for name, taken in runs.items()}


def sdk_request(body: dict) -> httpx2.Request:
    """The very request that the SDK sends for this body."""
    kept = []

    def keep(request):
        kept.append(request)
        return httpx2.Response(200, json={})

    client = openai.OpenAI(api_key="sk-test", http_client=httpx2.Client(transport=httpx2.MockTransport(keep)))
    client.with_options(base_url="http://lab.invalid/v1").chat.completions.create(**body)
    return kept[0]


def in_process() -> None:
    service = Service(brain, keep=0)
    ours = SyncTransport(service)
    reply = ours.handle_request(sdk_request({"model": "gpt-4.1-mini", "messages": THREE})).read()
    headers = {"content-type": "application/json"}
    canned = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, content=reply))

    def parses(request):
        json.loads(request.read())
        return httpx2.Response(200, json=json.loads(reply))

    naive = httpx2.MockTransport(parses)
    print("in process, CPU µs a call of transport.handle_request")
    for name, body in (
        ("3 messages", {"messages": THREE}),
        ("3 messages, 1 tool", {"messages": THREE, "tools": [TOOL]}),
        ("21 messages", {"messages": THREE[:1] + THREE[1:] * 10}),
        ("101 messages", {"messages": THREE[:1] + THREE[1:] * 50}),
    ):
        request = sdk_request({"model": "gpt-4.1-mini", **body})
        doors = {"canned": canned, "naive fake": naive, "ours": ours}
        took = in_turns({n: lambda t=t, r=request: t.handle_request(r).read() for n, t in doors.items()}, 1000)
        beyond = took["ours"] - took["canned"]
        print(
            f"  {name:20} "
            + "  ".join(f"{n} {t:6.1f}" for n, t in took.items())
            + f"  ours beyond canned {beyond:6.1f}"
        )


def share_of_create() -> None:
    service = Service(brain, keep=0)
    reply = (
        SyncTransport(service)
        .handle_request(sdk_request({"model": "gpt-4.1-mini", "messages": THREE}))
        .read()
    )
    canned = httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-type": "application/json"}, content=reply)
    )
    doors = {}
    for name, transport in (("canned", canned), ("ours", SyncTransport(service))):
        client = openai.OpenAI(
            api_key="sk-test",
            base_url="http://lab.invalid/v1",
            http_client=httpx2.Client(transport=transport),
        )
        doors[name] = lambda c=client: c.chat.completions.create(model="gpt-4.1-mini", messages=THREE)
    took = in_turns(doors, 100)
    print(
        f"create() with 3 messages: over canned bytes {took['canned']:.0f} µs, over the service {took['ours']:.0f}"
    )
    print(f"  ratio {took['ours'] / took['canned']:.3f}")


async def bare(scope, receive, send):
    """The least an ASGI application can do: read the body, send bytes."""
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


def on_a_socket() -> None:
    body = json.dumps({"model": "gpt-4.1-mini", "messages": THREE}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-test\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    took = {"bare": [], "ours": []}
    for _ in range(5):
        for name, app in (("bare", bare), ("ours", Application(Service(brain, keep=0)))):
            took[name].append(_serve_and_count(app, head + body, 2000))
    bare_us, ours_us = median(took["bare"]), median(took["ours"])
    print(f"on a socket, CPU µs a request of the server thread: bare {bare_us:.0f}, ours {ours_us:.0f}")
    print(f"  ratio {ours_us / bare_us:.2f}")


def _serve_and_count(app, request: bytes, times: int) -> float:
    config = uvicorn.Config(
        app,
        port=0,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
    )
    server, spent = uvicorn.Server(config), []

    def run():
        asyncio.run(server.serve())
        spent.append(time.thread_time())

    thread = threading.Thread(target=run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    _ask(port, request, times)
    server.should_exit = True
    thread.join()
    return 1e6 * spent[0] / times


def _ask(port: int, request: bytes, times: int) -> None:
    import socket

    with socket.create_connection(("127.0.0.1", port)) as sock:
        for _ in range(times):
            sock.sendall(request)
            data = sock.recv(65536)
            head, _, rest = data.partition(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            while len(rest) < length:
                rest += sock.recv(65536)


def imports() -> None:
    def seconds(code: str) -> float:
        probe = f"import time; t = time.process_time(); {code}; print(time.process_time() - t)"
        runs = [
            subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
            for _ in range(5)
        ]
        return min(float(run.stdout) for run in runs)

    sdk = seconds("import openai")
    both = seconds("import openai, labkit.service.transport, labkit.service.brains.scripted")
    print(
        f"import: labkit alone {seconds('import labkit'):.3f} s CPU, openai {sdk:.2f}, with the service {both:.2f}"
    )
    print(f"  ratio {both / sdk:.3f}")
    print(
        f"first count of tokens: {seconds('from labkit.protocol.tokens import count_text; count_text(chr(97))'):.2f} s CPU"
    )


if __name__ == "__main__":
    in_process()
    share_of_create()
    on_a_socket()
    imports()
