"""What became of all claims together: a state, and a sentence that says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from beyondkernels.lab.report.claims import Claim, Verdict

State = Literal["holds", "partly", "fails", "undecided", "unfinished"]

STATES: dict[State, tuple[str, str]] = {
    "holds": ("✓", "holds"),
    "partly": ("◐", "holds partly"),
    "fails": ("✗", "does not hold"),
    "undecided": ("–", "not decided"),
    "unfinished": ("…", "unfinished"),
}
"""Each state's mark and words: the shape of the mark tells them apart without colour."""


def count_verdicts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """How many claims hold, fail, or are undecided."""
    given = [claim.verdict for claim in claims]
    return {verdict: given.count(verdict) for verdict in get_args(Verdict)}


def state_of(verdicts: Mapping[Verdict, int], complete: bool = True) -> State:
    """One word for all claims: claims that are not decided leave the word to the others.

    Arguments:
        verdicts: how many claims hold, fail, or are undecided.
        complete: whether every run is there.

    >>> state_of({"holds": 7, "fails": 0, "undecided": 2}), state_of({"holds": 7, "fails": 2, "undecided": 0})
    ('holds', 'partly')
    """
    if not complete:
        return "unfinished"
    if not verdicts["holds"] and not verdicts["fails"]:
        return "undecided"
    return "holds" if not verdicts["fails"] else "partly" if verdicts["holds"] else "fails"


def verdict_sentence(verdicts: Mapping[Verdict, int]) -> str:
    """How many claims hold, in plain words.

    >>> verdict_sentence({"holds": 9, "fails": 0, "undecided": 0})
    'All 9 claims hold'
    >>> verdict_sentence({"holds": 6, "fails": 1, "undecided": 2})
    '6 of 9 claims hold, 1 fails, 2 are undecided'
    """
    holds, fails, undecided = verdicts["holds"], verdicts["fails"], verdicts["undecided"]
    total = holds + fails + undecided
    if total == 0:
        return "It makes no claims"
    if total == 1:
        return "Its one claim " + ("holds" if holds else "fails" if fails else "is undecided")
    if holds == total:
        return f"All {total} claims hold"
    if not holds and not fails:
        return f"None of {total} claims is decided"
    parts = [f"{holds or 'None'} of {total} claims {'hold' if holds > 1 else 'holds'}"]
    if fails:
        parts.append(f"{fails} {'fail' if fails > 1 else 'fails'}")
    if undecided:
        parts.append(f"{undecided} {'are' if undecided > 1 else 'is'} undecided")
    return ", ".join(parts)
