"""The refusals of `words.txt`, looked up by rule."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from labkit.protocol.errors import WireError

_LINES = Path(__file__).with_name("words.txt").read_text(encoding="utf-8").splitlines()
_CELLS = ([cell.strip() for cell in line.split("|", 3)] for line in _LINES if line and line[0] != "#")
WORDS = {rule: (param, code, message) for rule, param, code, message in _CELLS}


def refuse(rule: str, *values: Any, **named: Any) -> WireError:
    """The refusal of a rule, with values in its places.

    >>> refuse("orphan", i=3).param
    'messages.[3].role'
    """
    param, code, message = (words.format(*values, **named) or None for words in WORDS[rule])
    return WireError(message, param, code, 404 if rule == "no_model" else 400)


def listed(values: Iterable[str], last: str = "and") -> str:
    """Values as the API lists them.

    >>> print(listed(["auto", "none"]), listed(["low", "medium", "high"], "or"))
    'auto' and 'none' 'low', 'medium', or 'high'
    """
    *most, end = [f"'{value}'" for value in values]
    return f"{', '.join(most)}{',' * (len(most) > 1)} {last} {end}" if most else end
