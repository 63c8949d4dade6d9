"""How the simulated model reads: text becomes weighted terms, a tool becomes the terms for and against it.

Terms are English words, Chinese character bigrams, and meanings that both languages share (see the data set).
"""

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Any

from labkit.files import dataset
from labkit.service.decide import ToolSpec

KNOWLEDGE = tomllib.loads(dataset("simulated_model/knowledge.toml").read_text(encoding="utf-8"))
MEANINGS = {name: words.split() for name, words in KNOWLEDGE["meanings"].items()}
ACTIONS = frozenset(KNOWLEDGE["words"]["actions"].split())
KINDS = {kind: re.compile(pattern, re.I) for kind, pattern in KNOWLEDGE["kinds"].items()}
NOT_WHEN, USE_WHEN = (re.compile(KNOWLEDGE["contract"][key], re.I) for key in ("not", "when"))
_MEANING: dict[str, list[str]] = {}
for _name, _words in MEANINGS.items():
    for _each in _words:
        _MEANING.setdefault(_each, []).append(f"@{_name}")
_CHINESE_WORD = re.compile("|".join(sorted((w for w in _MEANING if w > "\u4e00"), key=len, reverse=True)))
_STOP = frozenset(KNOWLEDGE["words"]["stop"].split())
_CHINESE_STOP = frozenset(KNOWLEDGE["words"]["chinese_stop"])
_ENGLISH_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", re.ASCII)
_CHINESE = re.compile(r"[\u4e00-\u9fff]+")
_SENTENCE = re.compile(r"[。；;！!？?\n]|\.(?=\s|$)")


@lru_cache(maxsize=8192)
def terms(text: str) -> dict[str, float]:
    """What a text is about: a meaning weighs 2 (looking up 0.7), another English word 1, a bigram 0.7.

    >>> terms("取消订单 10001") == terms("Cancel the order 10001") == {"@cancel": 2.0, "@order": 2.0}
    True
    """
    text = unicodedata.normalize("NFKC", text)
    found: dict[str, float] = {}
    for word in map(str.lower, _ENGLISH_WORD.findall(text)):
        word = word if word in _MEANING else word.removesuffix("s")
        if len(word) > 1 and word not in _STOP:
            found |= dict.fromkeys(_MEANING.get(word, [word]), 1.0)
    for word in _CHINESE_WORD.findall(text):
        found |= dict.fromkeys(_MEANING[word], 1.0)
    for run in _CHINESE.findall(_CHINESE_WORD.sub(" ", text)):
        pairs = (run[i : i + 2] for i in range(len(run) - 1))
        found |= {pair: 0.7 for pair in pairs if not _CHINESE_STOP & set(pair)}
    return {term: 0.7 if term == "@read" else 2.0 if term[0] == "@" else w for term, w in found.items()}


@dataclass(frozen=True, slots=True)
class Reading:
    """What speaks for a tool and against it, the acts in its name, all acts it offers, the kinds it needs."""

    strength: dict[str, float]
    against: dict[str, float]
    acts: frozenset[str]
    offers: frozenset[str]
    when: frozenset[str]
    needs: frozenset[str]


@lru_cache(maxsize=8192)
def read_tool(tool: ToolSpec) -> Reading:
    """A tool as read: its name counts 1.6, when to use it 1.5, what it does 0.8, its parameters 0.3."""
    fields, against = [(1.6, tool.name)], {}
    for sentence in _SENTENCE.split(tool.description):
        if NOT_WHEN.search(sentence):
            against |= terms(sentence)
        else:
            fields.append((1.5 if USE_WHEN.search(sentence) else 0.8, sentence))
    inner = properties(tool.parameters)
    fields += [
        (0.3, f"{name} {part.get('description', '')} {part.get('enum', '')}") for name, part in inner.items()
    ]
    strength: dict[str, float] = {}
    for factor, text in fields:
        for term in terms(text):
            strength[term] = max(strength.get(term, 0.0), factor) + (0.4 if term in strength else 0.0)
    against = {term: weight for term, weight in against.items() if term not in strength}
    acts = frozenset(act for act in ACTIONS if f"@{act}" in terms(tool.name))
    offers = frozenset(act for act in ACTIONS if strength.get(f"@{act}", 0.0) > 0.5)
    when = (
        frozenset(t for factor, text in fields if factor == 1.5 for t in terms(text))
        - terms(tool.name).keys()
    )
    needs = (kind_of(name, inner[name]) for name in tool.parameters.get("required") or () if name in inner)
    return Reading(strength, against, acts, offers, when, frozenset(filter(None, needs)))


def shares(asked: dict[str, float], readings: Sequence[Reading]) -> dict[str, float]:
    """What each asked term still tells when several tools contain it: less with each more."""
    counts = dict.fromkeys(asked, 0)
    for reading in readings:
        for term in asked.keys() & reading.strength.keys():
            counts[term] += 1
    return {term: weight / (1 + 0.5 * log(max(counts[term], 1))) for term, weight in asked.items()}


def kind_of(name: str, schema: dict[str, Any]) -> str | None:
    """What a property wants, by its name, then its format, then its description.

    >>> kind_of("order_id", {}), kind_of("q", {"description": "a city"}), kind_of("x", {})
    ('id', 'city', None)
    """
    for source in (name, schema.get("format"), schema.get("description")):
        for kind, pattern in KINDS.items() if isinstance(source, str) else ():
            if pattern.search(source):
                return kind
    return None


def properties(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = schema.get("properties")
    return {k: v for k, v in found.items() if isinstance(v, dict)} if isinstance(found, dict) else {}
