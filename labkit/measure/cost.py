"""What a run costs: dated prices, money from usage, tokens part by part, and a forecast before the run.

A model without a price is unpriced (None), never free. Cached and cache-write tokens are part of the input
and are billed once, at their own rate (openai-wire §7, §8).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from labkit.files import dataset
from labkit.protocol.errors import BadFile
from labkit.protocol.families import family
from labkit.protocol.messages import Usage
from labkit.protocol.tokens import count_message, count_request, count_tools

MILLION = Decimal(1_000_000)
LONG_CONTEXT = 272_000
SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$|-\d{4}$")


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens, as a source gave it on a day; None where that source gives no figure."""

    model: str
    input: Decimal
    output: Decimal
    source: str
    date: date
    cached: Decimal | None = None
    cache_write: Decimal | None = None


@lru_cache(maxsize=4)
def load_prices(path: Path | None = None) -> dict[str, Price]:
    """The price table by model name; raises `BadFile` naming the row that is wrong.

    >>> load_prices()["gpt-4.1-mini"].input
    Decimal('0.40')
    """
    path = path or dataset("prices") / "prices.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["prices"]
    try:
        return {price.model: price for price in TypeAdapter(list[Price]).validate_python(rows)}
    except ValidationError as error:
        (number, *where), said = error.errors()[0]["loc"], error.errors()[0]["msg"]
        about = f"{rows[number].get('model')!r}, {'.'.join(map(str, where))}"
        raise BadFile(f"{path.name}: price row {about}: {said}") from None


def price_of(model: str, prices: dict[str, Price] | None = None) -> Price | None:
    """The price of a model or of a dated snapshot of it.

    >>> price_of("gpt-4o-2024-08-06").model, price_of("my-own-model")
    ('gpt-4o', None)
    """
    prices = load_prices() if prices is None else prices
    return prices.get(model) or prices.get(SNAPSHOT.sub("", model))


def money(usage: Usage, price: Price | None) -> Decimal | None:
    """USD for this usage, or None when unpriced; long input is billed by the vendor's rule.

    >>> rate = Price("m", Decimal("0.5"), Decimal(3), "an example", date.min, cached=Decimal("0.05"))
    >>> money(Usage(input=20212, output=931, cached=16298), rate)
    Decimal('0.0055649')
    """
    if price is None:
        return None
    fresh = usage.input - usage.cached - usage.cache_write
    into = (
        fresh * price.input
        + usage.cached * (price.input if price.cached is None else price.cached)
        + usage.cache_write * (price.input if price.cache_write is None else price.cache_write)
    )
    out = usage.output * price.output
    if usage.input > LONG_CONTEXT and price.model.startswith("gpt-"):
        into, out = into * 2, out * Decimal("1.5")
    return (into + out) / MILLION


def parts(body: dict[str, Any], examples: int = 0) -> dict[str, int]:
    """Tokens of a Chat request by what put them there; `examples` messages after the rules are few-shot.

    >>> parts({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]})["dynamic"]
    5
    """
    of, messages = family(body["model"]), body["messages"]
    rules = next((n for n, m in enumerate(messages) if m["role"] not in ("system", "developer")), 0)
    found = dict.fromkeys(("schemas", "rules", "few_shot", "dynamic", "results", "frame"), 0)
    found["schemas"] = count_tools(body.get("tools") or (), of)
    for number, message in enumerate(messages):
        later = "results" if message["role"] == "tool" else "dynamic"
        part = "rules" if number < rules else "few_shot" if number < rules + examples else later
        found[part] += count_message(message, of)
    return found | {"frame": count_request(body, of).total - sum(found.values())}


def schemas(tools: Sequence[dict[str, Any]], model: str) -> dict[str, int]:
    """Tokens that each tool adds to every single request that has a tool already."""
    of = family(model)
    alone = count_tools(tools[:1], of)
    return {tool["function"]["name"]: count_tools([tools[0], tool], of) - alone for tool in tools}


@dataclass(frozen=True, slots=True)
class Forecast:
    """Tokens and money expected of a run of `calls` model calls; `error` compares it with the bill."""

    calls: int
    usage: Usage
    usd: Decimal | None

    def error(self, actual: Usage) -> float:
        """Relative error of the total, signed: +0.05 means that 5% too much was forecast."""
        return (self.usage.total - actual.total) / actual.total


def articles_formula(calls: int, *, input_tokens: int = 2000, output_tokens: int = 100) -> int:
    """The articles' estimate: every call costs the same (S1 §5.4).

    >>> articles_formula(2), articles_formula(3)
    (4200, 6300)
    """
    return calls * (input_tokens + output_tokens)


def forecast(
    body: dict[str, Any], *, replies: Sequence[int], results: Sequence[int], cached_share: float = 0.0
) -> Forecast:
    """Forecast a run from its first request: the chain grows by each reply and by each tool result.

    `replies` are the expected output tokens of each model call, `results` the tokens that come back between
    two calls (one fewer than replies), `cached_share` the part of the input expected from the cache (0..1).
    """
    if len(results) != len(replies) - 1:
        raise ValueError("between n replies stand n − 1 batches of results")
    first = count_request(body, family(body["model"])).total
    inputs = [first]
    for reply, result in zip(replies, results, strict=False):
        inputs.append(inputs[-1] + reply + result)
    usage = Usage(sum(inputs), sum(replies), cached=int(sum(inputs) * cached_share))
    return Forecast(len(replies), usage, money(usage, price_of(body["model"])))
