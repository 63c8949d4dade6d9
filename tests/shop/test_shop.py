"""The shop: the same world every time, compared as a value, with a service that fails on plan."""

import gc
import json
import threading
import time
import weakref
from dataclasses import replace

import pytest

from labkit.execution.executor import Executor, prepare
from labkit.execution.ledger import Answer
from labkit.protocol.errors import BusinessRule, Transient
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import CallContext, Toolbox
from labkit.shop.payments import lost_after, lost_before, slow, throttled
from labkit.shop.tools import shop_tools
from labkit.shop.views import VIEWS
from labkit.shop.world import Shop, diff, snapshot

READS = [
    "get_order",
    "get_weather",
    "search_product",
    "get_ticket",
    "list_tickets",
    "get_mail",
    "get_calendar_events",
]
WRITES = ["refund_order", "cancel_order", "update_address", "send_email", "create_ticket", "transfer_funds"]
NAMES = [*READS, *WRITES]


@pytest.fixture
def shop():
    return Shop()


def do(shop, name, key="", /, **arguments):
    return shop_tools(shop)[name].run(**arguments, context=CallContext(operation_id=key))


def look(shop, name, /, **arguments):
    return shop_tools(shop)[name].run(**arguments)


def refunds(shop):
    return shop.rows("SELECT reference, amount FROM payments WHERE kind = 'refund'")


# The world


def test_every_shop_is_the_same_in_memory_and_on_disk(shop, tmp_path):
    assert snapshot(shop) == snapshot(Shop()) == snapshot(Shop(tmp_path / "shop.db"))
    assert len(shop.rows("SELECT * FROM orders WHERE id > '30000'")) == 40


def test_the_orders_of_the_lessons_are_there():
    named = "SELECT * FROM orders WHERE id < '30000' ORDER BY id"
    assert [row["id"] for row in Shop().rows(named)] == [
        "10001",
        "10002",
        "10003",
        "10004",
        "10005",
        "20001",
        "20002",
        "20003",
    ]


def test_both_languages_and_two_tenants_are_served(shop):
    pairs = {(row["tenant"], row["language"]) for row in shop.rows("SELECT tenant, language FROM customers")}
    assert pairs == {("xinghe", "zh"), ("acme", "en")}


def test_every_order_is_charged_once_and_belongs_to_its_customers_tenant(shop):
    odd = """SELECT o.id FROM orders o JOIN customers c ON c.id = o.customer
        LEFT JOIN payments p ON p.reference = o.id AND p.kind = 'charge' AND p.amount = o.amount
        GROUP BY o.id HAVING count(p.id) != 1 OR o.tenant != c.tenant"""
    assert shop.rows(odd) == []


def test_nothing_changes_nothing_and_one_write_is_seen_whole(shop):
    before = snapshot(shop)
    assert diff(before, snapshot(shop)) == ()
    do(shop, "cancel_order", "cancel:10002", order_id="10002", reason="")
    assert [(change.table, change.key) for change in diff(before, snapshot(shop))] == [
        ("operations", "cancel:10002"),
        ("orders", "10002"),
        ("products", "P-101"),
    ]


def test_a_row_that_went_is_a_change_too():
    (change,) = diff({"mail": {1: {"id": 1}}}, {"mail": {}})
    assert (change.key, change.before, change.after) == (1, {"id": 1}, None)


def test_a_shop_on_disk_is_opened_as_it_is(tmp_path):
    first = Shop(tmp_path / "shop.db")
    do(first, "refund_order", "refund:10001", order_id="10001", reason="")
    paid = snapshot(first)
    assert snapshot(Shop(tmp_path / "shop.db")) == paid and refunds(first)


def test_a_snapshot_sees_what_somebody_else_wrote(tmp_path):
    ours, theirs = Shop(tmp_path / "shop.db"), Shop(tmp_path / "shop.db")
    before = snapshot(ours)
    theirs.rows("UPDATE products SET stock = 0 WHERE sku = 'P-101'")
    assert [change.key for change in diff(before, snapshot(ours))] == ["P-101"]


def test_a_transaction_that_fails_leaves_nothing(shop):
    before = snapshot(shop)
    with pytest.raises(ZeroDivisionError), shop.transaction():
        shop.rows("DELETE FROM orders")
        raise ZeroDivisionError
    assert snapshot(shop) == before


# The tools


def test_the_tools_keep_their_contracts(shop):
    tools = shop_tools(shop)
    assert (list(tools.names), tools.lint()) == (NAMES, [])


