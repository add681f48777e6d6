"""What templates are given: claims, figures, pages beside each other, as plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from beyondkernels.lab.report.claims import Cause, Claim, Kind, Source
from beyondkernels.lab.report.figures import Figure
from beyondkernels.lab.report.numbers import MISSING, default_decimals, show_number
from beyondkernels.lab.report.pages import Difference, ExperimentPage
from beyondkernels.lab.report.prose import line_text
from beyondkernels.lab.report.table_view import table_differences
from beyondkernels.lab.report.tables import FEW
from beyondkernels.lab.report.verdicts import STATES, verdict_sentence

SOURCES: dict[Source, str] = {"paper": "What the paper says", "ours": "What we add"}
"""Headings of the claims, by who says them."""

ASKED = "What was asked of the model"
"""The heading of claims that are all questions to a user's model."""

KINDS: dict[Kind, str] = {
    "bound": "a bound",
    "existence": "an existence",
    "probability": "with high probability",
    "order": "an asymptotic order",
    "number": "a printed number",
    "sentence": "in words",
    "control": "a control",
    "expectation": "our expectation",
    "check": "a check of the machinery",
    "question": "",
}
"""What kind of statement a claim is, behind the place where it stands."""

CAUSES: dict[Cause, str] = {
    "paper": "The paper is wrong here",
    "bar": "The bar is ours",
    "training": "Too little training, or too few seeds",
    "size": "Sizes too small for the limit",
    "open": "Open",
}
"""Why a claim does not hold, in front of the sentence that says it."""

VERDICTS = {
    "holds": {"mark": "✓", "word": "holds"},
    "fails": {"mark": "✗", "word": "does not hold"},
    "undecided": {"mark": "–", "word": "not decided"},
}


def claim_view(claim: Claim, published: bool = True) -> dict[str, Any]:
    """A claim in words: where there is no interval the seeds themselves stand in its place.

    Arguments:
        claim: the claim.
        published: whether the published value is shown.
    """
    digits = None
    if claim.measured is not None and 1e-3 <= abs(claim.measured) < 1e7:
        digits = default_decimals(claim.measured, claim.unit)
    few = 1 < len(claim.values) < FEW and claim.low is None
    seeds = ", ".join(show_number(value, "", digits) for value in claim.values) if few else ""
    interval = ""
    if not few and claim.low is not None and claim.high is not None and claim.measured is not None:
        low, high = (show_number(end, "", digits) for end in (claim.low, claim.high))
        interval = f"{low} to {show_number(claim.high, claim.unit, digits)}"
        if math.isinf(claim.low) or math.isinf(claim.high):  # of the least of all seeds nothing bounds the lower end
            interval = f"at most {high}" if math.isinf(claim.low) else f"at least {low}"
    paper = claim.paper if isinstance(claim.paper, str) else show_number(claim.paper, claim.unit)
    return {
        "id": claim.id,
        "text": claim.text,
        "paper": (paper or MISSING) if published else MISSING,
        "measured": show_number(claim.measured, claim.unit),
        "interval": interval,
        "seeds": seeds,
        "reason": claim.reason,
        "where": " · ".join(filter(None, (claim.place, KINDS[claim.kind]))),
        "sets": sets_view(claim),
        "little": f"It says little: it holds by a factor of {show_number(claim.slack)}." if claim.says_little else "",
        "cause": "" if claim.cause is None else f"{CAUSES[claim.cause]}: {claim.because}",
        "verdict": claim.verdict,
        **VERDICTS[claim.verdict],
    }


def sets_view(claim: Claim) -> str:
    """In how many sets of seeds, each by itself, the bound is met; nothing where there is one set."""
    known = [each for each in claim.sets if each is not None]
    return f"met in {sum(known)} of {len(claim.sets)} sets of seeds" if known else ""


def claims_view(page: ExperimentPage) -> dict[str, Any]:
    """All claims of a page by who says them, and what the numbers beneath them are."""
    views = [claim_view(claim, page.shows_published) for claim in page.claims]
    by_source = {
        title: [view for claim, view in zip(page.claims, views, strict=True) if claim.source == source]
        for source, title in SOURCES.items()
    }
    shown = [claim for claim, view in zip(page.claims, views, strict=True) if view["interval"]]
    if all(claim.kind == "question" for claim in page.claims):
        by_source = {ASKED: views}
    return {
        "all": views,
        "by_source": {title: each for title, each in by_source.items() if each},
        "paper": page.shows_published and any(view["paper"] != MISSING for view in views),
        "intervals": list(dict.fromkeys(claim.interval for claim in shown if claim.interval)),
        "seeds": any(view["seeds"] for view in views),
    }


def figure_view(figure: Figure, folder: str) -> dict[str, Any]:
    """A figure's words, and the files and sizes of its two arrangements."""

    def picture(narrow: bool) -> dict[str, Any]:
        width, height = figure.size(narrow)
        ending = ".narrow.svg" if narrow else ".svg"
        return {"src": f"{folder}/{figure.name}{ending}", "width": round(width * 96), "height": round(height * 96)}

    words = {
        "name": figure.name,
        "title": figure.title.rstrip("."),
        "caption": figure.caption,
        "alt": line_text(figure.description),
    }
    return {**words, "wide": picture(narrow=False), "narrow": picture(narrow=True)}


def state_view(page: ExperimentPage) -> dict[str, Any]:
    """What became of a page's claims: a mark, a word and a sentence."""
    mark, word = STATES[page.state]
    sentence = f"Unfinished: {count_runs(page.missing)} missing" if page.missing else verdict_sentence(page.verdicts)
    return {"kind": page.state, "mark": mark, "word": word, "sentence": sentence}


def count_runs(number: int) -> str:
    """How many runs, with the verb that follows.

    >>> count_runs(1), count_runs(36)
    ('1 run is', '36 runs are')
    """
    return "1 run is" if number == 1 else f"{number:,} runs are"


def siblings_view(
    pages: Sequence[ExperimentPage], names: Sequence[str], order: Sequence[int], current: int | None
) -> list[dict[str, Any]]:
    """The pages of one experiment beside each other: its scales and variants, each with its state.

    Arguments:
        pages: all pages.
        names: their file names.
        order: the positions of this experiment's pages.
        current: the position of the page that shows the list.
    """
    return [
        {"label": pages[i].label, "href": f"{names[i]}.html", "current": i == current, **state_view(pages[i])}
        for i in order
    ]


def differences_of(page: ExperimentPage) -> list[Difference]:
    """Where a page differs from the paper: what its caller says, then the marked cells of its table.

    A cell that the caller speaks of, by the same quantity, is not listed twice.
    """
    if not page.shows_published:
        return []
    said = {difference.quantity for difference in page.differences}
    found = table_differences(page.rows, page.columns)
    return [*page.differences, *(difference for difference in found if difference.quantity not in said)]


def show_seeds(seeds: Sequence[int]) -> str:
    """The seeds in a few words.

    >>> show_seeds((0, 1, 2, 3, 4)), show_seeds((0,)), show_seeds((3, 7))
    ('5 seeds (0 to 4)', '1 seed (0)', '2 seeds (3, 7)')
    """
    n = len(seeds)
    if n > 2 and list(seeds) == list(range(seeds[0], seeds[0] + n)):
        which = f"{seeds[0]} to {seeds[-1]}"
    else:
        which = ", ".join(map(str, seeds[:10])) + (", …" if n > 10 else "")
    return f"{n} seed{'' if n == 1 else 's'}" + (f" ({which})" if n else "")
