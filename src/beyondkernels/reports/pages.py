"""What a page of a report is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from beyondkernels.core import require, unknown
from beyondkernels.reports.claims import Claim, Verdict
from beyondkernels.reports.figures import Figure
from beyondkernels.reports.tables import Column, Row

Origin = Literal["paper", "theorem", "ours"]


@dataclass(frozen=True)
class Setting:
    """A number of an experiment, and whose it is.

    Arguments:
        name: what it is called.
        value: what it is.
        origin: the paper's, a theorem's, or our own choice.
        why: why it is so.
    """

    name: str
    value: Any
    origin: Origin = "ours"
    why: str = ""

    def __post_init__(self) -> None:
        if self.origin not in get_args(Origin):
            unknown("origin", str(self.origin), get_args(Origin))


@dataclass(frozen=True, eq=False)
class ExperimentPage:
    """All that a report says about one experiment at one scale, as plain data.

    Arguments:
        id: the experiment, such as ``features/table1``.
        title: what it shows.
        summary: a few sentences on what is asked and how.
        reference: where it stands in its paper.
        scale: the scale it was run at.
        seeds: the seeds it was run with.
        claims: its sentences that can fail.
        rows: its table, a mapping for each row.
        columns: which keys of the rows are shown, in order; all of them unless given.
        figures: its pictures.
        settings: its numbers and whose they are.
        provenance: what was run, by which versions.
        command: the command that makes it again.
        notes: what a reader should know, a sentence or two each.
    """

    id: str
    title: str
    summary: str = ""
    reference: str = ""
    scale: str = ""
    seeds: Sequence[int] = ()
    claims: Sequence[Claim] = ()
    rows: Sequence[Row] = ()
    columns: Sequence[Column] = ()
    figures: Sequence[Figure] = ()
    settings: Sequence[Setting] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        names = [figure.name for figure in self.figures]
        twice = sorted({name for name in names if names.count(name) > 1})
        require(not twice, f"figures of {self.id!r} must have different names, got {', '.join(twice)} more than once")

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many claims hold, fail, or are silent."""
        given = [claim.verdict for claim in self.claims]
        return {verdict: given.count(verdict) for verdict in get_args(Verdict)}


def slug(name: str) -> str:
    """A name as part of a file name: no separator, nothing hidden, nothing a browser would act on.

    >>> slug("features/table1"), slug("../my file.py:MINE")
    ('features__table1', 'my_file.py_MINE')
    """
    made = re.sub(r"[^A-Za-z0-9._-]", "_", name.replace("/", "__")).strip("._-")
    require(bool(made), f"id must hold a letter or a digit, got {name!r}")
    return made[:120]


def file_names(pages: Sequence[ExperimentPage]) -> list[str]:
    """A file name without its ending for each page: its id, with its scale where an id comes more than once.

    >>> file_names([ExperimentPage("a/b", "", scale="smoke"), ExperimentPage("a/c", "")])
    ['a__b', 'a__c']
    >>> file_names([ExperimentPage("a/b", "", scale="smoke"), ExperimentPage("a/b", "", scale="paper")])
    ['a__b__smoke', 'a__b__paper']
    """
    ids = [page.id for page in pages]
    names = [slug(f"{page.id}/{page.scale}" if ids.count(page.id) > 1 else page.id) for page in pages]
    taken = {"index": "the index"}  # compared in lower case: some file systems do not tell the cases apart
    for page, name in zip(pages, names, strict=True):
        other = taken.get(name.lower())
        require(other is None, f"pages must have different ids and scales, got {page.id!r} beside {other}")
        taken[name.lower()] = repr(page.id)
    return names
