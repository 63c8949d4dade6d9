"""The learner's copies: handed out, brought up to date, put back to their blanks.

Nothing that he changed is written over: a corrected lesson is laid beside his own, under another name.
"""

import hashlib
import json
from pathlib import Path

from labkit.classroom.check import SHIPPED, cells, find, given, note
from labkit.files import write_text
from labkit.protocol.errors import BadFile


def hand_out(folder: Path) -> Path:
    """The learner's folder, with the notebooks that it lacks copied in."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted(SHIPPED.glob("*.ipynb")):
        if not (folder / source.name).exists():
            _give(source, folder / source.name)
    return folder


def update(folder: Path) -> list[str]:
    """Bring new and corrected lessons into the learner's folder; what was done, a line each."""
    told = [_bring(source, folder / source.name) for source in sorted(SHIPPED.glob("*.ipynb"))]
    return [line for line in told if line]


def _bring(source: Path, target: Path) -> str:
    if not target.exists():
        _give(source, target)
        return f"{target.name} is new"
    mine, before = fingerprint(target), given(target)
    if fingerprint(source) in (mine, before):
        return ""
    if mine == before:
        _give(source, target)
        return f"{target.name} was corrected; you had not changed it"
    beside = target.with_name(f"{target.stem}.new.ipynb")
    done = _bring(source, beside)
    return f"{done}: the corrected lesson; your {target.name} stays as it is" if done else ""


def _give(source: Path, target: Path) -> None:
    write_text(target, source.read_text(encoding="utf-8"))
    note(target.parent, "copies", **{target.name: fingerprint(source)})


def fingerprint(path: Path) -> str:
    """What a notebook says, as one short word: its cells without outputs, or its bytes if it is damaged."""
    try:
        said = json.dumps([cell["source"] for cell in cells(path)]).encode()
    except BadFile:
        said = path.read_bytes()
    return hashlib.sha256(said).hexdigest()[:16]


def reset(task: str, folder: Path) -> str:
    """Put the blank back for one answer, and keep the answer in the learner's file; what was done.

    Raises `BadFile` for a task that is not there and for a notebook that cannot be read.
    """
    role = f"exercise {task}"
    blank, (path, mine) = find(SHIPPED, role)[1], find(hand_out(folder), role)
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        if cell["metadata"].get("labkit") == role:
            cell.update(source=blank.splitlines(keepends=True), outputs=[], execution_count=None)
    write_text(path, json.dumps(book, ensure_ascii=False, indent=1) + "\n")
    kept = {"set_aside": mine} if mine != blank else {}
    note(folder, task, state="open", message="", **kept)
    return f"{task} is blank again in {path.name}: reload it. Your answer is kept in .labkit/progress.json"
