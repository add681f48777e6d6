import math
import statistics
from typing import Any

import pytest

from beyondkernels.lab import Column, Dotted, Quantities, Quantity, Rows, Scope, Shown, Table, tabulate
from beyondkernels.lab.report.table_view import table_differences


def row(method: str, width: float, choice: str, seed: int) -> dict[str, Any]:
    place = {"method": method, "width": width, "choice": choice, "seed": seed, "rate": 0.05}
    diverged = (method, width, seed) == ("b", 1, 2)
    error = None if diverged else min(width, 9) + seed + (0.5 if choice == "test" else 0)
    status = "diverged" if diverged else "finished"
    return place | {"status": status, "error": error, "on_edge": method == "a" and choice == "test"}


ROWS = tabulate(
    row(method, width, choice, seed)
    for method in "ba"
    for width in (2, 1, math.inf)
    for choice in ("test", "validation")
    for seed in (0, 1, 2)
)


def table(**changes: object) -> Table:
    columns = [
        Shown("error", "Chosen on test", ".2f", {"choice": "test"}),
        Shown("error", "Chosen without", ".2f", {"choice": "validation"}),
        Shown("rate", "Rate", "g", show="first"),
        Shown("error", "Largest", ".1f", show="largest"),
        Shown("error", "Runs", show=lambda rows: f"{len(rows)} runs"),
    ]
    return Table(["method", "width"], columns, **changes)  # type: ignore[arg-type]


def made(table: Table, rows: Rows, quantities: Quantities | None = None) -> tuple[list[Column], list[dict[str, Any]]]:
    lines = table.lines(rows)
    return table.headed(lines, quantities or Quantities()), lines


def test_a_column_is_what_its_quantity_says() -> None:
    error = Quantity("test error", ".3f", better="less", about="Mean over fresh points.")
    known = Quantities(error=error, width=Quantity("m"))
    named = Table(["method", "width"], ["error", Shown("error", "Largest", show="largest"), "rate"])
    columns, lines = made(named, ROWS, known)
    assert [column.title for column in columns] == ["Method", "m", "Test error", "Largest", "Rate", "Remark"]
    assert (columns[2].format, columns[2].better, columns[2].about) == (".3f", "less", "Mean over fresh points.")
    assert (columns[3].format, columns[3].better, columns[3].about) == (".3f", "", "")  # another number, other words
    assert columns[2].cell(lines[0]) == "3.250 ± 0.935"


def test_means_and_spreads_by_selection() -> None:
    columns, lines = made(table(), ROWS)
    assert [(line["method"], line["width"]) for line in lines[:3]] == [("b", "2"), ("b", "1"), ("b", "∞")]
    cells = {column.title: column.cell(lines[0]) for column in columns}
    mean, sd = statistics.fmean([2.5, 3.5, 4.5]), statistics.stdev([2.5, 3.5, 4.5])
    assert cells["Chosen on test"] == f"{mean:.2f} ± {sd:.2f}" and cells["Chosen without"].startswith("3.00")
    assert (cells["Rate"], cells["Largest"], cells["Runs"]) == ("0.05", "4.5", "6 runs")
    assert (lines[0]["error_low"], lines[0]["error_high"]) == (2.5, 4.5)


def test_remarks_tell_of_edges_and_divergence() -> None:
    lines = table().lines(ROWS)
    remarks = {(line["method"], line["width"]): line["remark"] for line in lines}
    assert remarks["b", "1"] == "2 of 6 diverged" and remarks["b", "2"] == ""
    assert remarks["a", "1"] == "on the edge: test 3/3"
    columns, _ = made(table(where={"method": "b", "width": 2}), ROWS)
    assert "Remark" not in [column.title for column in columns]  # nothing to tell
    without_runs = [column.title for column in made(table(remarks=False), ROWS)[0]]
    assert "Remark" not in without_runs
    lines = table(where={"method": "b", "width": 1}).lines(ROWS)
    assert lines[0]["error"] == pytest.approx(2.0)  # what diverged is left out of the mean


def test_lines_are_sorted_and_added() -> None:
    sorted_ = table(order=("method", "width"), more=lambda rows: [{"method": "all", "rate": len(rows)}])
    lines = sorted_.lines(ROWS)
    assert [line["method"] + line.get("width", "") for line in lines] == ["a1", "a2", "a∞", "b1", "b2", "b∞", "all"]
    assert table().lines(tabulate([])) == []


def test_printed_values_stand_beside() -> None:
    printed = Table(["method"], [Shown("error", "Error", ".1f", paper={"a": 3.25})])
    columns, lines = made(printed, ROWS)
    assert [line["error_paper"] for line in lines] == [None, 3.25]
    assert [column.title for column in columns][:3] == ["Method", "Error", "paper"]


COSINES = tabulate(
    {"method": method, "seed": seed, "status": "finished", "cosine": value + 0.001 * seed}
    for method, value in (("Network", 0.996), ("One Step", 0.991))
    for seed in range(3)
)
WHY = {"One Step": "rounding", "Network": "never asked"}
PRINTED = {"Network": 0.997, "One Step": 0.848}
COSINE = Shown("cosine", "Cosine", ".3f", paper=PRINTED, tolerance=0.01, why=WHY, about="the largest cosine")


def test_a_line_holds_its_seeds_and_the_column_what_it_is_about() -> None:
    columns, lines = made(Table(["method"], [COSINE]), COSINES)
    assert [column.key for column in columns] == ["method", "cosine", "cosine_paper"]
    assert lines[1]["cosine_seeds"] == pytest.approx([0.991, 0.992, 0.993])
    assert (columns[1].values, columns[1].about) == ("cosine_seeds", "the largest cosine")
    assert (columns[2].beside, columns[2].published, lines[1]["cosine_paper"]) == ("cosine", True, 0.848)


def test_what_differs_is_listed_with_what_is_known() -> None:
    columns, lines = made(Table(["method"], [COSINE]), COSINES)
    [difference] = table_differences(lines, columns)
    assert (difference.quantity, difference.paper, difference.why) == ("One Step: Cosine", "0.848", "rounding")


def test_before_anything_is_chosen_a_table_can_be_shown() -> None:
    columns, lines = made(Table(["method", "choice"], [COSINE]), COSINES)
    assert [line["choice"] for line in lines] == ["–", "–"]
    assert [column.title for column in columns] == ["Method", "Choice", "Cosine", "paper"]


def test_a_table_as_dots() -> None:
    table = Table(["method"], [COSINE])
    picture = Dotted("dots", "Dots", table=table, axes={"cosine": Scope((0.0, 1.0), chance=0.1)})
    (figure,) = picture.draw(COSINES, Quantities())
    (quantity,) = figure.quantities  # type: ignore[attr-defined]
    assert list(figure.methods) == ["Network", "One Step"]  # type: ignore[attr-defined]
    assert (quantity.label, quantity.limits, quantity.chance) == ("Cosine", (0.0, 1.0), 0.1)
    first = quantity.dots[0]
    assert [first.measured, first.low, first.high, first.published] == pytest.approx([0.997, 0.996, 0.998, 0.997])
    assert picture.draw(COSINES.iloc[:0], Quantities()) == []
