"""What the model may see of the shop's results: codes and numbers; text by strangers quoted and cut."""

from decimal import Decimal
from typing import Any

from labkit.execution.guard import Code, Ours, View, quoted


class Order(View):
    order_id: Code
    state: Code
    product: Ours
    quantity: int
    amount: Decimal
    refunded: Decimal
    tracking: Code
    due: Code


class Weather(View):
    celsius: int
    humidity: int
    condition: quoted(60)
    wind: quoted(60)


class Product(View):
    sku: Code
    name: Ours
    english: Ours
    price: Decimal
    stock: int
    description: quoted(300)


class Title(View):
    id: Code
    order_id: Code
    subject: quoted(100)


class Ticket(Title):
    customer: Code
    state: Code
    at: Code
    body: quoted(800)


class Mail(View):
    id: int
    at: Code
    sender: quoted(64)
    subject: quoted(100)
    body: quoted(800)


class Event(View):
    id: int
    starts: Code
    ends: Code
    title: quoted(100)
    place: quoted(60)


class Receipt(View):
    """What a write answers, as far as it is of the shop's own making."""

    order_id: Code = ""
    ticket_id: Code = ""
    state: Code = ""
    invoice: Ours = ""
    refunded: Decimal = Decimal(0)


READS: dict[str, Any] = {
    "get_order": Order,
    "get_weather": Weather,
    "search_product": list[Product],
    "get_ticket": Ticket,
    "list_tickets": list[Title],
    "get_mail": Mail,
    "get_calendar_events": list[Event],
}
WRITES = ("refund_order", "cancel_order", "update_address", "send_email", "create_ticket", "transfer_funds")
VIEWS = READS | dict.fromkeys(WRITES, Receipt)
ASKING = {  # the user's words that ask for a write: a policy's reading, not the model's
    "refund_order": "退款|退钱|refund",
    "cancel_order": "取消|cancel",
    "update_address": "地址|改寄|address",
    "send_email": "写信|发邮件|回信|write to|e-?mail to",
    "create_ticket": "新建工单|开工单|open a ticket",
    "transfer_funds": "支付|付款|转账|\\bpay\\b|transfer",
}
