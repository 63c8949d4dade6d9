"""The check looks at everything, says what differs, and is red when it could not look."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from labkit.wire_check import Case, Report, judge, recorded_cases, rule_cases, run

REFUSED = {
    "type": "invalid_request_error",
    "param": "tools",
    "code": "empty_array",
    "message": "Invalid 'tools'.",
}
BODY = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}]}
VALID = Case("valid", "/chat/completions", BODY, 200, {})
INVALID = Case("invalid", "/chat/completions", BODY | {"tools": []}, 400, REFUSED)
REPLY = json.dumps({"choices": []})


@contextmanager
def server(status: int, body: str):
    """A server on this machine that gives one answer to everything."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args):
            pass

    door = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=door.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{door.server_port}/v1"
    finally:
        door.shutdown()
        thread.join()
        door.server_close()


def test_our_own_service_does_as_the_api_does():
    report = run()
    assert report.ok, report.text()
    assert len(report.cases) > 450


def test_a_server_that_accepts_everything_is_different():
    with server(200, REPLY) as url:
        report = run(url, "sk-test", cases=[VALID, INVALID])
    assert [difference.case.id for difference in report.differences] == ["invalid"]
    assert report.text().endswith("1 different, 0 not looked at")


def test_a_server_that_refuses_everything_is_different():
    with server(400, json.dumps({"error": REFUSED})) as url:
        report = run(url, "sk-test", cases=[VALID, INVALID])
    assert [difference.what for difference in report.differences] == [
        "refused, but the API accepts it: Invalid 'tools'."
    ]


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_door_that_stays_shut_is_red_and_no_difference(status):
    with server(status, "{}") as url:
        report = run(url, "sk-wrong", cases=[VALID, INVALID])
    assert not report.ok and all(difference.blind for difference in report.differences)
    assert report.text().endswith("0 different, 2 not looked at")


def test_a_server_is_asked_when_no_key_is_set():
    with server(200, REPLY) as url:
        assert run(url, None, cases=[VALID]).ok


def test_a_server_that_is_not_there_is_red():
    with server(200, REPLY) as url:
        pass
    report = run(url, "sk-test", cases=[VALID])
    assert not report.ok and "no answer" in report.text()


def test_no_cases_are_no_success():
    assert not Report("nothing", (), ()).ok


@pytest.mark.parametrize("field", ["type", "param", "code", "message"])
def test_one_field_of_the_error_in_other_words_is_named(field):
    error = REFUSED | {field: "other"}
    assert (
        judge(INVALID, (400, json.dumps({"error": error}))).what == f"{field} 'other', not {REFUSED[field]!r}"
    )


@pytest.mark.parametrize(
    "body", ["", "[]", "hello", "{}", 'data: {"error":{"message":"x"}}\n\n', '{"error": null}']
)
def test_what_is_no_reply_is_no_success(body):
    assert judge(VALID, (200, body)).what.startswith("no reply")


def test_a_stream_is_a_reply():
    body = 'data: {"choices":[]}\n\ndata: [DONE]\n\n'
    assert judge(VALID, (200, body)) is None


def test_the_estimate_comes_before_the_first_request():
    heard = []
    with server(200, REPLY) as url:
        run(url, "sk-test", cases=[VALID, INVALID], announce=heard.append)
    assert heard == ["2 requests, about 8 billed input tokens, $0.00 (0 without a price)"]


def test_a_url_gets_only_what_its_vendor_is_asked():
    with server(200, REPLY) as url:
        report = run(url, "sk-test", vendor="kimi")
    assert {case.vendor for case in report.cases} == {"kimi"} and {case.profile for case in report.cases} == {
        "strict"
    }


def test_rows_and_recordings_are_both_there():
    assert len([*rule_cases()]) > 400 and len([*recorded_cases()]) >= 50
