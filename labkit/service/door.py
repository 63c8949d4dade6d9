"""What happens at the door, before any rule: route, JSON, key; and what is remembered of who came in."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json

from labkit.protocol.errors import WireError

CHAT, RESPONSES = "/chat/completions", "/responses"
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


class Refused(Exception):
    """An error of the API on its way out, with the headers that go with it."""

    def __init__(self, error: WireError, headers: Mapping[str, str] | None = None):
        super().__init__(error.message)
        self.error, self.headers = error, headers or {}


class Request(NamedTuple):
    """One HTTP request; `path` without `/v1`, `body` None when it is no JSON object."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: dict[str, Any] | None


class Seen(NamedTuple):
    """A request as it came in and how it was answered; `attempt` is 1, then the SDK's retries."""

    number: int
    path: str
    body: dict[str, Any] | None
    headers: Mapping[str, str]
    attempt: int
    status: int
    error: WireError | None = None

    def __repr__(self) -> str:
        said = f" {self.error.code or self.error.type}" if self.error else ""
        return f"<request {self.number}: {self.path}, attempt {self.attempt} -> {self.status}{said}>"


class Headers(Mapping[str, str]):
    """Headers of a request, the key masked.

    >>> Headers({"authorization": "Bearer sk-proj-0123456789abcdef"})["authorization"]
    'Bearer sk-proj-**********cdef'
    """

    def __init__(self, came: Mapping[str, str]):
        self.came = came

    def __getitem__(self, name: str) -> str:
        value = self.came[name]
        return "Bearer " + masked(value.partition(" ")[2]) if name.lower() == "authorization" else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.came)

    def __len__(self) -> int:
        return len(self.came)


def attempt(headers: Mapping[str, str]) -> int:
    """Which try this is, by the SDK's own count (openai-wire §6.3)."""
    count = headers.get("x-stainless-retry-count") or "0"
    return int(count) + 1 if count.isascii() and count.isdigit() and len(count) < 5 else 1


def check_door(came: Request, require_key: bool) -> None:
    """Raise `Refused` unless path and method lead somewhere, in JSON, with a key if one is needed."""
    wanted = "POST" if came.path in (CHAT, RESPONSES) else "GET" if came.path.startswith("/models") else None
    if wanted is None:
        raise Refused(WireError(f"Invalid URL ({came.method} /v1{came.path})", status=404))
    if came.method != wanted:
        said = f"Not allowed to {came.method} on /v1{came.path}."
        raise Refused(WireError(said, None, "method_not_supported", 405))
    if wanted == "POST" and came.body is None:
        raise Refused(WireError(NOT_JSON))
    if require_key:
        _check_key(came.headers.get("authorization") or "")


def parse(raw: bytes) -> dict[str, Any] | None:
    """A JSON object, or None; lone surrogates, which JSON allows, take the slow way."""
    try:
        body = from_json(raw, allow_inf_nan=False)
    except ValueError:
        body = _parse_surrogates(raw) if b"\\u" in raw else None
    return body if isinstance(body, dict) else None


def _parse_surrogates(raw: bytes) -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(raw, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None


def _check_key(header: str) -> None:
    scheme, _, key = header.partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise Refused(WireError(NO_KEY, status=401))
    if not key.startswith("sk-"):
        raise Refused(WireError(WRONG_KEY.format(masked(key)), None, "invalid_api_key", 401))


def masked(key: str) -> str:
    return f"{key[:8]}{'*' * (len(key) - 12)}{key[-4:]}" if len(key) > 12 else "*" * len(key)
