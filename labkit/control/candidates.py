"""Which tools may be called at all: a pure function of tenant, stage, intent and permissions (S1 §1.2).

A program decides it, from a table that a reviewer can read; no second model guesses.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Situation:
    tenant: str = ""
    stage: str = ""
    intent: str = ""
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rule:
    """These tools are candidates where every condition that is given holds."""

    tools: tuple[str, ...]
    tenants: frozenset[str] = frozenset()
    stages: frozenset[str] = frozenset()
    intents: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()

    def holds(self, now: Situation) -> bool:
        pairs = ((self.tenants, now.tenant), (self.stages, now.stage), (self.intents, now.intent))
        return self.permissions <= now.permissions and all(not among or one in among for among, one in pairs)


def candidates(rules: Iterable[Rule], situation: Situation) -> tuple[str, ...]:
    """Names in the order of the rules, each once.

    >>> refunds = Rule(("refund_order",), permissions=frozenset({"refund:write"}))
    >>> candidates([Rule(("get_order",)), refunds], Situation("shop-1"))
    ('get_order',)
    """
    return tuple(dict.fromkeys(name for rule in rules if rule.holds(situation) for name in rule.tools))
