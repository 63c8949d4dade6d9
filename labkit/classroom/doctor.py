"""Which layer made the model ignore its tool: the four layers of S2 §3 in order, then choice and chain.

It reads one request as it was sent. What a text would do to a model, it asks the simulated one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from labkit.protocol.errors import BadChain
from labkit.protocol.families import FAMILIES, vendor
from labkit.protocol.tokens import count_tools
from labkit.service.brains.simulated import probabilities, scores
from labkit.service.checks import CheckContext, check_chat
from labkit.service.decide import Ask, ask_of

REMEDY = {
    "tools": "Print the body that was really sent; find the branch or the relay that drops `tools`.",
    "description": "Say what the tool does, when to use it in the users' own words, and when not.",
    "sampling": "Use a temperature of 0 to 0.3 and leave top_p at 1 where tools are chosen.",
    "system prompt": "Say that live data and actions come from tools first; take out what says otherwise.",
    "choice": 'Send "auto", or "required" where this step needs a tool, and allow the tool.',
    "chain": "Replay each call with its id and answer it once, right after the message that made it.",
}
FIELDS = {"messages": "chain", "tools": "tools", "tool_choice": "choice"}
FIELDS |= {"temperature": "sampling", "top_p": "sampling"}
COOL, HOT = 0.2, 0.7
MODEL, CONTEXT = FAMILIES["gpt-4.1-mini"], CheckContext("lenient", vendor("openai"))
HELLO = [{"role": "user", "content": "hi"}]


@dataclass(frozen=True, slots=True)
class Finding:
    """One layer at fault, what shows it, and what to do."""

    layer: str
    evidence: str

    @property
    def remedy(self) -> str:
        return REMEDY[self.layer]


def diagnose(request: Any, tool: str | None = None) -> list[Finding]:
    """The layers at fault in a Chat request, in the order in which to look; `tool` is the one you expected.

    Takes the body, or {"request": body, "response": reply}; raises `BadChain` when no user speaks in it.

    >>> diagnose({"messages": [{"role": "user", "content": "北京天气怎么样"}]})[0].layer
    'tools'
    """
    body = request.get("request", request) if isinstance(request, dict) else None
    messages = body.get("messages") if isinstance(body, dict) else None
    plain = [m for m in messages if _is_said(m)] if isinstance(messages, list) else []
    if not any(message["role"] == "user" for message in plain):
        raise BadChain("no user speaks in this", hint='Give a request: {"messages": [...], "tools": [...]}.')
    refused = {field: _refusal(body, field) for field in FIELDS}
    found = [Finding(FIELDS[field], error) for field, error in refused.items() if error]
    if not body.get("tools") and not refused["tools"]:
        found.append(Finding("tools", "the request has none"))
    elif not refused["tools"]:
        sound = {field: value for field, value in body.items() if not refused.get(field)}
        ask = ask_of(sound | {"model": "", "messages": plain if refused["messages"] else messages})
        found += [*_lost(ask, request.get("response"), tool), *_weighed(ask, tool)]
    return sorted(found, key=lambda finding: list(REMEDY).index(finding.layer))


def _is_said(message: Any) -> bool:
    spoken = isinstance(message, dict) and isinstance(message.get("content"), str)
    return spoken and message.get("role") in ("system", "developer", "user")


def _refusal(body: Mapping[str, Any], field: str) -> str:
    """What the API says to this field, the rest being in order."""
    rest = {"tools": body.get("tools")} if field == "tool_choice" else {}
    if body.get(field) is None or not all(rest.values()):
        return ""
    error = check_chat({"model": MODEL.name, "messages": HELLO, **rest, field: body[field]}, CONTEXT)
    return error.message if error and (error.param or "").startswith(field) else ""


def _lost(ask: Ask, response: Any, tool: str | None) -> Iterator[Finding]:
    names = {spec.name for spec in ask.tools}
    wanted = {call.name for message in ask.messages for call in message.calls} | ({tool} if tool else set())
    if lost := ", ".join(sorted(wanted - names)):
        yield Finding("tools", f"{lost} is not among the {len(names)} that were sent")
    usage = response.get("usage") if isinstance(response, dict) else None
    spent = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    if isinstance(spent, int) and spent < count_tools(ask.raw["tools"], MODEL) / 2:
        yield Finding("tools", f"only {spent} prompt tokens were counted: something on the way dropped them")


def _weighed(ask: Ask, tool: str | None) -> Iterator[Finding]:
    free = replace(ask, callable=ask.tools, mode="auto", temperature=COOL, top_p=1.0)
    bare = replace(free, messages=tuple(m for m in ask.messages if m.role not in ("system", "developer")))
    totals = {score.tool: score.total for score in scores(bare)}
    offered = [name for name in totals if name]
    target = tool if tool in offered else max(offered, key=totals.__getitem__)
    rival = max((name for name in totals if name != target), key=totals.__getitem__)
    cool, hot = (probabilities(replace(free, temperature=heat))[target] for heat in (COOL, ask.temperature))
    parts = {score.tool: score.parts.items() for score in scores(free)}
    pulls = {k: v for k, v in parts[None] if k.startswith("rules")}
    pulls |= {k: -v for k, v in parts[target] if k.startswith("rules")}
    if probabilities(bare)[target] < 0.5 and tool in (None, target):
        scored = f"{target} scores {totals[target]:.1f}, {rival or 'no tool'} {totals[rival]:.1f}"
        yield Finding("description", f"{scored} for this request (simulated)")
    if ask.temperature > HOT and "temperature" in ask.raw:
        rates = f"a call of {target} has {hot:.0%}, at {COOL} it has {cool:.0%} (simulated)"
        yield Finding("sampling", f"temperature {ask.temperature:g} is above {HOT}: {rates}")
    if (pull := sum(pulls.values())) > 0:
        yield Finding("system prompt", f"{', '.join(pulls)}: {pull:+.1f} against {target} (simulated)")
    if target not in {spec.name for spec in ask.callable}:
        yield Finding("choice", f"tool_choice does not let {target} be called")
