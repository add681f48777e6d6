"""What Figure 3's runs say: rows, the table, the claims."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from beyondkernels.experiments.base import Rows
from beyondkernels.experiments.resnet.fig3.methods import NAMES, TWO_STEP, exact
from beyondkernels.reports import Claim, Column, at_least, at_most, mean_interval

if TYPE_CHECKING:
    import numpy as np

    from beyondkernels.core import Outcome
    from beyondkernels.experiments.resnet.fig3.experiment import Fig3Settings
    from beyondkernels.experiments.resnet.search import Found

LEARNT = 0.9
"""The composite signal is learnt when the error is clearly below this part of kα²."""

ABOUT = (0.5, 2.0)
"""The crossing is “at about” β = α when it lies between these multiples of α."""

_MISSING = "not every seed has a run"

COLUMNS = (
    Column("samples", "N"),
    Column("beta", "β", "g"),
    Column("method", "Method"),
    Column("test_error", "Chosen on test", ".3f", spread="test_error_sd"),
    Column("other_error", "Chosen without", ".3f", spread="other_error_sd"),
    Column("search_error", "Search", ".3f"),
    Column("composite_learnt", "G(F) learnt", ".2f", spread="composite_learnt_sd"),
    Column("width", "Width"),
    Column("learning_rate", "Rate", "g"),
    Column("weight_decay", "Decay", "g"),
    Column("remark", "Remark"),
)


def trained_row(
    place: dict[str, Any], choice: str, seed: int, outcome: Outcome, found: Found, alpha: float, tried: int
) -> dict[str, Any]:
    """A chosen network trained with a fresh seed."""
    composite = outcome.scalars.get("composite_coefficient")
    return {
        **place,
        "choice": choice,
        "seed": seed,
        "status": outcome.status,
        "train_error": outcome.scalars.get("train_loss"),
        "test_error": outcome.scalars.get("test_loss"),
        "base_coefficient": outcome.scalars.get("base_coefficient"),
        "composite_learnt": None if composite is None else composite / alpha,
        "search_error": found.error,
        "learning_rate": found.point[0],
        "weight_decay": found.point[1],
        "on_edge": found.on_edge,
        "tried": tried,
    }


def two_step_rows(n: int, beta: float, seed: int, outcome: Outcome) -> Rows:
    """The two-step kernel with the weight and ridge that are best on the test points, and with the chosen ones."""
    scalars, path = outcome.scalars, outcome.arrays
    at = int(path["path_test_error"].argmin())
    by_test = (path["path_train_error"][at], path["path_test_error"][at], _on_edge(path["path_weight"], at))
    edge = bool(scalars["weight_on_edge"] or scalars["ridge_on_edge"])
    by_held_out = (scalars["train_error"], scalars["test_error"], edge)
    nothing = dict.fromkeys(
        ("base_coefficient", "composite_learnt", "search_error", "learning_rate", "weight_decay", "width")
    )
    return [
        {
            "method": TWO_STEP,
            "samples": n,
            "beta": beta,
            **nothing,
            "choice": choice,
            "seed": seed,
            "status": outcome.status,
            "train_error": float(train),
            "test_error": float(test),
            "on_edge": on_edge,
            "tried": len(path["path_ridge"]),
        }
        for choice, (train, test, on_edge) in (("test", by_test), ("held out", by_held_out))
    ]


def _on_edge(weights: np.ndarray, at: int) -> bool:
    """Whether a place on the path has the first or last of several weights, or of several ridges."""
    ridges = int((weights == weights[0]).sum())  # the path goes through all ridges at each weight
    places = (at // ridges, len(weights) // ridges), (at % ridges, ridges)
    return any(count > 1 and place in (0, count - 1) for place, count in places)


def summary(rows: Rows) -> Rows:
    """A row for each N, β and method."""
    lines = []
    places = dict.fromkeys((row["samples"], row["beta"], row["method"]) for row in rows)
    for place in sorted(places, key=lambda place: place[:2]):  # methods stay in their order
        mine = [row for row in rows if (row["samples"], row["beta"], row["method"]) == place]
        by_test = [row for row in mine if row["choice"] == "test"]
        others = [row for row in mine if row["choice"] != "test"]
        first = by_test[0]
        diverged = sum(row["status"] != "finished" for row in by_test)
        on_edge = [
            f"{name} {count}/{len(part)}"
            for name, part in (("test", by_test), ("without", others))
            if (count := sum(row["on_edge"] for row in part))
        ]
        remarks = ["on the grid's edge"] if all(row["on_edge"] for row in mine) else []
        remarks += [f"on the edge: {', '.join(on_edge)}"] if on_edge and not remarks else []
        remarks += [f"{diverged} of {len(by_test)} diverged"] if diverged else []
        lines.append(
            {
                **dict(zip(("samples", "beta", "method"), place, strict=True)),
                "seeds": len(by_test),
                "diverged": diverged,
                **_spread("test_error", by_test),
                **_spread("other_error", others, "test_error"),
                **_spread("composite_learnt", by_test),
                **{name: first[name] for name in ("search_error", "width", "learning_rate", "weight_decay")},
                "remark": "; ".join(remarks),
            }
        )
    return lines


def claims(rows: Rows, n: int, settings: Fig3Settings, speaks: bool) -> list[Claim]:
    """The four claims at one N.

    Where the network is to succeed it has the setting that validation points chose; where it is to fail it has the one
    that test points chose. What is claimed for every β is looked at β by β.

    Arguments:
        rows: the rows.
        n: N.
        settings: the experiment's.
        speaks: whether the claims say anything at this scale.
    """
    return [
        _learnt_claim(rows, n, settings, speaks),
        _not_learnt_claim(rows, n, settings, speaks),
        _crossing_claim(rows, n, settings, speaks),
        _layerwise_claim(rows, n, settings, speaks),
    ]


def crossing(learnt: Sequence[tuple[float, bool]]) -> tuple[float, float] | None:
    """The last β at which it is not learnt, and the next one; None where there is no such pair.

    >>> crossing([(0.1, False), (0.2, True), (0.3, False), (0.4, True), (0.5, True)])
    (0.3, 0.4)
    """
    for (last, found), (following, _) in reversed([*itertools.pairwise(learnt)]):
        if not found:
            return (last, following) if learnt[-1][1] else None
    return None


def is_learnt(values: Sequence[float | None], bound: float) -> bool:
    """Whether the whole interval of the mean lies below :data:`LEARNT` times a bound; a diverged run learns nothing."""
    there = [value for value in values if value is not None]
    if not there or len(there) < len(values):
        return False
    mean, _, high, _ = mean_interval(there)
    top = mean if high is None else high
    return top is not None and top < LEARNT * bound


def errors(rows: Rows, method: str, choice: str, n: int, beta: float) -> dict[int, float | None]:
    """The test errors by seed: None where training diverged, no entry where there is no run."""
    wanted = (method, choice, n, beta)
    mine = [row for row in rows if (row["method"], row["choice"], row["samples"], row["beta"]) == wanted]
    return {row["seed"]: row["test_error"] for row in mine}


def _learnt_claim(rows: Rows, n: int, settings: Fig3Settings, speaks: bool) -> Claim:
    bound, high = settings.threshold, settings.alpha * ABOUT[1]
    text = f"N = {n}: for every β ≥ 2α, 3resnet (all) has a test error clearly below kα² = {bound:.4g}"

    def claim(values: Sequence[float | None]) -> Claim:
        return at_most(f"learnt-{n}", text, values, bound, paper=f"below {bound:.4g}", speaks=speaks)

    if not speaks or not rows:
        return claim([])
    by_beta = {}
    for beta in (beta for beta in settings.betas if beta >= high - 1e-9):
        values = errors(rows, NAMES["together"], "validation", n, beta)
        by_beta[beta] = _clearly(claim(_whole(values.values(), settings)))
        diverged = sum(value is None for value in values.values())
        if diverged:
            reason = f"{diverged} of {len(values)} runs diverged, so it is not learnt"
            by_beta[beta] = dataclasses.replace(by_beta[beta], holds=False, reason=reason)
    return _for_every(claim([]), by_beta, bound)


def _not_learnt_claim(rows: Rows, n: int, settings: Fig3Settings, speaks: bool) -> Claim:
    bound, low = LEARNT * settings.threshold, settings.alpha * ABOUT[0]
    text = f"N = {n}: for every β ≤ α/2, 3resnet (all) has a test error of at least {LEARNT:g}·kα², however chosen"

    def claim(values: Sequence[float | None]) -> Claim:
        return at_least(f"not-learnt-{n}", text, values, bound, paper="practically impossible", speaks=speaks)

    if not speaks or not rows:
        return claim([])
    by_beta = {
        beta: claim(_whole(errors(rows, NAMES["together"], "test", n, beta).values(), settings))
        for beta in settings.betas
        if beta <= low + 1e-9
    }
    return _for_every(claim([]), by_beta, bound)


def _crossing_claim(rows: Rows, n: int, settings: Fig3Settings, speaks: bool) -> Claim:
    claim = at_least(
        f"crossing-{n}",
        f"N = {n}: the composite signal begins to be learnt at about β = α: where β/α lies between {ABOUT[0]:g} and "
        f"{ABOUT[1]:g}",
        [],
        0.0,
        paper="about 1",
        speaks=speaks,
    )
    if not speaks or not rows:
        return claim
    learnt: list[tuple[float, bool]] = []
    for beta, found in _learnt(rows, n, settings).items():
        if found is None:
            return dataclasses.replace(claim, reason=f"at β = {exact(beta)}: {_MISSING}")
        learnt.append((beta, found))
    place = crossing(learnt)
    if place is None:
        return dataclasses.replace(claim, holds=False, reason="there is no β below which it is lost and above not")
    low, high = (beta / settings.alpha for beta in place)
    holds = ABOUT[0] - 1e-9 <= low and high <= ABOUT[1] + 1e-9
    where = f"not learnt at β = {place[0]:g} = {low:.3g}α, learnt from β = {place[1]:g} = {high:.3g}α on"
    interval = "the last β/α at which it is not learnt, and the next one tried"
    return dataclasses.replace(
        claim, measured=(low + high) / 2, low=low, high=high, interval=interval, holds=holds, reason=where
    )


def _layerwise_claim(rows: Rows, n: int, settings: Fig3Settings, speaks: bool) -> Claim:
    text = (
        f"N = {n}: training layer by layer has a clearly larger test error at every β where training together learns "
        "the composite signal (by how much, seed by seed)"
    )

    def claim(values: Sequence[float | None]) -> Claim:
        return at_least(f"layerwise-{n}", text, values, 0.0, paper="worse (argued, not shown)", speaks=speaks)

    if not speaks or not rows:
        return claim([])
    by_beta = {}
    for beta, found in _learnt(rows, n, settings).items():
        if found is None:
            by_beta[beta] = dataclasses.replace(claim([]), reason=_MISSING)
        elif found:
            together, layerwise = (errors(rows, name, "validation", n, beta) for name in NAMES.values())
            pairs = [(layerwise.get(seed), error) for seed, error in together.items()]
            by_beta[beta] = _clearly(claim([None if p is None or q is None else p - q for p, q in pairs]))
    nowhere = dataclasses.replace(claim([]), reason="training together learns it at no β")
    return _for_every(nowhere, by_beta, 0.0)


def _learnt(rows: Rows, n: int, settings: Fig3Settings) -> dict[float, bool | None]:
    """Where training together learns the composite signal; None where a seed has no run."""
    found: dict[float, bool | None] = {}
    for beta in settings.betas:
        values = [*errors(rows, NAMES["together"], "validation", n, beta).values()]
        found[beta] = None if len(values) < settings.seeds else is_learnt(values, settings.threshold)
    return found


def _whole(values: Iterable[float | None], settings: Fig3Settings) -> list[float | None]:
    """The values, with a None for every seed that has no run."""
    there = [*values]
    return there + [None] * (settings.seeds - len(there))


def _for_every(nothing: Claim, by_beta: Mapping[float, Claim], bound: float) -> Claim:
    """The claim at the first β where it fails; else where it cannot be said; else where it holds by the least."""
    if not by_beta:
        return nothing

    def order(beta: float) -> tuple[int, float]:
        claim = by_beta[beta]
        if claim.holds and claim.measured is not None:
            return 2, abs(claim.measured - bound)
        return (0 if claim.holds is False else 1), 0.0

    beta = min(by_beta, key=order)  # the first of equal ones
    return dataclasses.replace(by_beta[beta], reason=f"at β = {exact(beta)}: {by_beta[beta].reason}")


def _clearly(claim: Claim) -> Claim:
    """The claim made stricter: it holds only where the interval keeps clear of the bound."""
    if claim.holds and "interval contains the bound" in claim.reason:
        return dataclasses.replace(claim, holds=False, reason=f"not clearly: {claim.reason}")
    return claim


def _spread(name: str, rows: Rows, of: str | None = None) -> dict[str, float | None]:
    there = [row[of or name] for row in rows if row[of or name] is not None]
    return {
        name: statistics.fmean(there) if there else None,
        f"{name}_sd": statistics.stdev(there) if len(there) > 1 else None,
    }
