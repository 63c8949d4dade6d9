"""Schemas made and read: from a model or a signature, repaired for strict mode."""

from labkit.protocol.strict import RULES, Problem, lint

__all__ = ["RULES", "Problem", "lint"]
