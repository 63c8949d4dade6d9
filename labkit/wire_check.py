"""Does a server accept, refuse and word like the real API? Rule rows and recorded requests, sent one by one.

Against our own service by default, in process; against any compatible server, or the API itself, by URL.
A run that could not look (no answer, wrong key, rate limit) is red, never green.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx2

from labkit.connect import NO_KEY
from labkit.files import ROOT, dataset, read_jsonl
from labkit.measure.cost import money, price_of
from labkit.protocol.families import family
from labkit.protocol.messages import Usage
from labkit.protocol.tokens import count_request
from labkit.service.api import Service
from labkit.service.brains.scripted import obedient
from labkit.service.decide import chat_form

CASSETTES = ROOT / "tests" / "cassettes"
REWRITTEN = "compat_stream_variant_"  # recordings of another host
REPLY_TOKENS = 200  # of a reply, guessed for the estimate
FIELDS = ("type", "param", "code", "message")
NOT_LOOKED = (0, 401, 403, 407, 429)

Said = tuple[int, str]  # HTTP status, 0 when there was no answer; and the body
Send = Callable[["Case"], Said]


@dataclass(frozen=True, slots=True)
class Case:
    """One request and the verdict of the API; `expect` has the fields of the error that are known."""

    id: str
    path: str
    request: dict[str, Any]
    status: int
    expect: dict[str, Any]
    vendor: str = "openai"
    profile: str = "strict"


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs in the answer to a case; `blind` when there was nothing to compare."""

    case: Case
    what: str
    blind: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What was sent and where it differs; `ok` only if all was looked at and nothing differs."""

    target: str
    cases: tuple[Case, ...]
    differences: tuple[Difference, ...]

    @property
    def ok(self) -> bool:
        return bool(self.cases) and not self.differences

    def text(self) -> str:
        wrong = {difference.case.id for difference in self.differences}
        lines = [f"wire check of {self.target}"]
        for title, valid in (("accepted as by the API", True), ("refused in its words", False)):
            chosen = [case for case in self.cases if (case.status < 300) is valid]
            lines.append(f"  {title}: {sum(case.id not in wrong for case in chosen)} of {len(chosen)}")
        lines += [f"  {difference.case.id}: {difference.what}" for difference in self.differences]
        blind = sum(difference.blind for difference in self.differences)
        seen = "the same" if self.ok else f"{len(wrong) - blind} different, {blind} not looked at"
        return "\n".join([*lines, seen])


def rule_cases() -> Iterator[Case]:
    """The rows of `datasets/wire_rules` that need nothing stored on the server before."""
    for row in read_jsonl(dataset("wire_rules") / "rules.jsonl"):
        if "stored" not in row:
            path, expect = f"/{row['endpoint']}", row["expect"]
            who = row.get("vendor", "openai"), row.get("profile", "strict")
            yield Case(row["id"], path, row["request"], expect["status"], expect, *who)


def recorded_cases(folder: Path = CASSETTES, host: str = "api.openai.com") -> Iterator[Case]:
    """The recorded requests to a host, but those whose verdict was about the key."""
    for file in sorted(folder.glob("*.json")):
        for index, one in enumerate(json.loads(file.read_text(encoding="utf-8"))["interactions"]):
            ours = one["host"] == host and not file.name.startswith(REWRITTEN)
            if one["request"] and ours and one["status"] != 401:
                path = "/chat/completions" if "messages" in one["request"] else "/responses"
                expect = one["response"]["error"] if one["status"] >= 400 else {}
                yield Case(f"{file.stem}#{index}", path, one["request"], one["status"], expect)


def in_process() -> Send:
    """Send to our own service, without a socket."""
    service = cache(lambda vendor, profile: Service(obedient, vendor=vendor, profile=profile, keep=0))
    key = {"authorization": "Bearer sk-wire-check"}

    def send(case: Case) -> Said:
        ours, body = service(case.vendor, case.profile), json.dumps(case.request).encode()
        answer = ours.handle("POST", f"/v1{case.path}", key, body)
        parts = [answer.body] if isinstance(answer.body, bytes) else answer.body
        return answer.status, b"".join(part for part in parts if isinstance(part, bytes)).decode("utf-8")

    return send


def over_http(base_url: str, key: str) -> Send:
    """Send to a server; `base_url` ends in /v1."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def send(case: Case) -> Said:
        url, body = base_url.rstrip("/") + case.path, json.dumps(case.request).encode()
        try:
            answer = httpx2.post(url, content=body, headers=headers, timeout=60)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            return 0, f"no answer ({error})"
        return answer.status_code, answer.text

    return send


