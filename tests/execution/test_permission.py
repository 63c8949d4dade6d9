"""Who may do what: the strictest policy wins, whatever breaks denies, a yes is bound to its arguments."""

import pytest

from labkit.execution.outcome import digest
from labkit.execution.permission import (
    Allow,
    Approval,
    AskPerson,
    Deny,
    PermissionRequest,
    approve,
    ask_before_writes,
    authorise,
    compose,
    need,
    same_tenant,
)
from labkit.protocol.errors import ApprovalNeeded, PermissionDenied
from labkit.protocol.tools import Identity
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

SHOP = Shop()
TOOLS = shop_tools(SHOP)
WANG = Identity("wang", "xinghe", frozenset({"order:read", "refund:write"}))


def request(name="refund_order", identity=WANG, **arguments):
    arguments = arguments or {"order_id": "10001", "reason": "坏了"}
    tool = TOOLS[name]
    return PermissionRequest(identity, tool, tool.arguments(**arguments), "refund:10001")


def always(verdict):
    return lambda request: verdict


VERDICTS = [Allow(), AskPerson("a write"), Deny("no")]


@pytest.mark.parametrize("one", VERDICTS)
@pytest.mark.parametrize("other", VERDICTS)
def test_the_strictest_verdict_wins_in_any_order(one, other):
    wanted = max((one, other), key=VERDICTS.index)
    assert compose(always(one), always(other))(request()) == wanted


def test_no_policy_at_all_denies():
    with pytest.raises(PermissionDenied, match="no policy"):
        authorise(request(), compose())


def broken(request):
    raise KeyError("secret")


@pytest.mark.parametrize("policy", [broken, always(None), always(True), always(Allow)])
def test_a_policy_that_breaks_or_says_nothing_denies(policy):
    for judged in (policy, compose(always(Allow()), policy)):
        with pytest.raises(PermissionDenied) as caught:
            authorise(request(), judged)
        assert "secret" not in str(caught.value)


def test_what_is_allowed_passes():
    assert authorise(request(), always(Allow())) is None


def test_a_write_waits_for_a_person_and_a_read_does_not():
    authorise(request("get_order", order_id="10001"), ask_before_writes)
    with pytest.raises(ApprovalNeeded, match="refund_order waits for a person"):
        authorise(request(), ask_before_writes)


def test_the_missing_yes_says_what_it_must_name():
    with pytest.raises(ApprovalNeeded) as caught:
        authorise(request(), ask_before_writes)
    details = caught.value.details
    yes = Approval(details["tool_name"], details["arguments_digest"], by="li", at="2026-09-01")
    assert authorise(request(), ask_before_writes, [yes]) is None


@pytest.mark.parametrize(
    "changed",
    [
        request(order_id="10002", reason="坏了"),
        request(order_id="10001", reason="broken"),
        request("cancel_order", order_id="10001", reason="坏了"),
    ],
    ids=["other order", "other wording", "other tool"],
)
def test_a_yes_holds_for_exactly_these_arguments(changed):
    yes = approve(request(), by="li", at="2026-09-01T09:00:00+08:00")
    authorise(request(), ask_before_writes, [yes])
    with pytest.raises(ApprovalNeeded):
        authorise(changed, ask_before_writes, [yes])


def test_a_yes_does_not_lift_a_no():
    yes = approve(request(), by="li", at="2026-09-01")
    with pytest.raises(PermissionDenied, match="fraud"):
        authorise(request(), always(Deny("fraud")), [yes])


def test_a_permission_is_needed_by_name_and_an_unnamed_tool_is_denied():
    policy = need({"refund_order": "refund:write", "cancel_order": "order:cancel"})
    assert policy(request()) == Allow()
    assert isinstance(policy(request("cancel_order", order_id="10001", reason="")), Deny)
    assert isinstance(policy(request("get_order", order_id="10001")), Deny)
    assert isinstance(policy(request(identity=None)), Deny)


def tenant_of(request):
    rows = SHOP.rows("SELECT tenant FROM orders WHERE id = ?", getattr(request.arguments, "order_id", ""))
    return rows[0]["tenant"] if rows else None


@pytest.mark.parametrize(
    ("order_id", "identity", "verdict"),
    [
        ("10001", WANG, Allow),
        ("20002", WANG, Deny),
        ("10001", None, Deny),
        ("10001", Identity("emma", "acme"), Deny),
        ("99999", WANG, Allow),
    ],
)
def test_an_order_of_another_tenant_is_out_of_reach(order_id, identity, verdict):  # covers: 3.3 4.4
    policy = same_tenant(tenant_of)
    assert type(policy(request("get_order", identity, order_id=order_id))) is verdict


def test_an_approval_names_its_arguments_by_digest():
    assert approve(request(), by="li", at="t").arguments_digest == digest(request().arguments)
