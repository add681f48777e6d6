from __future__ import annotations

import os

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side: threads of one would only be in another's way


@pytest.fixture(autouse=True)
def no_store_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes to the store of whoever runs it."""
    monkeypatch.delenv("BK_STORE", raising=False)
