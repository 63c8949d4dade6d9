"""No test and no notebook of a test run reaches out of this machine."""

import asyncio
import os
import socket
import subprocess
import sys

import httpx2
import nbformat
import pytest

from labkit.classroom.workbook import execute, quiet_environment

ELSEWHERE = ("192.0.2.1", 443)
TRY = f"import socket; socket.create_connection({ELSEWHERE}, timeout=5)"


@pytest.mark.parametrize(
    "attempt", [socket.create_connection, lambda a: socket.getaddrinfo("example.com", 443)]
)
def test_this_process_reaches_nothing_outside(attempt):
    with pytest.raises(ConnectionRefusedError, match="a test tried to reach"):
        attempt(ELSEWHERE)


def test_an_asynchronous_client_does_not_either():
    async def go():
        async with httpx2.AsyncClient(trust_env=False) as client:
            await client.get("http://192.0.2.1/")

    with pytest.raises((httpx2.ConnectError, ConnectionRefusedError)):
        asyncio.run(go())


def test_this_machine_itself_is_reached():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert client.getpeername() == server.getsockname()


def test_a_child_process_reaches_nothing_outside():
    child = subprocess.run([sys.executable, "-c", TRY], capture_output=True, text=True)
    assert "a test tried to reach 192.0.2.1" in child.stderr


def test_a_kernel_reaches_nothing_outside(tmp_path):
    cell = nbformat.v4.new_code_cell(TRY)
    ran = execute(nbformat.v4.new_notebook(cells=[cell]), tmp_path, quiet_environment(), allow_errors=True)
    assert "a test tried to reach 192.0.2.1" in ran.cells[0].outputs[0]["evalue"]


def test_the_settings_of_the_user_do_not_reach_a_lesson(monkeypatch):
    for name in ("LABKIT_CLIENT", "OPENAI_API_KEY", "OPENAI_BASE_URL", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(name, "x")
    assert "PATH" in os.environ
    assert {name for name, value in quiet_environment().items() if value == "x"} == set()
