"""The commands, as a learner types them: what they say, and what they leave alone."""

import json
import re
import shutil
import subprocess
import sys
import threading

import pytest

from labkit import cli
from labkit.classroom.machine import examine
from labkit.files import ROOT


def labkit(*arguments, **options):
    command = [sys.executable, "-m", "labkit.cli", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", **options)


@pytest.fixture
def mine(monkeypatch, tmp_path):
    """A learner's folder somewhere else, so that no test touches a real one."""
    monkeypatch.setattr(cli, "MINE", tmp_path / "我的 work")
    return tmp_path / "我的 work"


def test_help_names_every_command():
    said = labkit("--help").stdout
    for command in ("lab", "test", "build", "check", "hint", "progress", "serve", "doctor", "wire-check"):
        assert re.search(rf"^  {command}\b", said, re.MULTILINE)


def test_what_can_be_mended_is_one_line_and_no_traceback():
    done = labkit("build", "77")
    assert done.returncode == 1
    assert done.stderr == "labkit: there is no solutions/77_*.py. Name a chapter by its number, such as 03.\n"


def test_a_learner_gets_every_notebook_and_none_is_written_over(mine):
    cli.hand_out()
    assert {path.name for path in mine.glob("*.ipynb")} == {
        path.name for path in (ROOT / "notebooks").glob("*.ipynb")
    }
    (mine / "00_start_here.ipynb").write_text("my own work", encoding="utf-8")
    cli.hand_out()
    assert (mine / "00_start_here.ipynb").read_text(encoding="utf-8") == "my own work"


def test_hint_and_progress_keep_their_state_beside_the_learners_notebooks(mine, capsys, monkeypatch):
    monkeypatch.delenv("LABKIT_PROGRESS", raising=False)
    cli.hint("1.1")
    cli.progress()
    assert capsys.readouterr().out.startswith("1.1 hint 1 of 3: ")
    assert json.loads((mine / ".labkit" / "progress.json").read_text(encoding="utf-8"))["1.1"]["hints"] == 1


@pytest.mark.parametrize("encoding", ["ascii", "cp936"])
def test_a_console_that_knows_few_characters_is_no_trouble(encoding):
    done = labkit("serve", "--brain", "没有é.json", env={**cli.os.environ, "PYTHONIOENCODING": encoding})
    assert done.returncode == 1
    assert "is not a cassette" in done.stderr and "Traceback" not in done.stderr


def test_the_same_exchange_by_curl(tmp_path):
    """Notebook 1 by hand: a call comes back, its result goes in, an answer comes out."""
    curl = shutil.which("curl")
    if not curl:
        pytest.skip("no curl on this machine")
    served = subprocess.Popen(
        [sys.executable, "-m", "labkit.cli", "serve", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    stop = threading.Timer(60, served.kill)
    stop.start()
    try:
        url = served.stdout.readline().split()[0]

        def post(messages):
            tool = {"type": "function", "function": {"name": "get_weather", "parameters": CITY}}
            (tmp_path / "body.json").write_text(
                json.dumps({"model": "gpt-5.4-mini", "messages": messages, "tools": [tool]}), encoding="utf-8"
            )
            headers = ["-H", "Content-Type: application/json", "-H", "Authorization: Bearer sk-any"]
            data = ["-d", f"@{tmp_path / 'body.json'}"]
            done = subprocess.run(
                [curl, "-s", *headers, *data, f"{url}/chat/completions"], capture_output=True
            )
            return json.loads(done.stdout)

        question = {"role": "user", "content": "get the weather in 上海"}
        asked = post([question])["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": "小雨"}
        assert "小雨" in post([question, asked, result])["choices"][0]["message"]["content"]
        assert post([question, asked])["error"]["param"] == "messages.[2].role"
    finally:
        stop.cancel()
        served.terminate()
        served.wait()
        served.stdout.close()


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_the_doctor_names_what_is_set_and_never_shows_a_key():
    environment = {"OPENAI_API_KEY": "sk-secret", "HTTPS_PROXY": "http://proxy:3128"}
    said = "\n".join(map(str, examine(environment)))
    assert "OPENAI_API_KEY" in said and "sk-secret" not in said
    assert "look  proxy: https_proxy, also for this machine itself. Set NO_PROXY" in said


def test_a_proxy_that_leaves_this_machine_out_is_no_trouble():
    signs = examine({"https_proxy": "http://proxy:3128", "NO_PROXY": "localhost,127.0.0.1"})
    assert [sign.remedy for sign in signs if sign.what == "proxy"] == [""]
