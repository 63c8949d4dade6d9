"""Which model takes what, and what a vendor takes: the two tables of `families.txt`, looked up by name."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from labkit.protocol.errors import BadSetup


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """What one model accepts; `context` and `max_output` in tokens, `snapshot` the name in its replies."""

    name: str
    vendor: str
    snapshot: str
    context: int
    max_output: int
    chat_tools: Literal["always", "effort_none", "never"]
    default_effort: str | None
    efforts: tuple[str, ...]
    reasoning: bool
    sampling: bool
    parallel_parameter: bool
    refused_roles: frozenset[str]
    encoding: Literal["o200k_base", "cl100k_base"]
    counting: Literal["published", "estimate"]
    cache_writes: bool
    only_24h_cache: bool

    @property
    def audio(self) -> bool:
        return "audio" in self.name

    @property
    def search(self) -> bool:
        return "search" in self.name


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


_COOKBOOK = ("gpt-4o", "gpt-4o-mini", "gpt-4", "gpt-4-turbo", "gpt-3.5-turbo")  # whose counting is published
_OLD = ("gpt-4", "gpt-4-turbo", "gpt-3.5-turbo")
_DATED = re.compile(r"-\d{4}(-\d\d-\d\d)?(-preview)?$")
_FAMILY_TABLE, _VENDOR_TABLE = (
    [[cell.strip() for cell in line.split("|")] for line in table.splitlines()[1:]]
    for table in Path(__file__).with_name("families.txt").read_text(encoding="utf-8").split("\n\n")[1:]
)


def _family(
    name: str, vendor: str, date: str, context: str, output: str, tools: str, effort: str, efforts: str
):
    openai, reasons = vendor == "openai", bool(efforts)
    return Family(
        name=name,
        vendor=vendor,
        snapshot=f"{name}-{date}" if date else name,
        context=int(context),
        max_output=int(output),
        chat_tools=tools,
        default_effort=effort if effort and openai else None,
        efforts=tuple(efforts.split()) if openai else (),
        reasoning=reasons,
        sampling=not reasons if openai else vendor != "kimi",
        parallel_parameter=not re.match(r"o\d", name),
        refused_roles=frozenset(_refused_roles(name) if openai and reasons else ()),
        encoding="cl100k_base" if name in _OLD else "o200k_base",
        counting="published" if name in _COOKBOOK else "estimate",
        cache_writes=name.startswith(("gpt-5.6", "gpt-6")),
        only_24h_cache=name.startswith(("gpt-5.5", "gpt-5.6", "gpt-6")),
    )


def _refused_roles(name: str) -> tuple[str, ...]:
    return ("system", "developer", "function") if name in ("o1-mini", "o1-preview") else ("function",)


FAMILIES = {
    name: _family(name, vendor, *cells) for vendor, names, *cells in _FAMILY_TABLE for name in names.split()
}
VENDORS = {
    name: Vendor(name, *cells, code or None, **dict.fromkeys(takes.split(), True))
    for name, *cells, code, takes in _VENDOR_TABLE
}


@lru_cache(maxsize=512)
def family(model: str) -> Family | None:
    """The family of a model, of a dated snapshot of it, or of a model fine-tuned from it; None when unknown.

    >>> family("gpt-4o-mini-2024-07-18").max_output, family("ft:gpt-4.1-mini-2025-04-14:shop::x1").name
    (16384, 'gpt-4.1-mini')
    """
    name = model.split(":")[1] if model.startswith("ft:") else model
    return FAMILIES.get(name) or FAMILIES.get(_DATED.sub("", name))


def vendor(name: str) -> Vendor:
    """The vendor of that name; raises `BadSetup` with the names there are.

    >>> vendor("kimi").key_variable
    'MOONSHOT_API_KEY'
    """
    if name not in VENDORS:
        raise BadSetup(f"there is no vendor {name!r}", hint=f"There are {', '.join(VENDORS)}.")
    return VENDORS[name]
