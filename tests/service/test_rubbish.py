"""Whatever comes in, an error of the API goes out: never a traceback, never a hang."""

import itertools
import json
import time

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.service.api import Service
from labkit.service.brains.scripted import obedient
from labkit.service.server import serving
from tests.service.doors import BODY, GET_ORDER, KEY, post

PATHS = ("/v1/chat/completions", "/v1/responses")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)
FIELDS = (
    "messages",
    "tools",
    "tool_choice",
    "model",
    "n",
    "stream",
    "max_tokens",
    "response_format",
    "input",
    "text",
)
ROTTEN = [
    b"",
    b"null",
    b"[]",
    b'"x"',
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'["\\ud800",' * 100_000,
    b"{}" + b"\0",
    b"NaN",
]


@pytest.fixture(scope="module", params=["strict", "lenient"])
def service(request):
    return Service(obedient, profile=request.param)


@pytest.fixture(scope="module")
def http():
    with serving(Service(obedient)) as url, httpx2.Client(base_url=url, headers=KEY, timeout=10) as http:
        yield http


def is_an_answer_of_the_api(status, body):
    """A reply, or the four keys of an error; a stream counts as a reply."""
    if status == 200:
        return True
    error = json.loads(body)["error"]
    return 400 <= status < 500 and error.keys() == {"message", "type", "param", "code"} and error["message"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", ROTTEN, ids=lambda body: repr(body[:8]))
def test_rotten_json_is_an_error_of_the_api(service, path, body):
    status, said = post(service, body, path)
    assert status == 400 and is_an_answer_of_the_api(status, said)


@given(body=st.binary(max_size=200), path=st.sampled_from(PATHS))
@settings(max_examples=200, deadline=2000)
def test_any_bytes_are_answered(service, body, path):
    assert is_an_answer_of_the_api(*post(service, body, path))


@given(field=st.sampled_from(FIELDS), value=JSON, path=st.sampled_from(PATHS))
@settings(max_examples=300, deadline=2000)
def test_any_value_in_any_field_is_answered(service, field, value, path):
    good = BODY | {"tools": [GET_ORDER]} if path == PATHS[0] else {"model": "gpt-4.1-mini", "input": "hi"}
    assert is_an_answer_of_the_api(*post(service, {**good, field: value}, path))


@given(schema=JSON)
@settings(max_examples=200, deadline=2000)
def test_any_parameters_of_a_tool_are_answered(service, schema):
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    status, said = post(service, {**BODY, "tools": [tool], "tool_choice": "required"})
    assert is_an_answer_of_the_api(status, said)


@given(body=st.binary(max_size=200))
@settings(max_examples=60, deadline=5000)
def test_any_bytes_over_the_socket_are_answered(http, body):
    reply = http.post("chat/completions", content=body)
    assert is_an_answer_of_the_api(reply.status_code, reply.content)


@given(path=st.text(max_size=30), method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "x"]))
@settings(max_examples=100, deadline=2000)
def test_any_path_and_method_are_answered(service, path, method):
    answer = service.handle(method, f"/v1/{path}", KEY, b"{}")
    assert is_an_answer_of_the_api(answer.status, answer.body)


@pytest.mark.parametrize(
    "headers", [{"authorization": "x"}, {"authorization": "Bearer "}, {**KEY, "x-stainless-retry-count": "²"}]
)
def test_odd_headers_are_answered(service, headers):
    assert is_an_answer_of_the_api(*post(service, BODY, headers=headers))


def test_a_lone_surrogate_goes_in_and_comes_out(service):
    body = b'{"model":"gpt-4o","messages":[{"role":"user","content":"\\ud800"}]}'
    status, said = post(service, body)
    assert status == 200 and json.loads(said)["choices"][0]["message"]["content"] == "You said: \ud800"
    assert post(service, body[:-1] + b',"stream":true}')[0] == 200


def test_a_large_request_takes_time_in_proportion(service):
    fresh = itertools.count()

    def seconds(size):
        said = [{"role": "user", "content": f"{next(fresh)} " * 20} for _ in range(size)]
        start = time.process_time()
        post(service, {**BODY, "messages": said})
        return time.process_time() - start

    small, large = (min(seconds(size) for _ in range(4)) for size in (300, 3000))
    assert large < 30 * small
