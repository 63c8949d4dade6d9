"""What the prefix cache keeps, what breaks it, and when it forgets."""

import pytest

from labkit.service.api import Service, VirtualClock
from labkit.service.decide import Decision
from tests.service.doors import GET_ORDER, recordings, say

RULES = " ".join(f"Rule {n}: be kind to customer number {n}." for n in range(150))
SYSTEM = {"role": "system", "content": RULES}
OTHER = {**GET_ORDER, "function": {**GET_ORDER["function"], "name": "cancel_order"}}


@pytest.fixture
def service():
    return Service(lambda ask: Decision(text="ok"), clock=VirtualClock())


def cached(service, *messages, model="gpt-4.1-mini", **options):
    usage = say(service, {"model": model, "messages": [SYSTEM, *messages], **options})["usage"]
    return usage["prompt_tokens_details"]["cached_tokens"], usage


def user(text):
    return {"role": "user", "content": text}


def test_a_prompt_below_1024_tokens_is_never_cached(service):
    short = {"model": "gpt-4o", "messages": [user("hi " * 900)]}
    usages = [say(service, short)["usage"] for _ in range(2)]
    assert usages[1]["prompt_tokens"] < 1024 and usages[1]["prompt_tokens_details"]["cached_tokens"] == 0


def test_a_shared_beginning_below_1024_tokens_is_not_cached_however_long_the_prompts_are(service):
    beginning = "hi " * 900
    first, second = ({"model": "gpt-4o", "messages": [user(beginning + end * 400)]} for end in ("a ", "b "))
    usages = [say(service, body)["usage"] for body in (first, second)]
    assert [usage["prompt_tokens"] > 1024 for usage in usages] == [True, True]
    assert usages[1]["prompt_tokens_details"]["cached_tokens"] == 0


def test_the_same_beginning_is_cached_in_steps_of_128(service):
    first, usage = cached(service, user("Where is order 1?"))
    second, _ = cached(service, user("Refund order 2, please."))
    assert (
        first == 0
        and second % 128 == 0
        and usage["prompt_tokens"] - 128 <= second + 20 <= usage["prompt_tokens"]
    )


def test_the_recorded_pair_of_the_same_prompt_has_its_recorded_cached_tokens(service):
    found = dict(recordings(stream=False))
    pair = [found[f"openai_cached_tokens_{kind}-0"] for kind in ("write", "read")]
    given = [say(service, one["request"])["usage"]["prompt_tokens_details"]["cached_tokens"] for one in pair]
    recorded = [one["response"]["usage"]["prompt_tokens_details"]["cached_tokens"] for one in pair]
    assert given == recorded == [0, 1152]


def test_a_growing_conversation_is_cached_up_to_its_last_turn(service):
    first, _ = cached(service, user("a"))
    turns = [user("a"), {"role": "assistant", "content": "b " * 300}, user("c")]
    second, _ = cached(service, *turns)
    third, _ = cached(service, *turns, {"role": "assistant", "content": "d"}, user("e"))
    assert first == 0 < second < third


@pytest.mark.parametrize(
    "tools",
    [[OTHER, GET_ORDER], [OTHER], [{**GET_ORDER, "function": {**GET_ORDER["function"], "strict": False}}]],
)
def test_another_tool_or_another_order_of_tools_invalidates_all_that_follows(service, tools):
    cached(service, user("x"), tools=[GET_ORDER, OTHER])
    assert cached(service, user("x"), tools=tools)[0] == 0


def test_tool_choice_and_allowed_tools_are_outside_the_prefix(service):
    cached(service, user("x"), tools=[GET_ORDER, OTHER])
    named = {"type": "function", "function": {"name": "get_order"}}
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [named]}}
    assert cached(service, user("x"), tools=[GET_ORDER, OTHER], tool_choice=allowed)[0] > 1024


def test_a_date_at_the_top_breaks_the_cache_and_at_the_end_does_not(service):
    dated = [{"role": "system", "content": f"{day}\n{RULES}"} for day in ("Monday", "Tuesday")]
    bodies = [{"model": "gpt-4o", "messages": [one, user("x")]} for one in dated]
    top = [say(service, body)["usage"]["prompt_tokens_details"]["cached_tokens"] for body in bodies]
    end = [cached(service, user(f"x. It is {day}."))[0] for day in ("Monday", "Tuesday")]
    assert top == [0, 0] and end[1] > 1024


def test_an_idle_prefix_is_forgotten_and_one_in_use_is_not(service):
    cached(service, user("x"))
    for _ in range(3):
        service.sleep(400)
        assert cached(service, user("x"))[0] > 0
    service.sleep(601)
    assert cached(service, user("x"))[0] == 0


def test_retention_of_24_hours_keeps_it(service):
    cached(service, user("x"), prompt_cache_retention="24h")
    service.sleep(23 * 3600)
    assert cached(service, user("x"), prompt_cache_retention="24h")[0] > 0


def test_another_prompt_cache_key_is_another_cache(service):
    cached(service, user("x"), prompt_cache_key="tenant-a")
    assert cached(service, user("x"), prompt_cache_key="tenant-b")[0] == 0
    assert cached(service, user("x"), prompt_cache_key="tenant-a")[0] > 0


def test_another_model_is_another_cache(service):
    cached(service, user("x"))
    assert cached(service, user("x"), model="gpt-4o")[0] == 0


def test_newer_families_say_what_they_wrote_and_match_whole_prompts_only(service):
    def spent(*messages):
        details = cached(service, *messages, model="gpt-6-luna")[1]["prompt_tokens_details"]
        return details["cached_tokens"], details["cache_write_tokens"]

    first, other = spent(user("Where is order 1?")), spent(user("Refund order 2."))
    longer = spent(user("Where is order 1?"), {"role": "assistant", "content": "Shipped."}, user("Thanks."))
    assert first[0] == other[0] == 0 < first[1] and longer[0] == first[1] and 0 < longer[1] < 40


def test_a_marked_block_is_a_breakpoint_of_newer_families(service):
    part = {"type": "text", "text": RULES, "prompt_cache_breakpoint": {"mode": "explicit"}}
    marked = {"role": "system", "content": [part]}
    bodies = [{"model": "gpt-6-luna", "messages": [marked, user(text)]} for text in ("a", "b")]
    given = [say(service, body)["usage"]["prompt_tokens_details"]["cached_tokens"] for body in bodies]
    assert given[0] == 0 and given[1] > 1024
