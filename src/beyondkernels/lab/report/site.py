"""A report on disk: an index, a page for each experiment, its figures and rows beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beyondkernels.core import InputError
from beyondkernels.lab.report.figures import render_svg
from beyondkernels.lab.report.file_names import by_experiment, file_names, slug
from beyondkernels.lab.report.files import write_atomically
from beyondkernels.lab.report.html import STYLE_SHEET, index_html, page_html, style_sheet
from beyondkernels.lab.report.pages import ExperimentPage
from beyondkernels.lab.report.tables import to_csv, to_json
from beyondkernels.lab.report.views import siblings_view


def write_report(pages: Sequence[ExperimentPage], out: str | Path) -> Path:
    """Write a static report that opens from disk without a server.

    Everything is made in memory first, each file is then written to a temporary name and renamed, the index last:
    an interrupted report leaves the earlier one whole, page by page.

    Arguments:
        pages: the experiments, in the order they are listed within their paper.
        out: the directory; made if it is missing, and nothing else in it is touched.

    Returns:
        the path of ``index.html``.
    """
    out = Path(out)
    files = report_files(pages)
    try:
        for name, content in files.items():
            path = out / name
            if path.parent != out and path.parent.is_symlink():
                raise InputError(f"the report cannot be written to {out}: {path.parent.name} in it is a link")
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
    except OSError as error:
        raise InputError(f"the report cannot be written to {out}: {error.strerror or error}") from error
    return out / "index.html"


def report_files(pages: Sequence[ExperimentPage]) -> dict[str, str]:
    """Every file of a report by its name in the report's directory, in the order they are to be written.

    Each page has its own name, from its id, scale and variant. The page that speaks for its experiment also stands
    under the plain id, so that an address outlives the scales and variants that come later.
    """
    files = {}
    names = file_names(pages)
    for page, name in zip(pages, names, strict=True):
        files |= _beside(page, name)
    files[STYLE_SHEET] = style_sheet()
    for identity, order in by_experiment(pages).items():
        for i in order:
            siblings = siblings_view(pages, names, order, i)
            files[f"{names[i]}.html"] = page_html(pages[i], names[i], siblings)
        files[f"{slug(identity)}.html"] = files[f"{names[order[0]]}.html"]
    files["index.html"] = index_html(pages, names)
    return files


def require_shown(page: ExperimentPage) -> None:
    """Write a page in memory; whatever is wrong with its numbers raises here, and not among the pages of others."""
    _beside(page, "page")
    page_html(page, "page")


def _beside(page: ExperimentPage, name: str) -> dict[str, Any]:
    """The figures and rows of a page by their names."""
    files: dict[str, Any] = {}
    for figure in page.figures_in_order:
        files[f"{name}/{figure.name}.svg"] = render_svg(figure)
        files[f"{name}/{figure.name}.narrow.svg"] = render_svg(figure, narrow=True)
    if page.rows:
        files[f"{name}/rows.csv"] = to_csv(page.rows, page.columns)
        files[f"{name}/rows.json"] = to_json(page.rows, experiment=page.id, scale=page.scale)
    return files
