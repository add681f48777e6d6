"""The notebooks run from top to bottom, show views of a reasonable size, and find what their text says."""

import ast
import json
import sys
import types
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMES = ("audit_my_model", "kernel_against_network", "reproduce_a_table")
MODULE = "executed_notebook"
LARGEST_VIEW = 200_000
"""Characters of HTML that a cell may show."""


def cells_of(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def executed(name: str) -> tuple[dict[str, Any], list[str]]:
    """The variables after all cells, and the views that cells have shown, as Jupyter would show them."""
    module = sys.modules[MODULE] = types.ModuleType(MODULE)  # where dataclasses of a notebook look for their names
    space = vars(module)
    views = []
    for cell in cells_of(name):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        place = f"{name}:{cell['id']}"
        exec(compile(tree, place, "exec"), space)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), place, "eval"), space)
            view = getattr(value, "_repr_html_", lambda value=value: repr(value))
            views += [view()] if value is not None else []
    return space, views


@pytest.fixture
def ran(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    try:
        space, views = executed(request.param)
    finally:
        plt.close("all")
        sys.modules.pop(MODULE, None)
    assert views and max(map(len, views)) < LARGEST_VIEW
    return space


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_well_formed_and_keeps_no_output(name: str) -> None:
    content = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    assert set(content) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    cells = content["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert cells[0]["cell_type"] == "markdown" and cells[0]["source"][0].startswith("# ")
    for cell in cells:
        code = cell["cell_type"] == "code"
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | (
            {"execution_count", "outputs"} if code else set()
        )
        assert cell.get("outputs", []) == [] and cell.get("execution_count") is None
        assert all(isinstance(line, str) and line.endswith("\n") for line in cell["source"][:-1])


def test_all_notebooks_are_tested() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == list(NAMES)


@pytest.mark.parametrize("ran", ["reproduce_a_table"], indirect=True)
def test_the_network_of_the_table_learns_what_fixed_features_do_not(ran: dict[str, Any]) -> None:
    accuracy = ran["accuracy"]
    assert accuracy["Network"] > 95 > accuracy["NTK"]
    assert accuracy["Network"] > accuracy["RF"] + 5
    assert accuracy["Network w/o structure"] < 65
    assert ran["cosine"] > 0.95
    assert not ran["result"].missing


@pytest.mark.parametrize("ran", ["kernel_against_network"], indirect=True)
def test_the_network_beats_the_kernel_which_is_one(ran: dict[str, Any]) -> None:
    assert all(finding.holds for finding in ran["findings"])
    assert "positive semi-definite" in [finding.property for finding in ran["refused"]]
    curves = ran["curves"]
    assert curves["network"][2] > 95  # with 500 points
    assert max(curves["my kernel"][-1], curves["Laplace kernel"][-1]) < 95  # with 1000


@pytest.mark.parametrize("ran", ["audit_my_model"], indirect=True)
def test_the_audit_finds_features_and_writes_a_page(ran: dict[str, Any]) -> None:
    found, ladder = ran["found"], ran["found"].ladder
    fixed = ladder[ladder["kind"] == "fixed features"]["score"].max()
    model = float(ladder[ladder["kind"] == "the model"]["score"].iloc[0])
    assert model > fixed + 3
    assert "are features" in found.sentence
    assert ran["directions"]["end/shares"][0] > 0.9 > ran["directions"]["start/shares"][0] + 0.1
    assert len(found.frozen) == len(found.layers["block"].unique()) == 3
    assert Path(ran["page"]).is_file()
