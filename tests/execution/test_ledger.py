"""The ledger: one holder for each operation, and no state that a crash can make a lie."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from labkit.execution.ledger import Answer, Ledger


@pytest.fixture
def clock():
    class Clock:
        now = 1000.0

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def ledger(clock):
    return Ledger(clock=clock, lease=60)


def test_the_first_claim_wins_and_the_second_sees_who_is_at_it(ledger):
    assert ledger.claim("refund:1", "refund_order", "a1")[1] is True
    entry, ours = ledger.claim("refund:1")
    assert (ours, entry.state, entry.tool, entry.arguments) == (False, "pending", "refund_order", "a1")


@pytest.mark.parametrize("state", ["committed", "unknown"])
def test_what_happened_or_may_have_happened_is_not_begun_again(ledger, state):
    ledger.settle(ledger.claim("refund:1")[0], state, {"paid": 1})
    entry, ours = ledger.claim("refund:1")
    assert (ours, entry.state) == (False, state)


def test_what_failed_may_be_begun_again(ledger):
    ledger.settle(ledger.claim("refund:1")[0], "failed")
    assert ledger.claim("refund:1")[1] is True


def test_the_result_is_kept_as_json(ledger):
    ledger.settle(ledger.claim("refund:1")[0], "committed", {"城市": "北京"})
    assert ledger.entry("refund:1").result == '{"城市": "北京"}'


def test_a_result_that_has_no_json_form_is_committed_all_the_same(ledger):
    ledger.settle(ledger.claim("refund:1")[0], "committed", object())
    assert (ledger.entry("refund:1").state, ledger.entry("refund:1").result) == ("committed", "null")


def test_a_lease_that_ran_out_makes_the_operation_unknown_not_free(ledger, clock):
    ledger.claim("refund:1")
    clock.now += 61
    entry, ours = ledger.claim("refund:1")
    assert (ours, entry.state) == (False, "unknown")


def test_a_lease_may_be_longer_than_usual(ledger, clock):
    ledger.claim("refund:1", lease=600)
    clock.now += 61
    assert ledger.entry("refund:1").state == "pending"


def test_who_lost_the_claim_cannot_say_failed_but_is_believed_when_it_happened(ledger, clock):
    late, _ = ledger.claim("refund:1")
    clock.now += 61
    ledger.conclude("refund:1", Answer("absent"))
    ledger.claim("refund:1")
    ledger.settle(late, "failed")
    assert ledger.entry("refund:1").state == "pending"
    ledger.settle(late, "committed")
    assert ledger.entry("refund:1").state == "committed"


def test_that_it_happened_is_never_taken_back(ledger):
    entry, _ = ledger.claim("refund:1")
    ledger.settle(entry, "committed", 1)
    ledger.settle(entry, "unknown")
    ledger.conclude("refund:1", Answer("absent"))
    assert (ledger.entry("refund:1").state, ledger.entry("refund:1").result) == ("committed", "1")


@pytest.mark.parametrize(
    ("answer", "state"), [("happened", "reconciled"), ("absent", "failed"), ("unknown", "unknown")]
)
def test_reconcile_writes_down_what_the_service_says(ledger, answer, state):
    ledger.settle(ledger.claim("refund:1")[0], "unknown")
    assert ledger.reconcile("refund:1", lambda operation_id: Answer(answer)).state == state


def test_reconcile_leaves_it_unknown_when_the_question_fails(ledger):
    ledger.settle(ledger.claim("refund:1")[0], "unknown")

    def ask(operation_id):
        raise ConnectionError(operation_id)

    assert ledger.reconcile("refund:1", ask).state == "unknown"


@pytest.mark.parametrize("state", ["pending", "committed", "failed"])
def test_reconcile_asks_nobody_when_the_state_is_known(ledger, state):
    entry, _ = ledger.claim("refund:1")
    if state != "pending":
        ledger.settle(entry, state)
    assert ledger.reconcile("refund:1", pytest.fail).state == state


def test_reconcile_of_what_was_never_begun_is_nothing(ledger):
    assert ledger.reconcile("refund:1", pytest.fail) is None


def test_a_worker_that_starts_again_under_its_name_finds_its_claims_unknown(tmp_path):
    first = Ledger(tmp_path / "ledger.db", owner="desk-1")
    first.claim("refund:1")
    Ledger(tmp_path / "ledger.db", owner="desk-2").claim("refund:2")
    first.close()
    again = Ledger(tmp_path / "ledger.db", owner="desk-1")
    assert [entry.operation_id for entry in again.unsettled()] == ["refund:1"]
    assert again.entry("refund:2").state == "pending"


def test_unsettled_lists_what_someone_must_ask_about_oldest_first(ledger, clock):
    ledger.claim("refund:3")
    clock.now += 61
    ledger.settle(ledger.claim("refund:2")[0], "unknown")
    ledger.claim("refund:1")
    assert [entry.operation_id for entry in ledger.unsettled()] == ["refund:3", "refund:2"]


def test_fifty_threads_that_want_one_operation_get_it_once(tmp_path):
    ledgers = [Ledger(tmp_path / "ledger.db") for _ in range(5)]
    with ThreadPoolExecutor(50) as pool:
        won = list(pool.map(lambda number: ledgers[number % 5].claim("refund:1")[1], range(50)))
    assert won.count(True) == 1


CLAIMS = """
import sys
from labkit.execution.ledger import Ledger
ledger = Ledger(sys.argv[1])
print(sum(ledger.claim(f"refund:{number}")[1] for number in range(200)))
"""


def test_processes_that_start_together_share_out_the_operations(tmp_path):
    """Four processes open a new file at once and claim the same 200 operations: 200 claims in all."""
    command = [sys.executable, "-c", CLAIMS, str(tmp_path / "ledger.db")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    won = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(won) == 200


def test_the_file_is_in_wal_mode(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    assert ledger._run("PRAGMA journal_mode") == [("wal",)]
