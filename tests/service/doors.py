"""What the tests of the service share: clients onto a service in this process, requests, recordings."""

import json
from dataclasses import replace

import httpx2
import openai

from labkit.service.api import Service
from labkit.service.brains.recorded import decisions
from labkit.service.transport import Transport
from labkit.wire_check import CASSETTES

GET_ORDER = {
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
FLAT_GET_ORDER = {"type": "function", **GET_ORDER["function"]}
ASKED = [{"role": "user", "content": "Where is order 10001?"}]
BODY = {"model": "gpt-4.1-mini", "messages": ASKED}
KEY = {"authorization": "Bearer sk-test"}


def client(service: Service, **options) -> openai.OpenAI:
    http = httpx2.Client(transport=Transport(service))
    return openai.OpenAI(api_key="sk-test", base_url="http://lab.invalid/v1", http_client=http, **options)


def async_client(service: Service, **options) -> openai.AsyncOpenAI:
    http = httpx2.AsyncClient(transport=Transport(service))
    return openai.AsyncOpenAI(
        api_key="sk-test", base_url="http://lab.invalid/v1", http_client=http, **options
    )


def post(service: Service, body, path: str = "/v1/chat/completions", headers=KEY) -> tuple[int, bytes]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = service.handle("POST", path, headers, raw)
    whole = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    return answer.status, whole


def say(service: Service, body, path: str = "/v1/chat/completions") -> dict:
    return json.loads(post(service, body, path)[1])


def chunks_of(sse: str | bytes) -> list[dict]:
    text = sse.decode() if isinstance(sse, bytes) else sse
    lines = (line[6:] for line in text.splitlines() if line.startswith("data: "))
    return [json.loads(line) for line in lines if line != "[DONE]"]


def recordings(stream: bool) -> list[tuple[str, dict]]:
    """Every recorded answer of OpenAI's own Chat API, named by its file and place."""
    found = []
    for path in sorted(CASSETTES.glob("openai_*.json")):
        for place, one in enumerate(json.loads(path.read_text(encoding="utf-8"))["interactions"]):
            if one["status"] == 200 and one["request"] and bool(one["request"].get("stream")) == stream:
                found.append((f"{path.stem}-{place}", one))
    return found


def as_decided(recorded: dict) -> Service:
    """A service whose brain takes the recorded decisions; ends and tokens it works out by itself."""
    taken = [
        replace(decision, finish=decision.finish if decision.finish == "length" else None, usage=None)
        for decision in decisions(recorded)
    ]
    return Service(lambda ask: taken[ask.choice])


def usage_of(recorded: dict) -> dict:
    if "response" in recorded:
        return recorded["response"]["usage"]
    return next(chunk["usage"] for chunk in chunks_of(recorded["sse"]) if chunk.get("usage"))
