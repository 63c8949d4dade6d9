"""How the simulated model reads: text becomes weighted terms, a tool becomes the terms for and against it.

Terms are English words, Chinese character pairs, and meanings that both languages share (see the data set).
"""

import re
import tomllib
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from labkit.files import dataset
from labkit.service.decide import ToolSpec

KNOWLEDGE = tomllib.loads(dataset("simulated_model/knowledge.toml").read_text(encoding="utf-8"))
MEANINGS = {name: words.split() for name, words in KNOWLEDGE["meanings"].items()}
ACTIONS, _STOP = (frozenset(KNOWLEDGE["words"][name].split()) for name in ("actions", "stop"))
_MEANING = {w: [f"@{m}" for m in MEANINGS if w in MEANINGS[m]] for words in MEANINGS.values() for w in words}
_CHINESE_STOP = frozenset(KNOWLEDGE["words"]["chinese_stop"])
_CHINESE_WORD = re.compile("|".join(sorted((w for w in _MEANING if w > "\u4e00"), key=len, reverse=True)))
_ENGLISH_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", re.ASCII)
_PAIR = re.compile(r"(?=([\u4e00-\u9fff]{2}))")
_CONTRACT = {name: re.compile(pattern, re.I | re.M) for name, pattern in KNOWLEDGE["contract"].items()}
_CONCRETE = frozenset(("id", "email", "city", "date", "time", "url", "amount", "address"))
_KINDS = {kind: re.compile(pattern, re.I) for kind, pattern in KNOWLEDGE["kinds"].items()}


@lru_cache(maxsize=8192)
def terms(text: str) -> dict[str, float]:
    """What a text is about: a meaning weighs 2 (looking up 0.7), other English words 1, a Chinese pair 0.7.

    >>> terms("取消订单 10001") == terms("Cancel the order 10001") == {"@cancel": 2.0, "@order": 2.0}
    True
    """
    text = unicodedata.normalize("NFKC", text)
    words = [w if w in _MEANING else w.removesuffix("s") for w in map(str.lower, _ENGLISH_WORD.findall(text))]
    found = {w: 1.0 for w in words if len(w) > 1 and w not in _STOP and w not in _MEANING}
    found |= {w: 0.7 for w in _PAIR.findall(_CHINESE_WORD.sub(" ", text)) if not _CHINESE_STOP & set(w)}
    meant = (m for w in (*words, *_CHINESE_WORD.findall(text)) for m in _MEANING.get(w, ()))
    return found | {meaning: 0.7 if meaning == "@read" else 2.0 for meaning in meant}


@dataclass(frozen=True, slots=True)
class Reading:
    """Terms for a tool, against it, of its "when"; acts in its name, all it offers; kinds it needs, takes."""

    strength: dict[str, float]
    against: dict[str, float]
    when: frozenset[str]
    acts: frozenset[str]
    offers: frozenset[str]
    needs: frozenset[str]
    takes: frozenset[str]


@lru_cache(maxsize=8192)
def read_tool(tool: ToolSpec) -> Reading:
    """A tool as read: its name counts 1.6, when to use it 1.5, what it does 0.8, its parameters 0.3."""
    said = {"not": [], "when": [], "what": []}
    for sentence in _CONTRACT["sentence"].findall(tool.description):
        kind = next((kind for kind in ("not", "when") if _CONTRACT[kind].search(sentence)), "what")
        said[kind].append(terms(sentence))
    inner = properties(tool.parameters)
    fields = (terms(f"{k} {part.get('description', '')} {part.get('enum', '')}") for k, part in inner.items())
    name = terms(tool.name)
    strength: dict[str, float] = {}
    for weight, texts in ((1.6, [name]), (1.5, said["when"]), (0.8, said["what"]), (0.3, fields)):
        for term in (term for text in texts for term in text):
            strength[term] = strength[term] + 0.4 if term in strength else weight
    against = {term: weight for text in said["not"] for term, weight in text.items() if term not in strength}
    acts = frozenset(act for act in ACTIONS if f"@{act}" in name)
    offers = frozenset(act for act in ACTIONS if strength.get(f"@{act}", 0.0) > 0.5)
    kinds = {key: kind_of(key, part) or "" for key, part in inner.items()}
    required = {kinds.get(key, "") for key in tool.parameters.get("required") or ()}
    needs, takes = frozenset(required & _CONCRETE), frozenset(kinds.values())
    when = frozenset().union(*said["when"]) - name.keys()
    return Reading(strength, against, when, acts, offers, needs, takes)


def kind_of(name: str, schema: dict[str, Any]) -> str | None:
    """What a property wants, by its name, then its format, then its description.

    >>> kind_of("order_id", {}), kind_of("q", {"description": "a city"}), kind_of("x", {})
    ('id', 'city', None)
    """
    sources = name, schema.get("format"), schema.get("description")
    texts = [text for text in sources if isinstance(text, str)]
    return next((kind for text in texts for kind, shape in _KINDS.items() if shape.search(text)), None)


def properties(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = schema.get("properties")
    return {k: v for k, v in found.items() if isinstance(v, dict)} if isinstance(found, dict) else {}
