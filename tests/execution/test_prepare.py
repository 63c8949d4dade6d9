"""Before anything runs: the tool is on offer, the arguments are read, the operation has its name."""

import json

import pytest

from labkit.execution.executor import prepare
from labkit.execution.outcome import error_result
from labkit.protocol.errors import BadTool, InvalidArguments, TruncatedArguments, UnknownTool
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import Toolbox, make_tool
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

TOOLS = shop_tools(Shop())


def list_orders() -> list:
    """All orders."""


def search(
    limit: int | None = None,
    flag: bool | None = None,
    code: str = "",
    todos: list[str] | None = None,
    note: str = "",
) -> list:
    """Find things.

    Args:
        limit: how many
        flag: whether
        code: a code
        todos: what to do
        note: free text
    """


TEXTS = {"use_when": "a test", "not_when": "never else"}
OWN = Toolbox(make_tool(f, effect="read", strict=False, **TEXTS) for f in (list_orders, search))


def read(name, arguments, tools=TOOLS, id="call_1", **options):
    return prepare(ToolCall(id, name, arguments), tools, run_id="run_1", **options)


@pytest.mark.parametrize("arguments", ["", "  ", None, "{}", "null"])
def test_no_arguments_come_in_many_forms(arguments):
    """Bug cases P01 and P13."""
    assert read("list_orders", arguments, OWN).arguments.model_dump() == {}


@pytest.mark.parametrize("arguments", ["", "  ", None, "{}"])
def test_the_missing_field_is_named(arguments):
    """Bug case P01."""
    with pytest.raises(InvalidArguments, match="city"):
        read("get_weather", arguments)


def test_arguments_that_the_limit_cut_off_are_not_the_fault_of_the_model():
    """Bug case P02: nothing runs, and the message names the output limit."""
    cut = '{"order_id":"10001","topic":"refund","subject":"退货","body":"客户反映'
    with pytest.raises(TruncatedArguments, match="output limit"):
        read("create_ticket", cut, truncated=True)


def test_an_array_in_a_string_is_unwrapped_in_lenient_mode_only():
    """Bug case P05: `todos` is an array by its schema, `note` stays the text it is."""
    arguments = '{"todos":"[\\"a\\",\\"b\\"]","note":"[1,2]"}'
    lenient = read("search", arguments, OWN, lenient=True).arguments
    assert (lenient.todos, lenient.note) == (["a", "b"], "[1,2]")
    with pytest.raises(InvalidArguments, match="todos"):
        read("search", arguments, OWN)


def test_arguments_may_be_a_dict():
    """Bug case P07."""
    assert read("get_weather", {"city": "北京"}).arguments.city == "北京"


@pytest.mark.parametrize("name", ["multi_tool_use.parallel", "get_wether", "", None, "x" * 10_000_000])
def test_an_unknown_tool_is_told_with_the_names_that_there_are(name):
    """Bug case P09."""
    with pytest.raises(UnknownTool) as caught:
        read(name, '{"tool_uses":[]}')
    told = json.loads(error_result(caught.value))
    assert (told["error_type"], told["retryable_by_model"]) == ("unknown_tool", True)
    assert "get_weather" in told["message"] and len(told["message"]) < 1000


def test_a_tool_outside_the_candidate_set_is_unknown_however_well_it_is_called():
    with pytest.raises(UnknownTool, match=r"Use one of: get_order, get_weather\."):
        read("refund_order", '{"order_id":"10001","reason":""}', offered={"get_weather", "get_order"})
    with pytest.raises(UnknownTool, match="No tool may be called now"):
        read("get_order", '{"order_id":"10001"}', offered=())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"limit": 20.0}, 20),
        ({"limit": "20"}, "lenient: 20"),
        ({"limit": "20.0"}, "lenient: 20"),
        ({"limit": 20.5}, "refused"),
        ({"limit": "NaN"}, "refused"),
        ({"flag": "true"}, "lenient: True"),
        ({"code": "00123"}, "00123"),
    ],
)
def test_numbers_and_flags_in_strings_are_coerced_in_lenient_mode_only(arguments, expected):
    """Bug case P11."""

    def outcome(**options):
        try:
            found = read("search", json.dumps(arguments), OWN, **options).arguments
        except InvalidArguments:
            return "refused"
        return getattr(found, next(iter(arguments)))

    strict, lenient = outcome(), outcome(lenient=True)
    if isinstance(expected, str) and expected.startswith("lenient"):
        assert (strict, f"lenient: {lenient}") == ("refused", expected)
    else:
        assert (strict, lenient) == (expected, expected)


def test_the_operation_is_named_by_the_business_not_by_call_id_or_wording():
    one = read("refund_order", '{"order_id":"10001","reason":"坏了"}', id="call_1")
    other = read("refund_order", '{"reason":"broken","order_id":"10001"}', id="call_2")
    assert one.operation_id == other.operation_id == "refund:10001"


def test_mails_to_one_person_about_one_matter_are_one_operation():
    words = {"about": "10001", "topic": "refund", "subject": "退款", "body": "已退"}
    keys = {
        read("send_email", json.dumps(words | {"to": to, "body": body})).operation_id
        for to, body in [("A@example.com", "已退"), ("a@example.com", "退款已到账")]
    }
    assert keys == {"mail:a@example.com:refund:10001"}


def test_without_a_business_key_run_tool_and_arguments_name_the_operation():
    one, other = read("search", '{"code":"1"}', OWN), read("search", ' {"code" : "1"}', OWN, id="call_2")
    assert one.operation_id == other.operation_id
    assert one.operation_id != read("search", '{"code":"2"}', OWN).operation_id
    assert one.operation_id != prepare(one.call, OWN, run_id="run_2").operation_id


@pytest.mark.parametrize(
    "order_id", ["1000", "100011", "１０００１", "10001 ", "10001\n", "'; DROP TABLE orders"]
)
def test_what_is_no_order_number_cannot_become_a_key(order_id):
    with pytest.raises(InvalidArguments, match="order_id"):
        read("refund_order", json.dumps({"order_id": order_id, "reason": ""}))


def test_a_key_that_cannot_be_made_is_the_fault_of_the_tool():
    broken = make_tool(
        search, effect="write", strict=False, operation=lambda arguments: arguments.no, **TEXTS
    )
    with pytest.raises(BadTool, match="search cannot name its operation"):
        read("search", "{}", Toolbox([broken]))


@pytest.mark.parametrize(
    "arguments",
    ["[" * 10_000, '{"city":' * 10_000, "{" * 10_000, '{"city":' + "[" * 10_000 + "]" * 10_000 + "}"],
)
def test_arguments_nested_ten_thousand_deep_are_refused(arguments):
    with pytest.raises(InvalidArguments):
        read("get_weather", arguments)


def test_arguments_of_a_megabyte_are_read_or_refused_with_a_short_message():
    assert len(read("get_weather", json.dumps({"city": "长" * 1_000_000})).arguments.city) == 1_000_000
    with pytest.raises(InvalidArguments) as caught:
        read("get_weather", json.dumps({"city": ["长" * 1_000_000]}))
    assert len(error_result(caught.value)) < 2000
