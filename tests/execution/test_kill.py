"""The process dies for real, before the commit or before the reply; the next one finishes the work once."""

import subprocess
import sys

import pytest

from labkit.execution.executor import Executor, prepare
from labkit.execution.ledger import Ledger
from labkit.protocol.messages import ToolCall
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

VICTIM = """
import sys
from labkit.execution.executor import Executor, prepare
from labkit.execution.ledger import Ledger
from labkit.protocol.messages import ToolCall
from labkit.shop.payments import killed
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

folder, moment = sys.argv[1:]
shop = Shop(folder + "/shop.db", faults=[killed(1, moment)])
tools = shop_tools(shop)
call = ToolCall("call_1", "refund_order", '{"order_id":"10001","reason":"broken"}')
Executor(tools, ledger=Ledger(folder + "/ledger.db", owner="desk")).execute(prepare(call, tools, run_id="r"))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_killed_around_its_commit_leaves_one_refund_when_the_next_one_is_done(tmp_path, moment):
    victim = subprocess.run([sys.executable, "-c", VICTIM, str(tmp_path), moment], timeout=60)
    assert victim.returncode == 9
    shop = Shop(tmp_path / "shop.db")
    tools, ledger = shop_tools(shop), Ledger(tmp_path / "ledger.db", owner="desk")
    assert [entry.operation_id for entry in ledger.unsettled()] == ["refund:10001"]

    executor = Executor(tools, ledger=ledger, ask=shop.payments.query)
    call = ToolCall("call_2", "refund_order", '{"order_id":"10001","reason":"坏了"}')
    assert executor.reconcile(prepare(call, tools, run_id="r")).status == "success"
    refunds = shop.rows("SELECT amount FROM payments WHERE kind = 'refund'")
    assert refunds == [{"amount": -25600}]
    assert ledger.entry("refund:10001").state == ("reconciled" if moment == "after" else "committed")
