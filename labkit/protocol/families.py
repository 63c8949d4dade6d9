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
    refused_roles: frozenset[str]
    encoding: Literal["o200k_base", "cl100k_base"]
    counting: Literal["published", "estimate"]
    reasoning: bool = False
    sampling: bool = False
    parallel_parameter: bool = False
    cache_writes: bool = False
    only_24h_cache: bool = False
    audio: bool = False
    search: bool = False


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
    parallel_default: bool = False
    developer_role: bool = False
    strict: bool = False


_DATED = re.compile(r"-\d{4}(-\d\d-\d\d)?(-preview)?$")
_TABLES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n\n")[1:]
_FAMILY_ROWS, _VENDOR_ROWS = (
    [[cell.strip() for cell in line.split("|")] for line in table.splitlines()[1:]] for table in _TABLES
)


def _flags(words: str) -> dict[str, bool]:
    return dict.fromkeys(words.split(), True)


def _family(name: str, vendor: str, date: str, context: str, output: str, *said: str) -> Family:
    tools, effort, efforts, refused, encoding, counting, takes = said
    snapshot, limits = f"{name}-{date}" if date else name, (int(context), int(output))
    lists = tuple(efforts.split()), frozenset(refused.split())
    return Family(
        name, vendor, snapshot, *limits, tools, effort or None, *lists, encoding, counting, **_flags(takes)
    )


FAMILIES = {name: _family(name, who, *cells) for who, names, *cells in _FAMILY_ROWS for name in names.split()}
VENDORS = {row[0]: Vendor(*row[:5], row[5] or None, **_flags(row[6])) for row in _VENDOR_ROWS}


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
