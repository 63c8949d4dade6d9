"""One request in, one answer out: the service behind every door, with no socket and no clock of its own.

Route, JSON, key, rules, planned fault, brain, hard controls, reply: the first that says no answers.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from traceback import extract_tb
from typing import NamedTuple
from urllib.parse import unquote

from labkit.protocol.errors import LabError, WireError
from labkit.protocol.families import FAMILIES, family
from labkit.protocol.families import vendor as vendor_named
from labkit.protocol.messages import Usage
from labkit.protocol.tokens import count_request
from labkit.service.cache import PrefixCache
from labkit.service.checks import (
    CheckContext,
    check_chat,
    check_responses,
    context_length_error,
    model_error,
)
from labkit.service.decide import Ask, Brain, Decision, ask_of, chat_form
from labkit.service.door import CHAT, Refused, Seen, check_door, parse
from labkit.service.faults import SORRY, Fault, troubled
from labkit.service.obey import broken_rule
from labkit.service.replies import Json, Settled, Stamp, as_json, chunk_lines, completion, digest, settle
from labkit.service.response_items import event_lines, response

START = 1_796_000_000.0
REQUESTS_PER_MINUTE, TOKENS_PER_MINUTE = 10_000, 2_000_000
STORED, KEPT, WORTH_KEEPING = 10_000, 1_000, 20_000
log = logging.getLogger(__name__)
NO_FAULT, NO_RETRY = Fault(0), {"x-should-retry": "false"}
JSON, STREAM = (b"content-type", b"application/json"), (b"content-type", b"text/event-stream; charset=utf-8")
ALWAYS = [
    (b"openai-organization", b"org-labkit"),
    (b"openai-version", b"2020-10-01"),
    (b"x-ratelimit-limit-requests", b"%d" % REQUESTS_PER_MINUTE),
    (b"x-ratelimit-limit-tokens", b"%d" % TOKENS_PER_MINUTE),
    (b"x-ratelimit-remaining-requests", b"%d" % (REQUESTS_PER_MINUTE - 1)),
    (b"x-ratelimit-reset-requests", b"%dms" % (60_000 // REQUESTS_PER_MINUTE)),
]


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


class Answer(NamedTuple):
    """What goes back: a whole body, or chunks among which a float is a wait (s); `lost`: nothing arrives."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes | Iterator[bytes | float]
    wait: float = 0.0
    lost: bool = False


