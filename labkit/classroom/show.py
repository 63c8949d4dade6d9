"""What a lesson shows besides its own output: the source of what it has just used."""

import inspect
from typing import Any

from IPython.display import Markdown, display


def show_source(thing: Any) -> None:
    """Show the source of a function or class, as it runs, under the cell.

    >>> show_source(show_source)
    <IPython.core.display.Markdown object>
    """
    display(Markdown(f"```python\n{inspect.getsource(thing).rstrip()}\n```"))
