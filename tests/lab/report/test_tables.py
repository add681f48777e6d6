import csv
import io
import json
import math
from html.parser import HTMLParser

import numpy as np
import pytest

from beyondkernels.core import InputError
from beyondkernels.lab import Column, html_table, to_csv, to_json

ROWS = [
    {"method": "Network", "test": 0.1 + 0.2, "sd": 0.01, "n": np.int64(3)},
    {"method": 'a "quoted", <b>name</b>', "test": None, "other": [1, 2]},
    {"method": "NTK", "test": math.nan, "sd": 1.0, "n": 4},
]


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1] and data.strip():
            self.rows[-1][-1] += data


def test_html_shows_the_columns_in_order():
    parsed = Cells()
    parsed.feed(html_table(ROWS, [Column("test", "Test", ".2f", spread="sd"), Column("method"), Column("none")]))
    assert parsed.rows == [
        ["Test", "method", "none"],
        ["0.30", "± 0.01", "Network", "–"],
        ["–", "", 'a "quoted", <b>name</b>', "–"],
        ["–", "", "NTK", "–"],
    ]
    assert parsed.tags == {"table", "thead", "tbody", "tr", "th", "td"}


def test_without_columns_every_key_is_shown():
    parsed = Cells()
    parsed.feed(html_table(ROWS))
    assert parsed.rows[0] == ["method", "test", "sd", "n", "other"]


def test_csv_keeps_every_key_and_digit():
    read = list(csv.DictReader(io.StringIO(to_csv(ROWS, [Column("test", spread="sd")]), newline="")))
    assert list(read[0]) == ["test", "sd", "method", "n", "other"]
    assert float(read[0]["test"]) == 0.1 + 0.2
    assert [row["test"] for row in read[1:]] == ["", ""]
    assert read[1]["method"] == ROWS[1]["method"]
    assert json.loads(read[1]["other"]) == [1, 2]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+2", "@SUM(A1)", "\tx"])
def test_csv_holds_no_formula(text):
    read = list(csv.reader(io.StringIO(to_csv([{text: text, "n": -1.5}]), newline="")))
    assert read == [[f"'{text}", "n"], [f"'{text}", "-1.5"]]


def test_json_is_strict():
    document = json.loads(to_json(ROWS, experiment="a/b"))
    assert document["schema"] == 1
    assert document["experiment"] == "a/b"
    assert document["rows"][0] == {"method": "Network", "test": 0.1 + 0.2, "sd": 0.01, "n": 3}
    assert document["rows"][2]["test"] is None


def test_numbers_stand_right_and_words_left():
    assert Column("n").numeric(ROWS)
    assert Column("test").numeric(ROWS)
    assert not Column("method").numeric(ROWS)
    assert not Column("absent").numeric(ROWS)
    assert 'class="number">3<' in html_table(ROWS, [Column("n")])


def test_a_rounded_number_has_no_sign_of_its_own():
    assert [Column("x", format=".2f").write(value) for value in (-0.001, -0.006, 0.001)] == ["0.00", "−0.01", "0.00"]


def test_a_bad_format_is_named():
    with pytest.raises(InputError, match=r"format of column 'test' must be a number format such as \.1f, got '\.1q'"):
        html_table(ROWS, [Column("test", format=".1q")])
