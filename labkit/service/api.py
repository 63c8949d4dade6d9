"""One request in, one answer out: the service behind every door, with no socket and no clock of its own.

JSON, key, rules, planned fault, brain, hard controls, reply: the first that says no answers.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from urllib.parse import unquote

from pydantic_core import from_json

from labkit.protocol.errors import LabError, WireError
from labkit.protocol.families import FAMILIES, family
from labkit.protocol.families import vendor as vendor_named
from labkit.protocol.messages import Usage
from labkit.protocol.tokens import count_request
from labkit.service.cache import PrefixCache
from labkit.service.checks import CheckContext, check_chat, check_responses, context_length_error, model_error
from labkit.service.decide import Ask, Brain, Decision, ask_of, chat_form
from labkit.service.faults import Fault
from labkit.service.obey import broken_rule
from labkit.service.replies import Settled, Stamp, as_json, chunks, completion, digest, padded, settle
from labkit.service.response_items import events, response

START = 1_796_000_000.0
REQUESTS_PER_MINUTE, TOKENS_PER_MINUTE, STORED = 10_000, 2_000_000, 10_000
NO_FAULT = Fault(0)
ALWAYS = {
    "openai-organization": "org-labkit",
    "openai-version": "2020-10-01",
    "x-ratelimit-limit-requests": f"{REQUESTS_PER_MINUTE}",
    "x-ratelimit-limit-tokens": f"{TOKENS_PER_MINUTE}",
    "x-ratelimit-remaining-requests": f"{REQUESTS_PER_MINUTE - 1}",
    "x-ratelimit-reset-requests": f"{60_000 // REQUESTS_PER_MINUTE}ms",
}
CHAT = "/chat/completions"
CHECKS = {CHAT: check_chat, "/responses": check_responses}
NO_RETRY = {"x-should-retry": "false"}
Json = dict[str, Any]
NOT_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
    "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you "
    "have trouble figuring out how to fix this, please contact us through our help center at "
    "help.openai.com.)"
)
NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
    "auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're "
    "accessing the API from your browser and are prompted for a username and password. You can obtain an API "
    "key from https://platform.openai.com/account/api-keys."
)
WRONG_KEY = "Incorrect API key provided: {}. You can find your API key at https://platform.openai.com/account/api-keys."
"""Where virtual time begins, and texts of openai-wire §6.1."""


class ConnectionCut(Exception):
    """Raised by the body of an answer where the planned fault breaks the connection."""


class Refused(Exception):
    def __init__(self, error: WireError, **headers: str):
        super().__init__(error.message)
        self.error, self.headers = error, headers


class VirtualClock:
    """Time that stands still until someone sleeps: no test waits, and every run shows the same times.

    >>> clock = VirtualClock(100.0); clock.sleep(2.5); clock()
    102.5
    """

    def __init__(self, now: float = START):
        self.now = now

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it came in and how it was answered; `attempt` is 1, then the SDK's retries."""

    number: int
    path: str
    body: dict[str, Any] | None
    headers: dict[str, str] = field(repr=False)
    attempt: int
    status: int
    error: WireError | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a whole body, or chunks among which a float is a wait (s); `lost`: nothing arrives."""

    status: int
    headers: dict[str, str]
    body: bytes | Iterator[bytes | float]
    wait: float = 0.0
    lost: bool = False
    tokens: int = 0
    error: WireError | None = None


class Service:
    """An API that a brain answers; `seen` holds the last `keep` requests (all by default), in order.

    Times are in seconds. `vendor` and `profile` choose the rules; `faults` are planned by request number.
    """

    def __init__(
        self,
        brain: Brain,
        *,
        seed: int = 0,
        profile: str = "strict",
        vendor: str = "openai",
        faults: Sequence[Fault] = (),
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], None] | None = None,
        require_key: bool = True,
        keep: int | None = None,
    ):
        virtual = VirtualClock()
        self.brain, self.seed, self.require_key = brain, seed, require_key
        self.clock = virtual if clock is None else clock
        self.sleep = sleep or getattr(self.clock, "sleep", virtual.sleep)
        self.faults = {fault.at: fault for fault in faults}
        self.seen: deque[Seen] = deque(maxlen=keep)
        self.cache = PrefixCache()
        self.stored: dict[str, list[dict[str, Any]]] = {}
        self.context = CheckContext(profile, vendor_named(vendor), self.stored)
        self.numbers, self.answered = count(1), 0

    def handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        """Answer one HTTP request; `headers` are asked for names in lower case."""
        number, body = next(self.numbers), _parse(raw)
        try:
            answer = self._route(number, method, path.removeprefix("/v1"), headers, body)
        except Refused as refused:
            error = refused.error
            answer = Answer(error.status, refused.headers, as_json(error.body()), error=error)
        answer.headers.update(self._headers(number, answer))
        attempt = int(headers.get("x-stainless-retry-count") or 0) + 1
        self.seen.append(Seen(number, path, body, _safe(headers), attempt, answer.status, answer.error))
        return answer

    def _route(self, number: int, method: str, path: str, headers: Mapping[str, str], body: Any) -> Answer:
        wanted = "POST" if path in CHECKS else "GET" if path.startswith("/models") else None
        if wanted is None:
            raise Refused(WireError(f"Invalid URL ({method} /v1{path})", status=404))
        if method != wanted:
            raise Refused(
                WireError(f"Not allowed to {method} on /v1{path}.", None, "method_not_supported", 405)
            )
        if wanted == "POST" and body is None:
            raise Refused(WireError(NOT_JSON))
        if self.require_key:
            _authorise(headers.get("authorization") or "")
        return self._turn(number, path, body) if wanted == "POST" else self._models(path)

    def _turn(self, number: int, path: str, body: Json) -> Answer:
        if error := CHECKS[path](body, self.context):
            raise Refused(error)
        items = None if path == CHAT else self._items(body)
        form = body if items is None else chat_form(body, items)
        model, fault = family(body["model"]), self.faults.get(number, NO_FAULT)
        tokens = count_request(form, model).total
        if error := context_length_error(form, model, tokens):
            raise Refused(error)
        if fault.error:
            message = fault.error.message.replace("{model}", body["model"])
            raise Refused(replace(fault.error, message=message), **fault.headers)
        stamp = Stamp(self.seed, number, int(self.clock()), model, self.context.vendor.name)
        settled, usage = self._decide(form, body, stamp, tokens)
        if items is None:
            whole = completion(stamp, settled, usage)
        else:
            whole = response(stamp, body, settled[0], usage)
            self._store(body, whole, items)
        return _reply(whole, body, stamp, fault, tokens)

    def _decide(self, form: Json, body: Json, stamp: Stamp, tokens: int) -> tuple[list[Settled], Usage]:
        parallel, turn = self.context.vendor.parallel_default, self.answered
        settled, spent = [], None
        for choice in range(form.get("n") or 1):
            ask = ask_of(form, turn=turn, choice=choice, parallel=parallel, raw=body)
            decision = self._ask(ask)
            settled.append(settle(decision, ask, stamp))
            spent = spent or decision.usage
        self.answered += 1
        cached, written = self.cache.read(form, stamp.family, tokens, self.clock())
        output, thought = sum(one.tokens for one in settled), sum(one.reasoning_tokens for one in settled)
        return settled, spent or Usage(tokens, output, cached, written, thought)

    def _ask(self, ask: Ask) -> Decision:
        try:
            decision = self.brain(ask)
            said = (
                None
                if isinstance(decision, Decision)
                else f"it answered {type(decision).__name__}, no Decision"
            )
            said = said or broken_rule(ask, decision)
        except LabError as error:
            raise Refused(WireError(str(error), None, error.kind, 500, "server_error"), **NO_RETRY) from error
        except Exception as error:
            said = f"it raised {type(error).__name__}: {error}"
        if said:
            message = f"The brain of this offline service broke a rule that the API keeps: {said}."
            raise Refused(WireError(message, None, "brain_error", 500, "server_error"), **NO_RETRY)
        return decision

    def _items(self, body: Json) -> list[Json]:
        given = body.get("input") or []
        given = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return [*self.stored.get(body.get("previous_response_id") or "", ()), *given]

    def _store(self, body: Json, whole: Json, items: list[Json]) -> None:
        if body.get("store") is not False:
            self.stored[whole["id"]] = [*items, *whole["output"]]
            if len(self.stored) > STORED:
                self.stored.pop(next(iter(self.stored)))

    def _models(self, path: str) -> Answer:
        wanted = unquote(path.removeprefix("/models").removeprefix("/"))
        known = family(wanted)
        if wanted and known is None:
            raise Refused(model_error(wanted))
        names = [name for name, one in FAMILIES.items() if one.vendor == self.context.vendor.name]
        about = {"object": "model", "created": int(START), "owned_by": self.context.vendor.name}
        listed = {"object": "list", "data": [{"id": name, **about} for name in names]}
        return Answer(
            200, {"content-type": "application/json"}, as_json({"id": wanted, **about} if wanted else listed)
        )

    def _headers(self, number: int, answer: Answer) -> dict[str, str]:
        return {
            **ALWAYS,
            "x-request-id": "req_" + digest(32, f"{self.seed}/{number}"),
            "openai-processing-ms": str(round(1000 * answer.wait)),
            "x-ratelimit-remaining-tokens": str(max(TOKENS_PER_MINUTE - answer.tokens, 0)),
            "x-ratelimit-reset-tokens": f"{60_000 * answer.tokens // TOKENS_PER_MINUTE}ms",
        }


def _parse(raw: bytes) -> Json | None:
    try:
        body = from_json(raw, allow_inf_nan=False)
    except ValueError:
        body = _parse_slowly(raw)
    return body if isinstance(body, dict) else None


def _parse_slowly(raw: bytes) -> Any:
    """For lone surrogates, which the fast parser refuses and JSON allows."""
    try:
        return json.loads(raw, parse_constant=_no_constant) if b"\\u" in raw else None
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _authorise(header: str) -> None:
    scheme, _, key = header.partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise Refused(WireError(NO_KEY, status=401))
    if not key.startswith("sk-"):
        raise Refused(WireError(WRONG_KEY.format(_masked(key)), None, "invalid_api_key", 401))


def _masked(key: str) -> str:
    return f"{key[:8]}{'*' * max(len(key) - 12, 4)}{key[-4:]}" if len(key) > 8 else "*" * len(key)


def _safe(headers: Mapping[str, str]) -> dict[str, str]:
    kept = dict(headers)
    if "authorization" in kept:
        kept["authorization"] = "Bearer " + _masked(kept["authorization"][7:])
    return kept


def _reply(whole: Json, body: Json, stamp: Stamp, fault: Fault, tokens: int) -> Answer:
    lost = fault.lost or (fault.cut_after is not None and not body.get("stream"))
    if not body.get("stream"):
        return Answer(200, {"content-type": "application/json"}, as_json(whole), fault.wait, lost, tokens)
    options = body.get("stream_options") or {}
    pad = options.get("include_obfuscation") is not False
    parts = _chat_lines(whole, stamp, options, pad) if "choices" in whole else _event_lines(whole, stamp, pad)
    headers = {"content-type": "text/event-stream; charset=utf-8"}
    return Answer(200, headers, _troubled(parts, fault), fault.wait, lost, tokens)


def _chat_lines(whole: Json, stamp: Stamp, options: Json, pad: bool) -> Iterator[bytes]:
    for position, chunk in enumerate(chunks(whole, stamp, options)):
        yield b"data: " + (padded(chunk, stamp, position) if pad else as_json(chunk)) + b"\n\n"
    yield b"data: [DONE]\n\n"


def _event_lines(whole: Json, stamp: Stamp, pad: bool) -> Iterator[bytes]:
    for number, event in enumerate(events(whole)):
        event = {**event, "sequence_number": number}
        data = padded(event, stamp, number) if pad and "delta" in event else as_json(event)
        yield b"event: " + event["type"].encode() + b"\ndata: " + data + b"\n\n"


def _troubled(parts: Iterator[bytes], fault: Fault) -> Iterator[bytes | float]:
    for position, part in enumerate(parts):
        if position == fault.cut_after:
            raise ConnectionCut
        if position and fault.every:
            yield fault.every
        yield part
