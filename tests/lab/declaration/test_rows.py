import math

from beyondkernels.lab.declaration.rows import lost, select, tabulate, tidy

ROWS = tabulate(
    [
        {"method": "a", "width": 8, "seed": 0, "error": 1.0, "chosen": True, "outcome": object()},
        {"method": "a", "width": math.inf, "seed": 0, "error": None, "chosen": False, "outcome": object()},
        {"method": "b", "width": 8, "seed": 1, "error": 3, "epochs": 4, "outcome": object()},
    ]
)


def test_numbers_stay_what_they_are() -> None:
    assert ROWS["error"].dtype == float and math.isnan(ROWS["error"][1])
    assert ROWS["seed"].tolist() == [0, 0, 1] and ROWS["seed"].dtype == int
    assert ROWS["epochs"].tolist() == [None, None, 4]  # and not 4.0
    assert ROWS["chosen"].tolist() == [True, False, None]
    assert list(tidy(ROWS)) == ["method", "width", "seed", "error", "chosen", "epochs"]


def test_rows_are_selected_by_values_lists_and_conditions() -> None:
    assert select(ROWS, {"method": "a", "width": 8}).index.tolist() == [0]
    assert select(ROWS, {"method": ["a", "b"], "seed": (1,)}).index.tolist() == [2]
    assert select(ROWS, {"width": lambda width: width > 8}).index.tolist() == [1]
    assert select(ROWS, {"error": lambda error: error < 10}).index.tolist() == [0, 2]  # what is missing meets nothing
    assert select(ROWS, {"epochs": None}).index.tolist() == [0, 1]
    assert select(ROWS, {"nothing": 1}).empty and select(tabulate([]), {"method": "a"}).empty


def test_where_numbers_are_missing() -> None:
    assert lost(ROWS, "error", ["method"]) == [({"method": "a"}, 1, 2)]
    assert lost(ROWS, "nothing", ["method"]) == [] and lost(tabulate([]), "error", ["method"]) == []
