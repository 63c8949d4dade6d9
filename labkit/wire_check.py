"""Does a server accept, refuse and word like the real API? Rule rows and recorded requests, sent one by one.

Against our own service by default, in process; against any compatible server, or the API itself, by URL.
A run that could not look (no answer, wrong key, rate limit) is red, never green.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from labkit.files import ROOT, dataset, read_jsonl
from labkit.protocol.families import family
from labkit.protocol.tokens import count_request
from labkit.service.api import Service
from labkit.service.brains.scripted import obedient

CASSETTES = ROOT / "tests" / "cassettes"
REWRITTEN = "compat_stream_variant_"  # recordings of another host
OUTPUT_GUESS = 200  # output tokens of a reply, for the estimate only
FIELDS = ("type", "param", "code", "message")


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


class Said(NamedTuple):
    """An HTTP answer; status 0 is none."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class Difference:
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
        blind = sum(difference.blind for difference in self.differences)
        lines = [f"{self.target}: {estimate(self.cases)}"]
        for title, valid in (("valid, accepted", True), ("invalid, refused in the same words", False)):
            chosen = [case for case in self.cases if (case.status < 300) is valid]
            lines.append(f"  {title}: {sum(case.id not in wrong for case in chosen)} of {len(chosen)}")
        lines += [f"  could not look: {blind}"] * bool(blind)
        lines += [f"  {difference.case.id}: {difference.what}" for difference in self.differences]
        return "\n".join(
            [*lines, "same" if self.ok else "DIFFERENT" if len(wrong) > blind else "COULD NOT LOOK"]
        )


def rule_cases() -> Iterator[Case]:
    """The rows of `datasets/wire_rules` that need nothing stored on the server before."""
    for row in read_jsonl(dataset("wire_rules") / "rules.jsonl"):
        if "stored" not in row:
            expect = dict(row["expect"])
            who = (row.get("vendor", "openai"), row.get("profile", "strict"))
            yield Case(
                row["id"], f"/v1/{row['endpoint']}", row["request"], expect.pop("status"), expect, *who
            )


def recorded_cases(folder: Path = CASSETTES, host: str = "api.openai.com") -> Iterator[Case]:
    """The recorded requests to a host, but those whose verdict was about the key."""
    for file in sorted(folder.glob("*.json")):
        for index, one in enumerate(json.loads(file.read_text(encoding="utf-8"))["interactions"]):
            foreign = one["host"] != host or file.name.startswith(REWRITTEN)
            if one["request"] and not foreign and one["status"] != 401:
                path = "/v1/chat/completions" if "messages" in one["request"] else "/v1/responses"
                expect = one["response"]["error"] if one["status"] >= 400 else {}
                yield Case(f"{file.stem}#{index}", path, one["request"], one["status"], expect)


def in_process() -> Callable[[Case], Said]:
    """Send to our own service, without a socket."""
    service = cache(lambda vendor, profile: Service(obedient, vendor=vendor, profile=profile, keep=0))

    def send(case: Case) -> Said:
        raw = json.dumps(case.request, ensure_ascii=False).encode("utf-8", "surrogatepass")
        headers = {"authorization": "Bearer sk-wire-check"}
        answer = service(case.vendor, case.profile).handle("POST", case.path, headers, raw)
        body = (
            answer.body
            if isinstance(answer.body, bytes)
            else b"".join(p for p in answer.body if p and isinstance(p, bytes))
        )
        return Said(answer.status, body.decode("utf-8"))

    return send


def over_http(base_url: str, key: str, timeout: float = 60.0) -> Callable[[Case], Said]:
    """Send to a server; `base_url` ends in /v1, `timeout` is in seconds."""

    def send(case: Case) -> Said:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        url = base_url.rstrip("/") + case.path.removeprefix("/v1")
        request = urllib.request.Request(url, json.dumps(case.request).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return Said(answer.status, answer.read().decode("utf-8", "replace"))
        except urllib.error.HTTPError as error:
            return Said(error.code, error.read().decode("utf-8", "replace"))
        except (OSError, ValueError) as error:
            return Said(0, f"no answer ({error})")

    return send


def judge(case: Case, said: Said) -> Difference | None:
    """Where the answer differs from the API's verdict, if it does.

    >>> case = Case("x", "/v1/chat/completions", {"model": "m"}, 400, {"code": "empty_array"})
    >>> judge(case, Said(200, '{"choices": []}')).what
    'accepted, but the API refuses it: empty_array'
    """
    if said.status != case.status and (said.status in (0, 401, 403, 407, 429) or said.status >= 500):
        return Difference(case, f"status {said.status}: {said.body[:200]}", blind=True)
    if said.status < 300:
        if case.status >= 300:
            return Difference(
                case,
                f"accepted, but the API refuses it: {case.expect.get('message') or case.expect.get('code')}",
            )
        return (
            None
            if _is_reply(case, said.body)
            else Difference(case, f"no reply of this API: {said.body[:200]}")
        )
    error = _error(said.body)
    if case.status < 300:
        return Difference(case, f"refused, but the API accepts it: {error.get('message', said.body[:200])}")
    wanted = {"status": case.status, **{key: case.expect[key] for key in FIELDS if key in case.expect}}
    given = {"status": said.status, **error}
    wrong = [
        f"{key} {given.get(key)!r} instead of {value!r}"
        for key, value in wanted.items()
        if given.get(key) != value
    ]
    return Difference(case, "; ".join(wrong)) if wrong else None


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
    except ValueError:
        return False
    failed = any(part.get("error") or part.get("type") == "error" for part in parts)
    return (
        bool(parts) and not failed and any(key in part or key in part.get("response", {}) for part in parts)
    )


def estimate(cases: Sequence[Case]) -> str:
    """What sending these costs: only what is accepted is billed, and a reply is guessed at 200 tokens."""
    rows = json.loads((dataset("prices") / "prices.json").read_text(encoding="utf-8"))["prices"]
    prices = {row["model"]: (float(row["input"]), float(row["output"])) for row in rows}
    tokens, usd, unpriced = 0, 0.0, 0
    for case in cases:
        model = family(case.request["model"]) if case.status < 300 else None
        if model and case.path.endswith("/completions"):
            counted = count_request(case.request, model).total
            price = prices.get(model.name)
            tokens, unpriced = tokens + counted, unpriced + (price is None)
            usd += (counted * price[0] + OUTPUT_GUESS * price[1]) / 1e6 if price else 0.0
    return f"{len(cases)} requests, about {tokens} billed input tokens, about ${usd:.2f} ({unpriced} without a price)"


def run(
    base_url: str | None = None,
    key: str | None = None,
    *,
    cases: Iterable[Case] | None = None,
    vendor: str = "openai",
    announce: Callable[[str], None] = lambda line: None,
) -> Report:
    """Send every case and compare; with a URL only the cases of that vendor's strict profile.

    `announce` is told the estimate before the first request goes out.
    """
    chosen = [*rule_cases(), *recorded_cases()] if cases is None else [*cases]
    if base_url is not None:
        chosen = [case for case in chosen if case.vendor == vendor and case.profile == "strict"]
    announce(estimate(chosen))
    send = in_process() if base_url is None else over_http(base_url, key or "")
    differences = [difference for case in chosen if (difference := judge(case, send(case)))]
    return Report(base_url or "our own service, in process", tuple(chosen), tuple(differences))
