"""What a table says of its rows: numbers, single seeds, printed values, and what is known where they differ."""

import pandas as pd
import pytest

from beyondkernels.frame import Shown, Table
from beyondkernels.reports.tableview import table_differences

ROWS = pd.DataFrame(
    [
        {"method": method, "seed": seed, "status": "finished", "cosine": value + 0.001 * seed}
        for method, value in (("Network", 0.996), ("One Step", 0.991))
        for seed in range(3)
    ]
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


def test_a_line_holds_mean_spread_seeds_and_the_printed_value():
    columns, lines = Table({"method": "Method"}, [COSINE]).columns_and_lines(ROWS)
    assert [column.key for column in columns] == ["method", "cosine", "cosine_paper"]
    assert lines[1]["cosine"] == pytest.approx(0.992)
    assert lines[1]["cosine_sd"] == pytest.approx(0.001)
    assert lines[1]["cosine_seeds"] == pytest.approx([0.991, 0.992, 0.993])
    assert (columns[1].values, columns[1].about) == ("cosine_seeds", "the largest cosine")
    assert (columns[2].beside, columns[2].published, lines[1]["cosine_paper"]) == ("cosine", True, 0.848)


def test_what_differs_is_listed_with_what_is_known():
    columns, lines = Table({"method": "Method"}, [COSINE]).columns_and_lines(ROWS)
    [difference] = table_differences(lines, columns)
    assert (difference.quantity, difference.paper, difference.why) == ("One Step: Cosine", "0.848", "rounding")


def test_before_anything_is_chosen_a_table_can_be_shown():
    columns, lines = Table({"method": "Method", "choice": "Choice"}, [COSINE]).columns_and_lines(ROWS)
    assert [line["choice"] for line in lines] == ["–", "–"]
    assert [column.title for column in columns] == ["Method", "Choice", "Cosine", "paper"]
