"""The smallest answer that is a tool call, as it comes over the wire."""

import json

from labkit.connect import connect
from labkit.service.brains.scripted import call, script


def test_a_tool_call_is_an_id_a_name_and_arguments_as_json_text_with_no_content():  # covers: L16
    client = connect("script", script(call("get_weather", city="北京")))
    tool = {"type": "function", "function": {"name": "get_weather"}}
    asked = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "天气？"}], "tools": [tool]}
    choice = client.chat.completions.create(**asked).choices[0].to_dict()
    (made,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
    assert made["id"] and made["type"] == "function" and made["function"]["name"] == "get_weather"
    assert json.loads(made["function"]["arguments"]) == {"city": "北京"}
