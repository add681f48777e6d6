from __future__ import annotations

import math
import statistics

import pytest

from beyondkernels.lab import Dotted, Scope, Shown, Table, tabulate
from beyondkernels.lab.report.table_view import table_differences

ROWS = tabulate(
    {
        "method": method,
        "width": width,
        "choice": choice,
        "seed": seed,
        "status": "diverged" if (method, width, seed) == ("b", 1, 2) else "finished",
        "error": None
        if (method, width, seed) == ("b", 1, 2)
        else min(width, 9) + seed + (0.5 if choice == "test" else 0),
        "rate": 0.05,
        "on_edge": method == "a" and choice == "test",
    }
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
    return Table({"method": "Method", "width": "Width"}, columns, **changes)  # type: ignore[arg-type]


def test_means_and_spreads_by_selection() -> None:
    columns, lines = table().columns_and_lines(ROWS)
    assert [(line["method"], line["width"]) for line in lines[:3]] == [("b", "2"), ("b", "1"), ("b", "∞")]
    cells = {column.title: column.cell(lines[0]) for column in columns}
    mean, sd = statistics.fmean([2.5, 3.5, 4.5]), statistics.stdev([2.5, 3.5, 4.5])
    assert cells["Chosen on test"] == f"{mean:.2f} ± {sd:.2f}" and cells["Chosen without"].startswith("3.00")
    assert (cells["Rate"], cells["Largest"], cells["Runs"]) == ("0.05", "4.5", "6 runs")
    assert (lines[0]["error_low"], lines[0]["error_high"]) == (2.5, 4.5)


def test_remarks_tell_of_edges_and_divergence() -> None:
    _, lines = table().columns_and_lines(ROWS)
    remarks = {(line["method"], line["width"]): line["remark"] for line in lines}
    assert remarks["b", "1"] == "2 of 6 diverged" and remarks["b", "2"] == ""
    assert remarks["a", "1"] == "on the edge: test 3/3"
    columns, _ = table(where={"method": "b", "width": 2}).columns_and_lines(ROWS)
    assert "Remark" not in [column.title for column in columns]  # nothing to tell
    without_runs = [column.title for column in table(remarks=False).columns_and_lines(ROWS)[0]]
    assert "Remark" not in without_runs


def test_what_diverged_is_left_out_of_the_mean() -> None:
    _, lines = table(where={"method": "b", "width": 1}).columns_and_lines(ROWS)
    assert lines[0]["error"] == pytest.approx(2.0)


def test_lines_are_sorted_and_added() -> None:
    sorted_ = table(order=("method", "width"), more=lambda rows: [{"method": "all", "rate": len(rows)}])
    _, lines = sorted_.columns_and_lines(ROWS)
    assert [line["method"] + line.get("width", "") for line in lines] == ["a1", "a2", "a∞", "b1", "b2", "b∞", "all"]


def test_printed_values_stand_beside() -> None:
    printed = Table({"method": "Method"}, [Shown("error", "Error", ".1f", paper={"a": 3.25})])
    columns, lines = printed.columns_and_lines(ROWS)
    assert [line["error_paper"] for line in lines] == [None, 3.25]
    assert [column.title for column in columns][:3] == ["Method", "Error", "paper"]


def test_no_rows_no_lines() -> None:
    assert table().columns_and_lines(tabulate([]))[1] == []


COSINES = tabulate(
    {"method": method, "seed": seed, "status": "finished", "cosine": value + 0.001 * seed}
    for method, value in (("Network", 0.996), ("One Step", 0.991))
    for seed in range(3)
)
COSINE = Shown(
    "cosine",
    "Cosine",
    ".3f",
    paper={"Network": 0.997, "One Step": 0.848},
    tolerance=0.01,
    why={"One Step": "rounding", "Network": "never asked"},
    about="the largest cosine",
)


def test_a_line_holds_its_seeds_and_the_column_what_it_is_about() -> None:
    columns, lines = Table({"method": "Method"}, [COSINE]).columns_and_lines(COSINES)
    assert [column.key for column in columns] == ["method", "cosine", "cosine_paper"]
    assert lines[1]["cosine_seeds"] == pytest.approx([0.991, 0.992, 0.993])
    assert (columns[1].values, columns[1].about) == ("cosine_seeds", "the largest cosine")
    assert (columns[2].beside, columns[2].published, lines[1]["cosine_paper"]) == ("cosine", True, 0.848)


def test_what_differs_is_listed_with_what_is_known() -> None:
    columns, lines = Table({"method": "Method"}, [COSINE]).columns_and_lines(COSINES)
    [difference] = table_differences(lines, columns)
    assert (difference.quantity, difference.paper, difference.why) == ("One Step: Cosine", "0.848", "rounding")


def test_before_anything_is_chosen_a_table_can_be_shown() -> None:
    columns, lines = Table({"method": "Method", "choice": "Choice"}, [COSINE]).columns_and_lines(COSINES)
    assert [line["choice"] for line in lines] == ["–", "–"]
    assert [column.title for column in columns] == ["Method", "Choice", "Cosine", "paper"]


def test_a_table_as_dots() -> None:
    table = Table({"method": "Method"}, [COSINE])
    picture = Dotted("dots", "Dots", "", "", table, {"cosine": Scope("cosine", (0.0, 1.0), chance=0.1)})
    (figure,) = picture.draw(COSINES)
    (quantity,) = figure.quantities  # type: ignore[attr-defined]
    assert list(figure.methods) == ["Network", "One Step"]  # type: ignore[attr-defined]
    assert (quantity.label, quantity.limits, quantity.chance) == ("cosine", (0.0, 1.0), 0.1)
    first = quantity.dots[0]
    assert [first.measured, first.low, first.high, first.published] == pytest.approx([0.997, 0.996, 0.998, 0.997])
    assert picture.draw(COSINES.iloc[:0]) == []
