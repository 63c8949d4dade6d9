"""The candidate set is a pure function of tenant, stage, intent and permissions."""

from itertools import product

from labkit.control.candidates import Rule, Situation, candidates

RULES = [
    Rule(("get_order", "get_weather")),
    Rule(("refund_order",), stages=frozenset({"after_sale"}), permissions=frozenset({"refund:write"})),
    Rule(("cancel_order",), intents=frozenset({"cancel", "change"})),
    Rule(
        ("transfer_funds",), tenants=frozenset({"head-office"}), permissions=frozenset({"money", "four-eyes"})
    ),
    Rule(("get_order",), intents=frozenset({"cancel"})),
]


def names(**now):
    return candidates(RULES, Situation(**now))


def test_a_rule_without_conditions_always_holds():  # covers: 1.2
    assert names() == ("get_order", "get_weather")


def test_every_condition_of_a_rule_must_hold():
    permissions = frozenset({"refund:write"})
    assert "refund_order" in names(stage="after_sale", permissions=permissions)
    assert "refund_order" not in names(stage="after_sale")
    assert "refund_order" not in names(permissions=permissions)


def test_all_permissions_of_a_rule_are_needed():
    assert "transfer_funds" not in names(tenant="head-office", permissions=frozenset({"money"}))


def test_a_tool_named_by_two_rules_comes_once_and_in_the_order_of_the_rules():
    assert names(intent="cancel") == ("get_order", "get_weather", "cancel_order")


def test_more_permissions_never_take_a_tool_away():
    for tenant, stage, intent in product(("", "head-office"), ("", "after_sale"), ("", "cancel")):
        fewer = candidates(RULES, Situation(tenant, stage, intent))
        more = Situation(tenant, stage, intent, frozenset({"refund:write", "money", "four-eyes"}))
        assert set(fewer) <= set(candidates(RULES, more))
