"""What of Windows can be tried here: consoles of few characters, CRLF, paths with spaces and Chinese."""

import io
import json
import os
import subprocess
import sys

import pytest

from labkit import cli
from labkit.classroom import workbook
from labkit.classroom.check import notebooks, standing
from labkit.files import ROOT

REQUEST = {"messages": [{"role": "user", "content": "北京天气怎么样 \ud83d"}]}
COMMANDS = [
    ["progress"],
    ["hint", "1.1"],
    ["answer", "1.1"],
    ["reset", "1.1"],
    ["update"],
    ["doctor", "请求.json"],
    ["doctor", "没有.json"],
    ["check", "77"],
    ["hint", "题"],
    ["build", "77"],
    ["serve", "--brain", "没有é.json"],
    ["graduate", "没有é.py"],
    ["wire-check", "--vendor", "谁"],
    ["eval", "report", "没有é.jsonl"],
    ["trace", "summary", "没有é.jsonl"],
    ["没有"],
    ["--help"],
]


class Console(io.TextIOWrapper):
    """A terminal of one encoding, strict as Windows has it."""

    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding=encoding, errors="strict", newline="\n")

    def said(self):
        self.flush()
        return self.buffer.getvalue().decode(self.encoding, "replace")


def typed(monkeypatch, encoding, *words):
    """A command as typed at such a console: its exit code, and what it wrote."""
    out, err = Console(encoding), Console(encoding)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(sys, "argv", ["labkit", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code, out.said(), err.said()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("C 盘 é")
    (folder / "请求.json").write_text(json.dumps(REQUEST), encoding="utf-8")
    return folder


@pytest.fixture
def desk(folder, monkeypatch):
    """A learner's folder whose path has spaces, Chinese, and a letter that cp936 lacks; three tries done."""
    monkeypatch.delenv("LABKIT_PROGRESS", raising=False)
    monkeypatch.setattr(cli, "MINE", folder / "我的 wörk")
    monkeypatch.chdir(folder)
    state = cli.hand_out() / ".labkit" / "progress.json"
    state.write_text('{"0.1": {"tries": 3}, "1.1": {"tries": 3}}', encoding="utf-8")
    return folder / "我的 wörk"


@pytest.mark.parametrize("encoding", ["cp936", "ascii", "cp1252"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_can_be_read_on_a_console_of_few_characters(words, encoding, desk, monkeypatch):
    code, out, err = typed(monkeypatch, encoding, *words)
    assert code in (0, 1, 2) and out + err
    assert "Traceback" not in err and "UnicodeEncodeError" not in out + err


def test_chinese_is_chinese_where_the_console_has_it(desk, monkeypatch):
    assert "您好" in typed(monkeypatch, "cp936", "answer", "0.1")[1]


@pytest.mark.skipif(
    not str(ROOT).isascii(), reason="with ASCII for paths Python cannot import from this folder"
)
def test_no_file_is_opened_in_the_encoding_of_the_locale(desk):
    """Python itself says where an encoding was left out; run in the C locale, as far from UTF-8 as can be."""
    own = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LABKIT_WORK": str(desk)}
    command = [sys.executable, "-X", "warn_default_encoding", "-m", "labkit.cli", "progress"]
    done = subprocess.run(command, env=os.environ | own, capture_output=True)
    assert done.returncode == 0 and b"01_tool_call_loop" in done.stdout
    warned = done.stderr.decode("utf-8", "replace").splitlines()
    assert [line for line in warned if "EncodingWarning" in line and "labkit" in line] == []


@pytest.fixture
def crlf(tmp_path):
    """A chapter as a checkout with CRLF has it."""
    source = workbook.sources(["03"])[0]
    for path in (source, source.with_suffix(".ipynb"), ROOT / "notebooks" / f"{source.stem}.ipynb"):
        copy = tmp_path / path.parent.name / path.name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return tmp_path


def test_a_chapter_with_crlf_says_the_same(crlf):
    source = workbook.sources(["03"])[0]
    assert workbook.read_chapter(crlf / "solutions" / source.name) == workbook.read_chapter(source)


def test_a_checkout_with_crlf_is_not_stale(crlf):
    source = next((crlf / "solutions").glob("*.py"))
    fresh = workbook.stale(workbook.sources(["03"])[0])
    assert workbook.stale(source) == fresh


def test_a_notebook_with_crlf_has_the_same_tasks(crlf):
    [path] = notebooks(crlf / "notebooks", "03")
    assert standing("03", crlf / "notebooks")[path.stem].keys() == {"3.1", "3.2", "3.3"}


def test_the_repository_says_which_line_ends_it_has():
    assert "eol=lf" in (ROOT / ".gitattributes").read_text(encoding="utf-8")
