"""What a provider demands of a request: rules, and what a check finds.

Each format has its own table of rules; this is their common shape.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Findings", "Problem", "Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that a provider demands.

    Attributes:
        id: Short and stable, such as ``A2``.
        demands: What must hold, in a sentence.
        refusal: The provider's words when it does not; empty where they are not known.
        mend: What to do about it.
        needs: Top-level fields without which a request does not show whether
            the rule holds. A recording that lacks them is not blamed.
    """

    id: str
    demands: str
    refusal: str
    mend: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """One place where a request breaks a rule.

    Attributes:
        rule: Id of the rule.
        path: Where, such as ``messages[3].content[0]``.
        message: What is wrong there, in a sentence.
        refusal: What the provider says to it.
        is_unrecorded: Whether a recording left out what would show that the
            rule holds, so that nothing is known to be wrong.
    """

    rule: str
    path: str
    message: str
    refusal: str = ""
    is_unrecorded: bool = False


class Findings:
    """Collects problems while a check walks through a request.

    Attributes:
        problems: What was found, in order.
        size_bytes: How large the body is.
    """

    def __init__(
        self, rules: dict[str, Rule], unrecorded: frozenset[str], *, size_bytes: int
    ) -> None:
        self.problems: list[Problem] = []
        self.size_bytes = size_bytes
        self._rules = rules
        self._unrecorded = unrecorded

    def add(self, rule_id: str, path: str, message: str) -> None:
        """Note that a rule is broken at a place."""
        rule = self._rules[rule_id]
        self.problems.append(
            Problem(
                rule_id, path, message, rule.refusal, any(n in self._unrecorded for n in rule.needs)
            )
        )
