"""A plan of a run is arithmetic that can be done by hand, and its picture says the same."""

from labkit.classroom.widgets import Plan, budget_picture


def test_a_plan_lets_the_chain_grow():
    plan = Plan(schemas=1000, rules=500, few_shot=300, dynamic=200, reply=100, result=150, calls=3)
    assert plan.inputs == [2000, 2250, 2500] and plan.usage.total == 6750 + 300


def test_a_model_without_a_price_is_said_to_be_unpriced():
    assert "unpriced" in str(Plan(model="nobody's"))


def test_the_picture_has_a_bar_for_every_call_and_part():
    assert len(budget_picture(Plan(calls=3)).axes[0].patches) == 9
