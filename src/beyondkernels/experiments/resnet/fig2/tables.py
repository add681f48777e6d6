"""What Figure 2's runs say: rows, the table, the claims."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.fig2.methods import KERNELS, Method
from beyondkernels.reports import Claim, Column, at_least, at_most

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.experiments.resnet.search import Found, Search

COLUMNS = (
    Column("method", "Method"),
    Column("width_shown", "Width"),
    Column("test_error", "Chosen on test", ".3f", spread="test_error_sd"),
    Column("other_error", "Chosen without", ".3f", spread="other_error_sd"),
    Column("search_error", "Search", ".3f"),
    Column("learning_rate", "Rate", "g"),
    Column("weight_decay", "Decay", "g"),
    Column("remark", "Remark"),
)


def trained_row(
    method: Method, width: int, choice: str, seed: int, outcome: Outcome, search: Search, found: Found
) -> dict[str, Any]:
    """A chosen network trained with a fresh seed."""
    return {
        "method": method.name,
        "width": width,
        "choice": choice,
        "seed": seed,
        "status": outcome.status,
        "train_error": outcome.scalars.get("train_loss"),
        "test_error": outcome.scalars.get("test_loss"),
        "search_error": found.error,
        "learning_rate": found.point[0],
        "weight_decay": found.point[1],
        "ridge": None,
        "on_edge": found.on_edge,
        "tried": len(search.points),
    }


def kernel_rows(method: Method, width: int | None, seed: int, outcome: Outcome) -> Rows:
    """A kernel with the ridge that is best on the test points, and with the one that leave-one-out chooses."""
    if outcome.status != "finished":
        return []
    path, scalars = outcome.arrays, outcome.scalars
    at = int(path["path_test_error"].argmin())
    last = len(path["path_ridge"]) - 1
    by_test = (path["path_train_error"][at], path["path_test_error"][at], path["path_ridge"][at], at in (0, last))
    by_loo = (scalars["train_error"], scalars["test_error"], scalars["ridge"], bool(scalars["ridge_on_edge"]))
    return [
        {
            "method": method.name,
            "width": width,
            "choice": choice,
            "seed": seed,
            "status": outcome.status,
            "train_error": float(train),
            "test_error": float(test),
            "search_error": None,
            "learning_rate": None,
            "weight_decay": None,
            "ridge": float(ridge),
            "on_edge": bool(edge),
            "tried": last + 1,
        }
        for choice, (train, test, ridge, edge) in (("test", by_test), ("leave-one-out", by_loo))
    ]


def summary(rows: Rows) -> Rows:
    """A row for each method and width, in the order of the rows."""
    lines = []
    for method, width in dict.fromkeys((row["method"], row["width"]) for row in rows):
        mine = [row for row in rows if (row["method"], row["width"]) == (method, width)]
        by_test = [row for row in mine if row["choice"] == "test"]
        others = [row for row in mine if row["choice"] != "test"]
        first = by_test[0]
        lines.append(
            {
                "method": method,
                "width": width,
                "width_shown": "∞" if width is None else str(width),
                "seeds": len(by_test),
                "diverged": sum(row["status"] != "finished" for row in by_test),
                **_spread("test_error", [row["test_error"] for row in by_test]),
                **_spread("other_error", [row["test_error"] for row in others]),
                "search_error": first["search_error"],
                "learning_rate": first["learning_rate"],
                "weight_decay": first["weight_decay"],
                "remark": _remark(by_test),
            }
        )
    return lines


def claims(rows: Rows, trained: Sequence[Method], bound: float, speaks: bool) -> list[Claim]:
    """The ResNet is below the bound at some width, every other method at none.

    The ResNet's setting and width are those with the least validation error in the search, so no reported number chose
    them. The others are favoured: their settings are chosen on test points, and their width is the one with the least
    mean over the reported seeds, or one that is clearly below where there is such.

    Arguments:
        rows: the rows.
        trained: the methods trained by SGD, the ResNet first, the plain networks next, then kernels.
        bound: kα², what learning F alone leaves.
        speaks: whether the claims say anything at this scale.
    """
    resnet, *others = trained
    limit = f"{bound:.4g}"
    made = [
        at_most(
            slug(resnet),
            f"{resnet.name} has a test error below {limit} at some width: at the one that the search's validation "
            "points choose",
            _values(rows, resnet, "validation", _width_of_search(rows, resnet)),
            bound,
            paper=f"below {limit}",
            speaks=speaks,
        )
    ]
    for method in others:
        if method.kernel:
            values = _values(rows, method, "test", _best_width(rows, method))
            made.append(_above(method, values, bound, f"{_in_full(method)}, is above {limit} at every width", speaks))
        else:
            made.append(_never_clearly_below(rows, method, bound, speaks))
    for method in KERNELS:
        values = _values(rows, method, "test", _best_width(rows, method))
        text = f"{method.name}, solved with the ridge that suits the test points best, is above {limit} at every width"
        made.append(_above(method, values, bound, text, speaks))
    return made


def _never_clearly_below(rows: Rows, method: Method, bound: float, speaks: bool) -> Claim:
    text = f"{method.name} is clearly below {bound:.4g} at no width"
    best = _best_width(rows, method)
    widths = [best, *(width for width in _widths(rows, method) if width != best)]
    each = [not_clearly_below(_above(method, _values(rows, method, "test", m), bound, text, speaks)) for m in widths]
    # a width with a small spread can be clearly below where that of the least mean is not
    return next((claim for claim in each if claim.holds is False), each[0])


def not_clearly_below(claim: Claim) -> Claim:
    """The claim that a mean is at least a bound, softened: it fails only where the whole interval lies below."""
    if claim.holds is False and "interval contains the bound" in claim.reason:
        return dataclasses.replace(claim, holds=True, reason=f"not clearly: {claim.reason}")
    return claim


def slug(method: Method) -> str:
    """The short name of a method's claim."""
    return f"{method.network}-{method.regime.lower()}" + ("-sgd" if method.kernel and not method.solved else "")


