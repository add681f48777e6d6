"""Values over the rows, each against a loop."""

import math

import numpy as np
import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import ANY, NON_NEGATIVE, SHARE, AtMost, Quantities, Quantity
from beyondkernels.lab.declaration.rows import Rows, Series, tabulate
from beyondkernels.lab.declaration.values import Value, least, of

ALPHAS, SEEDS = (0.2, 0.3, 0.5), (0, 1, 2)


def risk(method: str, alpha: float, seed: int) -> float | None:
    if (method, alpha, seed) == ("b", 0.3, 2):
        return None  # it diverged
    return (3 + seed) * alpha ** (2 + seed / 10) * (1 if method == "a" else 1 + alpha)


RECORDS = [
    {"method": method, "alpha": alpha, "seed": seed, "status": "finished", "risk": risk(method, alpha, seed)}
    for method in "ab"
    for alpha in ALPHAS
    for seed in SEEDS
]
ROWS = tabulate(RECORDS)


def test_of_is_one_number_a_seed() -> None:
    assert of("risk", method="a", alpha=0.2).groups(ROWS) == {None: [risk("a", 0.2, seed) for seed in SEEDS]}
    by = of("risk", "alpha", method="a").groups(ROWS)
    assert by == {alpha: [risk("a", alpha, seed) for seed in SEEDS] for alpha in ALPHAS}
    with pytest.raises(AssertionError, match="more than one row for a seed"):
        of("risk", method="a").groups(ROWS)
    assert of("risk", method="c", alpha=0.2).groups(ROWS) == {None: []}
    assert of("risk", "alpha", method="c").groups(tabulate([])) == {}


def test_slopes_against_the_normal_equations() -> None:
    slopes = of("risk", "alpha", method="a").slope().groups(ROWS)[None]
    for seed, slope in zip(SEEDS, slopes, strict=True):
        x = np.log(ALPHAS)
        y = np.log([risk("a", alpha, seed) or math.nan for alpha in ALPHAS])
        design = np.stack([np.ones_like(x), x], 1)
        assert slope == pytest.approx(np.linalg.solve(design.T @ design, design.T @ y)[1], rel=1e-12)
    gap = of("risk", "alpha", method="b").slope().groups(ROWS)[None]
    assert math.isnan(gap[2]) and not math.isnan(gap[0])
    assert math.isnan(of("risk", "alpha", method="a", alpha=0.2).slope().groups(ROWS)[None][0])


def test_the_largest_of_all_runs() -> None:
    value = of("risk", "alpha", method="a").largest(per_seed=False)
    assert value.statistic == "largest"
    assert value.groups(ROWS)[None] == [max(risk("a", alpha, seed) or 0.0 for alpha in ALPHAS) for seed in SEEDS]
    gap = of("risk", "alpha", method="b").largest(per_seed=False).groups(ROWS)[None]
    assert [math.isnan(each) for each in gap] == [False, False, True]
    assert of("risk", "alpha", method="none").largest(per_seed=False).groups(ROWS)[None] == []


def test_ratios_and_differences_are_paired() -> None:
    a, b = of("risk", "alpha", method="a"), of("risk", "alpha", method="b")
    largest = (b / a).largest().groups(ROWS)[None]
    for seed, value in zip(SEEDS, largest, strict=True):
        loop = [(risk("b", alpha, seed), risk("a", alpha, seed)) for alpha in ALPHAS]
        if any(upper is None for upper, _ in loop):
            assert math.isnan(value)  # a gap is no small number
        else:
            assert value == pytest.approx(max(upper / lower for upper, lower in loop if upper and lower))
    difference = (b - a).groups(ROWS)
    assert difference[0.5] == pytest.approx([(risk("b", 0.5, s) or 0) - (risk("a", 0.5, s) or 0) for s in SEEDS])


def test_a_statistic_as_one_number() -> None:
    a = of("risk", method="a", alpha=0.2)
    numbers = a.groups(ROWS)[None]
    assert a.number().groups(ROWS) == {None: [pytest.approx(sum(numbers) / len(numbers))]}
    assert a.median().number().groups(ROWS) == {None: [sorted(numbers)[1]]}
    assert math.isnan(of("risk", method="b", alpha=0.3).number().groups(ROWS)[None][0])  # a gap is no small number
    assert of("risk", method="c", alpha=0.2).number().groups(ROWS) == {None: []}
    ratio = least("risk", per_seed=False, method="a").number() / a.number()
    assert ratio.groups(ROWS)[None] == [pytest.approx(min(numbers) * len(numbers) / sum(numbers))]


