"""One client type, whoever answers; and what is missing is said with the remedy."""

import asyncio

import pytest

from labkit.connect import behind, connect, model_for, sent, service
from labkit.protocol.errors import BadSetup
from labkit.service.decide import Decision
from labkit.service.faults import throttle

HELLO = [{"role": "user", "content": "你好"}]
KEYS = ("OPENAI_API_KEY", "DEEPSEEK_API_KEY", "DASHSCOPE_API_KEY", "MOONSHOT_API_KEY")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in (*KEYS, "LABKIT_CLIENT", "LABKIT_MODEL", "LABKIT_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def say(ask):
    return Decision(text=f"heard {len(ask.messages)}")


def ask(client, **more):
    return client.chat.completions.create(model=model_for(client), messages=HELLO, **more)


def test_without_a_word_the_simulated_model_answers_and_says_that_it_is_one():
    client = connect()
    assert behind(client).which == "sim"
    assert "模拟" in ask(client).choices[0].message.content


def test_a_brain_alone_is_a_script():
    assert ask(connect(brain=say)).choices[0].message.content == "heard 1"


def test_the_variable_wins_over_a_brain_but_not_over_a_word(monkeypatch):
    monkeypatch.setenv("LABKIT_CLIENT", "sim")
    assert behind(connect(brain=say)).which == "sim"
    assert behind(connect("script", say)).which == "script"


def test_an_asynchronous_client_hears_the_same():
    async def run():
        return (await ask(connect("script", say, asynchronous=True))).choices[0].message.content

    assert asyncio.run(run()) == "heard 1"


def test_what_was_sent_can_be_read_with_every_retry():
    client = connect("script", say, faults=[throttle(1, retry_after=0.001)])
    ask(client)
    assert [(one.attempt, one.status) for one in sent(client)] == [(1, 429), (2, 200)]
    assert sent(client)[0].body["messages"] == HELLO


def test_a_copy_of_a_client_keeps_what_stands_behind_it():
    client = connect("script", say)
    ask(client.with_options(max_retries=0))
    assert service(client.with_options(timeout=5)) is service(client)
    assert len(sent(client)) == 1


@pytest.mark.parametrize(
    ("which", "variable"), list(zip(("openai", "deepseek", "qwen", "kimi"), KEYS, strict=True))
)
def test_a_missing_key_names_its_variable_and_says_that_lessons_need_none(which, variable):
    with pytest.raises(BadSetup, match=f"{variable}.*lessons need no key"):
        connect(which)


def test_a_key_is_enough_and_never_shown(monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-very-secret-0123456789")
    client = connect("deepseek")
    assert str(client.base_url).startswith(behind(client).vendor.base_url)
    assert "secret" not in repr(behind(client))


def test_a_base_url_never_gets_the_key_of_a_vendor(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-only")
    assert connect("http://127.0.0.1:9/v1").api_key != "sk-for-openai-only"


def test_an_unknown_name_lists_the_names_there_are():
    with pytest.raises(BadSetup, match="sim, script, replay, local, openai"):
        connect("opena1")


def test_a_script_without_a_brain_and_a_stranger_client_are_told_what_to_do():
    with pytest.raises(BadSetup, match="needs a second argument"):
        connect("script")
    with pytest.raises(BadSetup, match="Only offline clients"):
        service(connect("http://127.0.0.1:9/v1"))


def test_another_model_is_one_variable_where_a_real_api_answers(monkeypatch):
    offline, online = connect(), connect("http://127.0.0.1:9/v1")
    assert model_for(online) != model_for(online, sampling=True)
    monkeypatch.setenv("LABKIT_MODEL", "my-model")
    assert model_for(online) == model_for(online, sampling=True) == "my-model"
    assert model_for(offline) != "my-model"
