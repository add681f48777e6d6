"""The two choices of a ridge on a path, and its edges."""

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.papers.resnet.measurements import on_path_edge, ridge_choices


@pytest.mark.parametrize(("at", "edge"), [(0, True), (4, False), (3, True), (5, True), (7, True)])
def test_edges_of_a_path(at: int, edge: bool) -> None:
    path = {"path_weight": np.repeat([1.0, 2.0, 3.0], 3), "path_ridge": np.tile([1.0, 0.1, 0.0], 3)}
    assert on_path_edge(path, at) is edge
    assert on_path_edge({"path_ridge": np.zeros(9)}, 4) is False
    assert on_path_edge({"path_ridge": np.zeros(9)}, 8) is True


def test_both_choices_are_rows_of_their_own() -> None:
    path = {"path_ridge": np.array([1.0, 0.1, 0.0]), "path_test_loss": np.array([3.0, 2.0, 2.5])}
    path["path_train_loss"] = path["path_test_loss"] / 2
    chosen = {"train_loss": 1.5, "test_loss": 3.0, "ridge": 1.0, "ridge_on_edge": 1.0}
    best, other = ridge_choices(Outcome("finished", chosen, {}, path), "leave-one-out", "edge")
    assert best == {"choice": "test", "train_error": 1.0, "test_error": 2.0, "edge": False, "ridge": 0.1, "tried": 3}
    assert other["choice"] == "leave-one-out" and other["edge"] and other["test_error"] == 3.0
    lost = ridge_choices(Outcome("diverged", {"steps": 1.0}), "leave-one-out", "edge")
    assert lost == [{"choice": "test"}, {"choice": "leave-one-out"}]
