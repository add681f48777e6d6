from pathlib import Path
from typing import Any

import pytest

from beyondkernels.core import load_file
from beyondkernels.store import Store

USER = Path(__file__).with_name("user.py")


@pytest.fixture(scope="session")
def user() -> Any:
    """The module of a user's experiments, under the name that workers know it by."""
    return load_file(USER)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")