def judge(case: Case, answer: Said) -> Difference | None:
    """Where the answer differs from the API's verdict, if it does.

    >>> case = Case("x", "/chat/completions", {"model": "m"}, 400, {"message": "Invalid 'tools'."})
    >>> judge(case, (200, '{"choices": []}')).what
    "accepted, but the API says: Invalid 'tools'."
    """
    status, body = answer
    if status != case.status and (status in NOT_LOOKED or status >= 500):
        return Difference(case, f"status {status}: {body[:200]}", blind=True)
    if status < 300 <= case.status:
        return Difference(case, f"accepted, but the API says: {case.expect.get('message', case.expect)}")
    if status < 300:
        return None if _is_reply(case, body) else Difference(case, f"no reply of this API: {body[:200]}")
    error = {"status": status, **_error(body)}
    if case.status < 300:
        return Difference(case, f"refused, but the API accepts it: {error.get('message', body[:200])}")
    wanted = {"status": case.status} | {key: case.expect[key] for key in FIELDS if key in case.expect}
    wrong = {key: value for key, value in wanted.items() if error.get(key) != value}
    said = [f"{key} {error.get(key)!r}, not {value!r}" for key, value in wrong.items()]
    return Difference(case, "; ".join(said)) if wrong else None


def _error(body: str) -> dict[str, Any]:
    try:
        return dict(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return {}


def _is_reply(case: Case, body: str) -> bool:
    key = "choices" if case.path.endswith("/completions") else "output"
    lines = [line[5:].strip() for line in body.splitlines() if line.startswith("data:")] or [body]
    try:
        parts = [json.loads(line) for line in lines if line != "[DONE]"]
        failed = any(part.get("error") or part.get("type") == "error" for part in parts)
        return not failed and any(key in part or key in part.get("response", {}) for part in parts)
    except (ValueError, AttributeError):
        return False


def estimate(cases: Sequence[Case]) -> str:
    """What sending these costs: only what is accepted is billed, with replies guessed at 200 tokens."""
    tokens, bills = 0, []
    for case in cases:
        if case.status < 300 and (model := family(case.request["model"])):
            counted = count_request(_as_chat(case.request), model).total
            tokens += counted
            bills.append(money(Usage(counted, REPLY_TOKENS), price_of(model.name)))
    cost = f"${sum(filter(None, bills)):.2f} ({bills.count(None)} without a price)"
    return f"{len(cases)} requests, about {tokens} billed input tokens, {cost}"


def _as_chat(request: dict[str, Any]) -> dict[str, Any]:
    given = request.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return request if "messages" in request else chat_form(request, items)


def run(
    base_url: str | None = None,
    key: str | None = None,
    *,
    cases: Iterable[Case] | None = None,
    vendor: str = "openai",
    announce: Callable[[str], None] = lambda line: None,
) -> Report:
    """Send every case and compare; with a URL only what that vendor's strict profile expects.

    `announce` is told the estimate before the first request goes out.
    """
    chosen = [*rule_cases(), *recorded_cases()] if cases is None else [*cases]
    if base_url is not None:
        chosen = [case for case in chosen if case.vendor == vendor and case.profile == "strict"]
    announce(estimate(chosen))
    send = in_process() if base_url is None else over_http(base_url, key or NO_KEY)
    differences = [difference for case in chosen if (difference := judge(case, send(case)))]
    return Report(base_url or "our own service, in process", tuple(chosen), tuple(differences))
