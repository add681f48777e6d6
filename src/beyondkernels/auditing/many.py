"""Audits of several models on the same data, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beyondkernels.auditing.checks import WORDS
from beyondkernels.auditing.claims import best_fixed_name
from beyondkernels.auditing.entry import audit
from beyondkernels.auditing.ladder import MODEL, TRAINED_KERNEL
from beyondkernels.auditing.leads import lead
from beyondkernels.auditing.result import AuditResult
from beyondkernels.auditing.scores import scores_of
from beyondkernels.core import require
from beyondkernels.core.errors import shown
from beyondkernels.lab import write_report
from beyondkernels.learning.notebook_views import html_view

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Audits:
    """The audits of several models, by the models' names.

    Arguments:
        by_name: the audit of each model.
    """

    by_name: Mapping[str, AuditResult]

    def __getitem__(self, name: str) -> AuditResult:
        return self.by_name[name]

    @property
    def summary(self) -> DataFrame:
        """A row for each model, with scores in points.

        ``fixed`` is the best learner with fixed features and ``fixed_score`` its score. ``lead`` is how far the model
        is ahead of it, with the 95 % interval from ``lead_low`` to ``lead_high``; these are missing with one seed.
        ``kernel`` is the score of the trained model's tangent kernel, and ``trained`` whether nothing is wrong with the
        training.
        """
        import pandas as pd

        rows = []
        for name, found in self.by_name.items():
            scores = dict(zip(found.ladder["rung"], found.ladder["score"], strict=True))
            all_rows = found.result.reading.rows
            best = best_fixed_name(all_rows)
            model, fixed = (scores_of(all_rows, part="ladder", rung=rung) for rung in (MODEL, best or ""))
            ahead = lead(found.experiment.subject, model, fixed)
            rows.append(
                {
                    "model": name,
                    "score": scores.get(MODEL),
                    "fixed": best,
                    "fixed_score": None if best is None else scores[best],
                    "lead": None if ahead is None else ahead.mean,
                    "lead_low": None if ahead is None else ahead.low,
                    "lead_high": None if ahead is None else ahead.high,
                    "kernel": scores.get(TRAINED_KERNEL),
                    "trained": WORDS["stop"] not in found.health["verdict"].tolist(),
                }
            )
        return pd.DataFrame(rows)

    def to_frame(self) -> DataFrame:
        """All runs of all audits as one table; the column ``model`` says whose they are."""
        import pandas as pd

        return pd.concat(
            [found.to_frame().assign(model=name) for name, found in self.by_name.items()], ignore_index=True
        )

    def write(self, out: str | Path = "report") -> Path:
        """Write a page for each model, and return the path of their index.

        Arguments:
            out: the directory.
        """
        return write_report([found.result.page() for found in self.by_name.values()], out)

    def __str__(self) -> str:
        return self.summary.to_string(index=False, float_format=lambda value: f"{value:.2f}")

    def __repr__(self) -> str:
        return f"<Audits of {', '.join(self.by_name)}>"

    def _repr_html_(self) -> str:
        return html_view("Audits", ", ".join(self.by_name), self.summary.to_dict("records"))


def audit_many(models: Mapping[str, Any], train: Any, test: Any = None, **options: Any) -> Audits:
    """Audit several models on the same data: widths, depths, activations, or anything else.

    Learners that do not depend on the model, such as ridge regression on the inputs, are computed once if there is a
    store.

    Arguments:
        models: models by name, of any kind that :func:`beyondkernels.audit` takes.
        train: training data, or a problem.
        test: test data, or the fraction of the data that is put aside.
        options: further arguments of :func:`beyondkernels.audit`, the same for all models.

    >>> import torch
    >>> import beyondkernels as bk
    >>> X = torch.linspace(-1, 1, 200).reshape(100, 2)
    >>> def network(width):
    ...     return torch.nn.Sequential(torch.nn.Linear(2, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
    >>> models = {f"width {width}": network(width) for width in (4, 8)}
    >>> found = bk.audit_many(models, (X, X.sum(1)), parts=["ladder"], seeds=2, epochs=2, progress=False)
    >>> found.summary["model"].tolist()
    ['width 4', 'width 8']
    """
    require(
        isinstance(models, Mapping) and len(models) > 0,
        f"models must hold at least one model by name, such as {{'narrow': model}}, got {shown(models)}",
    )
    require("name" not in options, "name cannot be given to several audits, which are called as their models are")
    return Audits({name: audit(model, train, test, name=name, **options) for name, model in models.items()})
