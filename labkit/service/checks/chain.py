"""The semantic validator: every call has its answer, and every answer its call (openai-wire §2, §5.4)."""

from collections.abc import Sequence
from itertools import islice, pairwise

from labkit.protocol.errors import WireError
from labkit.protocol.families import Family
from labkit.service.checks.context import Body, CheckContext
from labkit.service.checks.words import refuse

Items = Sequence[Body]

INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
CALLS = ("function_call", "custom_tool_call", "computer_call", "apply_patch_call", "shell_call")
ANSWERS = {f"{call}_output": call for call in CALLS}
SEARCHED = 64  # stored responses, newest first, in which a missing reasoning item is looked for


def check_messages(body: Body, model: Family, context: CheckContext) -> WireError | None:
    asked: list[str] = []
    answered: dict[str, int] = {}
    for index, message in enumerate(body["messages"]):
        role, error = message["role"], None
        if role == "tool":
            error = _check_answer(message, index, asked, answered)
            answered[message.get("tool_call_id")] = index
        else:
            if asked:
                error, asked, answered = _unanswered(asked, answered, index), [], {}
            if role == "assistant" and message.get("tool_calls"):
                asked = [call["id"] for call in message["tool_calls"]]
        if error is None and (message.get("content") is None or role == "function"):
            error = _check_own(message, index)
        if error:
            return error
    return _unanswered(asked, answered, len(body["messages"]))


def _check_answer(message: Body, index: int, asked: list[str], answered: dict[str, int]) -> WireError | None:
    call_id = message.get("tool_call_id")
    if call_id is None:
        return refuse("no_call_id", i=index)
    if not asked:
        return refuse("orphan", i=index)
    if call_id not in asked:
        return refuse("unknown_call", call_id, i=index)
    return refuse("answered_twice", call_id, answered[call_id], i=index) if call_id in answered else None


def _unanswered(asked: list[str], answered: dict[str, int], index: int) -> WireError | None:
    still_open = [call_id for call_id in asked if call_id not in answered]
    return refuse("unanswered", ", ".join(still_open), i=index) if still_open else None


def _check_own(message: Body, index: int) -> WireError | None:
    if message["role"] == "function" and message.get("name") is None:
        return refuse("no_function_name", i=index)
    said = message.get("content") is not None
    done = message["role"] == "assistant" and any(message.get(key) is not None for key in INSTEAD_OF_CONTENT)
    return None if said or done else refuse("no_content", i=index)


def check_state(body: Body, model: Family, context: CheckContext) -> WireError | None:
    previous = body.get("previous_response_id")
    if previous is not None and body.get("conversation") is not None:
        return refuse("two_states")
    if previous is not None and previous not in context.stored_responses:
        return refuse("no_previous", previous)
    if body.get("input") or previous is not None or body.get("conversation") or body.get("prompt"):
        return None
    return refuse("no_input") if "input" in body else refuse("missing", path="input")


def check_items(body: Body, model: Family, context: CheckContext) -> WireError | None:
    given = body.get("input") if isinstance(body.get("input"), list) else []
    earlier = context.stored_responses.get(body.get("previous_response_id") or "", ())
    if not given and not earlier:
        return None
    error = _check_repeated(given, earlier) or _check_alone(given)
    error = error or _check_reasoning(given, earlier, context)
    return error or _check_pairs(given, earlier, body.get("conversation") is not None)


def _check_repeated(given: Items, earlier: Items) -> WireError | None:
    seen = {item.get("id") for item in earlier} - {None}
    for item in given:
        item_id = item.get("id")
        if item_id and not _is_reference(item):
            if item_id in seen:
                return refuse("item_twice", item_id)
            seen.add(item_id)
    return None


def _check_alone(given: Items) -> WireError | None:
    """A reasoning item comes with what it led to: the next item, with its id (a recorded 400 of gpt-5)."""
    for item, following in pairwise([*given, {"role": "user"}]):
        message = following.get("type", "message") == "message" and not _is_reference(following)
        theirs = following.get("role") == "assistant" and following.get("id")
        if item.get("type") == "reasoning" and item.get("id") and message and not theirs:
            return refuse("reasoning_alone", item["id"])
    return None


def _is_reference(item: Body) -> bool:
    return item.get("type") == "item_reference" or not (item.get("type") or "role" in item)


def _check_reasoning(given: Items, earlier: Items, context: CheckContext) -> WireError | None:
    sent = {item.get("id") for item in given if not _is_reference(item)} - {None}
    if not sent:
        return None
    present = {item.get("id") for item in (*given, *earlier)}
    for stored in islice(reversed([*context.stored_responses.values()]), SEARCHED):
        for before, item in pairwise(stored):
            if item.get("id") in sent and before.get("type") == "reasoning" and before["id"] not in present:
                return refuse("reasoning_dropped", item["id"], item["type"], before["id"])
    return None


def _check_pairs(given: Items, earlier: Items, elsewhere: bool) -> WireError | None:
    """`elsewhere`: calls may stand in a conversation, or behind a reference, that this service cannot see."""
    items = [*earlier, *given]
    made = {(item["type"], item["call_id"]) for item in items if item.get("type") in CALLS}
    answered = {(ANSWERS[item["type"]], item.get("call_id")) for item in items if item.get("type") in ANSWERS}
    elsewhere = elsewhere or any(map(_is_reference, given))
    for item in given:
        call = (ANSWERS.get(item.get("type") or "message"), item.get("call_id"))
        if call[0] and call[1] and call not in made and not elsewhere:
            return refuse("item_orphan", call[0].replace("_", " "), call[1])
    for item in items:
        call = (item.get("type"), item.get("call_id"))
        if call in made and call not in answered:
            return refuse("item_unanswered", call[0].replace("_", " "), call[1])
    return None
