"""The one-file version of a paper, for the tests of that name."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "minimal"


@pytest.fixture(scope="module")
def minimal(request: pytest.FixtureRequest) -> ModuleType:
    name = request.module.__name__.rpartition("test_")[2]
    spec = importlib.util.spec_from_file_location(f"minimal_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
