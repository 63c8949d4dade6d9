"""What compatible vendors refuse beside OpenAI's rules, and how they word a refusal (openai-wire §8)."""

import re
from dataclasses import replace
from pathlib import Path

from labkit.protocol.errors import WireError
from labkit.protocol.families import Family, Vendor
from labkit.service.checks.context import Body, CheckContext
from labkit.service.checks.words import refuse

QWEN_PREFIX = "<400> InternalError.Algo.InvalidParameter: "
_LINES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()[1:]
WORDS = [line.split(" | ") for line in _LINES]


def check_vendor(body: Body, model: Family, context: CheckContext) -> WireError | None:
    vendor, messages, choice = context.vendor, body["messages"], body.get("tool_choice")
    if choice not in (None, "auto", "none") and thinks(body, model):
        return refuse(f"{vendor.name}_forced", choice if isinstance(choice, str) else "specified")
    if vendor.name == "deepseek" and thinks(body, model) and _thought_lost(messages):
        return refuse("deepseek_thought")
    developers = (index for index, message in enumerate(messages) if message["role"] == "developer")
    if not vendor.developer_role and (index := next(developers, None)) is not None:
        return refuse("qwen_developer", i=index)
    if not model.sampling and body.get("temperature") not in (None, 1):
        return refuse("kimi_temperature")
    return None


def thinks(body: Body, model: Family) -> bool:
    """Whether the model thinks before this answer: as the switch in the request says, or by its habit."""
    switch = body.get("thinking")
    if isinstance(switch, dict):
        return switch.get("type") != "disabled"
    switch = body.get("enable_thinking")
    return switch if isinstance(switch, bool) else model.reasoning


def _thought_lost(messages: list[Body]) -> bool:
    """Whether a call of the open tool loop came back without the thought that led to it."""
    for message in reversed(messages):
        if message["role"] == "user":
            return False
        if message.get("tool_calls") and message.get("reasoning_content") is None:
            return True
    return False


def reworded(error: WireError | None, vendor: Vendor) -> WireError | None:
    """The refusal as this vendor words it: OpenAI keeps param and code, the others have one code for all.

    >>> from labkit.protocol.families import vendor
    >>> reworded(WireError("Invalid 'tools': empty array.", "tools", "empty_array"), vendor("deepseek")).code
    'invalid_request_error'
    """
    if error is None or vendor.name == "openai":
        return error
    message = error.message
    for who, pattern, words in WORDS:
        if who == vendor.name and (found := re.fullmatch(pattern, error.message, re.DOTALL)):
            message = found.expand(words)
    prefix = QWEN_PREFIX if vendor.name == "qwen" and error.status == 400 else ""
    return replace(error, message=prefix + message, param=None, code=vendor.code)
