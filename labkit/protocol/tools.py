"""A tool is a contract: what it does, when to use it and when not, what it takes, what it may change."""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

from pydantic import BaseModel

from labkit.protocol.errors import BadSchema, BadTool, UnknownTool
from labkit.protocol.schema import arguments_model, lint, plain_schema, strict_schema

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
TOO_ALIKE = 0.5  # share of common three-letter pieces above which two texts can hardly be told apart
_READING = {"get", "query", "search", "find", "fetch", "lookup", "read", "show", "check", "view"}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is asking; permissions are names such as "refund:write"."""

    user: str
    tenant: str = ""
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CallContext:
    """What the executor hands to a tool that takes `context`, unseen by the model; deadline in seconds."""

    identity: Identity | None = None
    operation_id: str = ""
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A function and its contract: `timeout` in seconds, `operation` the key of a write ("refund:10001").

    >>> print(Tool("get_weather", "查询天气。", "用户问天气。", "查订单。", BaseModel, print).description)
    查询天气。
    适用：用户问天气。
    不适用：查订单。
    """

    name: str
    summary: str
    use_when: str
    not_when: str
    arguments: type[BaseModel]
    run: Callable[..., Any]
    effect: Literal["read", "write"] = "read"
    timeout: float = 10.0
    view: Callable[[Any], Any] | type[BaseModel] | None = None
    examples: tuple[str, ...] = ()
    strict: bool = True
    outward: bool = False
    operation: Callable[[BaseModel], str] | None = None

    @property
    def description(self) -> str:
        chinese = re.search("[\u4e00-\u9fff]", self.summary)
        labels = ("适用：", "不适用：", "例：") if chinese else ("Use when: ", "Not for: ", "Examples: ")
        texts = self.use_when, self.not_when, " | ".join(self.examples)
        lines = [label + text for label, text in zip(labels, texts, strict=True) if text]
        return "\n".join([self.summary, *lines] if self.summary else lines)

    @property
    def schema(self) -> dict[str, Any]:
        return json.loads(_schema_text(self.arguments, self.strict))

    @property
    def fingerprint(self) -> str:
        """Twelve digits over all that the model sees, the same in every run."""
        return _digest(self.responses())

    def chat(self) -> dict[str, Any]:
        """The tool in Chat Completions form, under `function`."""
        return {"type": "function", "function": {k: v for k, v in self.responses().items() if k != "type"}}

    def responses(self) -> dict[str, Any]:
        """The tool in Responses form, flat."""
        texts = {"type": "function", "name": self.name, "description": self.description}
        return {**texts, "strict": self.strict, "parameters": self.schema}


def make_tool(function: Callable, *, effect: str, use_when: str, not_when: str, **rest: Any) -> Tool:
    """A tool made of a described function; name, summary and arguments are the function's own.

    Raises `BadTool`, naming function and argument, for what breaks the contract; `rest` are fields of `Tool`.

    >>> def get_time(city): '''Local time of a city.'''
    >>> make_tool(get_time, effect="read", use_when="the user asks for the time", not_when="weather")
    Traceback (most recent call last):
    labkit.protocol.errors.BadTool: get_time: argument 'city' has no annotation. The schema is made of it.
    """
    summary = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    rest |= {"examples": tuple(rest.get("examples", ())), "effect": effect}
    takes = arguments_model(function)
    tool = Tool(function.__name__, summary, use_when, not_when, takes, function, **rest)
    for text in _breaches(tool):
        raise BadTool(f"{tool.name}: {text}")
    try:
        _schema_text(tool.arguments, tool.strict)
    except BadSchema as error:
        raise BadTool(f"{tool.name}: {error.message}", hint=error.hint) from None
    return tool


def _breaches(tool: Tool) -> list[str]:
    rules = (
        (NAME.fullmatch(tool.name), "the name must match ^[a-zA-Z0-9_-]{1,64}$"),
        (tool.summary, "no docstring says what it does"),
        (tool.use_when.strip(), "use_when is empty: say when to call it"),
        (tool.not_when.strip(), "not_when is empty: say when not to call it"),
        (tool.effect in ("read", "write"), f"effect must be read or write, not {tool.effect!r}"),
        (0 < tool.timeout < float("inf"), f"timeout must be some seconds, not {tool.timeout!r}"),
    )
    return [text for kept, text in rules if not kept]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools in the order in which they are sent; raises `BadTool` where two have one name."""

    tools: Iterable[Tool]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", tuple(self.tools))
        names = self.names
        if twice := [name for name in names if names.count(name) > 1]:
            raise BadTool(f"two tools are called {min(twice)}", hint="A call names its tool: rename one.")

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Tool:
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise UnknownTool(f"there is no tool {name!r}", hint=f"There are: {', '.join(self.names)}.")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    def subset(self, names: Iterable[str]) -> "Toolbox":
        """The named tools in this toolbox's order, so that the prefix stays stable."""
        wanted = {self[name].name for name in names}
        return Toolbox(tool for tool in self.tools if tool.name in wanted)

    def chat(self) -> list[dict[str, Any]]:
        return [tool.chat() for tool in self.tools]

    def responses(self) -> list[dict[str, Any]]:
        return [tool.responses() for tool in self.tools]

    @property
    def fingerprint(self) -> str:
        return _digest(self.responses())

    def lint(self) -> list[str]:
        """What will make a model choose wrongly or a write unsafe, one sentence each (S1 §2.2, S2 §5.2)."""
        rules = (
            (lambda tool: tool.use_when, "does not say when to use it"),
            (lambda tool: tool.not_when, "does not say when not to use it"),
            (lambda tool: tool.effect == "read" or tool.operation, "is a write without an operation key"),
        )
        found = [f"{tool.name}: {text}" for tool in self.tools for kept, text in rules if not kept(tool)]
        for one, other in combinations([(t, _subject(t.name), _pieces(t)) for t in self.tools], 2):
            if one[1] == other[1]:
                found.append(f"{one[0].name}, {other[0].name}: the names mean the same")
            elif len(one[2] & other[2]) > TOO_ALIKE * len(one[2] | other[2]):
                found.append(f"{one[0].name}, {other[0].name}: the texts can hardly be told apart")
        return found


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """A name that the API takes for each name; raises `BadTool` where two become one or nothing is left.

    >>> safe_names(["math.add", "get_weather"])
    {'math.add': 'math_add', 'get_weather': 'get_weather'}
    """
    safe: dict[str, str] = {}
    for name in names:
        short = re.sub("[^a-zA-Z0-9_-]+", "_", name)[:64]
        if short in safe.values() or not short.strip("_"):
            raise BadTool(f"no name of its own for {name!r}: {short!r} is taken or empty")
        safe[name] = short
    return safe


def _subject(name: str) -> frozenset[str]:
    words = re.findall("[a-z0-9]+", re.sub("([a-z0-9])([A-Z])", r"\1_\2", name).lower())
    return frozenset(word if word not in _READING else "get" for word in words)


def _pieces(tool: Tool) -> set[str]:
    text = " ".join((tool.summary, tool.use_when)).lower()
    return {text[at : at + 3] for at in range(max(1, len(text) - 2))}


@lru_cache(maxsize=1024)
def _schema_text(model: type[BaseModel], strict: bool) -> str:
    schema = strict_schema(model) if strict else plain_schema(model)
    for problem in lint(schema, strict=strict):
        raise BadSchema(problem.api_message, hint=problem.repair)
    return json.dumps(schema)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
