"""What goes wrong inside the service itself is an envelope too, and is logged."""

import json
import logging

from labkit.service.api import Service
from labkit.service.brains.scripted import obedient

BODY = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}]}


def _post(service, **extra):
    body = json.dumps(BODY | extra).encode()
    return service.handle("POST", "/v1/chat/completions", {"authorization": "Bearer sk-test"}, body)


def test_an_empty_stop_sequence_stops_nothing():
    answer = _post(Service(obedient), stop="")
    assert answer.status == 200
    assert json.loads(answer.body)["choices"][0]["message"]["content"]


def test_a_failure_of_the_service_is_an_envelope_and_a_log_entry(caplog):
    service = Service(obedient)
    service.cache = None
    with caplog.at_level(logging.ERROR, "labkit"):
        answer = _post(service)
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["type"], error["code"]) == (500, "server_error", "internal_error")
    assert "AttributeError" in caplog.text
    assert "Traceback" not in error["message"]
