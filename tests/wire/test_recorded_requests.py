"""What the API accepted is accepted, what it refused is refused in its words: recorded traffic."""

import pytest

from labkit.protocol.families import vendor
from labkit.service.checks import CheckContext, check_chat, check_responses
from labkit.wire_check import CASSETTES, recorded_cases

CASES = [*recorded_cases()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_recorded_request_gets_its_recorded_verdict(case):
    check = check_chat if case.path.endswith("/completions") else check_responses
    error = check(case.request, CheckContext())
    given = (error.status, error.message, error.type, error.param, error.code) if error else (200,)
    wanted = [case.status, *(case.expect[key] for key in ("message", "type", "param", "code") if case.expect)]
    assert given == tuple(wanted)


def test_recordings_of_both_verdicts_are_there():
    assert sum(case.status == 200 for case in CASES) >= 40 and sum(case.status == 400 for case in CASES) >= 5


def test_recorded_deepseek_tool_loops_are_accepted():
    cases = [*recorded_cases(CASSETTES, host="api.deepseek.com")]
    context = CheckContext(vendor=vendor("deepseek"))
    assert len(cases) == 3 and [check_chat(case.request, context) for case in cases] == [None] * 3