def test_a_median_keeps_the_numbers_of_the_seeds() -> None:
    a = of("risk", "alpha", method="a")
    assert a.median().groups(ROWS) == a.groups(ROWS) and a.median().statistic == "median"
    assert a.median().name == f"{a.name}.median()"
    with pytest.raises(InputError, match="before a median is taken"):
        _ = a / a.median()


def test_a_value_knows_its_quantity() -> None:
    known = Quantities(risk=Quantity("risk", within=SHARE), alpha=Quantity("α", within=NON_NEGATIVE))
    risk_, alpha = of("risk", method="a"), of("alpha", method="a")
    assert risk_.quantity_in(known).within == SHARE
    assert (risk_ - risk_).quantity_in(known).within == (-1.0, 1.0)
    assert (risk_ - alpha).quantity_in(known).within == (-math.inf, 1.0)
    assert (alpha / risk_).quantity_in(known).within == NON_NEGATIVE
    assert (risk_ / (risk_ - alpha)).quantity_in(known).within == ANY
    assert of("risk", "alpha").slope().quantity_in(known).within == ANY
    assert of("risk", "alpha").largest().quantity_in(known).within == SHARE
    assert least("other").quantity_in(known) == Quantity("other")


def test_at_the_place_of_the_least_mean() -> None:
    value = of("risk", "alpha", method="a").at_minimum_of(of("risk", "alpha", method="b"))
    assert value.groups(ROWS) == {None: [risk("a", 0.2, seed) for seed in SEEDS]}
    assert value.groups(tabulate([])) == {None: []}


def test_where_another_holds() -> None:
    a = of("risk", "alpha", method="a")
    test = AtMost(0.5)
    kept = a.where_holds(of("risk", "alpha", method="b"), test).groups(ROWS)
    means = {alpha: [risk("b", alpha, seed) for seed in SEEDS] for alpha in ALPHAS}
    assert set(kept) == {0.2, 0.3} and np.mean([v for v in means[0.2] if v is not None]) <= 0.5
    assert all(map(math.isnan, kept[0.3]))  # where a run of the other has no number it cannot be said
    assert kept[0.2] == [risk("a", 0.2, seed) for seed in SEEDS]


def test_least_of_each_seed_and_of_all() -> None:
    each = least("risk", among={"alpha": lambda alpha: alpha > 0.25}, method="a").groups(ROWS)[None]
    assert each == [min(risk("a", alpha, seed) or 9 for alpha in (0.3, 0.5)) for seed in SEEDS]
    none = least("risk", among={"alpha": lambda alpha: alpha > 1}, method="a").groups(ROWS)[None]
    assert len(none) == 3 and all(map(math.isnan, none))
    overall = min(row["risk"] for row in RECORDS if row["risk"] is not None)
    assert least("risk", per_seed=False).statistic == "least"
    assert min(least("risk", per_seed=False).groups(ROWS)[None]) == overall
    assert least("risk", per_seed=False, method="c").groups(ROWS) == {None: []}


def small(value: float) -> bool:
    return value < 1


def test_names_tell_values_apart_and_are_the_same_tomorrow() -> None:
    risk, other = of("risk", "alpha", method="a"), of("risk", "alpha", method=["b"])
    values = [
        risk,
        other,
        of("risk", "alpha", alpha=small),
        risk - other,
        other - risk,
        risk / other,
        risk.slope(),
        risk.largest(),
        risk.at_minimum_of(other),
        risk.where_holds(other, AtMost(1.0)),
        risk.where_holds(other, AtMost(2.0)),
        least("risk", among={"alpha": small}),
        least("risk", per_seed=False, among={"alpha": small}),
    ]
    names = [value.name for value in values]
    assert len(set(names)) == len(names)
    assert names[2] == "of('risk', by='alpha', alpha=small)"
    assert names[-1] == "least('risk', per_seed=False, among={'alpha': small})"
    assert Value(small_rows).name == "small_rows"


def small_rows(rows: Rows) -> Series:
    return rows["risk"]