class Service:
    """An API that a brain answers; `seen` holds the last `keep` requests (all by default), in order.

    `vendor` and `profile` choose the rules; `faults` are planned by request number; times are in seconds.

    >>> service = Service(lambda ask: Decision(text="hi"), require_key=False)
    >>> service.handle("POST", "/v1/chat/completions", {}, b"{}").status, service.seen[0].error.param
    (400, 'model')
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
        self.clock = clock or virtual
        self.sleep = sleep or getattr(self.clock, "sleep", virtual.sleep)
        self.faults = {fault.at: fault for fault in faults}
        self.seen: deque[Seen] = deque(maxlen=keep)
        self.cache, self.stored, self.accepted = PrefixCache(), {}, {}
        self.context = CheckContext(profile, vendor_named(vendor), self.stored)
        self.numbers, self.answered = count(1), 0
        self.first_id = int.from_bytes(digest(16, f"{seed}").encode())

    def handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        """Answer one HTTP request; `headers` are asked for names in lower case."""
        number, body, error, where = next(self.numbers), parse(raw), None, path.removeprefix("/v1")
        try:
            key = (headers.get("authorization") or "") if self.require_key else None
            check_door(method, where, body, key)
            answer = self._models(number, where) if method == "GET" else self._turn(number, where, body, raw)
        except Exception as failure:
            refused = failure if isinstance(failure, Refused) else _own_fault(failure)
            error, extra = refused.error, refused.headers.items()
            own = [JSON, *((name.encode(), value.encode()) for name, value in extra)]
            answer = Answer(error.status, self._headers(number, own), as_json(error.body()))
        self.seen.append(Seen(number, path, body, headers, answer.status, error))
        return answer

    def _turn(self, number: int, path: str, body: Json, raw: bytes) -> Answer:
        form, items, tokens = self._accept(path, body, raw)
        fault = self.faults.get(number, NO_FAULT)
        if fault.error:
            message = fault.error.message.replace("{model}", body["model"])
            raise Refused(replace(fault.error, message=message), fault.headers)
        model = family(body["model"])
        stamp = Stamp(self.seed, number, int(self.clock()), model, self.context.vendor.name)
        settled, usage = self._decide(form, body, stamp, tokens)
        pace = settled[0].pace
        if items is None:
            return self._reply(completion(stamp, settled, usage), body, stamp, fault, tokens, pace)
        whole = response(stamp, body, settled[0], usage)
        if body.get("store") is not False:
            self._store(whole, items)
        return self._reply(whole, body, stamp, fault, tokens, pace)

    def _accept(self, path: str, body: Json, raw: bytes) -> tuple[Json, list[Json] | None, int]:
        """The request in Chat form, the items of a Responses request, and its tokens; or `Refused`."""
        chat = path == CHAT
        if chat and raw in self.accepted:
            return body, None, self.accepted[raw]
        if error := (check_chat if chat else check_responses)(body, self.context):
            raise Refused(error)
        items = None if chat else self._items(body)
        form, model = body if chat else chat_form(body, items), family(body["model"])
        tokens = count_request(form, model).total
        if error := context_length_error(form, model, tokens):
            raise Refused(error)
        if chat and len(raw) < WORTH_KEEPING:
            self.accepted = {} if len(self.accepted) > KEPT else self.accepted
            self.accepted[raw] = tokens
        return form, items, tokens

    def _decide(self, form: Json, body: Json, stamp: Stamp, tokens: int) -> tuple[list[Settled], Usage]:
        parallel, settled, output, thought = self.context.vendor.parallel_default, [], 0, 0
        for choice in range(form.get("n") or 1):
            ask = ask_of(form, turn=self.answered, choice=choice, parallel=parallel, raw=body)
            decision = self._ask(ask)
            settled.append(one := settle(decision, ask, stamp))
            output, thought = output + one.tokens, thought + one.reasoning_tokens
        self.answered += 1
        cached, written = self.cache.read(form, stamp.family, tokens, self.clock())
        return settled, decision.usage or Usage(tokens, output, cached, written, thought)

    def _ask(self, ask: Ask) -> Decision:
        try:
            decision = self.brain(ask)
            odd = f"it answered {type(decision).__name__}, not a Decision"
            said = broken_rule(ask, decision) if isinstance(decision, Decision) else odd
        except LabError as error:
            raise Refused(WireError(str(error), None, error.kind, 500, "server_error"), NO_RETRY) from error
        except Exception as error:
            place = extract_tb(error.__traceback__)[-1]
            said = f"it raised {type(error).__name__}: {error} (line {place.lineno} of {place.name})"
        if said:
            message = f"The brain behind this offline service broke a rule that the API keeps: {said}."
            raise Refused(WireError(message, None, "brain_error", 500, "server_error"), NO_RETRY)
        return decision

    def _items(self, body: Json) -> list[Json]:
        given = body.get("input") or []
        given = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return [*self.stored.get(body.get("previous_response_id") or "", ()), *given]

    def _store(self, whole: Json, items: list[Json]) -> None:
        self.stored[whole["id"]] = [*items, *whole["output"]]
        if len(self.stored) > STORED:
            self.stored.pop(next(iter(self.stored)))

    def _models(self, number: int, path: str) -> Answer:
        wanted, owner = unquote(path[len("/models/") :]), self.context.vendor.name
        known = family(wanted)
        if wanted and (known is None or known.vendor != owner):
            raise Refused(model_error(wanted))
        about = {"object": "model", "created": int(START), "owned_by": owner}
        names = [name for name, one in FAMILIES.items() if one.vendor == owner]
        listed = {"object": "list", "data": [{"id": name, **about} for name in names]}
        body = as_json({"id": wanted, **about} if wanted else listed)
        return Answer(200, self._headers(number, [JSON]), body)

    def _reply(self, whole: Json, body: Json, stamp: Stamp, fault: Fault, tokens: int, pace: float) -> Answer:
        kind = STREAM if body.get("stream") else JSON
        headers = self._headers(stamp.number, [kind], fault.wait, tokens)
        if kind is JSON:
            return Answer(200, headers, as_json(whole), fault.wait, fault.lost or fault.cut_after is not None)
        lines = chunk_lines if "choices" in whole else event_lines
        parts = lines(whole, stamp, body.get("stream_options") or {})
        return Answer(200, headers, troubled(parts, fault, pace), fault.wait, fault.lost)

    def _headers(
        self, number: int, own: list[tuple[bytes, bytes]], wait: float = 0.0, tokens: int = 0
    ) -> list[tuple[bytes, bytes]]:
        return [
            *own,
            *ALWAYS,
            (b"x-request-id", b"req_%032x" % ((self.first_id + number) % 2**128)),
            (b"openai-processing-ms", b"%d" % round(1000 * wait)),
            (b"x-ratelimit-remaining-tokens", b"%d" % max(TOKENS_PER_MINUTE - tokens, 0)),
            (b"x-ratelimit-reset-tokens", b"%dms" % (60_000 * tokens // TOKENS_PER_MINUTE)),
        ]


def _own_fault(failure: Exception) -> Refused:
    """An error of this service itself: logged whole, told in words, never a traceback on the wire."""
    log.error("the offline service failed", exc_info=failure)
    message = f"{SORRY} (labkit: {type(failure).__name__}; its log has the rest)"
    return Refused(WireError(message, None, "internal_error", 500, "server_error"), NO_RETRY)
