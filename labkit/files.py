"""What lies on disk: UTF-8 text written whole or not at all, JSON lines, and the data sets of the course."""

import gzip
import json
import os
import tempfile
import zlib
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


def read_jsonl(path: Path | str, *, torn: bool = False) -> Iterator[dict[str, Any]]:
    """Each line of a JSON-lines file, plain or as `.gz`, as a dict; `BadFile` names the line that is none.

    `torn` passes over a last line of which a crash left the beginning.
    """
    name, unpacked = Path(path).name, gzip.open if Path(path).suffix == ".gz" else open
    try:
        with unpacked(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip() and not (torn and _half(line)):
                    yield _row(line, f"{name}, line {number}")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadFile(f"{name} is not what gzip packs, or only a part of it ({error})") from None


def _row(line: bytes, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{where}: not JSON ({error})") from None
    if not isinstance(row, dict):
        raise BadFile(f"{where}: expected an object")
    return row


def _half(line: bytes) -> bool:
    """Whether a line begins as a row and has no end, as a crash leaves it."""
    if line.endswith(b"\n") or not line.startswith(b"{"):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


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
    _mend_end(path)
    with open(path, "a", encoding="utf-8", newline="\n") as file:

        def write(row: dict[str, Any]) -> None:
            file.write(encode(row) + "\n")
            file.flush()

        yield write


def _mend_end(path: Path | str) -> None:
    """Cut off what a crash left of a last line, so that the next one is not glued to it."""
    with open(path, "ab+") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        if file.read() in (b"", b"\n"):
            return
        file.seek(max(0, size - TAIL))
        last = file.read().rpartition(b"\n")[2]
        if _half(last):
            file.truncate(size - len(last))
        else:
            file.write(b"\n")


def read_appended(path: Path | str) -> Iterator[dict[str, Any]]:
    """The rows of a file that is appended to, if it is there; a torn last line is passed over."""
    if Path(path).exists():
        yield from read_jsonl(path, torn=True)
