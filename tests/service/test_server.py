"""The service on a socket: curl, clients that stall or talk rubbish, and an end with Ctrl-C."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx2
import openai
import pytest

from labkit.protocol.errors import BadSetup
from labkit.service import server
from labkit.service.api import Service
from labkit.service.brains.scripted import call, obedient, script
from labkit.service.decide import Decision
from labkit.service.server import serving
from tests.service.doors import ASKED, BODY, GET_ORDER

SLOW_SERVER = """
import sys, time
from labkit.service.api import Service
from labkit.service.decide import Decision
from labkit.service.faults import slow
from labkit.service.server import serve
words = Decision(text="word " * 500)
service = Service(lambda ask: words, faults=[slow(1, 0, every=30)], clock=time.time, sleep=time.sleep)
serve(service, port=0, ready=lambda url: print(url, flush=True))
print("ended cleanly", flush=True)
"""


@pytest.fixture
def url():
    with serving(Service(obedient), limit=100_000) as url:
        yield url


@pytest.fixture(scope="module")
def http():
    with httpx2.Client(headers={"authorization": "Bearer sk-1"}, timeout=10) as http:
        yield http


@contextmanager
def connection(url):
    port = int(url.rsplit(":", 1)[1].split("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as opened:
        yield opened


def curl(url, body):
    command = ["curl", "-sS", "--max-time", "20", f"{url}/chat/completions"]
    command += ["-H", "Content-Type: application/json", "-H", "Authorization: Bearer sk-test", "-d", "@-"]
    run = subprocess.run(command, input=json.dumps(body), capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_tool_call_loop_by_curl():  # covers: L15
    brain = script(call("get_order", order_id="10001"), "Order 10001 was shipped.")
    with serving(Service(brain)) as url:
        first = curl(url, {**BODY, "tools": [GET_ORDER]})["choices"][0]["message"]
        wanted = first["tool_calls"][0]
        result = {"role": "tool", "tool_call_id": wanted["id"], "content": '{"state":"shipped"}'}
        second = curl(url, {**BODY, "messages": [*ASKED, first, result], "tools": [GET_ORDER]})
    assert json.loads(wanted["function"]["arguments"]) == {"order_id": "10001"}
    assert second["choices"][0]["message"]["content"] == "Order 10001 was shipped."


def test_the_sdk_streams_over_the_socket(url):
    ask_by = openai.OpenAI(api_key="sk-1", base_url=url)
    with ask_by, ask_by.chat.completions.stream(**BODY, tools=[GET_ORDER]) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.tool_calls[0].function.parsed_arguments == {"order_id": "10001"}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_gets_413_as_an_error_of_the_api(http, url, chunked):
    body = b'{"model": "' + b"x" * 200_000 + b'"}'
    reply = http.post(f"{url}/chat/completions", content=iter([body]) if chunked else body)
    assert reply.status_code == 413 and reply.json()["error"]["type"] == "invalid_request_error"


def test_clients_that_stall_do_not_stop_the_others(http, url):
    half = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
    with connection(url) as first, connection(url) as second, connection(url):
        first.sendall(half)
        second.sendall(b"POST /v1/chat/comp")
        assert http.get(f"{url}/models").status_code == 200


def test_a_body_that_does_not_arrive_gets_408(url, monkeypatch):
    monkeypatch.setattr(server, "BODY_SECONDS", 0.1)
    with connection(url) as opened:
        opened.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        assert opened.recv(1000).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "rubbish", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n", b"\0" * 5000]
)
def test_what_is_no_http_is_refused_and_the_server_stays_up(http, url, rubbish):
    with connection(url) as opened:
        opened.sendall(rubbish)
        opened.settimeout(5)
        said = opened.recv(1000)
    assert not said or said.startswith(b"HTTP/1.1 4")
    assert http.get(f"{url}/models").status_code == 200


def test_a_client_that_leaves_in_mid_stream_leaves_the_server_up(http):
    brain = script(Decision(text="word " * 2000), "still here")
    with serving(Service(brain)) as url:
        with http.stream("POST", f"{url}/chat/completions", json={**BODY, "stream": True}) as reply:
            next(reply.iter_bytes())
        again = http.post(f"{url}/chat/completions", json=BODY)
    assert again.json()["choices"][0]["message"]["content"] == "still here"


def test_many_at_once_are_all_answered(http, url):
    answers = []

    def ask():
        answers.append(http.post(f"{url}/chat/completions", json=BODY).status_code)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == [200] * 20


def test_a_taken_port_is_said_in_words():
    with serving(Service(obedient)) as url, pytest.raises(BadSetup, match="cannot listen on"):
        server.serve(Service(obedient), port=int(url.rsplit(":", 1)[1].split("/")[0]))


@pytest.mark.skipif(os.name == "nt", reason="a child process gets no Ctrl-C there")
@pytest.mark.parametrize("streaming", [False, True])
def test_ctrl_c_ends_it_cleanly_in_mid_stream_too(http, streaming):
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW_SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        url = child.stdout.readline().strip()
        if streaming:
            with http.stream("POST", f"{url}/chat/completions", json={**BODY, "stream": True}) as reply:
                pieces = reply.iter_bytes()
                next(pieces)
                child.send_signal(signal.SIGINT)
                with pytest.raises(httpx2.RemoteProtocolError):
                    list(pieces)
        else:
            child.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, errors = child.communicate(timeout=15)
        assert (out, errors, child.returncode) == ("ended cleanly\n", "", 0) and time.monotonic() - start < 12
    finally:
        child.kill()
        child.communicate()
