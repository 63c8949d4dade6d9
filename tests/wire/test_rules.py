"""Every row of every rule table, in the API's words; and no rule of ours without a row."""

import re
from collections import Counter

import pytest

from labkit.files import dataset, read_jsonl
from labkit.protocol.errors import WireError
from labkit.protocol.families import family, vendor
from labkit.protocol.tokens import count_tools
from labkit.service.checks import (
    CheckContext,
    check_chat,
    check_responses,
    context_length_error,
    model_error,
)
from labkit.service.checks.words import WORDS

ROWS = [*read_jsonl(dataset("wire_rules") / "rules.jsonl")]
CHECKS = {"chat/completions": check_chat, "responses": check_responses}


def said(row: dict) -> WireError | None:
    who = vendor(row.get("vendor", "openai"))
    context = CheckContext(row.get("profile", "strict"), who, row.get("stored", {}))
    return CHECKS[row["endpoint"]](row["request"], context)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_gets_the_verdict_of_the_api(row):
    error, wanted = said(row), row["expect"] | row.get("inferred", {})
    given = {"status": error.status, **error.body()["error"]} if error else {"status": 200}
    assert {key: given.get(key) for key in wanted} == wanted


def test_row_ids_are_unique():
    assert [name for name, times in Counter(row["id"] for row in ROWS).items() if times > 1] == []


def test_every_section_has_rows_on_both_sides():
    refused = {row["section"].split(".")[0] for row in ROWS if row["expect"]["status"] >= 400}
    accepted = {row["section"].split(".")[0] for row in ROWS if row["expect"]["status"] == 200}
    assert {"0", "1", "2", "3", "5", "6", "8"} <= refused and {"1", "2", "3", "5", "8"} <= accepted


WITHOUT_A_ROW = {"too_long": "a row would have 128,000 tokens: see the next test"}


@pytest.mark.parametrize("rule", sorted(set(WORDS) - set(WITHOUT_A_ROW)))
def test_every_wording_is_held_by_a_row(rule):
    """A wording that no row expects could be changed by a slip of the finger."""
    pattern = re.sub(r"\\\{\w*\\\}", ".*", re.escape(WORDS[rule][2]))
    wanted = [row["expect"].get("message", "") for row in ROWS]
    assert any(re.search(pattern, message, re.DOTALL) for message in wanted)


def test_a_window_that_is_full_names_its_parts():
    model = family("gpt-4o")
    tools = [{"type": "function", "function": {"name": "get_weather", "description": "Weather now"}}]
    used = count_tools(tools, model)
    error = context_length_error({"tools": tools}, model, 202_868)
    assert error.body()["error"] == {
        "message": "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        f"202868 tokens ({202_868 - used} in the messages, {used} in the functions). "
        "Please reduce the length of the messages or functions.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }


def test_a_full_window_without_tools_speaks_of_messages_only():
    error = context_length_error({}, family("gpt-4"), 9_000)
    assert error.message.endswith("resulted in 9000 tokens. Please reduce the length of the messages.")


def test_the_last_token_that_fits_is_accepted():
    assert context_length_error({}, family("gpt-4"), 8_192) is None


def test_a_model_that_is_not_there_is_404():
    assert model_error("gpt-4o-nano").status == 404
