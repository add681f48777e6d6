"""What Figure 4's runs say: rows, the table, the claims."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.fig4.construction import targets
from beyondkernels.experiments.resnet.fig4.specs import DEGREE, norm_of
from beyondkernels.experiments.resnet.held_out import search_errors
from beyondkernels.reports import Claim, Column, at_least, at_most

if TYPE_CHECKING:
    from beyondkernels.core import Outcome
    from beyondkernels.experiments.resnet.fig4.experiment import Fig4Settings
    from beyondkernels.experiments.resnet.search import Point

Place = tuple[str, str, int, int, "Point | tuple[None, None]", int, bool]
"""Of a run: its part, by what it was chosen, epochs, width, rate and decay, seed, whether on the grid's edge."""

COLUMNS = (
    Column("what", "Weights"),
    Column("epochs_shown", "Epochs"),
    Column("width", "Width", "d"),
    Column("train_error", "Training error", ".3f", spread="train_error_sd"),
    Column("test_error", "Test error", ".3f", spread="test_error_sd"),
    Column("norm", "‖W‖/√d", ".2f", spread="norm_sd"),
    Column("learning_rate", "Rate", "g"),
    Column("weight_decay", "Decay", "g"),
    Column("remark", "Remark"),
)

FITTED = 0.12
"""How small a training error a search must meet before it can say that SGD finds nothing: the paper's largest of W*."""

_WORDS = {
    ("chosen", "test"): "SGD, chosen on test",
    ("chosen", "validation"): "SGD, chosen on validation",
    ("other start", "validation"): "SGD, the same from the other start",
}


def closed_form_row(settings: Fig4Settings, seed: int, outcome: Outcome) -> dict[str, Any]:
    """W* in closed form: its errors are on points of the figure's dimension, where all points have the same."""
    row = _row(settings, ("closed form", "", 0, settings.construction_width, (None, None), seed, False), outcome)
    return row | {
        "risk": outcome.scalars["risk"],
        "test_error": outcome.scalars["test_loss"],
        "norm": outcome.scalars["norm"],
    }


def construction_row(settings: Fig4Settings, decay: float, seed: int, outcome: Outcome) -> dict[str, Any]:
    """W* found by gradient descent on all points: training and test error are the risk."""
    place: Place = ("W*", "", 0, settings.construction_width, (settings.construction_rate, decay), seed, False)
    return _row(settings, place, outcome, norm_of(outcome, DEGREE), (outcome.scalars.get("test_loss"), None))


def trained_row(settings: Fig4Settings, place: Place, outcome: Outcome) -> dict[str, Any]:
    """A network trained by SGD on a sample; its test error is on the points that are not for validation."""
    errors = search_errors(outcome, settings) if outcome.status == "finished" else (None, None)
    return _row(settings, place, outcome, norm_of(outcome, settings.dim), errors)


def _row(
    settings: Fig4Settings,
    place: Place,
    outcome: Outcome,
    norm: float | None = None,
    errors: tuple[float | None, float | None] = (None, None),
) -> dict[str, Any]:
    part, choice, epochs, width, (rate, decay), seed, edge = place
    return {
        "part": part,
        "choice": choice or None,
        "epochs": epochs or None,
        "width": width,
        "seed": seed,
        "status": outcome.status,
        "risk": outcome.scalars.get("test_loss") if part == "W*" else None,
        "train_error": outcome.scalars.get("train_loss"),
        "test_error": errors[0],
        "validation_error": errors[1],
        "norm": norm,
        "learning_rate": rate,
        "weight_decay": decay,
        "start": settings.other_start if part == "other start" else settings.start,
        "on_edge": edge,
    }


def summary(settings: Fig4Settings, rows: Rows) -> Rows:
    """The closed form, the path of W*, then for each schedule and width the search's best and the chosen ones."""
    lines = [line for row in rows if _of(row, "closed form") for line in _line("W*, in closed form", [row])]
    for decay in settings.construction_decays:
        lines += _line("W*, by descent", [row for row in rows if _of(row, "W*") and row["weight_decay"] == decay])
    for epochs, width in dict.fromkeys((row["epochs"], row["width"]) for row in trained(rows)):
        mine = [row for row in rows if (row["epochs"], row["width"]) == (epochs, width)]
        search = [row for row in mine if _of(row, "search")]
        there = [row for row in search if row["test_error"] is not None]
        if there:
            (line,) = _line("SGD, the search's best", [min(there, key=lambda row: row["test_error"])])
            lost = len(search) - len(there)
            line["remark"] = f"of {len(search)} runs" + (f", {lost} diverged" if lost else "")
            lines.append(line)
        for (part, choice), words in _WORDS.items():
            lines += _line(words, [row for row in mine if (row["part"], row["choice"]) == (part, choice)])
    return lines


def _line(what: str, rows: Rows) -> Rows:
    """One line of the table from the seeds of one setting; none where there are none."""
    if not rows:
        return []
    first, lost = rows[0], sum(row["status"] != "finished" for row in rows)
    spreads = [_spread(name, [row[name] for row in rows]) for name in ("train_error", "test_error", "norm")]
    remark = (["on the grid's edge"] if first["on_edge"] else []) + (
        [f"{lost} of {len(rows)} diverged"] if lost else []
    )
    return [
        {
            "what": what,
            "epochs_shown": "" if first["epochs"] is None else str(first["epochs"]),
            "width": first["width"],
            **{name: value for spread in spreads for name, value in spread.items()},
            "learning_rate": first["learning_rate"],
            "weight_decay": first["weight_decay"],
            "remark": "; ".join(remark),
        }
    ]


