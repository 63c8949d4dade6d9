"""What the model is told of a result or an error: valid JSON, short enough, nothing secret."""

import json
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from labkit.execution.outcome import digest, error_result, redact, success_result, to_json
from labkit.protocol.errors import BusinessRule, InvalidArguments, OutcomeUnknown


class Colour(Enum):
    RED = "红"


class Level(IntEnum):
    HIGH = 3


class State(StrEnum):
    SHIPPED = "shipped"


@dataclass(frozen=True, slots=True)
class Parcel:
    number: str
    at: datetime


class Order(BaseModel):
    order_id: str
    amount: Decimal


VALUES = [
    (datetime(2026, 9, 1, 8, 0), '"2026-09-01T08:00:00"'),
    (datetime(2026, 9, 1, 8, 0, tzinfo=UTC), '"2026-09-01T08:00:00+00:00"'),
    (date(2026, 9, 1), '"2026-09-01"'),
    (time(8, 30), '"08:30:00"'),
    (timedelta(hours=1), '"1:00:00"'),
    (Decimal("19.90"), '"19.90"'),
    (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    ({"b", "a"}, '["a", "b"]'),
    (frozenset({2, 10}), "[10, 2]"),
    (b"\xe6\x99\xb4", '"晴"'),
    (b"\xff\x00", '"\\\\xff\\u0000"'),
    (Colour.RED, '"红"'),
    (Level.HIGH, "3"),
    (State.SHIPPED, '"shipped"'),
    (Parcel("SF1", datetime(2026, 9, 1)), '{"number": "SF1", "at": "2026-09-01T00:00:00"}'),
    (Order(order_id="10001", amount=Decimal("19.90")), '{"order_id": "10001", "amount": "19.90"}'),
    (namedtuple("Point", "x y")(1, 2), "[1, 2]"),
    (MappingProxyType({"a": (1, None)}), '{"a": [1, null]}'),
    ({date(2026, 9, 1): 1, Colour.RED: 2, 3: True}, '{"2026-09-01": 1, "红": 2, "3": true}'),
    (float("nan"), '"nan"'),
    (float("-inf"), '"-inf"'),
    (PurePosixPath("a/b"), '"a/b"'),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[type(value).__name__ for value, _ in VALUES])
def test_a_result_has_one_plain_form(value, text):
    """Bug case J01."""
    assert to_json(value) == text
    json.loads(text)


def test_the_result_of_the_bug_report_is_told_in_full():
    """Bug case J01: no float for money, ISO 8601, sets sorted."""
    value = {"at": datetime(2026, 9, 1, 8, 0), "amount": Decimal("19.90"), "id": UUID(int=1), "tags": {"a"}}
    assert json.loads(success_result(value))["data"] == {
        "at": "2026-09-01T08:00:00",
        "amount": "19.90",
        "id": "00000000-0000-0000-0000-000000000001",
        "tags": ["a"],
    }


def test_chinese_stays_chinese():
    """Bug case J03."""
    assert '"city": "北京"' in success_result({"city": "北京", "condition": "晴"})


@pytest.mark.parametrize(
    ("text", "seen"), [("a\ud800b", "a\ufffdb"), ("\ud83d\ude00", "\U0001f600"), ("\udc00", "\ufffd")]
)
def test_lone_surrogates_do_not_reach_the_wire_and_pairs_are_joined(text, seen):
    """Bug case J03."""
    content = success_result(text)
    assert json.loads(content.encode())["data"] == seen


@pytest.mark.parametrize(
    "value", [object(), lambda: 1, SecretStr("x"), Order, iter([1]), {"a": {"b": object()}}, {object(): 1}]
)
def test_what_has_no_plain_form_is_refused(value):
    with pytest.raises(TypeError, match="has no JSON form"):
        to_json(value)


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_endless_nesting_is_refused():
    loop = {}
    loop["self"] = loop
    for value in (nested(10_000), loop):
        with pytest.raises(RecursionError):
            to_json(value)


BIG = [
    "长" * 10_000_000,
    [{"id": number, "text": "x" * 50} for number in range(100_000)],
    {f"key{number}": number for number in range(100_000)},
    {"a": {"b": {"c": ["x" * 999] * 999}}},
    {"k" * 5000: 1},
    ['"\\\n' * 5000] * 3,
]


@pytest.mark.parametrize("value", BIG, ids=["text", "list", "dict", "deep", "key", "escapes"])
@pytest.mark.parametrize("limit", [200, 2000])
def test_ten_megabytes_are_shortened_to_valid_json_with_a_notice(value, limit):
    content = success_result(value, limit)
    assert len(content) <= limit
    assert json.loads(content)["notice"].startswith("Shortened from ")


def test_a_long_list_keeps_its_first_items_whole_and_counts_the_rest():
    told = json.loads(success_result([{"id": number} for number in range(1000)], 2000))
    assert told["data"][0] == {"id": 0}
    assert told["data"][-1] == f"… +{1001 - len(told['data'])} items"


def test_what_fits_exactly_is_not_shortened():
    assert len(success_result("x" * 1967, 2000)) == 2000
    assert "notice" not in success_result("x" * 1967, 2000)
    assert "notice" in success_result("x" * 1968, 2000)


trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.decimals(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.frozensets(st.text(), max_size=3),
)


@given(trees, st.integers(150, 400))
def test_any_tree_becomes_valid_json_within_the_limit(tree, limit):
    content = success_result(tree, limit)
    assert len(content) <= limit
    assert json.loads(content.encode())["status"] == "success"


def test_an_error_says_whether_the_model_may_try_again():  # covers: B4.2
    told = [
        json.loads(error_result(error)) for error in (InvalidArguments("missing city"), BusinessRule("no"))
    ]
    assert [one["retryable_by_model"] for one in told] == [True, False]
    assert told[0] == {
        "status": "error",
        "error_type": "validation_error",
        "message": "missing city",
        "retryable_by_model": True,
    }


def test_an_unknown_outcome_names_the_operation_to_ask_about():
    told = json.loads(error_result(OutcomeUnknown("no reply", operation_id="refund:10001")))
    assert (told["status"], told["operation_id"]) == ("pending_reconciliation", "refund:10001")


def test_a_long_error_is_shortened():
    assert len(error_result(InvalidArguments("坏" * 1_000_000))) < 2000


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("OperationalError: could not connect postgresql://app:S3cret@10.0.0.5/db", "S3cret"),
        ("401 for key=abcdef123", "abcdef123"),
        ("password: hunter2", "hunter2"),
        ("invalid sk-proj1234567890", "proj1234567890"),
        ("Authorization: Bearer eyJhbGciOi.abc", "eyJhbGciOi"),
        ('{"api_key": "abc-999"}', "abc-999"),
    ],
)
def test_the_log_has_no_secrets(text, secret):
    assert secret not in redact(text)


def test_the_digest_depends_on_the_arguments_alone():
    one = Order(order_id="1", amount=Decimal("19.90"))
    assert digest(one) == digest(Order(amount=Decimal("19.90"), order_id="1"))
    assert digest(one) != digest(Order(order_id="1", amount=Decimal("19.91")))