def _in_full(method: Method) -> str:
    strictly = "; as A stands twice in this network, no kernel method in the strict sense"
    return method.name + (strictly if (method.network, method.regime) == ("3resnet", "last") else "")


def _remark(rows: Rows) -> str:
    diverged = sum(row["status"] != "finished" for row in rows)
    edge = rows[0]["ridge"] is None and rows[0]["on_edge"]
    return "; ".join(
        (["on the grid's edge"] if edge else []) + ([f"{diverged} of {len(rows)} diverged"] if diverged else [])
    )


def _above(method: Method, values: Sequence[float | None], bound: float, text: str, speaks: bool) -> Claim:
    return at_least(slug(method), text, values, bound, paper=f"above {bound:.4g}", speaks=speaks)


def _values(rows: Rows, method: Method, choice: str, width: int | None) -> list[float | None]:
    wanted = (method.name, choice, width)
    return [row["test_error"] for row in rows if (row["method"], row["choice"], row["width"]) == wanted]


def _width_of_search(rows: Rows, method: Method) -> int | None:
    mine = [row for row in rows if (row["method"], row["choice"]) == (method.name, "validation")]
    return min(mine, key=lambda row: row["search_error"])["width"] if mine else None


def _best_width(rows: Rows, method: Method) -> int | None:
    return min(_widths(rows, method), key=lambda width: _mean(_values(rows, method, "test", width)), default=None)


def _widths(rows: Rows, method: Method) -> list[int | None]:
    return list(dict.fromkeys(row["width"] for row in rows if row["method"] == method.name))


def _mean(values: Sequence[float | None]) -> float:
    there = [value for value in values if value is not None]
    return statistics.fmean(there) if there else math.inf


def _spread(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    there = [value for value in values if value is not None]
    return {
        name: statistics.fmean(there) if there else None,
        f"{name}_sd": statistics.stdev(there) if len(there) > 1 else None,
    }