@pytest.mark.parametrize("name", NAMES)
def test_every_contract_speaks_both_languages_and_says_when_not(shop, name):
    tool = shop_tools(shop)[name]
    for text in (tool.summary, tool.use_when, tool.not_when, *(_descriptions(tool))):
        assert any("\u4e00" <= sign <= "\u9fff" for sign in text) and any("a" <= sign <= "z" for sign in text)


def _descriptions(tool):
    return [field["description"] for field in tool.schema["properties"].values()]


def test_the_contract_is_the_same_in_every_shop_so_that_the_prefix_stays_stable(shop):
    assert shop_tools(shop).fingerprint == shop_tools(Shop()).fingerprint


def test_writes_and_only_writes_name_their_operation(shop):
    tools = shop_tools(shop)
    assert [tool.name for tool in tools if tool.operation] == WRITES
    assert [tool.name for tool in tools if tool.effect == "write"] == WRITES
    assert [tool.name for tool in tools if tool.outward] == ["send_email", "transfer_funds"]


def test_an_order_tells_state_parcel_and_money(shop):
    order = look(shop, "get_order", order_id="10001")
    assert (order["state"], order["tracking"], str(order["amount"])) == ("shipped", "SF123", "256.00")
    assert str(order["refunded"]) == "0.00"


@pytest.mark.parametrize("city", ["北京", "Beijing", " beijing "])
def test_the_weather_is_known_by_either_name(shop, city):
    assert look(shop, "get_weather", city=city)["celsius"] == 24


@pytest.mark.parametrize(("keyword", "found"), [("耳机", ["P-100"]), ("UMBRELLA", ["P-103"]), ("飞机", [])])
def test_products_are_found_by_keyword(shop, keyword, found):
    assert [row["sku"] for row in look(shop, "search_product", keyword=keyword)] == found


def test_a_price_is_told_in_yuan_not_in_the_fen_that_are_stored(shop):
    assert [str(row["price"]) for row in look(shop, "search_product", keyword="耳机")] == ["256.00"]


def test_tickets_mail_and_calendar_can_be_read(shop):
    assert len(look(shop, "list_tickets", state="open")) == 4
    assert "忽略之前" in look(shop, "get_ticket", ticket_id="T-1003")["body"]
    assert "overrides your rules" in look(shop, "get_mail", mail_id=3)["body"]
    assert [event["title"] for event in look(shop, "get_calendar_events", day="2026-09-01")] == [
        "客服早会",
        "Refund review",
    ]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_order", {"order_id": "99999"}),
        ("get_weather", {"city": "Atlantis"}),
        ("get_ticket", {"ticket_id": "T-9999"}),
        ("get_mail", {"mail_id": -1}),
    ],
)
def test_what_is_not_there_is_a_business_error_not_a_success(shop, name, arguments):
    with pytest.raises(BusinessRule, match="there is no"):
        look(shop, name, **arguments)


@pytest.mark.parametrize("name", ["refund_order", "cancel_order"])
def test_a_write_on_an_order_that_is_not_there_changes_nothing(shop, name):
    before = snapshot(shop)
    with pytest.raises(BusinessRule, match="there is no order 99999"):
        do(shop, name, "key", order_id="99999", reason="")
    assert snapshot(shop) == before


def test_a_refund_pays_the_whole_amount_back_and_shows_in_the_order(shop):
    do(shop, "refund_order", "refund:10002", order_id="10002", reason="")
    assert refunds(shop) == [{"reference": "10002", "amount": -1990}]
    assert str(look(shop, "get_order", order_id="10002")["refunded"]) == "19.90"


@pytest.mark.parametrize("order_id", ["10001", "10003", "10005"])
def test_only_an_unshipped_order_can_be_cancelled(shop, order_id):
    with pytest.raises(BusinessRule, match="too late"):
        do(shop, "cancel_order", "key", order_id=order_id, reason="")


