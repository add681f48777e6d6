import math
import statistics

import numpy as np
import pytest
from scipy import stats

from beyondkernels.lab import Column, ExperimentPage, html_table
from beyondkernels.lab.report.pages import Difference
from beyondkernels.lab.report.table_view import differs_from_paper, table_differences, table_view
from beyondkernels.lab.report.views import differences_of

COSINE = Column("cosine", "Cosine", ".3f", spread="sd", values="seeds")
PRINTED = Column("printed", "paper", ".3f", beside="cosine")
ROWS = [
    {"method": "Network", "cosine": 0.997, "sd": 0.001, "seeds": [0.996, 0.998], "printed": 0.997},
    {"method": "One Step", "cosine": 0.993, "sd": 0.002, "seeds": [0.991, 0.995], "printed": 0.848},
    {"method": "NTK", "cosine": None, "sd": None, "seeds": [], "printed": 0.5},
]
COLUMNS = [Column("method", "Method"), COSINE, PRINTED]
MEASURED = Column("v", values="seeds")


def test_few_seeds_are_shown_instead_of_a_spread():
    assert COSINE.spread_or_seeds(ROWS[0]) == "(0.996, 0.998)"
    assert COSINE.cell(ROWS[0]) == "0.997 ± 0.001"  # a line of a terminal has no room for them
    assert COSINE.spread_or_seeds({"cosine": 0.5, "sd": 0.1, "seeds": [0.4, 0.5, 0.6, 0.5]}) == "± 0.100"
    assert COSINE.spread_or_seeds({"cosine": 0.5, "sd": None, "seeds": [0.5]}) == ""
    assert COSINE.spread_or_seeds(ROWS[2]) == ""


def test_published_values_stand_beside_ours_only_where_they_may():
    with_paper, without = table_view(ROWS, COLUMNS), table_view(ROWS, COLUMNS, published=False)
    assert [cell["text"] for cell in with_paper["head"]] == ["Method", "Cosine", "paper"]
    assert [cell["text"] for cell in with_paper["body"][1]] == ["One Step", "0.993", "(0.991, 0.995)", "0.848"]
    assert [cell["text"] for cell in without["head"]] == ["Method", "Cosine"]
    assert "0.848" not in str(without)


def test_a_differing_cell_has_a_mark_and_a_line():
    assert [[cell["differs"] for cell in row] for row in table_view(ROWS, COLUMNS)["body"]] == [
        [False] * 4,
        [False, False, False, True],
        [False] * 4,
    ]
    assert html_table(ROWS, COLUMNS).count("≠") == 1
    assert table_differences(ROWS, COLUMNS) == [Difference("One Step: Cosine", "0.993 ± 0.002", "0.848")]


def test_the_callers_words_on_a_difference_take_the_place_of_the_cells():
    said = Difference("One Step: Cosine", "0.99", "0.848", "rounding")
    other = Difference("Network: training accuracy", "51.8 %", "100 %")
    page = ExperimentPage("a", "", rows=ROWS, columns=COLUMNS, differences=[said, other])
    assert differences_of(page) == [said, other]
    assert differences_of(ExperimentPage("a", "", rows=ROWS, columns=COLUMNS)) == table_differences(ROWS, COLUMNS)
    assert differences_of(ExperimentPage("a", "", rows=ROWS, columns=COLUMNS, scale="smoke", differences=[said])) == []


def test_four_seeds_are_judged_by_the_interval_of_prediction():
    seeds = [1.0, 2.0, 3.0, 4.0, 5.5]
    mean, n = statistics.mean(seeds), len(seeds)
    # the second route: scipy's own interval of a t variable at the scale of one further seed
    low, high = stats.t.interval(0.95, n - 1, loc=mean, scale=statistics.stdev(seeds) * math.sqrt(1 + 1 / n))
    printed_column = Column("p", beside="v")
    for printed in np.linspace(low - 1, high + 1, 41):
        row = {"v": mean, "seeds": seeds, "p": float(printed)}
        assert differs_from_paper(MEASURED, printed_column, row) == (not low <= printed <= high)


def test_a_further_seed_is_seldom_a_difference():
    draw = np.random.Generator(np.random.Philox(3)).normal(size=(4000, 6))
    printed_column = Column("p", beside="v")
    rows = [{"v": float(x[:5].mean()), "seeds": x[:5].tolist(), "p": float(x[5])} for x in draw]
    share = sum(differs_from_paper(MEASURED, printed_column, row) for row in rows) / len(rows)
    assert share == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 4000))


def test_rounding_and_tolerance_are_forgiven():
    row = {"v": 0.5, "seeds": [0.5, 0.5], "p": 0.504}
    assert differs_from_paper(MEASURED, Column("p", beside="v"), row)
    assert not differs_from_paper(MEASURED, Column("p", format=".2f", beside="v"), row)
    assert not differs_from_paper(MEASURED, Column("p", beside="v", tolerance=0.01), row)


@pytest.mark.parametrize("row", [{"v": 0.5, "seeds": [0.5], "p": None}, {"v": math.nan, "seeds": [], "p": 1.0}, {}])
def test_without_both_values_nothing_differs(row):
    assert not differs_from_paper(MEASURED, Column("p", beside="v"), row)


def test_a_wide_table_sets_spreads_beneath_its_numbers():
    rows = [{f"v{i}": float(i) for i in range(8)} | {f"s{i}": 0.5 for i in range(8)}]
    columns = [Column(f"v{i}", spread=f"s{i}") for i in range(8)]
    tight, loose = table_view(rows, columns), table_view(rows, columns[:5])
    assert (tight["wide"], loose["wide"]) == (True, False)
    assert [cell["beneath"] for cell in tight["body"][0]] == ["±\N{NO-BREAK SPACE}0.500"] * 8
    assert [cell["text"] for cell in loose["body"][0]][:4] == ["0", "± 0.500", "1", "± 0.500"]
    assert "<small>±\N{NO-BREAK SPACE}0.500</small>" in html_table(rows, columns)


def test_powers_of_ten_are_written_as_people_do():
    view = table_view([{"v": -5.6e-4, "s": 4.3e-5}], [Column("v", format=".1e", spread="s")])
    assert [cell["text"] for cell in view["body"][0]] == ["−5.6 × 10⁻⁴", "± 4.3 × 10⁻⁵"]


def test_coordinates_that_were_written_out_stand_right():
    rows = [{"m": "100", "what": "a"}, {"m": "31623", "what": "b"}, {"m": None, "what": "3"}]
    assert [cell["number"] for cell in table_view(rows)["head"]] == [True, False]


def test_what_columns_hold_is_said_beneath():
    first, last = (Column(key, title, about="the largest") for key, title in (("cosine", "(a)"), ("printed", "(b)")))
    view = table_view(ROWS, [first, Column("sd"), last])
    assert view["about"] == [{"text": "(a), (b)", "about": "the largest"}]
    assert not view["wide"]
    assert table_view([dict.fromkeys("abcdefghijkl", 1.0)])["wide"]
