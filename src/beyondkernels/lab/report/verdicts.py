"""What became of all claims together: a state, and a sentence that says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from beyondkernels.lab.report.claims import Claim, Source, Verdict

State = Literal["holds", "partly", "fails", "undecided", "unfinished"]

STATES: dict[State, tuple[str, str]] = {
    "holds": ("✓", "holds"),
    "partly": ("◐", "holds partly"),
    "fails": ("✗", "does not hold"),
    "undecided": ("–", "not decided"),
    "unfinished": ("…", "unfinished"),
}
"""Each state's mark and words: the shape of the mark tells them apart without colour."""


Counts = Mapping[Source, Mapping[Verdict, int]]
"""How many claims of the paper, and how many of ours, hold, fail, or are undecided."""


def count_verdicts(claims: Iterable[Claim]) -> Counts:
    """How many claims hold, fail, or are undecided, by whose they are."""
    return count_pairs((claim.source, claim.verdict) for claim in claims)


def count_pairs(pairs: Iterable[tuple[Source, Verdict]]) -> Counts:
    """The same from sources and verdicts alone."""
    given = list(pairs)
    return {
        source: {verdict: given.count((source, verdict)) for verdict in get_args(Verdict)}
        for source in get_args(Source)
    }


def state_of(counts: Counts, complete: bool = True) -> State:
    """One word for all claims. The paper's decide, ours only where there are none of the paper.

    Claims that are not decided leave the word to the others.

    Arguments:
        counts: how many claims hold, fail, or are undecided.
        complete: whether every run is there.

    >>> ours = {"holds": 7, "fails": 2, "undecided": 0}
    >>> state_of({"ours": ours}), state_of({"paper": {"holds": 1, "fails": 0, "undecided": 2}, "ours": ours})
    ('partly', 'holds')
    """
    if not complete:
        return "unfinished"
    papers = counts.get("paper", {})
    verdicts = papers if any(papers.values()) else counts.get("ours", {})
    holds, fails = verdicts.get("holds", 0), verdicts.get("fails", 0)
    if not holds and not fails:
        return "undecided"
    return "holds" if not fails else "partly" if holds else "fails"


def verdict_sentence(counts: Counts) -> str:
    """How many claims hold, in plain words; the paper's apart from ours, where there are any.

    >>> ours = {"holds": 6, "fails": 1, "undecided": 2}
    >>> verdict_sentence({"ours": ours})
    '6 of 9 claims hold, 1 fails, 2 are undecided'
    >>> verdict_sentence({"paper": {"holds": 4, "fails": 0, "undecided": 0}, "ours": ours})
    'The paper’s claims: all 4 hold; ours: 6 of 9 hold, 1 fails, 2 are undecided'
    """
    papers, ours = counts.get("paper", {}), counts.get("ours", {})
    if not any(papers.values()):
        told = _told(ours, "claim")
        return told[0].upper() + told[1:] if any(ours.values()) else "It makes no claims"
    words = f"The paper’s claims: {_told(papers)}"
    return f"{words}; ours: {_told(ours)}" if any(ours.values()) else words


def _told(verdicts: Mapping[Verdict, int], noun: str = "") -> str:
    """How many hold.

    >>> _told({"holds": 9, "fails": 0, "undecided": 0}, "claim"), _told({"holds": 0, "fails": 1, "undecided": 0})
    ('all 9 claims hold', 'its one fails')
    """
    holds, fails, undecided = verdicts["holds"], verdicts["fails"], verdicts["undecided"]
    total = holds + fails + undecided
    nouns = f" {noun}s" if noun else ""
    if total == 1:
        return f"its one {noun + ' ' if noun else ''}" + ("holds" if holds else "fails" if fails else "is undecided")
    if holds == total:
        return f"all {total}{nouns} hold"
    if not holds and not fails:
        return f"none of {total}{nouns} is decided"
    parts = [f"{holds or 'none'} of {total}{nouns} {'hold' if holds > 1 else 'holds'}"]
    if fails:
        parts.append(f"{fails} {'fail' if fails > 1 else 'fails'}")
    if undecided:
        parts.append(f"{undecided} {'are' if undecided > 1 else 'is'} undecided")
    return ", ".join(parts)
