"""Templates to text: everything escaped, no scripts, a content security policy on every page."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from beyondkernels.lab.papers import PAPERS, paper_of
from beyondkernels.lab.report.file_names import by_experiment
from beyondkernels.lab.report.numbers import show_exactly
from beyondkernels.lab.report.pages import ExperimentPage
from beyondkernels.lab.report.prose import line_html, line_text, prose_html
from beyondkernels.lab.report.table_view import table_view
from beyondkernels.lab.report.verdicts import STATES, count_verdicts
from beyondkernels.lab.report.views import (
    VERDICTS,
    claims_view,
    count_runs,
    differences_of,
    figure_view,
    show_seeds,
    siblings_view,
    state_view,
)

if TYPE_CHECKING:
    import jinja2

POLICY = "default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'"
"""What a page may load: pictures and the style sheet beside it, nothing else."""

STYLE_SHEET = "report.css"

_ORIGINS = {"paper": "paper", "theorem": "theorem", "ours": "our choice"}


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2
    from markupsafe import Markup

    from beyondkernels import __version__

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("beyondkernels.lab.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(policy=POLICY, style_sheet=STYLE_SHEET, version=__version__)
    environment.globals.update(verdict_words=VERDICTS, states=STATES)
    # these two escape whatever they do not make themselves
    environment.filters.update(
        line=lambda text: Markup(line_html(text)),  # noqa: S704
        prose=lambda text: Markup(prose_html(text)),  # noqa: S704
        letters=line_text,
    )
    return environment


def render(template: str, **data: Any) -> str:
    """Fill a template of this package."""
    return _environment().get_template(template).render(**data)


def style_sheet() -> str:
    """The CSS that all pages of a report link to."""
    return resources.files("beyondkernels.lab.report").joinpath("templates", STYLE_SHEET).read_text("utf-8")


def page_html(page: ExperimentPage, name: str, siblings: Sequence[dict[str, Any]] = ()) -> str:
    """The page of one experiment; its files stand in the folder ``name`` beside it.

    Arguments:
        page: the page.
        name: its file name without the ending.
        siblings: the experiment's pages, at every scale and for every variant, with links.
    """
    short = page.id.split("/")[0]
    key, *more = [figure_view(figure, name) for figure in page.figures_in_order] or [None]
    return render(
        "experiment.html",
        page=page,
        parts=[part for part in page.id.split("/") if part],
        paper=paper_of(short),
        folder=name,
        seeds=show_seeds(page.seeds),
        state=state_view(page),
        siblings=siblings if len(siblings) > 1 else (),
        claims=claims_view(page),
        differences=differences_of(page),
        key_figure=key,
        figures=more,
        table=table_view(page.rows, page.columns, page.shows_published) if page.rows else None,
        settings=[(s.name, show_exactly(s.value), s.origin, _ORIGINS[s.origin], s.why) for s in page.settings],
        provenance=[(key.replace("_", " "), show_exactly(value)) for key, value in page.provenance.items()],
        missing=count_runs(page.missing),
        resume=page.resume_command or page.command,
    )


def index_html(pages: Sequence[ExperimentPage], names: Sequence[str]) -> str:
    """The first page: what this is, and every experiment with its state, paper by paper."""
    groups: dict[str, list[dict[str, Any]]] = {}
    speakers = []
    for number, (identity, order) in enumerate(by_experiment(pages).items(), start=1):
        page, name = pages[order[0]], names[order[0]]
        speakers.append(page)
        short = identity.split("/")[0]
        entry = {
            "page": page,
            "name": name,
            "anchor": f"experiment-{number}",
            "seeds": show_seeds(page.seeds),
            "state": state_view(page),
            "differences": len(differences_of(page)),
            "siblings": siblings_view(pages, names, order, None) if len(order) > 1 else [],
            "figure": figure_view(page.figures_in_order[0], name) if page.figures else None,
        }
        groups.setdefault(short if short in PAPERS else "", []).append(entry)
    listed = [
        {"short": short, "paper": PAPERS.get(short), "entries": groups[short]}
        for short in (*PAPERS, "")
        if short in groups
    ]
    total = count_verdicts(claim for page in speakers for claim in page.claims)
    return render("index.html", groups=listed, total=total, count=len(speakers))
