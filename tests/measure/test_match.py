"""Arguments are compared by type, calls one to one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.measure.match import Made, Wanted, fits, match_calls, same


@pytest.mark.parametrize(
    ("value", "wanted", "equal"),
    [
        (12, 12.0, True),
        ([12, 15, 18], [12.0, 15.0, 18.0], True),
        ({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]}, True),
        (True, 1, False),
        (0, False, False),
        ("12", 12, False),
        (None, "", False),
        (None, None, True),
        ("北京", "北京 ", True),
        ([1, 2], [2, 1], False),
    ],
)
def test_e01_values_are_compared_by_json_type(value, wanted, equal):
    """E01: integers equal floats, also nested; true is not 1 and "12" is not 12."""
    assert same(value, wanted) is equal


def test_e05_parallel_calls_match_in_any_order():
    """E05: f(2), f(1) against f(1), f(2)."""
    made = [Made("f", {"x": 2}), Made("f", {"x": 1})]
    wanted = [Wanted("f", {"x": [1]}), Wanted("f", {"x": [2]})]
    assert match_calls(made, wanted).exact
    assert not match_calls(made, wanted, ordered=True).exact


def test_matching_is_not_greedy():
    made = [Made("f", {"x": 1}), Made("f", {"x": 2})]
    wanted = [Wanted("f", {"x": [1, 2]}), Wanted("f", {"x": [1]})]
    assert match_calls(made, wanted).exact


def test_a_duplicate_call_is_extra_and_a_lost_one_is_missing():
    call = Made("f", {"x": 1})
    wanted = [Wanted("f", {"x": [1]}), Wanted("g", {})]
    assert match_calls([call], wanted[:1]).exact
    for made, asked in (([call, call], wanted[:1]), ([call], wanted), ([call, call], wanted)):
        match = match_calls(made, asked)
        assert match.pairs == ((0, 0),) and not match.exact


@pytest.mark.parametrize(
    ("arguments", "good"),
    [
        ({"city": "北京"}, True),
        ({"city": "北京", "unit": "c"}, True),
        ({}, False),
        ({"city": "北京", "x": 1}, False),
    ],
)
def test_optional_arguments_may_be_left_out_and_unknown_ones_may_not(arguments, good):
    wanted = Wanted("w", {"city": ["北京"], "unit": ["c"]}, frozenset({"unit"}))
    assert fits(Made("w", arguments), wanted) is good


def test_arguments_that_are_no_object_fit_nothing():
    assert not fits(Made("w", None), Wanted("w", {}))


@given(st.permutations(range(6)))
def test_any_order_of_the_same_calls_is_exact(order):
    made = [Made("f", {"x": x}) for x in order]
    assert match_calls(made, [Wanted("f", {"x": [x]}) for x in range(6)]).exact