def claims(settings: Fig4Settings, rows: Rows, bound: float, speaks: bool) -> list[Claim]:
    """W* exists, in closed form and by descent; the search finds no better test error, and no such weights.

    That SGD finds no better test error is undecided where no run of the search fits its sample (:data:`FITTED`).

    Arguments:
        settings: the settings.
        rows: the rows.
        bound: the best test error of the paper's search.
        speaks: whether the claims say anything at this scale.
    """
    made = []
    for risk, norm in targets():
        text = f"there are weights with risk at most {risk:g} and ‖W‖_F/√d at most {norm:g}"
        norms = _least_norms([row for row in rows if _of(row, "closed form")], risk)
        exact = at_most(f"w-star-{risk:g}", f"{text}: in closed form", norms, norm, paper=norm, speaks=speaks)
        made.append(dataclasses.replace(exact, interval="exact"))
    for risk, norm in targets():
        text = f"gradient descent on all points of the six inputs finds weights with risk at most {risk:g} and"
        values = _least_norms([row for row in rows if _of(row, "W*")], risk)
        name = f"w-star-descent-{risk:g}"
        made.append(at_most(name, f"{text} ‖W‖_F/√d at most {norm:g}", values, norm, paper=norm, speaks=speaks))
    runs = distinct(trained(rows))
    search = [row for row in runs if _of(row, "search")]
    several = len(settings.epochs) > 1
    made.append(_best_test("sgd-test", "in any schedule" if several else "in the search", search, bound, speaks))
    for epochs in settings.epochs if several else ():
        mine = [row for row in search if row["epochs"] == epochs]
        made.append(_best_test(f"sgd-test-{epochs}", f"in {epochs} epochs", mine, bound, speaks))
    made.append(_fresh(rows, bound, speaks))
    made += [_no_such_weights(runs, risk, norm, speaks) for risk, norm in targets()]
    return made


def _best_test(name: str, where: str, search: Rows, bound: float, speaks: bool) -> Claim:
    there = [row["test_error"] for row in search if row["test_error"] is not None]
    text = f"SGD meets no test error below {bound:g} {where}"
    claim = at_least(name, text, [min(there)] if there else [], bound, paper=bound, speaks=speaks)
    return _unless_untrained(dataclasses.replace(claim, interval=f"the least of {len(search)} runs"), search)


def _fresh(rows: Rows, bound: float, speaks: bool) -> Claim:
    """Schedule, width, rate and decay with the least validation error in the search, with seeds it has not seen."""
    errors: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        if _of(row, "search"):
            error = row["validation_error"]
            errors.setdefault(_setting(row), []).append(math.inf if error is None else error)
    best = min(errors, key=lambda setting: statistics.fmean(errors[setting]), default=None)
    chosen = [row for row in rows if (row["part"], row["choice"]) == ("chosen", "validation")]
    values = [row["test_error"] for row in chosen if _setting(row) == best]
    where = "" if best is None else f" ({best[0]} epochs, width {best[1]})"
    text = f"trained with fresh seeds, the setting chosen on validation points{where} has a test error of at least"
    claim = at_least("sgd-fresh", f"{text} {bound:g}", values, bound, paper=bound, speaks=speaks)
    return _unless_untrained(claim, [row for row in rows if _of(row, "search")])


def _unless_untrained(claim: Claim, search: Rows) -> Claim:
    """Undecided where it would hold for want of training; a test error below the bound refutes it all the same."""
    least = min((row["train_error"] for row in search if row["train_error"] is not None), default=math.inf)
    if not claim.holds or least <= FITTED:
        return claim
    reason = f"no run of the search has a training error of at most {FITTED:g}; the least is {least:.3g}"
    return dataclasses.replace(claim, holds=None, reason=reason)


def _no_such_weights(runs: Rows, risk: float, norm: float, speaks: bool) -> Claim:
    """Undecided where no run has so small a training error: it would hold for want of training."""
    text = f"every run of SGD with training error at most {risk:g} has ‖W‖_F/√d of at least {norm:g}"
    low = [row["norm"] for row in runs if row["train_error"] is not None and row["train_error"] <= risk]
    claim = at_least(f"sgd-norm-{risk:g}", text, [min(low)] if low else [], norm, paper=norm, speaks=speaks)
    if low:
        return dataclasses.replace(
            claim, interval=f"the least of the {len(low)} of {len(runs)} runs with such an error"
        )
    if not runs or not speaks:
        return claim
    return dataclasses.replace(claim, reason=f"none of {len(runs)} runs has so small a training error")


def _least_norms(rows: Rows, risk: float) -> list[float | None]:
    """For each seed the least norm among weights with that risk or less; None where there are none."""
    seeds = dict.fromkeys(row["seed"] for row in rows)
    most = risk * (1 + 1e-9)  # the closed form has the very risk, but for the last digits
    good = [row for row in rows if row["risk"] is not None and row["risk"] <= most]
    return [min((row["norm"] for row in good if row["seed"] == seed), default=None) for seed in seeds]


def trained(rows: Rows) -> Rows:
    """The rows of SGD on a sample."""
    return [row for row in rows if row["part"] not in ("closed form", "W*")]


def distinct(rows: Iterable[dict[str, Any]]) -> Rows:
    """Each run once: what both choices choose has two rows."""
    return list({(row["part"], *_setting(row), row["seed"]): row for row in rows}.values())


def _setting(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("epochs", "width", "learning_rate", "weight_decay"))


def _of(row: dict[str, Any], part: str) -> bool:
    return row["part"] == part


def _spread(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    there = [value for value in values if value is not None]
    return {
        name: statistics.fmean(there) if there else None,
        f"{name}_sd": statistics.stdev(there) if len(there) > 1 else None,
    }
