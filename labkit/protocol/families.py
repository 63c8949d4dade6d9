"""Which model takes what, and which vendor says what: two tables, and the look-up by name or dated snapshot.

Sources: openai-wire §1.4, §1.6, §1.9, §7, §8; windows and output caps as litellm 1.110.2 lists them.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from labkit.protocol.errors import BadSetup

ChatTools = Literal["always", "effort_none", "never"]


@dataclass(frozen=True, slots=True)
class Family:
    """What one model accepts; `context` and `max_output` in tokens, `snapshot` the name in its replies."""

    name: str
    vendor: str
    snapshot: str
    context: int
    max_output: int
    chat_tools: ChatTools
    default_effort: str | None
    efforts: tuple[str, ...]
    reasoning: bool
    sampling: bool
    parallel_parameter: bool
    refused_roles: frozenset[str]
    audio: bool
    search: bool
    encoding: Literal["o200k_base", "cl100k_base"]
    tool_init: Literal[7, 10]
    counting: Literal["published", "estimate"]
    cache_writes: bool
    only_24h_cache: bool


_OPENAI = """
names                                          | snapshot   | context | output | chat tools  | effort | efforts
gpt-6.2-astra gpt-6.2-sol gpt-6.1-sol          |            | 1050000 | 128000 | never       | medium | low medium high xhigh max
gpt-6-astra                                    |            | 1050000 | 128000 | never       | medium | low medium high xhigh max
gpt-6.1-terra gpt-6-sol gpt-6-luna             |            | 1050000 | 128000 | effort_none | medium | none low medium high xhigh max
gpt-5.6 gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna |            | 1050000 | 128000 | effort_none | medium | none low medium high xhigh max
gpt-5.5                                        | 2026-04-23 | 1050000 | 128000 | effort_none | none   | none low medium high xhigh
gpt-5.4                                        | 2026-03-05 | 1050000 | 128000 | effort_none | none   | none low medium high xhigh
gpt-5.4-mini gpt-5.4-nano                      | 2026-03-17 | 400000  | 128000 | effort_none | none   | none low medium high xhigh
gpt-5.2                                        | 2025-12-11 | 400000  | 128000 | effort_none | none   | none low medium high xhigh
gpt-5.1                                        | 2025-11-13 | 400000  | 128000 | always      | none   | none low medium high
gpt-5 gpt-5-mini gpt-5-nano                    | 2025-08-07 | 400000  | 128000 | always      | medium | minimal low medium high
o4-mini o3                                     | 2025-04-16 | 200000  | 100000 | always      | medium | low medium high
o3-mini                                        | 2025-01-31 | 200000  | 100000 | always      | medium | low medium high
o1                                             | 2024-12-17 | 200000  | 100000 | always      | medium | low medium high
o1-mini                                        | 2024-09-12 | 128000  | 65536  | always      | medium | low medium high
o1-preview                                     | 2024-09-12 | 128000  | 32768  | always      | medium | low medium high
gpt-4.1 gpt-4.1-mini gpt-4.1-nano              | 2025-04-14 | 1047576 | 32768  | always      |        |
gpt-4o                                         | 2024-08-06 | 128000  | 16384  | always      |        |
gpt-4o-mini                                    | 2024-07-18 | 128000  | 16384  | always      |        |
gpt-4o-audio-preview gpt-4o-mini-audio-preview | 2024-12-17 | 128000  | 16384  | always      |        |
gpt-audio-mini                                 | 2025-12-15 | 128000  | 16384  | always      |        |
gpt-4o-search-preview gpt-4o-mini-search-preview | 2025-03-11 | 128000 | 16384 | always      |        |
gpt-4-turbo                                    | 2024-04-09 | 128000  | 4096   | always      |        |
gpt-4                                          | 0613       | 8192    | 8192   | always      |        |
gpt-3.5-turbo                                  | 0125       | 16385   | 4096   | always      |        |
"""  # noqa: E501 - one row, one line

_OTHERS = """
vendor   | names                             | context | output  | thinks unless told not to
deepseek | deepseek-v4-flash deepseek-v4-pro | 1000000 | 393216  | yes
deepseek | deepseek-flash                    | 1000000 | 393216  | yes
deepseek | deepseek-reasoner                 | 131072  | 65536   | yes
deepseek | deepseek-chat                     | 131072  | 8192    | no
qwen     | qwen3.8-max                       | 991808  | 131072  | yes
qwen     | qwen3.7-plus qwen3.7-max          | 991808  | 65536   | yes
qwen     | qwen-flash qwen-plus              | 997952  | 32768   | no
kimi     | kimi-k3 kimi-k3.1-pro             | 1048576 | 1048576 | yes
kimi     | kimi-k2.6                         | 262144  | 262144  | yes
"""

_COOKBOOK = ("gpt-4o", "gpt-4o-mini", "gpt-4", "gpt-4-turbo", "gpt-3.5-turbo")
_OLD = ("gpt-4", "gpt-4-turbo", "gpt-3.5-turbo")
_DATED = re.compile(r"-\d{4}(-\d\d-\d\d)?(-preview)?$")


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()[1:]]


def _family(
    name: str,
    vendor: str,
    context: str,
    output: str,
    thinks: bool,
    tools="always",
    effort="",
    efforts="",
    date="",
):
    return Family(
        name=name,
        vendor=vendor,
        snapshot=f"{name}-{date}" if date else name,
        context=int(context),
        max_output=int(output),
        chat_tools=tools,
        default_effort=effort or None,
        efforts=tuple(efforts.split()),
        reasoning=thinks,
        sampling=not thinks if vendor == "openai" else vendor != "kimi",
        parallel_parameter=not re.match(r"o\d", name),
        refused_roles=frozenset(_refused_roles(name, thinks and vendor == "openai")),
        audio="audio" in name,
        search="search" in name,
        encoding="cl100k_base" if name in _OLD else "o200k_base",
        tool_init=10 if name in _OLD else 7,
        counting="published" if name in _COOKBOOK else "estimate",
        cache_writes=name.startswith(("gpt-5.6", "gpt-6")),
        only_24h_cache=name.startswith(("gpt-5.5", "gpt-5.6", "gpt-6")),
    )


def _refused_roles(name: str, reasoning: bool) -> tuple[str, ...]:
    if name in ("o1-mini", "o1-preview"):
        return "system", "developer", "function"
    return ("function",) if reasoning else ()


FAMILIES = {
    name: _family(name, "openai", context, output, bool(efforts), tools, effort, efforts, date)
    for names, date, context, output, tools, effort, efforts in _rows(_OPENAI)
    for name in names.split()
} | {
    name: _family(name, vendor, context, output, thinks == "yes")
    for vendor, names, context, output, thinks in _rows(_OTHERS)
    for name in names.split()
}


@lru_cache(maxsize=512)
def family(model: str) -> Family | None:
    """The family of a model, of a dated snapshot of it, or of a model fine-tuned from it; None when unknown.

    >>> family("gpt-4o-mini-2024-07-18").max_output, family("ft:gpt-4.1-mini-2025-04-14:shop::x1").name
    (16384, 'gpt-4.1-mini')
    >>> family("gpt-9") is None
    True
    """
    name = model.split(":")[1] if model.startswith("ft:") else model
    return FAMILIES.get(name) or FAMILIES.get(_DATED.sub("", name))


_VENDORS = """
name     | base_url                                          | key_variable      | model        | sampling_model | code                    | takes
openai   | https://api.openai.com/v1                         | OPENAI_API_KEY    | gpt-5.4-mini | gpt-4.1-mini   |                         | allowed_tools forced_choice_with_thinking parallel_parameter parallel_default developer_role strict
deepseek | https://api.deepseek.com                          | DEEPSEEK_API_KEY  | deepseek-flash | deepseek-chat | invalid_request_error   | parallel_parameter parallel_default developer_role strict
qwen     | https://dashscope.aliyuncs.com/compatible-mode/v1 | DASHSCOPE_API_KEY | qwen3.7-plus | qwen-flash     | invalid_parameter_error | parallel_parameter strict
kimi     | https://api.moonshot.cn/v1                        | MOONSHOT_API_KEY  | kimi-k3      | kimi-k2.6      |                         | parallel_parameter parallel_default developer_role
"""  # noqa: E501 - one row, one line


@dataclass(frozen=True, slots=True)
class Vendor:
    """Where a vendor answers, the code it puts on a refusal, and what it takes of what OpenAI takes."""

    name: str
    base_url: str
    key_variable: str
    model: str
    sampling_model: str
    code: str | None = None
    allowed_tools: bool = False
    forced_choice_with_thinking: bool = False
    parallel_parameter: bool = False
    parallel_default: bool = False
    developer_role: bool = False
    strict: bool = False


VENDORS = {
    name: Vendor(name, *cells, code or None, **dict.fromkeys(takes.split(), True))
    for name, *cells, code, takes in _rows(_VENDORS)
}


def vendor(name: str) -> Vendor:
    """The vendor of that name; raises `BadSetup` with the names there are.

    >>> vendor("kimi").key_variable
    'MOONSHOT_API_KEY'
    """
    if name not in VENDORS:
        raise BadSetup(f"there is no vendor {name!r}", hint=f"There are {', '.join(VENDORS)}.")
    return VENDORS[name]
