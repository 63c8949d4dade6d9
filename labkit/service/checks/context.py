"""What a check knows beside the request; and the refusals that need no rule table (openai-wire §6.1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from labkit.protocol.errors import WireError
from labkit.protocol.families import VENDORS, Family, Vendor, family
from labkit.protocol.tokens import count_tools
from labkit.service.checks.words import refuse

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Whose rules, and how far: `strict` also refuses what nobody has confirmed, `lenient` accepts it.

    `stored_responses` holds, for each response that may be continued, its items and all those before it.
    """

    profile: Literal["strict", "lenient"] = "strict"
    vendor: Vendor = VENDORS["openai"]
    stored_responses: Mapping[str, Sequence[Body]] = field(default_factory=dict)


Rule = Callable[[Body, Family, CheckContext], WireError | None]


def first_broken(
    rules: Sequence[Rule], body: Body, context: CheckContext, unknown: str = "no_model"
) -> WireError | None:
    """The first rule that this body breaks; its model is looked up first, and `unknown` said of no model."""
    model = family(body["model"])
    if model is None or model.vendor != context.vendor.name:
        return refuse(unknown, body["model"])
    for rule in rules:
        if error := rule(body, model, context):
            return error
    return None


def model_error(model: str) -> WireError:
    """The answer to a model that does not exist.

    >>> model_error("gpt-9").message
    'The model `gpt-9` does not exist or you do not have access to it.'
    """
    return refuse("no_model", model)


def context_length_error(body: Body, model: Family, tokens: int) -> WireError | None:
    """The answer to a Chat request of `tokens` tokens when the model's window is smaller, or None."""
    if tokens <= model.context:
        return None
    tools = count_tools(body.get("tools") or (), model)
    split = f" ({tokens - tools} in the messages, {tools} in the functions)" if tools else ""
    return refuse("too_long", model.context, tokens, split, "messages or functions" if tools else "messages")
