"""Kills a run at random points, then resumes it: `python kills.py COUNT SEED FOLDER`, one JSON line a kill.

Every kill is a SIGKILL at the n-th call of a function of labkit, in any thread of a forked process. What is
left is a database, a ledger and the last saved state; the next process has nothing else.
"""

import json
import os
import random
import shutil
import signal
import sys
import threading
from pathlib import Path

from labkit.connect import connect
from labkit.execution.executor import Executor
from labkit.execution.ledger import Ledger
from labkit.execution.permission import Allow
from labkit.files import write_text
from labkit.protocol.messages import check_chain
from labkit.runtime import Agent, begin, dump, load, run
from labkit.service.brains.scripted import call
from labkit.service.decide import Ask, Decision
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

WANTED = (
    call("get_order", order_id="10001"),
    call("refund_order", order_id="10001", reason="坏了"),
    call("send_email", to="li@example.com", about="10001", topic="refund", subject="退款", body="已退款"),
)


def model(ask: Ask) -> Decision:
    """Looks, refunds, writes to the customer, answers: each once, by what the history says."""
    done = sum(message.role == "tool" for message in ask.messages)
    return Decision(calls=(WANTED[done],)) if done < len(WANTED) else Decision(text="已退款，并已写信。")


def work(folder: Path, stop_at: int) -> str:
    """One process: goes on from the saved state, or begins; the outcome and the calls that it took."""
    shop = Shop(folder / "shop.sqlite")
    toolbox, saved = shop_tools(shop), folder / "state.json"
    hands = Executor(
        toolbox, ledger=Ledger(folder / "ledger.sqlite", owner="worker"), ask=shop.payments.query
    )
    keep = lambda before, after, seconds: write_text(saved, dump(after))  # noqa: E731
    client = connect("script", model)
    agent = Agent(client, "gpt-4.1-mini", toolbox, hands, lambda request: Allow(), on_step=keep)
    state = (
        load(saved.read_text(encoding="utf-8"), toolbox)
        if saved.exists()
        else begin(agent, "退款", run_id="r")
    )
    seen = count_calls(stop_at)
    end = run(agent, state)
    sys.setprofile(None)
    check_chain(end.chain)
    return f"{end.reason} {seen[0]}"


def count_calls(stop_at: int) -> list[int]:
    """Counts the calls of labkit's functions from now on; at number `stop_at` this process is no more."""
    seen = [0]

    def each(frame, event, argument):
        if event == "call" and "labkit" in frame.f_code.co_filename:
            seen[0] += 1
            if seen[0] == stop_at:
                os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(each)
    sys.setprofile(each)
    return seen


def in_a_process(folder: Path, stop_at: int = 0) -> str:
    """What `work` says in a forked process; "killed" when it was."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, work(folder, stop_at).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said or "killed"


def main(count: str, seed: str, place: str) -> None:
    folder, drawn = Path(place), random.Random(int(seed))
    total = int(in_a_process(fresh(folder)).split()[1])
    for _ in range(int(count)):
        stop_at = drawn.randint(1, total)
        first = in_a_process(fresh(folder), stop_at)
        second = in_a_process(folder)
        shop = Shop(folder / "shop.sqlite")
        refunds = len(shop.rows("SELECT 1 FROM payments WHERE kind = 'refund'"))
        mails = len(shop.rows("SELECT 1 FROM mail WHERE recipient = 'li@example.com'"))
        shop.close()
        row = {"at": stop_at, "of": total, "first": first, "second": second.split()[0]}
        print(json.dumps(row | {"refunds": refunds, "mails": mails}))


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    main(*sys.argv[1:])
