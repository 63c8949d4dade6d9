"""Money is billed once, by a dated price; what has no price is unpriced, not free."""

from datetime import date
from decimal import Decimal

import pytest

from labkit.measure.cost import Price, articles_formula, forecast, load_prices, money, price_of
from labkit.protocol.errors import BadFile
from labkit.protocol.messages import Usage


def _price(**changes) -> Price:
    half, three, cached = Decimal("0.5"), Decimal(3), Decimal("0.05")
    return Price("m", half, three, "a bug report", date(2026, 1, 1), **{"cached": cached, **changes})


def test_c01_cached_tokens_are_billed_once():
    """C01: 20,212 tokens in of which 16,298 cached, 931 out."""
    usage = Usage(input=20212, output=931, cached=16298)
    assert money(usage, _price()) == Decimal("0.0055649")


def test_cache_writes_are_part_of_the_input_and_cost_their_own_rate():
    usage = Usage(input=1000, output=0, cached=200, cache_write=300)
    expected = (500 * Decimal("0.5") + 200 * Decimal("0.05") + 300 * Decimal("0.625")) / 1_000_000
    assert money(usage, _price(cache_write=Decimal("0.625"))) == expected


def test_an_unknown_model_is_unpriced_never_free():
    assert price_of("somebody-elses-model") is None
    assert money(Usage(1000, 1000), None) is None


def test_long_input_is_billed_whole_at_the_long_rate():
    short, long = Usage(272_000, 0), Usage(272_001, 0)
    price = price_of("gpt-5.4")
    assert money(long, price) / money(short, price) > Decimal("1.99")


def test_every_price_has_a_date_and_a_source():
    assert all(price.source and price.date >= date(2026, 9, 1) for price in load_prices().values())


def test_a_wrong_row_is_named(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text('{"prices": [{"model": "x", "input": "many"}]}', encoding="utf-8")
    with pytest.raises(BadFile, match="price row 'x'"):
        load_prices(path)


def test_the_articles_formula_gives_the_articles_figures():
    """covers: 5.4 L14"""
    assert [articles_formula(calls) for calls in (2, 3)] == [4200, 6300]


def test_a_forecast_lets_the_chain_grow():
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "查订单 10001"}]}
    two = forecast(body, replies=[20, 30], results=[50])
    first = forecast(body, replies=[20], results=[]).usage.input
    assert (two.usage.input, two.usage.output) == (first + first + 70, 50)
    assert two.error(two.usage) == 0


def test_a_forecast_needs_results_between_replies():
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
    with pytest.raises(ValueError, match="batches of results"):
        forecast(body, replies=[1, 1], results=[])
