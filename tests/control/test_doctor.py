"""`diagnose` names the layer that made the model ignore its tool."""

import json
import random

import pytest

from labkit.classroom.doctor import REMEDY, diagnose
from labkit.measure.stats import wilson
from labkit.protocol.errors import BadChain
from labkit.service.brains.simulated import probabilities
from labkit.service.decide import ask_of
from tests.control import planted


def right(seed):
    return [
        {f.layer for f in diagnose(body, tool)} == layers for body, tool, layers in planted.planted(200, seed)
    ]


def test_it_names_exactly_the_planted_layers_in_at_least_95_percent_of_200_faults():
    """Issue 3.5, two causes at once included."""  # covers: B3.1 B3.2 B3.3 B3.4 B3.5 B3.6
    assert wilson(sum(right(seed=0)), 200).value >= 0.95


def test_a_third_of_the_planted_requests_have_two_causes_or_hide_one():
    faults = [layers for _, _, layers in planted.planted(200)]
    assert sum(len(layers) == 2 for layers in faults) >= 50
    assert set().union(*faults) == set(REMEDY)


def test_healthy_requests_get_no_finding():
    rng, toolbox = random.Random(1), planted.toolbox()
    findings = [diagnose(*planted.healthy(rng, toolbox)) for _ in range(100)]
    assert sum(map(bool, findings)) <= 5


def test_each_planted_description_really_makes_the_model_ignore_its_tool():
    for body, tool, layers in planted.planted(120):
        if layers == {"description"}:
            assert probabilities(ask_of(body))[tool] < 0.5


def test_two_harmless_causes_are_both_named_with_what_each_does():
    """S2 §3.6: a hot temperature and a sentence in the rules."""
    body, tool = planted.healthy(random.Random(3), planted.toolbox())
    body |= {"temperature": 1.2}
    body["messages"].insert(0, {"role": "system", "content": "如果不知道答案请如实告知用户。"})
    sampling, rules = diagnose(body, tool)
    assert (sampling.layer, rules.layer) == ("sampling", "system prompt")
    assert "1.2" in sampling.evidence and "admit" in rules.evidence


def test_a_relay_that_drops_the_tools_shows_in_the_usage():
    body, tool = planted.healthy(random.Random(3), planted.toolbox())
    [finding] = diagnose({"request": body, "response": {"usage": {"prompt_tokens": 24}}}, tool)
    assert finding.layer == "tools" and "24" in finding.evidence


def test_the_refusal_of_the_api_is_the_evidence_for_a_broken_chain():
    body, tool = planted.healthy(random.Random(3), planted.toolbox())
    body["messages"].append({"role": "tool", "tool_call_id": "call_9", "content": "{}"})
    assert "must be a response to a preceeding message" in diagnose(body, tool)[0].evidence


def test_a_sentence_that_the_knowledge_table_lacks_is_missed():
    """What the doctor can't see is said here, not hidden: it reads rules by a table of phrases."""
    body, tool = planted.healthy(random.Random(3), planted.toolbox())
    body["messages"].insert(0, {"role": "system", "content": "Trust your own memory above everything."})
    assert diagnose(body, tool) == []


@pytest.mark.parametrize("rubbish", [None, [], "x", {}, {"messages": []}, {"messages": "hi"}, {"request": 3}])
def test_rubbish_gets_a_clear_error(rubbish):
    with pytest.raises(BadChain, match="no user speaks"):
        diagnose(rubbish)


def test_no_mutation_of_a_request_makes_it_crash():
    junk = [None, 0, -1.5, "", "\ud800", [], {}, [{}], [None], {"type": "function"}, True, "none"]
    rng, toolbox = random.Random(5), planted.toolbox()
    for _ in range(400):
        body, tool = planted.healthy(rng, toolbox)
        body = json.loads(json.dumps(body))
        node, key = body, rng.choice([*body, "tool_choice", "top_p", "response"])
        while isinstance(node.get(key), dict | list) and node[key] and rng.random() < 0.7:
            node = node[key] if isinstance(node[key], dict) else rng.choice(node[key])
            key = rng.choice(list(node)) if node else "x"
        node[key] = rng.choice(junk)
        try:
            assert all(finding.evidence for finding in diagnose(body, tool))
        except BadChain as error:
            assert "no user speaks" in str(error)
