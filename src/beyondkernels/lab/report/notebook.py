"""Results in a notebook: a small piece of HTML that brings its own style and fits light and dark pages."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from beyondkernels.lab.report.claims import Claim
from beyondkernels.lab.report.figures import Curves, Figure, Level, Line, render_svg
from beyondkernels.lab.report.html import render
from beyondkernels.lab.report.pages import ExperimentPage
from beyondkernels.lab.report.table_view import table_view
from beyondkernels.lab.report.tables import Column, Row
from beyondkernels.lab.report.verdicts import STATES, State, count_verdicts, state_of, verdict_sentence
from beyondkernels.lab.report.views import claim_view, count_runs, figure_view, show_seeds

MOST_ROWS = 20
"""How many rows a notebook shows; the rest is in ``to_frame()``."""


def view_html(
    title: str,
    facts: str = "",
    *,
    claims: Sequence[Claim] = (),
    rows: Sequence[Row] = (),
    columns: Sequence[Column] = (),
    figure: Figure | None = None,
    small: Sequence[Figure] = (),
    finding: str = "",
    warning: str = "",
    state: State | None = None,
    published: bool = True,
) -> str:
    """What ``_repr_html_`` of a result, a sweep or a comparison returns.

    Every text is escaped, and the figure is a picture, so nothing in it can act. It has no background of its own and
    takes the colour of the text around it.

    Arguments:
        title: what it is, such as ``features/table1``.
        facts: a few words beside the title, such as ``laptop, 5 seeds (0 to 4)``.
        claims: sentences with their verdicts.
        rows: a table, a mapping for each row; at most twenty rows are shown.
        columns: which keys of the rows are shown, in order; all of them unless given.
        figure: a picture, shown on white.
        small: further pictures, side by side.
        finding: what was found, in a few sentences.
        warning: a sentence above everything else.
        state: what became of the claims; counted unless given.
        published: whether published values stand beside ours.

    >>> print(view_html("sweep", "2 runs", rows=[{"rate": 0.1, "loss": 0.5}, {"rate": 0.2, "loss": 0.25}]))
    <div class="bk-view">
    ...
    <p class="bk-title"><strong>sweep</strong> <span class="bk-facts">2 runs</span></p>
    ...
    """
    verdicts = count_verdicts(claims)
    state = state or state_of(verdicts)
    large = () if figure is None else (figure if published else figure.without_published(),)
    pictures = [_embedded(each, narrow=False) for each in large] + [_embedded(each, narrow=True) for each in small]
    views = [claim_view(claim, published) for claim in claims]
    return render(
        "notebook.html",
        title=title,
        facts=facts,
        finding=finding,
        claims=views,
        state={"kind": state, "mark": STATES[state][0], "sentence": verdict_sentence(verdicts)} if views else None,
        paper=published and any(claim.paper is not None for claim in claims),
        table=table_view(rows[:MOST_ROWS], columns, published) if len(rows) else None,
        left_out=max(len(rows) - MOST_ROWS, 0),
        pictures=pictures,
        warning=warning,
    )


def small_figures(pictures: Sequence[Any]) -> list[Figure]:
    """Curves to be shown side by side, from plain data.

    Arguments:
        pictures: titles, lines and labels (:class:`beyondkernels.learning.curves.Picture`).
    """
    return [
        Curves(
            name=f"curves-{i}",
            title=each.title,
            lines=[Line(label, x, y) for label, x, y in each.lines],
            levels=[Level(label, value) for label, value in each.levels],
            x_label=each.x_label,
            y_label=each.y_label,
            x_scale=each.x_scale,
            y_scale=each.y_scale,
        )
        for i, each in enumerate(pictures)
    ]


def _embedded(figure: Figure, narrow: bool) -> dict[str, Any]:
    """A figure inside of the page that shows it."""
    data = base64.b64encode(render_svg(figure, narrow).encode()).decode()
    view = figure_view(figure, "")
    width = view["narrow" if narrow else "wide"]["width"]
    return {"alt": view["alt"], "width": width, "data": f"data:image/svg+xml;base64,{data}"}


def experiment_html(page: ExperimentPage) -> str:
    """A page of a report in a notebook: verdict, key figure, claims and table."""
    figures = page.figures_in_order
    warning = page.warning
    if page.missing:
        warning = f"Unfinished: {count_runs(page.missing)} missing. {warning}".strip()
    return view_html(
        f"{page.id}: {page.title}",
        ", ".join(filter(None, (page.label if page.scale else "", show_seeds(page.seeds) if page.seeds else ""))),
        claims=page.claims,
        rows=page.rows,
        columns=page.columns,
        figure=figures[0] if figures else None,
        finding=page.finding,
        warning=warning,
        state=page.state,
        published=page.shows_published,
    )
