"""What lies on disk: UTF-8 text written whole or not at all, JSON lines, and the data sets of the course."""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labkit.protocol.errors import BadFile

ROOT = Path(__file__).resolve().parent.parent
TAIL = 1 << 24


def dataset(name: str) -> Path:
    """The path of a data set below `datasets/`; raises `BadFile` when it is not there.

    >>> dataset("no_such_set")
    Traceback (most recent call last):
    labkit.protocol.errors.BadFile: there is no data set no_such_set. Look into datasets/ for the names.
    """
    path = ROOT / "datasets" / name
    if not path.exists():
        raise BadFile(f"there is no data set {name}", hint="Look into datasets/ for the names.")
    return path


def read_jsonl(path: Path | str) -> Iterator[dict[str, Any]]:
    """Each line of a JSON-lines file as a dict; raises `BadFile` naming the line that is none."""
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise BadFile(f"{Path(path).name}, line {number}: not JSON ({error})") from None
            if not isinstance(row, dict):
                raise BadFile(f"{Path(path).name}, line {number}: expected an object")
            yield row


def write_text(path: Path | str, text: str) -> None:
    """Write UTF-8 with `\\n` ends so that a reader sees the old file or the new one, never half of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, path.stat().st_mode if path.exists() else 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def append_jsonl(path: Path | str, rows: Iterable[dict[str, Any]]) -> None:
    """Add lines to the end of a file, each whole when it is flushed."""
    with appending(path) as write:
        for row in rows:
            write(row)


@contextmanager
def appending(path: Path | str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """The same, a row at a time while the file is open."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8", newline="\n") as file:

        def write(row: dict[str, Any]) -> None:
            file.write(encode(row) + "\n")
            file.flush()

        yield write


def read_appended(path: Path | str) -> Iterator[dict[str, Any]]:
    """The rows of a file that is appended to; a last line without its end, torn by a crash, is cut off."""
    path = Path(path)
    if path.exists():
        with open(path, "rb+") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            tail = file.read()
            if tail and not tail.endswith(b"\n"):
                file.truncate(size - len(tail) + tail.rfind(b"\n") + 1)
        yield from read_jsonl(path)
