"""What a check of an audit found, and how it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from beyondkernels.auditing.data_checks import REPEATS

Verdict = Literal["fine", "note", "stop", "unknown"]
"""Nothing was found; something was, which is no obstacle by itself; it has to be changed first; it was not checked."""

WORDS: dict[Verdict, str] = {"fine": "fine", "note": "note", "stop": "change this first", "unknown": "not checked"}


@dataclass(frozen=True)
class Finding:
    """One thing that was checked.

    Arguments:
        check: what was checked.
        verdict: what came of it.
        evidence: the numbers, in a sentence.
        change: what to change, with the call.
        unseen: how many points a fault may cost without showing in this check.
    """

    check: str
    verdict: Verdict
    evidence: str
    change: str = ""
    unseen: float = 0.0


def stops(found: Sequence[Finding]) -> list[Finding]:
    """The faults of training without whose change nothing can be said about features."""
    return [each for each in found if each.verdict == "stop" and each.check != REPEATS]


def advice(found: Sequence[Finding]) -> str:
    """What was found, and what to change.

    Arguments:
        found: the checks.
    """
    worst = stops(found)
    causes = [each for each in found if each.check in ("inputs", "labels", "modes") and each.verdict == "note"]
    evidence = " ".join(each.evidence for each in (*worst, *causes))
    changes = list(dict.fromkeys(each.change for each in (*causes, *worst) if each.change))
    return f"{evidence} What to change: {'; '.join(changes)}."


def as_markdown(found: Sequence[Finding]) -> str:
    """The checks as a section of a page.

    Arguments:
        found: the checks.
    """
    words = {**WORDS, "stop": f"**{WORDS['stop']}**"}
    lines = [f"| {each.check} | {words[each.verdict]} | {each.evidence} | {each.change} |" for each in found]
    head = ["## Is the model trained well enough?", "", "| Check | Verdict | Evidence | What to change |", "|-|-|-|-|"]
    return "\n".join([*head, *lines]) if found else ""
