"""Real traffic as a brain: a cassette replayed request by request, and the recorder that makes one.

A request is known by its whole body (streamed or not makes no difference to what was decided). One that was
not recorded is an error that shows the nearest recorded request and what differs. Keys, organisation and
account ids never reach the file.
"""

import json
import re
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import Any

import httpx2

from labkit.files import write_text
from labkit.protocol import chat, responses
from labkit.protocol.arguments import read_json
from labkit.protocol.errors import BadFile, BadSetup, ScriptEnded
from labkit.protocol.messages import Reply
from labkit.service.decide import Ask, Brain, Decision

PRIVATE = re.compile(r"\bsk-[\w*-]{8,}|\b(?:org|proj|user|acct)[-_][A-Za-z0-9]{16,}")
KEPT_HEADERS = re.compile("content-type|openai-(version|processing-ms)|retry-after|x-(ratelimit|should)")
Json = dict[str, Any]


def scrub(text: str) -> str:
    """The text without keys, organisation, project, user and account ids.

    >>> scrub("organization org-AbCdEfGhIjKlMnOpQrStUvWx on tokens, key sk-proj-abc123456789")
    'organization REMOVED on tokens, key REMOVED'
    """
    return PRIVATE.sub("REMOVED", text)


def read_cassette(path: Path | str) -> list[Json]:
    """The interactions of a cassette: request, status, and `response` or `sse`; else `BadFile`."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))["interactions"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "A cassette is JSON with a list of interactions: record one with connect(..., record=path)."
        raise BadFile(f"{path} is not a cassette ({error!r})", hint=hint) from None


def replay(path: Path | str) -> Brain:
    """A brain that decides as the recording did; a request asked twice gets its second recorded answer.

    Raises `ScriptEnded` for a request that was not recorded, or not that often.
    """
    recorded: dict[str, list[Json]] = {}
    for one in read_cassette(path):
        if one.get("request") and one["status"] == 200 and not (one.get("response") or {}).get("error"):
            recorded.setdefault(_key(one["request"]), []).append(one)
    taken: Counter[tuple[str, int]] = Counter()

    def decide(ask: Ask) -> Decision:
        key = _key(ask.raw)
        answers, turn = recorded.get(key, ()), taken[key, ask.choice]
        if turn >= len(answers):
            raise ScriptEnded(f"{Path(path).name} {_what_is_missing(ask.raw, recorded, turn)}")
        taken[key, ask.choice] += 1
        return decisions(answers[turn])[ask.choice]

    return decide


def _asked(body: Json) -> Json:
    return {name: value for name, value in body.items() if name not in ("stream", "stream_options")}


def _key(body: Json) -> str:
    return scrub(json.dumps(_asked(body), sort_keys=True, ensure_ascii=False))


def _what_is_missing(body: Json, recorded: dict[str, list[Json]], times: int) -> str:
    if times or not recorded:
        return f"has {times or 'no'} answer(s) to this request. Connect again to start from the first."
    asked = _leaves(_asked(body))
    others = (_leaves(_asked(answers[0]["request"])) for answers in recorded.values())
    nearest = min(others, key=lambda other: len(_differ(asked, other)))
    places = _differ(asked, nearest)
    shown = [f"{p}: recorded {nearest.get(p, 'nothing')}, asked {asked.get(p, 'nothing')}" for p in places]
    parts = f"{len(places)} of its parts: {'; '.join(shown[:3])}"
    return f"does not hold this request. The nearest one differs in {parts}"


def _differ(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [path for path in {**one, **other} if one.get(path) != other.get(path)]


def _leaves(value: Any, path: str = "") -> dict[str, str]:
    if isinstance(value, dict) and value:
        parts = [_leaves(inner, f"{path}.{name}" if path else name) for name, inner in value.items()]
    elif isinstance(value, list) and value:
        parts = [_leaves(inner, f"{path}[{position}]") for position, inner in enumerate(value)]
    else:
        return {path: scrub(json.dumps(value, ensure_ascii=False))}
    return {name: leaf for part in parts for name, leaf in part.items()}


def decisions(interaction: Json) -> list[Decision]:
    """What a recorded answer decided, one decision a choice: from JSON or a stream, Chat or Responses."""
    body, events = interaction.get("response") or {}, _events(interaction.get("sse") or "")
    if "output" in body:
        return [_decision(responses.parse(body))]
    if events and "type" in events[0]:
        return [_decision(_assembled(responses.Assembly(), events))]
    if body:
        return [_decision(chat.parse({**body, "choices": [choice]})) for choice in body["choices"]]
    indexes = sorted({choice["index"] for event in events for choice in event["choices"]})
    return [_decision(_assembled(chat.Assembly(), _only(events, index))) for index in indexes]


def _events(sse: str) -> list[Json]:
    lines = (line[5:].strip() for line in sse.splitlines() if line.startswith("data:"))
    return [json.loads(line) for line in lines if line and line != "[DONE]"]


def _only(events: list[Json], index: int) -> list[Json]:
    ours = ([{**c, "index": 0} for c in event["choices"] if c["index"] == index] for event in events)
    return [{**event, "choices": choices} for event, choices in zip(events, ours, strict=True)]


def _assembled(assembly: chat.Assembly | responses.Assembly, events: list[Json]) -> Reply:
    for event in events:
        assembly.feed(event)
    return assembly.reply()


def _decision(reply: Reply) -> Decision:
    said = reply.message
    return Decision(
        text=said.content or None,
        calls=said.calls,
        refusal=said.refusal,
        finish=None if "items" in said.extra else reply.finish,
        reasoning_text=said.extra.get("reasoning_content"),
        usage=reply.usage if reply.usage.total else None,
    )


class Recorder:
    """Hooks of an HTTP client that keep every exchange in a new cassette, a stream when it is complete.

    Raises `BadSetup` when the file is there already: a recording is never written over.
    """

    def __init__(self, path: Path | str):
        if Path(path).exists():
            hint = "Name a new file for the recording, or delete it."
            raise BadSetup(f"{path} is there already", hint=hint)
        self.path, self.lock, self.interactions = Path(path), Lock(), []

    def keep(self, response: httpx2.Response) -> None:
        response.read()
        self._add(response)

    async def keep_async(self, response: httpx2.Response) -> None:
        await response.aread()
        self._add(response)

    def _add(self, response: httpx2.Response) -> None:
        request, kind = response.request, response.headers.get("content-type", "")
        body = request.content.decode("utf-8", "replace")
        exchange = {
            "host": request.url.host,
            "path": request.url.path,
            "request": read_json(body, body),
            "status": response.status_code,
            "headers": {k: v for k, v in response.headers.items() if KEPT_HEADERS.match(k)},
            "sse" if "event-stream" in kind else "response": read_json(response.text, response.text),
        }
        with self.lock:
            self.interactions.append(exchange)
            whole = {"origin": "recorded by labkit", "interactions": self.interactions}
            write_text(self.path, scrub(json.dumps(whole, ensure_ascii=False, indent=1)) + "\n")
