"""The tools of the support desk: methods of one class, and the contracts in `datasets/shop/contracts.toml`.

Reads ask the database, writes go to `Payments`, which does each operation once.
"""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from labkit.execution.permission import PermissionRequest, Policy, Verdict, compose, need, same_tenant
from labkit.files import dataset
from labkit.protocol.errors import BusinessRule
from labkit.protocol.tools import CallContext, Toolbox, make_tool
from labkit.shop.world import NOW, Row, Shop


def told(kind: Any, description: str, pattern: str | None = None) -> Any:
    """The type of an argument, with what the model is told about it."""
    return Annotated[kind, Field(description=description, pattern=pattern)]


OrderId = told(str, "订单号，五位数字。Order number, e.g. 10001.", "^[0-9]{5}$")
TicketId = told(str, "工单号。Ticket number, e.g. T-1001.", "^T-[0-9]{4}$")
Day = told(str, "日期。Day, YYYY-MM-DD.", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
City = told(str, "城市名称，例如 北京。City, e.g. London.")
Street = told(str, "街道和门牌。Street and number.")
Keyword = told(str, "一个关键词，例如 耳机。One keyword, e.g. umbrella.")
State = told(Literal["open", "closed"], "工单状态。State of the tickets.")
MailId = told(int, "邮件编号。Mail number, e.g. 1.")
Reason = told(str, "客户给出的理由。The customer's reason.")
Recipient = told(str, "收件人邮箱。E-mail address.", "^[^@ ]+@[^@ ]+$")
About = told(str, "所涉订单号或工单号。Order or ticket that it is about, e.g. 10001.")
Topic = told(Literal["order", "delivery", "refund", "complaint"], "事由。What it is about.")
Subject = told(str, "标题。Subject line.")
Body = told(str, "正文，用客户的语言。Text, in the customer's language.")
Invoice = told(str, "应付发票号。Invoice that is paid, e.g. INV-7.")
Account = told(str, "收款账户。Account that receives the money.")
Amount = told(str, "金额，两位小数。Amount, e.g. 19.90.", r"^[0-9]{1,7}\.[0-9]{2}$")

_ORDER = """SELECT o.id AS order_id, o.state, p.name AS product, o.sku, o.quantity, o.amount, o.city,
    o.address, o.tracking, o.due, o.note, (SELECT coalesce(-sum(amount), 0) FROM payments
    WHERE kind = 'refund' AND reference = o.id) AS refunded
    FROM orders o JOIN products p USING (sku) WHERE o.id = ?"""


class Desk:
    """What the support desk can do; raises `BusinessRule` for what is not there or not allowed."""

    def __init__(self, shop: Shop):
        self.shop, self.perform = shop, shop.payments.perform

    def get_order(self, order_id: OrderId) -> Row:
        """查询一个订单的状态、物流、金额和备注。State, parcel, amount and note of one order."""
        order = self._order(order_id)
        return order | {"amount": _money(order["amount"]), "refunded": _money(order["refunded"])}

    def get_weather(self, city: City) -> Row:
        """查询一个城市今天的天气。Today's weather in one city."""
        query = "SELECT * FROM weather WHERE city = ?1 OR lower(english) = lower(?1)"
        return _only(self.shop.rows(query, city.strip()), f"weather for {city}")

    def search_product(self, keyword: Keyword) -> list[Row]:
        """按关键词搜索商品的价格和库存。Price and stock of the products that match a keyword."""
        query = "SELECT * FROM products WHERE instr(lower(name || english || description), lower(?))"
        return [row | {"price": _money(row["price"])} for row in self.shop.rows(query, keyword.strip())]

    def get_ticket(self, ticket_id: TicketId) -> Row:
        """读取一张客服工单的全文。The full text of one support ticket."""
        return _only(self.shop.rows("SELECT * FROM tickets WHERE id = ?", ticket_id), f"ticket {ticket_id}")

    def list_tickets(self, state: State) -> list[Row]:
        """列出某一状态的全部工单标题。Number and subject of all tickets in one state."""
        return self.shop.rows("SELECT id, order_id, subject FROM tickets WHERE state = ?", state)

    def get_mail(self, mail_id: MailId) -> Row:
        """读取收件箱里的一封邮件。One mail from the inbox."""
        return _only(self.shop.rows("SELECT * FROM mail WHERE id = ?", mail_id), f"mail {mail_id}")

    def get_calendar_events(self, day: Day) -> list[Row]:
        """查询某一天的会议和日程。Meetings and appointments of one day."""
        return self.shop.rows("SELECT * FROM calendar WHERE substr(starts, 1, 10) = ? ORDER BY starts", day)

    def refund_order(self, order_id: OrderId, reason: Reason, *, context: CallContext) -> Row:
        """把一个订单的全部货款退给客户。Pay the whole amount of one order back to the customer."""

        def refund() -> Row:
            amount = self._order(order_id)["amount"]
            self._pay("refund", order_id, -amount, context)
            return {"order_id": order_id, "refunded": _money(amount)}

        return self.perform(context.operation_id, "refund", refund)

    def cancel_order(self, order_id: OrderId, reason: Reason, *, context: CallContext) -> Row:
        """取消一个尚未发货的订单并恢复库存。Cancel one order before it is shipped; its stock returns."""

        def cancel() -> Row:
            order = self._order(order_id, "paid")
            self.shop.rows("UPDATE orders SET state = 'cancelled' WHERE id = ?", order_id)
            stock = "UPDATE products SET stock = stock + ? WHERE sku = ?"
            self.shop.rows(stock, order["quantity"], order["sku"])
            return {"order_id": order_id, "state": "cancelled"}

        return self.perform(context.operation_id, "cancel", cancel)

    def update_address(self, order_id: OrderId, city: City, address: Street, *, context: CallContext) -> Row:
        """修改一个未发货订单的收货地址，每单一次。Change the address of one unshipped order, once."""

        def update() -> Row:
            self._order(order_id, "paid")
            self.shop.rows("UPDATE orders SET city = ?, address = ? WHERE id = ?", city, address, order_id)
            return {"order_id": order_id, "city": city, "address": address}

        return self.perform(context.operation_id, "address", update)

    def send_email(
        self, to: Recipient, about: About, topic: Topic, subject: Subject, body: Body, *, context: CallContext
    ) -> Row:
        """给一位客户发送一封邮件，每件事一封。Send one e-mail to a customer, one for each matter."""

        def send() -> Row:
            row = ("desk@example.com", to, subject, body, NOW)
            self.shop.rows("INSERT INTO mail VALUES (NULL, 'out', ?, ?, ?, ?, ?)", *row)
            return {"to": to, "subject": subject, "sent": True}

        return self.perform(context.operation_id, "mail", send)

    def create_ticket(
        self, order_id: OrderId, topic: Topic, subject: Subject, body: Body, *, context: CallContext
    ) -> Row:
        """为一个订单新建客服工单。Open a support ticket about one order for a colleague to handle."""

        def create() -> Row:
            self._order(order_id)
            number = self.shop.rows("SELECT max(substr(id, 3)) + 1 AS free FROM tickets")[0]["free"]
            row = (f"T-{number}", order_id, order_id, subject, body, NOW)
            owner = "(SELECT customer FROM orders WHERE id = ?)"
            self.shop.rows(f"INSERT INTO tickets VALUES (?, {owner}, ?, 'open', ?, ?, ?)", *row)
            return {"ticket_id": f"T-{number}", "state": "open"}

        return self.perform(context.operation_id, "ticket", create)

    def transfer_funds(
        self, invoice: Invoice, account: Account, amount: Amount, *, context: CallContext
    ) -> Row:
        """把款项转到供应商账户以支付发票。Pay a supplier's invoice by transfer to an account."""

        def transfer() -> Row:
            self._pay("transfer", account, -int(Decimal(amount).scaleb(2)), context)
            return {"invoice": invoice, "account": account, "transferred": amount}

        return self.perform(context.operation_id, "transfer", transfer)

    def _order(self, order_id: str, state: str = "") -> Row:
        order = _only(self.shop.rows(_ORDER, order_id), f"order {order_id}")
        if state and order["state"] != state:
            raise BusinessRule(f"order {order_id} is {order['state']}, not {state}: it is too late for this")
        return order

    def _pay(self, kind: str, reference: str, amount: int, context: CallContext) -> None:
        row = (kind, reference, amount, context.operation_id, NOW)
        self.shop.rows("INSERT INTO payments VALUES (NULL, ?, ?, ?, ?, ?)", *row)


def shop_tools(shop: Shop) -> Toolbox:
    """The thirteen tools of the support desk, reads first.

    >>> refund = shop_tools(Shop())["refund_order"]
    >>> refund.operation(refund.arguments(order_id="10001", reason="坏了"))
    'refund:10001'
    """
    desk = Desk(shop)
    return Toolbox(replace(tool, run=getattr(desk, tool.name)) for tool in _signed())


@cache
def _signed() -> Toolbox:
    """The tools as their contracts describe them, at the desk of a shop that nobody enters."""
    contracts = tomllib.loads(dataset("shop/contracts.toml").read_text(encoding="utf-8"))
    for contract in contracts.values():
        contract["effect"] = "write" if "operation" in contract else "read"
        if "operation" in contract:
            contract["operation"] = _key(*contract["operation"])
    desk = Desk(Shop())
    return Toolbox(make_tool(getattr(desk, name), **contract) for name, contract in contracts.items())


def desk_policy(shop: Shop) -> Policy:
    """Reads take the permission "read", writes "write"; an order may be touched by its own tenant only."""

    def owner(request: PermissionRequest) -> str | None:
        order = getattr(request.arguments, "order_id", None)
        rows = shop.rows("SELECT tenant FROM orders WHERE id = ?", order)
        return rows[0]["tenant"] if rows else None

    def permitted(request: PermissionRequest) -> Verdict:
        return need({request.tool.name: request.tool.effect})(request)

    return compose(permitted, same_tenant(owner))


def _key(kind: str, *fields: str) -> Callable[[BaseModel], str]:
    def operation(arguments: BaseModel) -> str:
        return ":".join([kind, *(str(getattr(arguments, field)).strip().lower() for field in fields)])

    return operation


def _only(rows: list[Row], what: str) -> Row:
    if not rows:
        raise BusinessRule(f"there is no {what}", hint="Ask the customer; do not guess.")
    return rows[0]


def _money(amount: int) -> Decimal:
    return Decimal(amount).scaleb(-2)
