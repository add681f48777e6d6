"""What a page of a report is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from beyondkernels.core import require, unknown
from beyondkernels.lab.report.claims import Claim
from beyondkernels.lab.report.figures import Figure
from beyondkernels.lab.report.numbers import show_exactly
from beyondkernels.lab.report.tables import Column, Row
from beyondkernels.lab.report.verdicts import Counts, State, count_verdicts, state_of

Origin = Literal["paper", "theorem", "ours"]

SMOKE = "smoke"
"""The scale that tests the machinery and speaks of no paper."""

SMOKE_BANNER = (
    "This page is a test of the machinery. At smoke scale the problem is far smaller than the paper's and the runs "
    "take seconds, so its numbers say nothing about the paper and no published value stands beside them."
)


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


@dataclass(frozen=True)
class Difference:
    """A place where the result here and the paper's part, whether or not a claim speaks of it.

    Arguments:
        quantity: what differs, such as ``One Step, largest cosine``.
        here: the value measured here, with its unit.
        paper: the published value, with its unit.
        why: a sentence on what is known about the reason.
    """

    quantity: str
    here: str
    paper: str
    why: str = ""


@dataclass(frozen=True, eq=False)
class ExperimentPage:
    """All that a report says about one experiment at one scale, as plain data.

    Texts may hold formulas between dollars; notes are Markdown.

    Arguments:
        id: the experiment, such as ``features/table1``.
        title: what it shows.
        finding: what was found, in a few sentences, where that is said in words.
        opening: what a reader has to know before claims and figures, in Markdown.
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
        notes: what a reader should know, in Markdown.
        key_figure: the name of the figure that stands beside the verdict; the first one unless given.
        differences: where the result differs from the paper's; cells of columns with published values add their own.
        published: whether published values may stand beside ours; by default at every scale but smoke. False where a
            setting differs from the paper's.
        departures: the paper's settings that have another value here, by name: they are why nothing published is shown.
        banner: a warning above everything; at smoke scale there is one unless given.
        variant: the settings that differ from the scale's own, by name; empty for the standard run.
        missing: how many runs are missing: an interrupted page says so.
        resume_command: the command that goes on with it; ``command`` unless given.
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
    key_figure: str = ""
    differences: Sequence[Difference] = ()
    published: bool | None = None
    departures: Sequence[str] = ()
    banner: str = ""
    variant: Mapping[str, Any] = field(default_factory=dict)
    missing: int = 0
    resume_command: str = ""
    finding: str = ""
    opening: str = ""

    def __post_init__(self) -> None:
        names = [figure.name for figure in self.figures]
        twice = sorted({name for name in names if names.count(name) > 1})
        require(not twice, f"figures of {self.id!r} must have different names, got {', '.join(twice)} more than once")
        if self.key_figure and self.key_figure not in names:
            unknown("key_figure", self.key_figure, names)

    @property
    def verdicts(self) -> Counts:
        """How many claims hold, fail, or are undecided, by whose they are."""
        return count_verdicts(self.claims)

    @property
    def state(self) -> State:
        """What became of all claims together."""
        return state_of(self.verdicts, complete=not self.missing)

    @property
    def shows_published(self) -> bool:
        """Whether published values stand beside ours."""
        return self.scale != SMOKE if self.published is None else self.published

    @property
    def warning(self) -> str:
        """The sentence above the page's claims, such as that a smoke run shows nothing; empty where there is none."""
        return self.banner or (SMOKE_BANNER if self.scale == SMOKE else "")

    @property
    def figures_in_order(self) -> list[Figure]:
        """The key figure first; without published values where none may be shown."""
        order = sorted(self.figures, key=lambda figure: bool(self.key_figure) and figure.name != self.key_figure)
        return order if self.shows_published else [figure.without_published() for figure in order]

    @property
    def label(self) -> str:
        """The scale and what differs from it, in a few words.

        >>> ExperimentPage("a", "", scale="laptop", variant={"alpha": 0.5}).label
        'laptop, alpha = 0.5'
        """
        return ", ".join(filter(None, (self.scale, self.changes))) or "this page"

    @property
    def changes(self) -> str:
        """What differs from the scale's own settings, in a few words."""
        return ", ".join(f"{name} = {show_exactly(value)}" for name, value in self.variant.items())
