from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-smokes", action="store_true", help="every experiment at smoke scale, not one of each kind")


@pytest.fixture(autouse=True)
def no_store_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes to the store of whoever runs it."""
    monkeypatch.delenv("BK_STORE", raising=False)