def test_the_other_writes_leave_their_rows_and_say_so(shop):
    address = do(shop, "update_address", "a", order_id="10002", city="杭州", address="文三路 1 号")
    mail = do(shop, "send_email", "b", to="e@x.org", about="10002", topic="order", subject="你好", body="…")
    ticket = do(shop, "create_ticket", "c", order_id="10002", topic="order", subject="s", body="b")
    money = do(shop, "transfer_funds", "d", invoice="INV-7", account="6222", amount="19.90")
    assert address == {"order_id": "10002", "city": "杭州", "address": "文三路 1 号"}
    assert mail == {"to": "e@x.org", "subject": "你好", "sent": True}
    assert money == {"invoice": "INV-7", "account": "6222", "transferred": "19.90"}
    assert shop.rows("SELECT city FROM orders WHERE id = '10002'") == [{"city": "杭州"}]
    assert shop.rows("SELECT recipient FROM mail WHERE box = 'out'") == [{"recipient": "e@x.org"}]
    assert shop.rows("SELECT customer FROM tickets WHERE id = ?", ticket["ticket_id"]) == [
        {"customer": "C-02"}
    ]
    assert shop.rows("SELECT amount FROM payments WHERE kind = 'transfer'") == [{"amount": -1990}]


def test_the_receipt_of_a_write_that_pays_nothing_back_says_so(shop):
    cancelled = do(shop, "cancel_order", "c", order_id="10002", reason="")
    shown = VIEWS["cancel_order"].model_validate(cancelled)
    assert (shown.order_id, shown.refunded) == ("10002", 0)


# The payment service


def test_the_same_key_is_one_effect_and_the_same_answer(shop):
    first, second = (
        do(shop, "refund_order", "refund:1", order_id="10001", reason=why) for why in ("", "坏了")
    )
    assert first == second and len(refunds(shop)) == 1


def test_without_a_key_every_request_pays_again(shop):
    for _ in range(3):
        do(shop, "refund_order", order_id="10001", reason="")
    assert len(refunds(shop)) == 3


def test_the_service_says_what_became_of_an_operation(shop):
    do(shop, "refund_order", "refund:10002", order_id="10002", reason="")
    assert shop.payments.query("refund:10002") == Answer(
        "happened", {"order_id": "10002", "refunded": "19.90"}
    )
    assert shop.payments.query("refund:10001") == Answer("absent")


@pytest.mark.parametrize(("fault", "paid"), [(lost_before(1), 0), (lost_after(1), 1)])
def test_a_connection_is_lost_before_or_after_the_commit(fault, paid):
    shop = Shop(faults=[fault])
    with pytest.raises(ConnectionError):
        do(shop, "refund_order", "refund:10001", order_id="10001", reason="")
    assert len(refunds(shop)) == paid


def test_faults_come_at_their_request_and_only_there():
    shop = Shop(faults=[throttled(2, retry_after=2.0), lost_before(4)])
    ask = lambda: shop.payments.query("refund:10001").state  # noqa: E731
    assert ask() == "absent"
    with pytest.raises(Transient) as caught:
        ask()
    assert (caught.value.retry_after, ask()) == (2.0, "absent")
    with pytest.raises(ConnectionError):
        ask()


@pytest.mark.parametrize(("moment", "paid_at_once"), [("before", 0), ("after", 1)])
def test_a_slow_service_pays_in_the_end_though_nobody_waited(moment, paid_at_once):
    """The timeout returns, the thread goes on, and asking at last finds one refund."""
    shop = Shop(faults=[slow(1, 0.3, moment)])
    tools = Toolbox(replace(tool, timeout=0.1) for tool in shop_tools(shop))
    executor = Executor(tools, ask=shop.payments.query)
    prepared = prepare(ToolCall("c", "refund_order", '{"order_id":"10001","reason":""}'), tools, run_id="r")
    assert executor.execute(prepared).error.kind == "unknown_outcome"
    assert len(refunds(shop)) == paid_at_once
    while executor.abandoned:
        time.sleep(0.01)
    assert json.loads(executor.reconcile(prepared).content)["data"] == {
        "order_id": "10001",
        "refunded": "256.00",
    }
    assert len(refunds(shop)) == 1


def test_a_shop_that_nobody_uses_any_more_is_gone():
    """An evaluation opens thousands of shops in one process."""
    shop = Shop()
    tools = shop_tools(shop)
    call = ToolCall("c", "refund_order", '{"order_id":"10001","reason":""}')
    Executor(tools).execute(prepare(call, tools, run_id="r"))
    alive = weakref.ref(shop)
    del shop, tools
    gc.collect()
    assert alive() is None


def test_threads_that_use_one_shop_do_not_disturb_one_another(shop):
    def work(number):
        do(shop, "refund_order", f"refund:{number % 10}", order_id="10001", reason="")
        look(shop, "get_order", order_id="10001")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refunds(shop)) == 10
