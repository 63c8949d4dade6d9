"""The model asked thousands of times: doors for an agent that send what `post` sends, for less CPU.

Most of what a request costs is the SDK making address and headers anew. Failures are the SDK's own errors.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import httpx2
import openai
from openai._models import FinalRequestOptions

from labkit.connect import Client, service
from labkit.runtime.drive import post
from labkit.service.replies import as_json


def straight(client: Client, path: str, body: dict[str, Any], *, stream: bool = False) -> Any:
    """The service behind an offline client, asked without HTTP, unless it plans trouble on the way.

    >>> from labkit.connect import connect
    >>> body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}]}
    >>> straight(connect("sim"), "/chat/completions", body)["object"]
    'chat.completion'
    """
    asked, key = service(client), {"authorization": f"Bearer {client.api_key}"}
    if stream or asked.faults:
        return post(client, path, body, stream=stream)
    answer = asked.handle("POST", f"/v1{path}", key, as_json(body))
    if answer.status == 200:
        return json.loads(answer.body)
    said = {"headers": answer.headers, "content": answer.body}
    return _read(client, httpx2.Response(answer.status, request=httpx2.Request("POST", path), **said))


def quick(client: Client, path: str, body: dict[str, Any], *, stream: bool = False) -> Any:
    """Any client's own HTTP, with address and headers as the SDK makes them, but made once."""
    if stream:
        return post(client, path, body, stream=True)
    if isinstance(client, openai.AsyncOpenAI):
        return _later(client, path, body)
    with _request(client, path, body) as request:
        return _read(client, client._client.send(request))


async def _later(client: openai.AsyncOpenAI, path: str, body: dict[str, Any]) -> Any:
    with _request(client, path, body) as request:
        return _read(client, await client._client.send(request))


@contextmanager
def _request(client: Client, path: str, body: dict[str, Any]) -> Iterator[httpx2.Request]:
    """The request; what goes wrong on its way becomes what the SDK calls it."""
    made = _made(client, path)
    rest = {"headers": made.headers, "extensions": made.extensions, "content": as_json(body)}
    request = httpx2.Request("POST", made.url, **rest)
    try:
        yield request
    except httpx2.TimeoutException as error:
        raise openai.APITimeoutError(request=request) from error
    except httpx2.RequestError as error:
        raise openai.APIConnectionError(request=request) from error


@lru_cache(maxsize=8)
def _made(client: Client, path: str) -> httpx2.Request:
    made = client._build_request(FinalRequestOptions(method="post", url=path, json_data={}))
    del made.headers["content-length"]
    return made


def _read(client: Client, reply: httpx2.Response) -> Any:
    if reply.is_success:
        return json.loads(reply.content)
    raise client._make_status_error_from_response(reply)
