"""Templates to text: everything escaped, no scripts, a content security policy on every page."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, get_args

from beyondkernels.core import PAPERS
from beyondkernels.reports.claims import Claim, Verdict
from beyondkernels.reports.numbers import MISSING, default_decimals, show_exactly, show_number
from beyondkernels.reports.pages import ExperimentPage
from beyondkernels.reports.tables import table_view

if TYPE_CHECKING:
    import jinja2

POLICY = "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'"
"""What a page may load: pictures and the style sheet beside it, nothing else."""

STYLE_SHEET = "report.css"

_VERDICTS = {
    "holds": {"mark": "✓", "word": "holds"},
    "fails": {"mark": "✗", "word": "does not hold"},
    "silent": {"mark": "–", "word": "not decided"},
}
_ORIGINS = {"paper": "paper", "theorem": "theorem", "ours": "our choice"}


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    from beyondkernels import __version__

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("beyondkernels.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(policy=POLICY, style_sheet=STYLE_SHEET, version=__version__, verdict_words=_VERDICTS)
    return environment


def render(template: str, **data: Any) -> str:
    """Fill a template of this package."""
    return _environment().get_template(template).render(**data)


def style_sheet() -> str:
    """The one style sheet of a report."""
    return resources.files("beyondkernels.reports").joinpath("templates", STYLE_SHEET).read_text("utf-8")


def experiment_html(page: ExperimentPage, name: str) -> str:
    """The page of one experiment; its files stand in the folder ``name`` beside it."""
    return render(
        "experiment.html",
        page=page,
        parts=[part for part in page.id.split("/") if part],
        folder=name,
        seeds=show_seeds(page.seeds),
        claims=[_claim(claim) for claim in page.claims],
        intervals=list(dict.fromkeys(claim.interval for claim in page.claims if claim.low is not None)),
        figures=[_figure(figure, name) for figure in page.figures],
        table=table_view(page.rows, page.columns) if page.rows else None,
        settings=[(s.name, show_exactly(s.value), s.origin, _ORIGINS[s.origin], s.why) for s in page.settings],
        provenance=[(key.replace("_", " "), show_exactly(value)) for key, value in page.provenance.items()],
    )


def index_html(pages: Sequence[ExperimentPage], names: Sequence[str]) -> str:
    """The first page: what this is, and every experiment with its verdicts, paper by paper."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for page, name in zip(pages, names, strict=True):
        short = page.id.split("/")[0]
        figure = _figure(page.figures[0], name) if page.figures else None
        entry = {"page": page, "name": name, "seeds": show_seeds(page.seeds), "figure": figure}
        groups.setdefault(short if short in PAPERS else "", []).append(entry)
    order = [short for short in (*PAPERS, "") if short in groups]
    total = {verdict: sum(page.verdicts[verdict] for page in pages) for verdict in get_args(Verdict)}
    listed = [{"short": short, "paper": PAPERS.get(short), "entries": groups[short]} for short in order]
    return render("index.html", groups=listed, total=total, count=len(pages))


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


def _claim(claim: Claim) -> dict[str, Any]:
    paper = claim.paper if isinstance(claim.paper, str) else show_number(claim.paper, claim.unit)
    interval = ""
    if claim.low is not None and claim.high is not None and claim.measured is not None:
        digits = default_decimals(claim.measured, claim.unit) if 1e-3 <= abs(claim.measured) < 1e7 else None
        interval = f"{show_number(claim.low, '', digits)} to {show_number(claim.high, claim.unit, digits)}"
    return {
        "id": claim.id,
        "text": claim.text,
        "paper": paper or MISSING,
        "measured": show_number(claim.measured, claim.unit),
        "interval": interval,
        "reason": claim.reason,
        "verdict": claim.verdict,
        **_VERDICTS[claim.verdict],
    }


def _figure(figure: Any, folder: str) -> dict[str, Any]:
    def picture(narrow: bool) -> dict[str, Any]:
        width, height = figure.size(narrow)
        ending = ".narrow.svg" if narrow else ".svg"
        return {"src": f"{folder}/{figure.name}{ending}", "width": round(width * 96), "height": round(height * 96)}

    words = {
        "name": figure.name,
        "title": figure.title.rstrip("."),
        "caption": figure.caption,
        "alt": figure.description,
    }
    return {**words, "wide": picture(narrow=False), "narrow": picture(narrow=True)}
