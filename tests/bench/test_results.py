"""The kept measurements are those of the benchmarks as they are now."""

import dataclasses
import json
from pathlib import Path

import pytest

from beyondkernels.bench import BENCHMARKS, Row
from beyondkernels.bench.engine import Row as EngineRow

KEPT = sorted((Path(__file__).parents[2] / "results").glob("bench-*.json"))
ROWS = {"kernels": Row, "engine": EngineRow, "audit": Row}


def test_every_benchmark_has_its_rows():
    assert ROWS.keys() == BENCHMARKS.keys()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.name)
def test_kept_results_have_todays_form(path):
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept.keys() == {"schema", "benchmark", "complete", "rows", "provenance"}
    assert kept["schema"] == 1
    assert path.name == f"bench-{kept['benchmark']}.json"
    assert kept["complete"] is True
    names = [field.name for field in dataclasses.fields(ROWS[kept["benchmark"]])]
    for row in kept["rows"]:
        assert list(row) == names
