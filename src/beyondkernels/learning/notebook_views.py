"""How results look at a glance: in words, and in a notebook."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from beyondkernels.learning.curves import Picture

_NOTEBOOK = "beyondkernels.lab.report.notebook"
"""Named and not imported: what draws pages lies above what makes runs, and is looked up when a notebook asks."""


def html_view(
    title: str, facts: str, rows: Sequence[Mapping[str, Any]], pictures: Sequence[Picture] = (), warning: str = ""
) -> str:
    """A title, curves and a table as a piece of HTML.

    Arguments:
        title: what it is.
        facts: a few words beside the title.
        rows: the table.
        pictures: curves, side by side.
        warning: a sentence above everything else.
    """
    notebook = importlib.import_module(_NOTEBOOK)
    return notebook.view_html(title, facts, rows=rows, small=notebook.small_figures(pictures), warning=warning)


def in_words(component: object) -> str:
    """What to call a component in a line: its class, and for a learner what it learns with.

    >>> from beyondkernels.kernels import Gaussian, KernelRidge
    >>> in_words(KernelRidge(Gaussian(1.0)))
    'KernelRidge(Gaussian)'
    """
    inner = next((getattr(component, name) for name in ("network", "kernel", "source") if hasattr(component, name)), "")
    inside = inner if isinstance(inner, str) else getattr(inner, "name", None) or type(inner).__name__
    return f"{type(component).__name__}({inside})" if inside else type(component).__name__
