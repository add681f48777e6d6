"""What a kernel regression that tried a path of ridges says with either of two choices of its ridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beyondkernels.core import Outcome


def ridge_choices(outcome: Outcome, other: str, edge: str) -> list[dict[str, Any]]:
    """A kernel's two rows: with the ridge that is best on the test points, and with the one chosen without them.

    Each has ``choice``, ``train_error``, ``test_error``, the chosen ``ridge``, and how many were ``tried``. A run that
    diverged has rows without numbers.

    Arguments:
        outcome: of a run that kept its path.
        other: how the second ridge was chosen.
        edge: the name under which it is said whether a choice sits on an end of what was tried.
    """
    if outcome.status != "finished":
        return [{"choice": choice} for choice in ("test", other)]
    path, found = outcome.arrays, outcome.scalars
    at = int(path["path_test_loss"].argmin())
    best = {name: path[f"path_{name}"][at] for name in ("train_loss", "test_loss", "ridge")}
    ends = bool(found["ridge_on_edge"] or found.get("weight_on_edge", False))
    return [
        {
            "choice": choice,
            "train_error": float(numbers["train_loss"]),
            "test_error": float(numbers["test_loss"]),
            edge: at_end,
            "ridge": float(numbers["ridge"]),
            "tried": len(path["path_ridge"]),
        }
        for choice, numbers, at_end in (("test", best, on_path_edge(path, at)), (other, found, ends))
    ]


def on_path_edge(path: Mapping[str, Any], at: int) -> bool:
    """Whether a place on a path has the first or last of several ridges, or of several weights.

    Arguments:
        path: ``path_ridge``, and ``path_weight`` where a second kernel's weight was tried too.
        at: the place.

    >>> ridges = {"path_ridge": [1.0, 0.1, 0.0]}
    >>> on_path_edge(ridges, 0), on_path_edge(ridges, 1)
    (True, False)
    """
    weights = path["path_weight"] if "path_weight" in path else [0] * len(path["path_ridge"])
    ridges = sum(weight == weights[0] for weight in weights)  # the path goes through all ridges at each weight
    places = (at // ridges, len(weights) // ridges), (at % ridges, ridges)
    return any(count > 1 and place in (0, count - 1) for place, count in places)
