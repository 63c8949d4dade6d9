"""Which one answers: `connect(...)` returns a client of the real SDK; one word says who decides behind it.

Offline: sim (a simulated model), script (your brain), replay (a recording), local (a small genuine model).
Over the network: openai, deepseek, qwen, kimi, or any base URL. Nothing else knows the difference.
"""

import os
from collections.abc import MutableSequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

from labkit.protocol.arguments import read_json
from labkit.protocol.errors import BadSetup
from labkit.protocol.families import VENDORS, Vendor, vendor
from labkit.service.api import Seen, Service
from labkit.service.brains.local import Local, load
from labkit.service.brains.recorded import Recorder, replay
from labkit.service.brains.simulated import simulated
from labkit.service.decide import Brain
from labkit.service.transport import Transport

Client = OpenAI | AsyncOpenAI
OFFLINE = ("sim", "script", "replay", "local")
NOWHERE, NO_KEY = "http://labkit.offline/v1", "sk-offline-no-key-needed"


@dataclass(frozen=True, slots=True)
class Connection:
    """What stands behind a client: its name, the vendor whose wire it speaks, what was sent, the service."""

    which: str
    vendor: Vendor
    sent: MutableSequence[Seen]
    service: Service | None = None


def connect(
    which: str | None = None,
    brain: Brain | str | Path | None = None,
    *,
    max_retries: int = 2,
    asynchronous: bool = False,
    record: str | Path | None = None,
    **options: Any,
) -> Client:
    """An SDK client; `which` defaults to $LABKIT_CLIENT, then to the brain given, then to the simulated one.

    `options` (seed, profile, vendor, faults …) are for the offline `Service`; `record` names a new cassette.
    Raises `BadSetup` when a key, a model or a brain is missing.

    >>> from labkit.service.decide import Decision
    >>> client = connect("script", lambda ask: Decision(text="你好"))
    >>> question = [{"role": "user", "content": "hi"}]
    >>> client.chat.completions.create(model=model_for(client), messages=question).choices[0].message.content
    '你好'
    """
    which = which or os.environ.get("LABKIT_CLIENT") or ("sim" if brain is None else "script")
    behind, key, transport = _offline(which, brain, options) if which in OFFLINE else _online(which)
    sdk, web = (AsyncOpenAI, DefaultAsyncHttpxClient) if asynchronous else (OpenAI, DefaultHttpxClient)
    http = web(transport=transport, event_hooks=_hooks(behind, record, asynchronous))
    http.labkit = behind
    return sdk(base_url=behind.vendor.base_url, api_key=key, http_client=http, max_retries=max_retries)


def _offline(which: str, brain: Any, options: Any) -> tuple[Connection, str, Any]:
    service = Service(_brain(which, brain, options.get("seed", 0)), **options)
    spoken = replace(service.context.vendor, base_url=NOWHERE)
    return Connection(which, spoken, service.seen, service), NO_KEY, Transport(service)


def _brain(which: str, brain: Any, seed: int) -> Brain:
    if which == "sim":
        return simulated(seed)
    if which == "local":
        return Local(load(brain))
    if brain is None:
        hint = "Pass a brain, or a cassette's path."
        raise BadSetup(f'connect("{which}") needs a second argument', hint=hint)
    return replay(brain) if which == "replay" else brain


def _online(which: str) -> tuple[Connection, str, None]:
    if which.startswith(("http://", "https://")):
        named = replace(vendor("openai"), base_url=which)
        return Connection(which, named, []), os.environ.get("LABKIT_API_KEY", NO_KEY), None
    if which not in VENDORS:
        hint = f"There are {', '.join((*OFFLINE, *VENDORS))}, or give a base URL."
        raise BadSetup(f"nothing answers by the name {which!r}", hint=hint)
    named = vendor(which)
    if key := os.environ.get(named.key_variable):
        return Connection(which, named, []), key, None
    hint = "Set it, or unset LABKIT_CLIENT: the lessons need no key."
    raise BadSetup(f"{which} needs a key in the variable {named.key_variable}", hint=hint)


def _hooks(behind: Connection, record: str | Path | None, asynchronous: bool) -> dict[str, list[Any]]:
    def note(request: httpx2.Request) -> None:
        headers = {name: value for name, value in request.headers.items() if name != "authorization"}
        text = request.content.decode("utf-8", "replace") or "null"
        said = Seen(len(behind.sent) + 1, request.url.path, read_json(text, text), headers, status=0)
        behind.sent.append(said)

    async def note_async(request: httpx2.Request) -> None:
        note(request)

    recorder = Recorder(record) if record else None
    keep = recorder and (recorder.keep_async if asynchronous else recorder.keep)
    notes = [] if behind.service else [note_async if asynchronous else note]
    return {"request": notes, "response": [keep] if keep else []}


def behind(client: Client) -> Connection:
    """What stands behind a client of ours, or behind a copy made of it; raises `BadSetup` for another's."""
    found = getattr(client._client, "labkit", None)
    if found is None:
        raise BadSetup("this client was not made by connect()", hint="Make it with connect(...).")
    return found


def sent(client: Client) -> list[Seen]:
    """The requests that a client really sent, the SDK's own retries included, oldest first."""
    return list(behind(client).sent)


def service(client: Client) -> Service:
    """The service behind an offline client; raises `BadSetup` when a real API is behind it."""
    if (found := behind(client).service) is None:
        raise BadSetup(f"{behind(client).which} is a real API", hint="Only offline clients have a service.")
    return found


def model_for(client: Client, *, sampling: bool = False) -> str:
    """The vendor's model (`sampling`: one that takes a temperature); over the network $LABKIT_MODEL wins."""
    spoken, chosen = behind(client).vendor, os.environ.get("LABKIT_MODEL")
    if chosen and behind(client).service is None:
        return chosen
    return spoken.sampling_model if sampling else spoken.model
