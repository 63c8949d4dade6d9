"""Every exercise proves itself: its answer passes, its blank is open, wrong answers are refused with words
that teaches, and a right answer of another kind is accepted."""

import ast
import asyncio
import inspect
import io
import linecache
import logging
import re
from contextlib import nullcontext, redirect_stdout, suppress

import pytest

from labkit.classroom.check import HINT
from labkit.classroom.workbook import SAID, cut, read_chapter, sources


class Kernel:
    """Runs cells in this process; `fork` is the same state under other names, for one more answer."""

    def __init__(self, names, loop, file):
        self.names, self.loop, self.file, self.count = names, loop, file, 0

    def fork(self):
        return Kernel(dict(self.names), self.loop, self.file)

    def run(self, source):
        self.count += 1
        name = f"<{self.file}:{id(self)}:{self.count}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        printed = io.StringIO()
        with redirect_stdout(printed):
            done = eval(compile(source, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), self.names)
            if inspect.iscoroutine(done):
                self.loop.run_until_complete(done)
        return printed.getvalue()


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    for name in ("LABKIT_CLIENT", "LABKIT_MODEL", "LABKIT_CHECK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    monkeypatch.chdir(tmp_path)
    loop, log = asyncio.new_event_loop(), logging.getLogger("labkit")
    level = log.level
    yield lambda file: Kernel({"__name__": "__main__", "display": lambda *_, **__: None}, loop, file)
    log.setLevel(level)  # chapters silence it
    loop.close()


def say(kernel, answer, check):
    """What a check says of an answer: its state and its message."""
    kernel.run(answer)
    found = SAID.findall(kernel.run(check))
    return found[-1][1:] if found else ("silent", "")


def verdicts(kernel, chapter):
    """Each answer of a chapter, in the role it has, with what its check says of it."""
    answers, before = {}, {}
    for cell in chapter:
        if cell.role in ("exercise", "wrong", "right"):
            answers.setdefault(cell.task, []).append(cell)
    for cell in chapter:
        if cell.role == "exercise":
            before[cell.task] = kernel.fork()
        if cell.role == "check":
            for answer in answers[cell.task]:
                yield (
                    answer.role,
                    answer,
                    *say(before[cell.task].fork(), cut(answer.source, answers=True), cell.source),
                )
                if answer.role == "exercise":
                    blank = cut(answer.source, answers=False)
                    yield "blank", answer, *say(before[cell.task].fork(), blank, cell.source)
        elif cell.kind == "code" and cell.role not in ("wrong", "right"):
            with suppress(Exception) if "raises-exception" in cell.tags else nullcontext():
                kernel.run(cut(cell.source, answers=True))


WANTED = {"exercise": "passed", "right": "passed", "blank": "open", "wrong": "not yet"}
UNTAUGHT = re.compile(r"([A-Z]\w*(Error|Exception|Ended|Interrupt)\b.*)?$")


@pytest.mark.parametrize("source", sources(), ids=lambda path: path.stem)
def test_every_answer_gets_the_verdict_it_deserves(source, kernel):
    problems = []
    for role, answer, state, message in verdicts(kernel(source.name), read_chapter(source)):
        if state != WANTED[role]:
            problems.append(f"{role} {answer.task} {answer.why}: {state} {message}")
        if role == "wrong" and UNTAUGHT.match(message):
            problems.append(f"wrong {answer.task} {answer.why}: the message does not teach: {message!r}")
    assert problems == []


@pytest.mark.parametrize("source", sources(), ids=lambda path: path.stem)
def test_every_exercise_has_a_task_three_hints_a_check_and_its_proofs(source):
    roles = {}
    for cell in read_chapter(source):
        if cell.role:
            roles.setdefault(cell.task, []).append(cell.role)
            if cell.role == "task":
                assert len(HINT.findall(cell.source)) == 3, f"task {cell.task} needs three hints"
    assert roles, "a chapter has exercises"
    for task, found in roles.items():
        assert [found.count(role) for role in ("task", "exercise", "check")] == [1, 1, 1], task
        assert found.count("wrong") >= 3 and found.count("right") >= 1, task
