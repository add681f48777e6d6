import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beyondkernels.core import Outcome, load_file
from beyondkernels.store import RunSpec, Store


@pytest.fixture(scope="session")
def toys() -> Any:
    """The toy components, under the name that workers know them by."""
    return sys.modules.get("beyondkernels_user.toys") or load_file(Path(__file__).with_name("toys.py"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


@pytest.fixture
def spec(toys: Any) -> RunSpec:
    return RunSpec(toys.Line(dim=2), toys.Mean(), 5, 3, 0)


@pytest.fixture
def outcome() -> Outcome:
    return Outcome(
        "finished",
        {"loss": 0.1, "never": float("nan"), "up": float("inf"), "down": float("-inf"), "zero": -0.0, "tiny": 5e-324},
        {"step": np.arange(4), "loss": np.array([1.0, np.nan, -np.inf, 0.5], dtype=np.float32)},
        {"weights": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "point": np.array(2.5), "none": np.empty((0, 4))},
    )


@pytest.fixture
def stored(store: Store, spec: RunSpec, outcome: Outcome) -> Path:
    """The directory of one stored run."""
    store.write(spec.key, spec.description, outcome, {"seconds": 1.5})
    return store.path / "runs" / spec.key[:2] / spec.key
