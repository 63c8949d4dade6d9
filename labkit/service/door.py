"""What happens at the door, before any rule: path, JSON, key; and what is remembered of who came in."""

import json
from collections.abc import Mapping
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


class Seen(NamedTuple):
    """A request as it came in, and how it was answered."""

    number: int
    path: str
    body: dict[str, Any] | None
    came: Mapping[str, str]
    status: int
    error: WireError | None = None

    @property
    def attempt(self) -> int:
        """Which try this is, by the SDK's own count (openai-wire §6.3)."""
        count = self.came.get("x-stainless-retry-count") or "0"
        return int(count) + 1 if count in "0123456789" else 1

    @property
    def headers(self) -> dict[str, str]:
        """The headers that came, names in lower case, the key masked."""
        named = {name.lower(): value for name, value in self.came.items()}
        shown = {"authorization": "Bearer " + masked(named.get("authorization", "")[7:])}
        return named | shown if "authorization" in named else named

    def __repr__(self) -> str:
        said = f" {self.error.code or self.error.type}" if self.error else ""
        return f"<request {self.number}: {self.path}, attempt {self.attempt} -> {self.status}{said}>"


def check_door(method: str, path: str, body: Any, key: str | None) -> None:
    """Raise `Refused` unless method and path lead somewhere, in JSON, with a key (None: none is needed)."""
    wanted = "POST" if path in (CHAT, RESPONSES) else "GET" if path.startswith("/models") else None
    if wanted is None:
        raise Refused(WireError(f"Invalid URL ({method} /v1{path})", status=404))
    if method != wanted:
        said = f"Not allowed to {method} on /v1{path}."
        raise Refused(WireError(said, None, "method_not_supported", 405))
    if wanted == "POST" and body is None:
        raise Refused(WireError(NOT_JSON))
    if key is not None:
        check_key(key)


def check_key(header: str) -> None:
    """Raise `Refused` unless an Authorization header holds a key that begins as keys do."""
    scheme, _, key = header.partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise Refused(WireError(NO_KEY, status=401))
    if not key.startswith("sk-"):
        raise Refused(WireError(WRONG_KEY.format(masked(key)), None, "invalid_api_key", 401))


def masked(key: str) -> str:
    """A key as the API shows it.

    >>> masked("sk-proj-0123456789abcdef")
    'sk-proj-************cdef'
    """
    return f"{key[:8]}{'*' * (len(key) - 12)}{key[-4:]}" if len(key) > 12 else "*" * len(key)


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
